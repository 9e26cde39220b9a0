"""Python text for floating nodes: on Python scalars where they are uniform, on arrays where they vary."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clsim.vm import builtins
from clsim.vm.dtypes import LIMITS, SIZES, is_float
from clsim.vm.lockstep import runtime
from clsim.vm.lockstep.access import SpanSpec, ViewSpec
from clsim.vm.lockstep.emit_core import Core
from clsim.vm.lockstep.graph import Node

_INFIX = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^"}
_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<="}


class ExpressionEmitter(Core):
    def leaf(self, node: Node) -> str | None:
        """The variable of a node that the function's first lines set."""
        op, attr = node.op, node.attr
        if op == "param":
            if attr[0] == "A":
                return self.need(attr, f"C.arguments[{attr!r}]")
            return self.need(f"p_{attr}", f"C.{attr}")
        if op == "address":
            return self.need(f"a_{attr}", f"C.address({attr})")
        if op == "axis":
            code = "i8" if node.code == "x" else node.code
            return self.need(f"{attr}_{code}", f"C.axis({attr!r}, {code!r})")
        return None

    def expression(self, node: Node) -> str:
        handler: Callable[[ExpressionEmitter, Node], str] = _HANDLERS[node.op]
        return handler(self, node)

    # ------------------------------------------------------------ arithmetic

    def _on_infix(self, node: Node) -> str:
        a, b = node.args
        text = f"({self.use(a)} {_INFIX[node.op]} {self.use(b)})"
        if node.axes or is_float(node.code) or node.code == "x" or node.op in ("and", "or", "xor"):
            return text
        return text if self._stays_inside(node) else self._wrapped(text, node.code)

    def _stays_inside(self, node: Node) -> bool:
        """Whether the bounds of the operands prove that a uniform operation needs no wrapping."""
        (al, ah), (bl, bh) = self.b.bounds(node.args[0]), self.b.bounds(node.args[1])
        if node.op == "add":
            low, high = al + bl, ah + bh
        elif node.op == "sub":
            low, high = al - bh, ah - bl
        else:
            corners = (al * bl, al * bh, ah * bl, ah * bh)
            low, high = min(corners), max(corners)
        least, most = LIMITS[node.code]
        return least <= low and high <= most

    @staticmethod
    def _wrapped(text: str, code: str) -> str:
        bits = 8 * SIZES[code]
        if code[0] == "u":
            return f"({text} & {(1 << bits) - 1})"
        half = 1 << (bits - 1)
        return f"(({text} + {half} & {(1 << bits) - 1}) - {half})"

    def _on_neg(self, node: Node) -> str:
        return f"(-{self.use(node.args[0])})"

    def _on_div(self, node: Node) -> str:
        a, b = node.args
        if is_float(node.code):
            return f"({self.use(a)} / {self.use(b)})"
        if self.b.bounds(a)[0] >= 0 and self.b.bounds(b)[0] > 0:
            return f"({self.use(a)} // {self.use(b)})"
        if node.axes:
            return f"divide({self.typed(a)}, {self.typed(b)})"
        return self._wrapped(f"divide_one({self.use(a)}, {self.use(b)})", node.code)

    def _on_rem(self, node: Node) -> str:
        a, b = node.args
        if is_float(node.code):
            return f"{self.constant(np.fmod, 'fmod')}({self.use(a)}, {self.use(b)})"
        positive = self.b.bounds(a)[0] >= 0 and self.b.bounds(b)[0] > 0
        if not node.axes:
            if positive:
                return f"({self.use(a)} % {self.use(b)})"
            return f"remainder_one({self.use(a)}, {self.use(b)})"
        if positive:
            return f"modulo({self.use(a)}, {self.use(b)})"
        return f"{self.constant(np.fmod, 'fmod')}({self.typed(a)}, {self.typed(b)})"

    def _on_shift(self, node: Node) -> str:
        a, b = node.args
        sign = "<<" if node.op == "shl" else ">>"
        if node.code == "x":
            return f"({self.use(a)} {sign} {self.use(b)})"
        mask = 8 * SIZES[node.code] - 1
        if b.op == "const":
            text = f"({self.use(a)} {sign} {b.attr & mask})"
        elif node.axes:
            text = f"({self.typed(a)} {sign} ({self.typed(b)} & {self.scalar_type(node.code)}({mask})))"
        else:
            text = f"({self.use(a)} {sign} ({self.use(b)} & {mask}))"
        if node.axes or node.op == "shr":
            return text
        low, high = self.b.bounds(a)
        if b.op == "const" and low >= 0 and high << (b.attr & mask) <= LIMITS[node.code][1]:
            return text
        return self._wrapped(text, node.code)

    def _on_exactdiv(self, node: Node) -> str:
        return f"({self.use(node.args[0])} // {self.use(node.args[1])})"

    # ------------------------------------------------------------ truth

    def _on_compare(self, node: Node) -> str:
        a, b = node.args
        sign = _COMPARE[node.op]
        if node.axes and a.code == "?":
            return f"compare_bools({self.use(a)}, {self.use(b)}, {node.op == 'eq'})"
        return f"({self.use(a)} {sign} {self.use(b)})"

    def _on_land(self, node: Node) -> str:
        a, b = map(self.use, node.args)
        return f"both({a}, {b})" if node.axes else f"({a} and {b})"

    def _on_lor(self, node: Node) -> str:
        a, b = map(self.use, node.args)
        return f"either({a}, {b})" if node.axes else f"({a} or {b})"

    def _on_lnot(self, node: Node) -> str:
        a = self.use(node.args[0])
        return f"negate({a})" if node.axes else f"(not {a})"

    def _on_placed(self, node: Node) -> str:
        """A comparison of affine places with 0: decided for the whole chunk where it can be."""
        op, names = node.attr
        values = dict(zip(names, map(self.use, node.args[1:]), strict=True))
        coefs = "".join(f"{values.get(axis, 0)}, " for axis in self.analysis.axes)
        return f"C.placed({op == 'le'}, {self.use(node.args[0])}, ({coefs}))"

    def _on_select(self, node: Node) -> str:
        test, a, b = node.args
        if not node.axes:
            return f"({self.use(a)} if {self.use(test)} else {self.use(b)})"
        return f"where({self.use(test)}, {self.lane(a)}, {self.lane(b)})"

    # ------------------------------------------------------------ conversions

    def _on_conv(self, node: Node) -> str:
        a = node.args[0]
        source, target = a.code, node.code
        saturate, rounding = node.attr
        if not node.axes:
            return self._convert_uniform(node, a, saturate, rounding)
        if source == "?":
            return f"number({self.use(a)}, {self.dtype(target)}, {self.shape(0)})"
        simple = (
            not saturate and (rounding in ("", "rte")) and not (is_float(source) and not is_float(target))
        )
        if simple:
            return f"{self.typed(a)}.astype({self.dtype(target)})"
        source, target = ("i8" if c == "x" else c for c in (source, target))
        return f"convert({self.typed(a)}, {source!r}, {target!r}, {saturate}, {rounding!r})"

    def _convert_uniform(self, node: Node, a: Node, saturate: bool, rounding: str) -> str:
        source, target = a.code, node.code
        text = self.use(a)
        if source == "?" and not is_float(target):
            return f"int({text})"
        if not is_float(source) and not is_float(target):
            low, high = self.b.bounds(a)
            least, most = LIMITS["i8"] if target == "x" else LIMITS[target]
            if least <= low and high <= most:
                return text
            if saturate:
                return f"min(max({text}, {least}), {most})"
            return self._wrapped(text, "i8" if target == "x" else target)
        if is_float(target) and rounding in ("", "rte") and (is_float(source) or SIZES.get(source, 8) <= 4):
            return f"{self.scalar_type(target)}({text})"
        source, target = ("i8" if c == "x" else c for c in (source, target))
        return f"convert_uniform({text}, {source!r}, {target!r}, {saturate}, {rounding!r})"

    def _on_bitcast(self, node: Node) -> str:
        a = node.args[0]
        if node.axes:
            return f"bits({self.typed(a)}, {self.dtype(node.code)})"
        return f"bits_one({self.typed(a)}, {node.code!r})"

    # ------------------------------------------------------------ built-ins

    def _on_call(self, node: Node) -> str:
        name = node.attr
        if not node.axes and name in ("min", "max") and not is_float(node.code):
            return f"{name}({', '.join(map(self.use, node.args))})"
        text = f"{self._function(name)}({', '.join(map(self.typed, node.args))})"
        return text if node.axes else f"uniform({text}, {node.code!r})"

    def _function(self, name: str) -> str:
        return self.constant(builtins.elementwise(name), ("builtin", name))

    def _on_relation(self, node: Node) -> str:
        function = self.constant(builtins.relational(node.attr), ("relation", node.attr))
        text = f"{function}({', '.join(map(self.typed, node.args))})"
        return text if node.axes else f"bool({text})"

    def _on_pair(self, node: Node) -> str:
        function = self.constant(builtins.storing(node.attr), ("storing", node.attr))
        return f"{function}({', '.join(map(self.typed, node.args))})"

    def _on_whole(self, node: Node) -> str:
        name, shape = node.attr
        texts = list(map(self.typed, node.args))
        lists, at = [], 0
        for count in shape:
            lists.append(f"({', '.join(texts[at : at + count])},)")
            at += count
        return f"{self.constant(builtins.whole(name), ('whole', name))}({', '.join(lists)})"

    def _on_part(self, node: Node) -> str:
        text = f"{self.use(node.args[0])}[{node.attr}]"
        return text if node.axes else f"uniform({text}, {node.code!r})"

    # ------------------------------------------------------------ views

    def _on_span(self, node: Node) -> str:
        spec: SpanSpec = node.attr
        texts = list(map(self.use, node.args))
        values = dict(zip(spec.axes, texts, strict=False))
        coefs = "".join(f"{values.get(axis, 0)}, " for axis in self.analysis.axes)
        seg = self.graph.segs[spec.seg]
        method = "span_of_copies" if seg.kind in ("local", "private") else "span"
        bounds = texts[len(spec.axes) :]
        cuts = "".join(f"({k}, {bounds[2 * n]}, {bounds[2 * n + 1]}), " for n, k in enumerate(spec.cut))
        return f"C.{method}({spec.seg}, {spec.size}, ({coefs}), {spec.writes}, ({cuts}))"

    def _on_view(self, node: Node) -> str:
        spec: ViewSpec = node.attr
        seg = self.graph.segs[spec.seg]
        base, span = node.args
        offset = self.name(base)
        bounds = self.name(span)
        place = offset
        if any(name[0] == "g" for name in span.attr.axes) or span.attr.cut:
            place = f"({offset} + {bounds}[4])"
        if spec.component:
            place = f"({place} + {SIZES[spec.code] * spec.component})"
        if seg.kind in ("local", "private"):
            copies = self.need(f"R{spec.seg}", f"C.copies[{spec.seg}]")
            grain = seg.granule
            if spec.is_whole:
                place = f"{place} * {copies}"
            else:
                place = f"{place} // {grain} * ({grain} * {copies}) + {place} % {grain}"
            if span.attr.cut and seg.kind == "private":
                place = f"{place} + {bounds}[5]"
        data = self.need(f"D{spec.seg}", f"C.data[{spec.seg}]")
        shape = f"{bounds}[6]" if span.attr.cut else self.shape(spec.axes)
        text = f"ndarray({shape}, {self.dtype(spec.code)}, {data}, {place}, {bounds}[2])"
        if spec.is_safe:
            return text
        test = f"{bounds}[0] <= {offset} <= {bounds}[1]"
        if spec.align > 1:
            test += f" and not {offset} & {spec.align - 1}"
        return f"({text} if {test} else Miss({offset}, {bounds}[3]))"


_HANDLERS = {
    **dict.fromkeys(_INFIX, ExpressionEmitter._on_infix),
    **dict.fromkeys(_COMPARE, ExpressionEmitter._on_compare),
    "neg": ExpressionEmitter._on_neg,
    "div": ExpressionEmitter._on_div,
    "rem": ExpressionEmitter._on_rem,
    "shl": ExpressionEmitter._on_shift,
    "shr": ExpressionEmitter._on_shift,
    "exactdiv": ExpressionEmitter._on_exactdiv,
    "land": ExpressionEmitter._on_land,
    "lor": ExpressionEmitter._on_lor,
    "lnot": ExpressionEmitter._on_lnot,
    "placed": ExpressionEmitter._on_placed,
    "select": ExpressionEmitter._on_select,
    "conv": ExpressionEmitter._on_conv,
    "bitcast": ExpressionEmitter._on_bitcast,
    "call": ExpressionEmitter._on_call,
    "relation": ExpressionEmitter._on_relation,
    "pair": ExpressionEmitter._on_pair,
    "whole": ExpressionEmitter._on_whole,
    "part": ExpressionEmitter._on_part,
    "span": ExpressionEmitter._on_span,
    "view": ExpressionEmitter._on_view,
}

GLOBALS = {
    "ndarray": np.ndarray,
    "where": np.where,
    **{name: getattr(runtime, name) for name in runtime.__all__},
}
