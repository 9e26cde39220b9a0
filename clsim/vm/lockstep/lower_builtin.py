"""Lowers calls of built-in functions."""

from __future__ import annotations

from collections.abc import Callable

from clsim.clc import ir
from clsim.clc.types import Vector
from clsim.vm import builtins
from clsim.vm.dtypes import SIZES, code_of, is_float
from clsim.vm.lockstep.graph import Graph, Node, Value
from clsim.vm.lockstep.lower_expr import ExpressionLowering
from clsim.vm.lockstep.lower_loops import DynamicPointer
from clsim.vm.lockstep.variant import Variant


class KernelLowering(ExpressionLowering):
    """The complete lowering."""

    def builtin(self, e: ir.Builtin) -> Value:
        name = e.name
        if name in builtins.WORK_ITEM:
            return self._work_item(name, [self.scalar(a) for a in e.args])
        code = code_of(e.type)
        columns = [self.components(a) for a in e.args]
        is_vector = isinstance(e.type, Vector)
        if builtins.whole(name):
            return self._whole(name, e.type.width if isinstance(e.type, Vector) else 1, code, columns)
        width = max(map(len, columns), default=1)
        columns = [c * width if len(c) == 1 else c for c in columns]
        rows = list(zip(*columns, strict=True))
        if builtins.relational(name):
            found = [self.b.convert(self.b.make("relation", "?", row, name), code) for row in rows]
            parts = [self.b.neg(code, t) for t in found] if is_vector else found
        elif name == "select":
            parts = [self._select(row, is_vector) for row in rows]
        else:
            parts = [self._component(name, code, row) for row in rows]
        return tuple(parts) if is_vector else parts[0]

    def _select(self, row: tuple[Node, ...], is_vector: bool) -> Node:
        a, b, c = row
        if not is_vector:
            return self.b.select(self.b.compare("ne", c, self.b.zero(c.code)), b, a)
        signed = self.b.bitcast(c, f"i{SIZES[c.code]}")
        return self.b.select(self.b.compare("lt", signed, self.b.zero(signed.code)), b, a)

    def _component(self, name: str, code: str, row: tuple[Node, ...]) -> Node:
        if name in ("mad", "mad24"):
            return self.b.arith("add", code, self.b.arith("mul", code, row[0], row[1]), row[2])
        if name == "mul24":
            return self.b.arith("mul", code, row[0], row[1])
        if name == "clamp":
            return self._extreme("min", code, self._extreme("max", code, row[0], row[1]), row[2])
        if name in ("min", "max"):
            return self._extreme(name, code, row[0], row[1])
        return self.b.make("call", code, row, name)

    def _extreme(self, name: str, code: str, a: Node, b: Node) -> Node:
        if is_float(code):
            return self.b.make("call", code, (a, b), name)
        pick: Callable[[int, int], int] = min if name == "min" else max
        if a.op == "const" and b.op == "const":
            return self.b.const(code, pick(a.attr, b.attr))
        node = self.b.make("call", code, (a, b), name)
        (al, ah), (bl, bh) = self.b.bounds(a), self.b.bounds(b)
        node.exact = True
        node.lo, node.hi = pick(al, bl), pick(ah, bh)
        return node

    def _whole(self, name: str, width: int, code: str, columns: list[tuple[Node, ...]]) -> Value:
        shape = tuple(map(len, columns))
        args = tuple(n for c in columns for n in c)
        both = self.b.make("whole", code, args, (name, shape))
        parts = tuple(self.b.make("part", code, (both,), k) for k in range(width))
        return parts if width > 1 else parts[0]

    # ------------------------------------------------------------ the work-item's place

    def _work_item(self, name: str, args: list[Node]) -> Node:
        dims = range(len(self.variant.local))
        if name == "get_work_dim":
            return self.b.const("u4", len(dims))
        if name == "get_local_linear_id":
            return self._linear(
                [(self._local_id(d), self.b.const("u8", self.variant.local[d])) for d in dims]
            )
        if name == "get_global_linear_id":
            return self._linear([(self._global_id(d, False), self._global_size(d)) for d in dims])
        function = {
            "get_global_id": lambda d: self._global_id(d, True),
            "get_local_id": self._local_id,
            "get_group_id": self._group_id,
            "get_global_size": self._global_size,
            "get_local_size": lambda d: self.b.const("u8", self.variant.local[d]),
            "get_enqueued_local_size": lambda d: self.b.const("u8", self.variant.enqueued[d]),
            "get_num_groups": self._num_groups,
            "get_global_offset": self._offset,
        }[name]
        outside = self.b.const("u8", 1 if "size" in name or "num" in name else 0)
        which = args[0]
        if which.op == "const":
            return function(which.attr) if which.attr in dims else outside
        result = outside
        for d in dims:
            here = self.b.compare("eq", which, self.b.const(which.code, d))
            result = self.b.select(here, function(d), result)
        return result

    def _linear(self, places: list[tuple[Node, Node]]) -> Node:
        result = self.b.zero("u8")
        for place, size in reversed(places):
            result = self.b.arith("add", "u8", self.b.arith("mul", "u8", result, size), place)
        return result

    def _local_id(self, d: int) -> Node:
        return self._axis(f"l{d}", self.variant.local[d] - 1)

    def _group_id(self, d: int) -> Node:
        if not self.variant.many_groups[d]:
            if self.variant.local[d] == self.variant.enqueued[d]:
                return self.b.zero("u8")
            return self.b.param("u8", f"group{d}", 0, (1 << self.variant.id_bits[d]) - 1)
        return self._axis(f"g{d}", ((1 << self.variant.id_bits[d]) - 1) // self.variant.enqueued[d])

    def _axis(self, name: str, highest: int) -> Node:
        if name not in self.variant.axes:
            return self.b.zero("u8")
        node = self.b.make("axis", "u8", (), name)
        node.lo, node.hi, node.exact = 0, highest, True
        return node

    def _global_id(self, d: int, with_offset: bool) -> Node:
        size = self.b.const("u8", self.variant.enqueued[d])
        start = self.b.arith("mul", "u8", self._group_id(d), size)
        result = self.b.arith("add", "u8", start, self._local_id(d))
        if with_offset and not self.variant.zero_offset:
            result = self.b.arith("add", "u8", result, self._offset(d))
        # The launch chose `id_bits` so that it holds every global id.
        if result.op not in ("const", "axis", "param"):
            result.lo, result.hi = 0, (1 << self.variant.id_bits[d]) - 1
            result.exact = True
        return result

    def _offset(self, d: int) -> Node:
        if self.variant.zero_offset:
            return self.b.zero("u8")
        return self.b.param("u8", f"offset{d}", 0, (1 << self.variant.id_bits[d]) - 1)

    def _global_size(self, d: int) -> Node:
        return self.b.param("u8", f"size{d}", 1, 1 << self.variant.id_bits[d])

    def _num_groups(self, d: int) -> Node:
        most = -(-(1 << self.variant.id_bits[d]) // self.variant.enqueued[d])
        return self.b.param("u8", f"groups{d}", 1, most)


def lower(module: ir.Module, kernel: ir.Function, variant: Variant) -> Graph:
    """Lower a kernel. A pointer that turns out to lead to several objects is tried again as an address."""
    dynamic: dict[tuple[object, object], int | None] = {}
    while True:
        try:
            return KernelLowering(module, kernel, variant, dynamic).run()
        except DynamicPointer as found:
            dynamic[found.key] = found.seg
