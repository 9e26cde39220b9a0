"""What is known of a kernel before code is generated: which registers vary, how private arrays are used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from clsim.clc import ir
from clsim.clc.types import Array, Pointer, Scalar, Space, Type, Vector
from clsim.vm import builtins

_VARYING_IDS = frozenset(
    ["get_global_id", "get_local_id", "get_group_id", "get_global_linear_id", "get_local_linear_id"]
)


class Unsupported(Exception):
    """The lockstep tier does not run this kernel; the text says why."""


def expressions(root: object) -> Iterator[ir.Expr]:
    """The expression, and all below it; of a statement, those it evaluates itself."""
    stack = [root]
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, tuple):
            stack.extend(node)
        elif is_dataclass(node) and type(node).__module__ == ir.__name__:
            if isinstance(node, ir.Loc | ir.Var | ir.Memory):
                continue
            if not isinstance(node, STATEMENTS):
                yield node  # type: ignore[misc]
            elif node is not root:
                continue
            stack.extend(getattr(node, f.name) for f in fields(node) if f.name not in _BLOCKS)


STATEMENTS = (
    ir.Declare, ir.Assign, ir.Store, ir.CopyMemory, ir.FillMemory, ir.Call, ir.BuiltinCall, ir.Atomic,
    ir.Barrier, ir.Printf, ir.If, ir.Loop, ir.Switch, ir.Break, ir.Continue, ir.Return,
)  # fmt: skip
_BLOCKS = frozenset(["then", "otherwise", "before", "body", "after", "cases"])


def blocks_of(s: ir.Statement) -> tuple[ir.Block, ...]:
    """The blocks inside a statement."""
    if isinstance(s, ir.If):
        return s.then, s.otherwise
    if isinstance(s, ir.Loop):
        return s.before, s.body, s.after
    if isinstance(s, ir.Switch):
        return tuple(body for _, body in s.cases)
    return ()


def statements(block: ir.Block) -> Iterator[ir.Statement]:
    """All statements of a block, those inside others too."""
    for s in block:
        yield s
        for inner in blocks_of(s):
            yield from statements(inner)


def may_jump(block: ir.Block, *, out_of_loop: bool) -> bool:
    """Whether a break, continue or return in the block can leave it.

    With `out_of_loop` the block is a loop's body: breaks and continues of its own do not count.
    """
    for s in block:
        if isinstance(s, ir.Return):
            return True
        if isinstance(s, ir.Break | ir.Continue) and not out_of_loop:
            return True
        inner_loop = out_of_loop or isinstance(s, ir.Loop)
        if any(may_jump(b, out_of_loop=inner_loop) for b in blocks_of(s)):
            return True
    return False


def _leaves_switch(block: ir.Block) -> bool:
    """Whether a continue or return in a case leaves the switch, too."""
    for s in block:
        if isinstance(s, ir.Return | ir.Continue):
            return True
        inner = [] if isinstance(s, ir.Loop) else list(blocks_of(s))
        if any(_leaves_switch(b) for b in inner) or (
            isinstance(s, ir.Loop) and may_jump((s,), out_of_loop=False)
        ):
            return True
    return False


class Analysis:
    """Facts of a kernel and the functions it calls.

    `varying` holds the registers that may differ between work-items; `assigned_once` those whose only
    assignment is their first value; `slots` the private arrays kept as one register an element.
    """

    def __init__(self, module: ir.Module, kernel: ir.Function) -> None:
        self.module = module
        self.varying: set[ir.Var] = set()
        self.varying_memories: set[ir.Memory] = set()
        self.divergent: set[str] = set()
        """Functions that are called, or that return, in divergent flow."""
        self.returns_varying: set[str] = set()
        self._divergent_loops: set[ir.Loop] = set()
        self.functions = list(self._reachable(kernel))
        self.assignments: dict[ir.Var, int] = {}
        for function in self.functions:
            for s in statements(function.body):
                target = getattr(s, "var", None) if isinstance(s, ir.Assign) else getattr(s, "result", None)
                if target is not None:
                    self.assignments[target] = self.assignments.get(target, 0) + 1
        self._settle()
        self.positive = self._positive_registers()
        self.slots = self._slot_memories()

    def _reachable(self, kernel: ir.Function) -> Iterator[ir.Function]:
        seen, stack = set(), [kernel]
        while stack:
            function = stack.pop()
            if function.name in seen:
                continue
            seen.add(function.name)
            yield function
            for s in statements(function.body):
                if isinstance(s, ir.Call):
                    stack.append(self.module.functions[s.function])

    # ------------------------------------------------------------ divergence

    def _settle(self) -> None:
        """Repeats until nothing new varies."""
        while True:
            before = self._known()
            for function in self.functions:
                self._visit(function.body, function, function.name in self.divergent)
            if before == self._known():
                return

    def _known(self) -> tuple[int, ...]:
        return (
            len(self.varying),
            len(self.varying_memories),
            len(self.divergent),
            len(self.returns_varying),
            len(self._divergent_loops),
        )

    def _visit(self, block: ir.Block, function: ir.Function, divergent: bool) -> bool:
        """Marks what varies; returns whether flow after the block is divergent."""
        for s in block:
            if isinstance(s, ir.Assign):
                if divergent or self.is_varying(s.value):
                    self.varying.add(s.var)
            elif isinstance(s, ir.Store | ir.CopyMemory | ir.FillMemory):
                self._visit_store(s, divergent)
            elif isinstance(s, ir.Call):
                divergent = self._visit_call(s, divergent) or divergent
            elif isinstance(s, ir.BuiltinCall | ir.Atomic):
                if isinstance(s, ir.BuiltinCall):
                    self._mark_target(s.args[-1])
                if s.result is not None:
                    self.varying.add(s.result)
            elif isinstance(s, ir.Return):
                if divergent:
                    self.divergent.add(function.name)
                if divergent or (s.value is not None and self.is_varying(s.value)):
                    self.returns_varying.add(function.name)
            elif isinstance(s, ir.If):
                inside = divergent or self.is_varying(s.test)
                ends = [self._visit(b, function, inside) for b in (s.then, s.otherwise)]
                if inside and (
                    may_jump(s.then, out_of_loop=False) or may_jump(s.otherwise, out_of_loop=False)
                ):
                    divergent = True
                divergent = divergent or (any(ends) and not inside)
            elif isinstance(s, ir.Loop):
                divergent = self._visit_loop(s, function, divergent) or divergent
            elif isinstance(s, ir.Switch):
                # Always under masks: each case's, and those that fall through.
                for _, body in s.cases:
                    self._visit(body, function, True)
                divergent = divergent or any(_leaves_switch(b) for _, b in s.cases)
        return divergent

    def _visit_loop(self, s: ir.Loop, function: ir.Function, divergent: bool) -> bool:
        inside = self.loop_is_divergent(s, divergent)
        for _ in range(2):
            for block in (s.before, s.body, s.after):
                inside = self._visit(block, function, inside) or inside
            inside = inside or self.loop_is_divergent(s, divergent)
        if inside and not divergent:
            self._divergent_loops.add(s)
        return inside and (may_jump(s.body, out_of_loop=True) or may_jump(s.before, out_of_loop=True))

    def loop_is_divergent(self, s: ir.Loop, divergent: bool) -> bool:
        """Whether work-items may leave the loop, or go around in it, at different passes."""
        if divergent or s in self._divergent_loops:
            return True
        return s.test is not None and self.is_varying(s.test)

    def _visit_call(self, s: ir.Call, divergent: bool) -> bool:
        function = self.module.functions[s.function]
        if divergent:
            self.divergent.add(s.function)
        for parameter, argument in zip(function.parameters, s.args, strict=True):
            if divergent or self.is_varying(argument):
                self.varying.add(parameter.var)
        if s.result is not None and (divergent or s.function in self.returns_varying):
            self.varying.add(s.result)
        return False

    def _visit_store(self, s: ir.Store | ir.CopyMemory | ir.FillMemory, divergent: bool) -> None:
        if isinstance(s, ir.Store):
            varies = divergent or self.is_varying(s.value) or self.is_varying(s.pointer)
            self._mark_target(s.pointer, varies)
        else:
            self._mark_target(s.target)

    def _mark_target(self, pointer: ir.Expr, varies: bool = True) -> None:
        if varies:
            for e in expressions(pointer):
                if isinstance(e, ir.Address):
                    self.varying_memories.add(e.memory)

    def is_varying(self, e: ir.Expr) -> bool:
        """Whether the expression's value may differ between work-items."""
        for node in expressions(e):
            if isinstance(node, ir.Read) and node.var in self.varying:
                return True
            if isinstance(node, ir.Builtin) and node.name in _VARYING_IDS:
                return True
            if isinstance(node, ir.Load):
                return True
            if isinstance(node, ir.Builtin) and not builtins.is_known(node.name):
                raise Unsupported(f"the built-in {node.name}")
        return False

    # ------------------------------------------------------------ signs

    def _positive_registers(self) -> set[ir.Var]:
        """Integer registers that never hold less than zero, if no arithmetic overflows.

        All are taken to be so at first; one that is assigned anything else falls out, until none does.
        """
        values: dict[ir.Var, list[ir.Expr]] = {}
        others: set[ir.Var] = set()
        for function in self.functions:
            for parameter in function.parameters:
                others.add(parameter.var)
            for s in statements(function.body):
                if isinstance(s, ir.Assign):
                    values.setdefault(s.var, []).append(s.value)
                elif (result := getattr(s, "result", None)) is not None:
                    others.add(result)
        found = {v for v in values if v not in others and isinstance(v.type, Scalar) and v.type.is_integer}
        while True:
            kept = {v for v in found if all(_is_positive(e, found) for e in values[v])}
            if kept == found:
                return found
            found = kept

    # ------------------------------------------------------------ private arrays

    def _slot_memories(self) -> dict[ir.Memory, Scalar | Vector]:
        """Private objects that are only ever read and written element by element, with that element."""
        element: dict[ir.Memory, Scalar | Vector] = {}
        refused: set[ir.Memory] = set()
        for function in self.functions:
            for memory in function.memories:
                scalar = _element_of(memory.type)
                if memory.space is Space.PRIVATE and scalar is not None and memory.initial is None:
                    element[memory] = scalar
            for s in statements(function.body):
                allowed: set[int] = set()
                if isinstance(s, ir.FillMemory):
                    allowed.update(self._direct(s.target, element, None))
                if isinstance(s, ir.Store):
                    allowed.update(self._direct(s.pointer, element, s.value.type))
                if isinstance(s, ir.BuiltinCall) and isinstance(s.args[-1].type, Pointer):
                    allowed.update(self._direct(s.args[-1], element, s.args[-1].type.pointee))
                for e in expressions(s):
                    if isinstance(e, ir.Load):
                        allowed.update(self._direct(e.pointer, element, e.type))
                for e in expressions(s):
                    if isinstance(e, ir.Address) and id(e) not in allowed:
                        refused.add(e.memory)
        return {m: t for m, t in element.items() if m not in refused}

    def _direct(
        self, pointer: ir.Expr, element: dict[ir.Memory, Scalar | Vector], type_: Type | None
    ) -> set[int]:
        """The address below offsets, if the access fits the object's elements."""
        while isinstance(pointer, ir.Offset | ir.Bitcast):
            if isinstance(pointer, ir.Offset):
                pointer = pointer.pointer
            else:
                pointer = pointer.a
        if not isinstance(pointer, ir.Address) or pointer.memory not in element:
            return set()
        if type_ is not None and type_ != element[pointer.memory]:
            return set()
        return {id(pointer)}


def _is_positive(e: ir.Expr, positive: set[ir.Var]) -> bool:
    if isinstance(e, ir.Const):
        return e.value >= 0
    if isinstance(e, ir.Read):
        return e.var in positive
    if isinstance(e, ir.Builtin):
        return e.name in builtins.WORK_ITEM
    if isinstance(e, ir.Convert):
        return _is_integer(e.a.type) and (_is_unsigned(e.a.type) or _is_positive(e.a, positive))
    if isinstance(e, ir.Binary):
        a = _is_positive(e.a, positive)
        if e.op == "rem":
            return a
        b = _is_positive(e.b, positive)
        return (a or b) if e.op == "and" else (a and b and e.op in ("add", "mul", "div", "shr", "or"))
    return isinstance(e, ir.Compare)


def _is_integer(type_: Type) -> bool:
    return isinstance(type_, Scalar) and type_.is_integer


def _is_unsigned(type_: Type) -> bool:
    return isinstance(type_, Scalar) and not type_.is_signed and type_.size < 8


def _element_of(type_: Type) -> Scalar | Vector | None:
    while isinstance(type_, Array):
        type_ = type_.elem
    return type_ if isinstance(type_, Scalar | Vector) else None
