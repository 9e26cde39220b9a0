"""What a program does to its arguments' memory, whether it meets barriers, and recursion.

The data flow is insensitive to order: each pointer register has a set of roots, the parameters it may come
from. A pointer that is stored makes its roots those of every pointer that is loaded; a pointer made from an
integer may be any of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from clsim.clc import ir
from clsim.clc.diagnostics import Diagnostics
from clsim.clc.estimate import estimate
from clsim.clc.types import Pointer
from clsim.clc.walk import expressions, statements, subexpressions


@dataclass(slots=True)
class _Summary:
    """What a function does with the memory behind its parameters, by their indices."""

    reads: set[int] = field(default_factory=set)
    writes: set[int] = field(default_factory=set)
    returns: set[int] = field(default_factory=set)
    escapes: set[int] = field(default_factory=set)
    barrier: bool = False


def analyse(functions: dict[str, ir.Function], order: list[str]) -> None:
    """Fill in `may_read`, `may_write`, `uses_barrier` and the estimates. `order`: callees before callers."""
    summaries: dict[str, _Summary] = {}
    costs: dict[str, tuple[int, int]] = {}
    for name in order:
        function = functions[name]
        summary = _Flow(function, summaries).run()
        summaries[name] = summary
        function.uses_barrier = summary.barrier
        for k, parameter in enumerate(function.parameters):
            if parameter.record is None and isinstance(parameter.var.type, Pointer):
                parameter.may_read = k in summary.reads
                parameter.may_write = k in summary.writes
        costs[name] = function.operations, function.bytes_moved = estimate(function, costs)


def call_order(
    functions: dict[str, ir.Function], diagnostics: Diagnostics, positions: dict[str, int]
) -> list[str]:
    """Names, callees first. Recursion is an error."""
    callees: dict[str, list[str]] = {}
    for name, function in functions.items():
        called = (s.function for s in statements(function.body) if isinstance(s, ir.Call))
        callees[name] = [callee for callee in dict.fromkeys(called) if callee in functions]
    order: list[str] = []
    state: dict[str, int] = {}
    for root in functions:
        stack = [(root, iter(callees[root]))] if root not in state else []
        if stack:
            state[root] = 1
        while stack:
            name, rest = stack[-1]
            for callee in rest:
                if state.get(callee) == 1:
                    diagnostics.error(
                        positions[callee], f"recursion is not allowed in OpenCL C ('{callee}' calls itself)"
                    )
                    state[callee] = 2
                elif callee not in state:
                    state[callee] = 1
                    stack.append((callee, iter(callees[callee])))
                    break
            else:
                stack.pop()
                state[name] = 2
                order.append(name)
    return order


class _Flow:
    """The data flow of one function."""

    def __init__(self, function: ir.Function, summaries: dict[str, _Summary]) -> None:
        self.function = function
        self.summaries = summaries
        self.pointers = {k for k, p in enumerate(function.parameters) if isinstance(p.var.type, Pointer)}
        self.roots: dict[ir.Var, set[int]] = {
            p.var: {k} for k, p in enumerate(function.parameters) if k in self.pointers
        }
        self.summary = _Summary()
        self.changed = True

    def run(self) -> _Summary:
        body = list(statements(self.function.body))
        moving = [s for s in body if self.moves_pointer(s)]
        while self.changed:
            self.changed = False
            for statement in moving:
                self.move(statement)
        for statement in body:
            self.touch(statement)
        return self.summary

    def moves_pointer(self, statement: ir.Statement) -> bool:
        if isinstance(statement, (ir.Assign, ir.Store)):
            return isinstance(statement.value.type, Pointer)
        if isinstance(statement, ir.Return):
            return statement.value is not None and isinstance(statement.value.type, Pointer)
        return isinstance(statement, (ir.Call, ir.CopyMemory))

    def move(self, statement: ir.Statement) -> None:
        if isinstance(statement, ir.Assign):
            self.grow(self.roots.setdefault(statement.var, set()), self.of(statement.value))
        elif isinstance(statement, ir.Store):
            self.grow(self.summary.escapes, self.of(statement.value))
        elif isinstance(statement, ir.Return) and statement.value is not None:
            self.grow(self.summary.returns, self.of(statement.value))
        elif isinstance(statement, ir.Call):
            callee = self.summaries.get(statement.function)
            if callee is None:
                return
            self.grow(self.summary.escapes, self.mapped(callee.escapes, statement))
            if statement.result is not None and isinstance(statement.result.type, Pointer):
                roots = self.roots.setdefault(statement.result, set())
                self.grow(roots, self.mapped(callee.returns, statement))

    def grow(self, into: set[int], more: set[int]) -> None:
        if not more <= into:
            into |= more
            self.changed = True

    def mapped(self, indices: set[int], call: ir.Call) -> set[int]:
        out: set[int] = set()
        for k in indices:
            if k < len(call.args):
                out |= self.of(call.args[k])
        return out

    def of(self, value: ir.Expr) -> set[int]:
        """The parameters that a pointer may come from."""
        match value:
            case ir.Read():
                return self.roots.get(value.var, set())
            case ir.Offset():
                return self.of(value.pointer)
            case ir.Cond():
                return self.of(value.a) | self.of(value.b)
            case ir.Bitcast():
                return self.of(value.a) if isinstance(value.a.type, Pointer) else self.pointers
            case ir.Load():
                return self.summary.escapes
            case ir.Convert():
                return self.pointers
        return set()

    def touch(self, statement: ir.Statement) -> None:
        """Note what a statement reads and writes."""
        for value in expressions(statement):
            self.loads(value)
        summary = self.summary
        match statement:
            case ir.Store():
                summary.writes |= self.of(statement.pointer)
            case ir.CopyMemory():
                summary.reads |= self.of(statement.source)
                summary.writes |= self.of(statement.target)
            case ir.FillMemory():
                summary.writes |= self.of(statement.target)
            case ir.Atomic():
                touched = self.of(statement.pointer)
                summary.reads |= touched
                summary.writes |= touched
            case ir.BuiltinCall():
                summary.writes |= self.of(statement.args[-1])
            case ir.Printf():
                for argument in statement.args:
                    if not isinstance(argument, bytes) and isinstance(argument.type, Pointer):
                        summary.reads |= self.of(argument)
            case ir.Barrier():
                summary.barrier = summary.barrier or not statement.fence_only
            case ir.Call():
                callee = self.summaries.get(statement.function)
                if callee is not None:
                    summary.reads |= self.mapped(callee.reads, statement)
                    summary.writes |= self.mapped(callee.writes, statement)
                    summary.barrier = summary.barrier or callee.barrier

    def loads(self, value: ir.Expr) -> None:
        for item in subexpressions(value):
            if isinstance(item, ir.Load):
                self.summary.reads |= self.of(item.pointer)
