"""Lowers a kernel's statements to the graph: control flow to a tree, variables to single assignments.

`break`, `continue` and `return` become bool values; what follows them runs under an `If` on those. Calls
are inlined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clsim.clc import ir
from clsim.clc.types import VOID, Pointer, Space, Type, Vector
from clsim.clc.walk import statements
from clsim.vm.dtypes import code_of, width_of
from clsim.vm.lockstep.build import Builder
from clsim.vm.lockstep.graph import (
    BarrierItem,
    Block,
    Graph,
    If,
    Item,
    Node,
    Place,
    PrintItem,
    Ptr,
    Seg,
    Value,
)
from clsim.vm.lockstep.promote import Promoted, promotable

if TYPE_CHECKING:
    from clsim.vm.lockstep.variant import Variant


class Lowering:
    """State of one lowering. Expressions, memory and built-ins are in the classes built on this one."""

    def __init__(
        self,
        module: ir.Module,
        kernel: ir.Function,
        variant: Variant,
        dynamic: dict[tuple[object, object], int | None],
    ) -> None:
        self.module = module
        self.kernel = kernel
        self.variant = variant
        self.dynamic = dynamic
        self.b = Builder()
        self.block = self.b.root
        self.env: dict[Any, Value] = {}
        self.segs: list[Seg] = []
        self.places: list[Place] = []
        self.by_memory: dict[ir.Memory, Seg] = {}
        self.promoted: dict[ir.Memory, Promoted] = {}
        self.loads: dict[Any, tuple[Block, tuple[Node, ...]]] = {}
        self.versions = 0
        self.has_dynamic_pointers = False
        self.null = self.new_seg("null", "NULL", Space.GLOBAL, 0)
        self.assigned: dict[ir.Loop, set[Any]] = {}
        """What each loop may assign."""
        self.jumps: list[tuple[str, object]] = []
        """Targets of jumps inside the function being lowered, innermost last: kind and identity."""
        self.frame: object = None
        """The function being lowered; every inlined call is one of its own."""

    # ------------------------------------------------------------ whole kernels

    def run(self) -> Graph:
        for k, parameter in enumerate(self.kernel.parameters):
            self.env[parameter.var] = self._parameter(k, parameter)
        for constant in self.module.constants:
            self.by_memory[constant] = self.new_seg(
                "const", constant.name, Space.CONSTANT, constant.size, constant
            )
        self._enter(self.kernel)
        self.frame = object()
        self.env["ret", self.frame] = self.b.const("?", False)
        self.lower_block(self.kernel.body)
        return Graph(self.b, self.segs, self.places, self.has_dynamic_pointers)

    def new_seg(
        self,
        kind: str,
        label: str,
        space: Space,
        size: int | None = None,
        memory: ir.Memory | None = None,
        initial: bool = False,
    ) -> Seg:
        seg = Seg(len(self.segs), kind, label, space, size, memory, initial)
        self.segs.append(seg)
        return seg

    def _parameter(self, k: int, parameter: ir.Parameter) -> Value:
        type_ = parameter.var.type
        if parameter.record is not None:
            seg = self.new_seg(
                "private", parameter.var.name, Space.PRIVATE, parameter.record.size, None, True
            )
            seg.argument = k
            return Ptr(seg, self.b.x(0))
        if isinstance(type_, Pointer):
            kind = "local" if parameter.space is Space.LOCAL else "arg"
            seg = self.new_seg(kind, parameter.var.name, parameter.space)
            seg.argument = k
            return Ptr(seg, self.b.x(0))
        code = code_of(type_)
        bits = self.variant.argument_bits[k]
        low, high = (0, (1 << bits) - 1) if bits is not None else (None, None)
        parts = tuple(self.b.param(code, f"A{k}_{c}", low, high) for c in range(width_of(type_)))
        return parts if isinstance(type_, Vector) else parts[0]

    def _enter(self, function: ir.Function) -> None:
        self.promoted.update(promotable(function))
        for memory in function.memories:
            if memory in self.by_memory or memory in self.promoted:
                continue
            kind = "local" if memory.space is Space.LOCAL else "private"
            self.by_memory[memory] = self.new_seg(kind, memory.name, memory.space, memory.size, memory)

    # ------------------------------------------------------------ blocks and jumps

    def lower_block(self, block: ir.Block) -> None:
        """Statements in order; after one that may jump, the rest runs only where nothing jumped."""
        for at, s in enumerate(block):
            getattr(self, "do_" + type(s).__name__.lower())(s)
            if isinstance(s, (ir.If, ir.Loop, ir.Switch, ir.Break, ir.Continue, ir.Return)):
                live = self.live()
                if live.op == "const":
                    if not live.attr:
                        return
                    continue
                rest = block[at + 1 :]
                if rest:
                    self.branch(live, lambda rest=rest: self.lower_block(rest))
                return

    def live(self) -> Node:
        """True where no jump is under way."""
        dead = self.flag(("ret", self.frame))
        for kind, target in self.jumps[::-1]:
            dead = self.b.lor(dead, self.flag(("brk", target)))
            if kind == "loop":
                dead = self.b.lor(dead, self.flag(("cnt", target)))
                break
        return self.b.lnot(dead)

    def flag(self, key: Any) -> Node:
        value = self.env.get(key)
        if value is None:
            return self.b.const("?", False)
        assert isinstance(value, Node)
        return value

    def do_break(self, s: ir.Break) -> None:
        self.env["brk", self.jumps[-1][1]] = self.b.const("?", True)

    def do_continue(self, s: ir.Continue) -> None:
        for kind, target in reversed(self.jumps):
            # A switch on the way is left too.
            self.env["cnt" if kind == "loop" else "brk", target] = self.b.const("?", True)
            if kind == "loop":
                return

    def do_return(self, s: ir.Return) -> None:
        if s.value is not None:
            self.env["value", self.frame] = self.expr(s.value)
        self.env["ret", self.frame] = self.b.const("?", True)

    # ------------------------------------------------------------ branches

    def branch(self, test: Node, then: Any, otherwise: Any = None) -> None:
        """Run `then` where `test` holds and `otherwise` elsewhere, and join what they assigned."""
        if test.op == "const":
            if test.attr:
                then()
            elif otherwise:
                otherwise()
            return
        item = If(self.block, test)
        before = self.env
        outer = self.block
        self.env, self.block = dict(before), item.then
        then()
        after_then = self.env
        self.env, self.block = dict(before), item.other
        if otherwise:
            otherwise()
        after_other = self.env
        self.block = outer
        outer.items.append(item)
        self.env = self._join(item, before, after_then, after_other)

    def _join(
        self, item: If, before: dict[Any, Value], a: dict[Any, Value], b: dict[Any, Value]
    ) -> dict[Any, Value]:
        result = {}
        for key in (*a, *(k for k in b if k not in a)):
            x, y = a.get(key), b.get(key)
            if x is y:
                if x is not None:
                    result[key] = x
            elif x is None or y is None:
                if isinstance(key, tuple) and key[0] in ("brk", "cnt", "ret"):
                    false = self.b.const("?", False)
                    result[key] = self.join(item, x or false, y or false)
                elif key in before:
                    some = x if x is not None else y
                    assert some is not None
                    result[key] = self.join(item, self._nothing_like(x, some), self._nothing_like(y, some))
                else:
                    continue
            else:
                result[key] = self.join(item, x, y)
        return result

    def _nothing_like(self, value: Value | None, model: Value) -> Value:
        """An undefined value of the shape of `model` where there is none."""
        if value is not None:
            return value
        if isinstance(model, Ptr):
            return Ptr(model.seg, self.b.undef(model.off.code))
        if isinstance(model, tuple):
            return tuple(self.b.undef(n.code) for n in model)
        return self.b.undef(model.code)

    def join(self, item: If, a: Value, b: Value) -> Value:
        """The value after an `If`: `a` from its first branch, `b` from the other."""
        if isinstance(a, tuple) and isinstance(b, tuple):
            return tuple(self._join_node(item, x, y) for x, y in zip(a, b, strict=True))
        if isinstance(a, Ptr) and isinstance(b, Ptr):
            if a.seg is b.seg or "undef" in (a.off.op, b.off.op):
                seg = b.seg if a.off.op == "undef" else a.seg
                return Ptr(seg, self._join_node(item, a.off, b.off))
            return Ptr(None, self._join_node(item, self.address(a), self.address(b)))
        assert isinstance(a, Node)
        assert isinstance(b, Node)
        return self._join_node(item, a, b)

    def _join_node(self, item: If, a: Node, b: Node) -> Node:
        if a is b:
            return a
        if self.block.is_within(a.early) and self.block.is_within(b.early):
            return self.b.select(item.test, a, b)
        if b is item.test and a.code == "?":
            b = self.b.const("?", False)
        phi = self.b.pin(self.block, "phi", a.code, (item.test, a, b), item)
        item.phis.append(phi)
        defined = [n for n in (a, b) if n.op != "undef"]
        return self.b.join_bounds(phi, defined[0], defined[-1])

    def do_if(self, s: ir.If) -> None:
        test = self.scalar(s.test)
        self.branch(test, lambda: self.lower_block(s.then), lambda: self.lower_block(s.otherwise))

    # ------------------------------------------------------------ switch

    def do_switch(self, s: ir.Switch) -> None:
        value = self.scalar(s.value)
        target = object()
        flag = ("brk", target)
        matches: list[Node | None] = []
        any_match = self.b.const("?", False)
        for values, _ in s.cases:
            if values is None:
                matches.append(None)
                continue
            found = self.b.const("?", False)
            for v in values:
                found = self.b.lor(found, self.b.compare("eq", value, self.b.const(value.code, v)))
            matches.append(found)
            any_match = self.b.lor(any_match, found)
        falling = self.b.const("?", False)
        self.jumps.append(("switch", target))
        for match, (_, body) in zip(matches, s.cases, strict=True):
            entered = self.b.lor(falling, self.b.lnot(any_match) if match is None else match)
            entered = self.b.land(entered, self._live_around_switch())
            self.env[flag] = self.b.const("?", False)
            self.branch(entered, lambda body=body: self.lower_block(body))
            falling = self.b.land(entered, self.b.lnot(self.flag(flag)))
        self.jumps.pop()
        self.env.pop(flag, None)

    def _live_around_switch(self) -> Node:
        """True where neither `return` nor `continue` left the switch."""
        inner = self.jumps.pop()
        live = self.live()
        self.jumps.append(inner)
        return live

    # ------------------------------------------------------------ simple statements

    def keys_of(self, what: ir.Var | ir.Memory) -> list[Any]:
        if isinstance(what, ir.Var):
            return [what]
        layout = self.promoted.get(what)
        return [(what, at) for at in layout.elements] if layout else []

    def do_declare(self, s: ir.Declare) -> None:
        for key in self.keys_of(s.what):
            self.env.pop(key, None)
            if isinstance(s.what, ir.Var):
                self.env[key] = self.undefined(s.what.type)
            else:
                code = self.promoted[s.what].elements[key[1]]
                self.env[key] = Ptr(self.null, self.b.x(0)) if code == "p" else self.b.undef(code)

    def undefined(self, type_: Type) -> Value:
        if isinstance(type_, Pointer):
            return Ptr(self.null, self.b.undef("x"))
        node = self.b.undef(code_of(type_))
        return (node,) * type_.width if isinstance(type_, Vector) else node

    def do_assign(self, s: ir.Assign) -> None:
        self.env[s.var] = self.expr(s.value)

    def do_call(self, s: ir.Call) -> None:
        function = self.module.functions[s.function]
        values = [self.expr(a) for a in s.args]
        saved = self.frame, self.jumps
        self.frame, self.jumps = object(), []
        self.assigned = {}  # keys of jump values differ by frame
        self._enter(function)
        for parameter, value in zip(function.parameters, values, strict=True):
            self.env[parameter.var] = value
        frame = self.frame
        if function.result != VOID:
            self.env["value", frame] = self.undefined(function.result)
        self.lower_block(function.body)
        result = self.env.pop(("value", frame), None)
        self.env.pop(("ret", frame), None)
        self.frame, self.jumps = saved
        self.assigned = {}
        self._forget_variables(function)
        if s.result is not None:
            self.env[s.result] = self.undefined(s.result.type) if result is None else result

    def _forget_variables(self, function: ir.Function) -> None:
        for parameter in function.parameters:
            self.env.pop(parameter.var, None)
        for x in statements(function.body):
            if isinstance(x, ir.Declare):
                for key in self.keys_of(x.what):
                    self.env.pop(key, None)

    def do_barrier(self, s: ir.Barrier) -> None:
        if not s.fence_only:
            self.emit(BarrierItem(s.loc))

    def do_printf(self, s: ir.Printf) -> None:
        from clsim.vm.printf import parse

        args: list[str | tuple[Node, ...]] = []
        for a in s.args:
            if isinstance(a, bytes):
                args.append(a.decode("latin-1"))
                continue
            value = self.expr(a)
            if isinstance(value, Ptr):
                args.append((self.address(value),))
            else:
                args.append(value if isinstance(value, tuple) else (value,))
        self.emit(PrintItem(parse(s.template), tuple(args)))

    def emit(self, item: Item) -> None:
        self.block.items.append(item)

    # ------------------------------------------------------------ given by the classes built on this

    def expr(self, e: ir.Expr) -> Value:
        raise NotImplementedError

    def scalar(self, e: ir.Expr) -> Node:
        raise NotImplementedError

    def address(self, value: Value) -> Node:
        raise NotImplementedError

    def forget_loads(self) -> None:
        """What was read from memory may have changed from here on."""
        self.versions += 1
        for seg in self.segs:
            seg.version = self.versions
