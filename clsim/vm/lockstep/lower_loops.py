"""Lowers loops: what they carry from pass to pass, and what is known of their counters."""

from __future__ import annotations

from typing import Any

from clsim.clc import ir
from clsim.clc.types import Pointer
from clsim.clc.walk import statements
from clsim.vm.lockstep.graph import Loop, Node, Ptr, Value
from clsim.vm.lockstep.lower import Lowering
from clsim.vm.lockstep.promote import place_of


class DynamicPointer(Exception):
    """A pointer that a loop changes leads elsewhere than assumed: lower again, knowing better.

    `seg` is the index of the object to assume, None where only an address will do.
    """

    def __init__(self, key: tuple[object, object], seg: int | None) -> None:
        self.key = key
        self.seg = seg


class LoopLowering(Lowering):
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
        ret = ("ret", self.frame)
        ret_before = self.flag(ret)
        self.env[ret] = false
        if s.test_first:
            self.lower_block(s.before)
            loop.test = None if s.test is None else self.scalar(s.test)
        after_head = {key: self.env.get(key) for key in carried}
        self.block = loop.body
        self.jumps.append(("loop", target))
        self.lower_block(s.body)
        again = self._after_body(s, flags)
        if not s.test_first and s.test is not None:
            again = self._last_test(s, again)
        self.jumps.pop()
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
        result = self.flag(key)
        del self.env[key]
        return result

    def _after_body(self, s: ir.Loop, flags: list[Any]) -> Node:
        """Run the loop's step where the body was not left, and tell where another pass follows."""
        self.env[flags[1]] = self.b.const("?", False)
        again = self.live()
        self.branch(again, lambda: self.lower_block(s.after))
        return self.live()

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
        found = self.assigned.get(s)
        if found is not None:
            return found
        found, inside = set(), set()
        for block in (s.before, s.body, s.after):
            for x in statements(block):
                if isinstance(x, ir.Declare):
                    inside.update(self.keys_of(x.what))
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
                    found.add(("value", self.frame))
        self.assigned[s] = found - inside
        return self.assigned[s]

    def _elements(self, pointer: ir.Expr, size: int) -> list[Any]:
        place = place_of(pointer)
        if place is None or place[0] not in self.promoted:
            return []
        memory, start = place
        return [(memory, at) for at, _ in self.promoted[memory].within(start, size)]
