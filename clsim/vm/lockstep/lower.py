"""Lowers a kernel's statements to the graph: control flow to a tree, variables to single assignments.

`break`, `continue` and `return` become bool values; what follows them runs under an `If` on those. Calls
are inlined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from clsim.clc import ir
from clsim.clc.types import VOID, Pointer, Space, Type, Vector
from clsim.vm.dtypes import code_of, width_of
from clsim.vm.lockstep.build import Builder
from clsim.vm.lockstep.graph import (
    BarrierItem,
    Block,
    Graph,
    If,
    Item,
    Loop,
    Node,
    Place,
    PrintItem,
    Ptr,
    Seg,
    Value,
)
from clsim.vm.lockstep.promote import Promoted, place_of, promotable
from clsim.vm.walk import statements

if TYPE_CHECKING:
    from clsim.vm.lockstep.variant import Variant

Key: TypeAlias = "ir.Var | tuple[ir.Memory, int] | tuple[str, object]"
"""What the environment holds values of: registers, elements of promoted objects, and jump flags."""


class DynamicPointer(Exception):
    """A pointer that a loop changes leads elsewhere than assumed: lower again, knowing better.

    `seg` is the index of the object to assume, None where only an address will do.
    """

    def __init__(self, key: tuple[object, object], seg: int | None) -> None:
        self.key = key
        self.seg = seg


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
        self._assigned: dict[ir.Loop, set[Any]] = {}
        self._jumps: list[tuple[str, object]] = []
        """Targets of jumps inside the function being lowered, innermost last: kind and identity."""
        self._frame: object = None

    # ------------------------------------------------------------ whole kernels

    def run(self) -> Graph:
        for k, parameter in enumerate(self.kernel.parameters):
            self.env[parameter.var] = self._parameter(k, parameter)
        for constant in self.module.constants:
            self.by_memory[constant] = self.new_seg(
                "const", constant.name, Space.CONSTANT, constant.size, constant
            )
        self._enter(self.kernel)
        self._frame = object()
        self.env["ret", self._frame] = self.b.const("?", False)
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
                live = self._live()
                if live.op == "const":
                    if not live.attr:
                        return
                    continue
                rest = block[at + 1 :]
                if rest:
                    self.branch(live, lambda rest=rest: self.lower_block(rest))
                return

    def _live(self) -> Node:
        """True where no jump is under way."""
        dead = self._flag(("ret", self._frame))
        for kind, target in self._jumps[::-1]:
            dead = self.b.lor(dead, self._flag(("brk", target)))
            if kind == "loop":
                dead = self.b.lor(dead, self._flag(("cnt", target)))
                break
        return self.b.lnot(dead)

    def _flag(self, key: Any) -> Node:
        value = self.env.get(key)
        if value is None:
            return self.b.const("?", False)
        assert isinstance(value, Node)
        return value

    def do_break(self, s: ir.Break) -> None:
        self.env["brk", self._jumps[-1][1]] = self.b.const("?", True)

    def do_continue(self, s: ir.Continue) -> None:
        for kind, target in reversed(self._jumps):
            # A switch on the way is left too.
            self.env["cnt" if kind == "loop" else "brk", target] = self.b.const("?", True)
            if kind == "loop":
                return

    def do_return(self, s: ir.Return) -> None:
        if s.value is not None:
            self.env["value", self._frame] = self.expr(s.value)
        self.env["ret", self._frame] = self.b.const("?", True)

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
        self._jumps.append(("switch", target))
        for match, (_, body) in zip(matches, s.cases, strict=True):
            entered = self.b.lor(falling, self.b.lnot(any_match) if match is None else match)
            entered = self.b.land(entered, self._live_around_switch())
            self.env[flag] = self.b.const("?", False)
            self.branch(entered, lambda body=body: self.lower_block(body))
            falling = self.b.land(entered, self.b.lnot(self._flag(flag)))
        self._jumps.pop()
        self.env.pop(flag, None)

    def _live_around_switch(self) -> Node:
        """True where neither `return` nor `continue` left the switch."""
        inner = self._jumps.pop()
        live = self._live()
        self._jumps.append(inner)
        return live

    # ------------------------------------------------------------ loops

    def do_loop(self, s: ir.Loop) -> None:
        loop = Loop(self.block, s.loc)
        outer, target = self.block, object()
        carried = [key for key in self._assigned_in(s) if key in self.env]
        firsts = {key: self.env[key] for key in carried}
        bound = self._counter_bound(s)
        heads = {key: self._head_phi(loop, s, key, firsts[key], bound) for key in carried}
        self.env.update(heads)
        self.forget_loads()
        false = self.b.const("?", False)
        flags = [("brk", target), ("cnt", target)]
        self.block = loop.head
        for flag in flags:
            self.env[flag] = false
        ret = ("ret", self._frame)
        ret_before = self._flag(ret)
        self.env[ret] = false
        if s.test_first:
            self.lower_block(s.before)
            loop.test = None if s.test is None else self.scalar(s.test)
        after_head = {key: self.env.get(key) for key in carried}
        self.block = loop.body
        self._jumps.append(("loop", target))
        self.lower_block(s.body)
        again = self._after_body(s, flags)
        if not s.test_first and s.test is not None:
            again = self._last_test(s, again)
        self._jumps.pop()
        loop.again = again
        ends = self.env
        self.block = outer
        outer.items.append(loop)
        for key in carried:
            self._close(loop, s, key, firsts[key], heads[key], after_head[key], ends.get(key))
        returned = self._flag_after(loop, ends[ret])
        for flag in flags:
            self.env.pop(flag, None)
        self.env[ret] = self.b.lor(ret_before, returned)
        self.forget_loads()

    def _last_test(self, s: ir.Loop, again: Node) -> Node:
        """The test of a do-while, in the lanes that did not leave the body."""
        key = ("test", s)
        self.env[key] = self.b.const("?", False)

        def run() -> None:
            self.lower_block(s.before)
            assert s.test is not None
            self.env[key] = self.scalar(s.test)

        self.branch(again, run)
        result = self._flag(key)
        del self.env[key]
        return result

    def _after_body(self, s: ir.Loop, flags: list[Any]) -> Node:
        """Run the loop's step where the body was not left, and tell where another pass follows."""
        self.env[flags[1]] = self.b.const("?", False)
        again = self._live()
        self.branch(again, lambda: self.lower_block(s.after))
        return self._live()

    def _flag_after(self, loop: Loop, ended: Value) -> Node:
        assert isinstance(ended, Node)
        false = self.b.const("?", False)
        if ended is false:
            return false
        out = self.b.pin(self.block, "out", "?", (false, ended), loop)
        loop.outs.append(out)
        return out

    def _counter_bound(self, s: ir.Loop) -> tuple[Any, int, Node] | None:
        """(variable, step, bound) of `for (...; v < bound; v += step)` with a constant step."""
        if not s.test_first or s.before or not isinstance(s.test, ir.Compare) or len(s.after) != 1:
            return None
        test, step = s.test, s.after[0]
        if test.op not in ("lt", "le") or not isinstance(test.a, ir.Read) or not isinstance(step, ir.Assign):
            return None
        var, value = test.a.var, step.value
        if step.var is not var or not isinstance(value, ir.Binary) or value.op != "add":
            return None
        if not isinstance(value.a, ir.Read) or value.a.var is not var or not isinstance(value.b, ir.Const):
            return None
        amount = value.b.value
        if not isinstance(amount, int) or amount <= 0 or self._assigns_twice(s, var):
            return None
        if not isinstance(test.b, (ir.Const, ir.Read)):
            return None
        if isinstance(test.b, ir.Read) and test.b.var in self._assigned_in(s):
            return None
        bound = self.scalar(test.b)
        extra = amount if test.op == "le" else amount - 1
        return var, extra, bound

    def _assigns_twice(self, s: ir.Loop, var: ir.Var) -> bool:
        return any(
            getattr(x, "var", None) is var or getattr(x, "result", None) is var for x in statements(s.body)
        )

    def _head_phi(self, loop: Loop, s: ir.Loop, key: Any, first: Value, bound: Any) -> Value:
        def phi(node: Node) -> Node:
            new = self.b.pin(loop.head, "loop", node.code, (node, node), loop)
            loop.phis.append(new)
            return new

        if isinstance(first, tuple):
            return tuple(phi(n) for n in first)
        if isinstance(first, Ptr):
            assumed = self.dynamic.get((s, key), -1)
            if assumed is None:
                return Ptr(None, phi(self.address(first)))
            return Ptr(first.seg if assumed < 0 else self.segs[assumed], phi(first.off))
        new = phi(first)
        if bound is not None and bound[0] is key:
            low = self.b.bounds(first)[0]
            high = max(self.b.bounds(first)[1], self.b.bounds(bound[2])[1] + bound[1])
            self.b._bound(new, low, high)
        return new

    def _close(
        self, loop: Loop, s: ir.Loop, key: Any, first: Value, head: Value, middle: Any, end: Any
    ) -> None:
        """Tie a carried variable's end to its start, and give it its value after the loop."""
        end = head if end is None else end
        middle = head if middle is None else middle
        if isinstance(head, Ptr):
            assert isinstance(first, Ptr)
            self._check_pointer((s, key), first, head, middle, end)
            nodes = [p.off if head.seg is not None else self.address(p) for p in (first, middle, end)]
            self.env[key] = Ptr(head.seg, self._close_node(loop, nodes[0], head.off, nodes[1], nodes[2]))
        elif isinstance(head, tuple):
            assert isinstance(first, tuple)
            self.env[key] = tuple(
                self._close_node(loop, f, h, m, e)
                for f, h, m, e in zip(first, head, middle, end, strict=True)
            )
        else:
            assert isinstance(first, Node)
            self.env[key] = self._close_node(loop, first, head, middle, end)

    def _check_pointer(self, where: Any, first: Ptr, head: Ptr, middle: Ptr, end: Ptr) -> None:
        """Whether what was assumed of a pointer at the loop's start holds at its end."""
        if head.seg is None or (middle.seg is head.seg and end.seg is head.seg):
            return
        if first.off.op == "undef" and where not in self.dynamic and end.seg is not None:
            raise DynamicPointer(where, end.seg.index)
        raise DynamicPointer(where, None)

    def _close_node(self, loop: Loop, first: Node, head: Node, middle: Node, end: Node) -> Node:
        head.args = (first, end)
        if end is head and middle is head:
            return first
        args = (first, end) if middle is head else (first, end, middle)
        out = self.b.pin(self.block, "out", head.code, args, loop)
        out.lo, out.hi = head.lo, head.hi
        loop.outs.append(out)
        return out

    def _assigned_in(self, s: ir.Loop) -> set[Any]:
        """Variables and promoted elements that a loop may assign, but those that live only inside it."""
        found = self._assigned.get(s)
        if found is not None:
            return found
        found, inside = set(), set()
        for block in (s.before, s.body, s.after):
            for x in statements(block):
                if isinstance(x, ir.Declare):
                    inside.update(self._keys_of(x.what))
                elif isinstance(x, ir.Assign):
                    found.add(x.var)
                elif isinstance(x, (ir.Call, ir.Atomic, ir.BuiltinCall)):
                    if x.result is not None:
                        found.add(x.result)
                    if isinstance(x, ir.BuiltinCall):
                        pointee = x.args[-1].type
                        assert isinstance(pointee, Pointer)
                        found.update(self._elements(x.args[-1], pointee.pointee.size))
                elif isinstance(x, ir.Store):
                    found.update(self._elements(x.pointer, x.value.type.size))
                elif isinstance(x, (ir.CopyMemory, ir.FillMemory)):
                    found.update(self._elements(x.target, x.size))
                elif isinstance(x, ir.Return) and x.value is not None:
                    found.add(("value", self._frame))
        self._assigned[s] = found - inside
        return self._assigned[s]

    def _keys_of(self, what: ir.Var | ir.Memory) -> list[Any]:
        if isinstance(what, ir.Var):
            return [what]
        layout = self.promoted.get(what)
        return [(what, at) for at in layout.elements] if layout else []

    def _elements(self, pointer: ir.Expr, size: int) -> list[Any]:
        place = place_of(pointer)
        if place is None or place[0] not in self.promoted:
            return []
        memory, start = place
        return [(memory, at) for at, _ in self.promoted[memory].within(start, size)]

    # ------------------------------------------------------------ simple statements

    def do_declare(self, s: ir.Declare) -> None:
        for key in self._keys_of(s.what):
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
        saved = self._frame, self._jumps
        self._frame, self._jumps = object(), []
        self._assigned = {}  # keys of jump values differ by frame
        self._enter(function)
        for parameter, value in zip(function.parameters, values, strict=True):
            self.env[parameter.var] = value
        frame = self._frame
        if function.result != VOID:
            self.env["value", frame] = self.undefined(function.result)
        self.lower_block(function.body)
        result = self.env.pop(("value", frame), None)
        self.env.pop(("ret", frame), None)
        self._frame, self._jumps = saved
        self._assigned = {}
        self._forget_variables(function)
        if s.result is not None:
            self.env[s.result] = self.undefined(s.result.type) if result is None else result

    def _forget_variables(self, function: ir.Function) -> None:
        for parameter in function.parameters:
            self.env.pop(parameter.var, None)
        for x in statements(function.body):
            if isinstance(x, ir.Declare):
                for key in self._keys_of(x.what):
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
