"""What `prepare` finds out about a kernel: whether the machine runs it, and on which tier."""

from __future__ import annotations

from enum import Enum

from clsim.clc import ir
from clsim.clc.types import Opaque, Pointer, Record, Scalar, Vector
from clsim.clc.walk import blocks, called_functions, expressions, statements, subexpressions
from clsim.vm import builtins
from clsim.vm.errors import NotSupported

_LARGEST_COPY = 1 << 15
_DEEPEST_CALLS = 48
_DEEPEST_BLOCKS = 60
_DEEPEST_LOOPS = 16
"""Python takes blocks nested 100 deep and loops nested 20 deep."""


def check_supported(module: ir.Module, kernel: ir.Function) -> None:
    """Raise `NotSupported` for the first thing that no tier runs."""
    for parameter in kernel.parameters:
        if parameter.record is None and not isinstance(parameter.var.type, (Scalar, Vector, Pointer, Record)):
            raise NotSupported(kernel.name, f"a parameter of type {parameter.var.type}", kernel.loc)
    alone = Shape(None)
    for function in called_functions(module, kernel):
        if alone.blocks(function) > _DEEPEST_BLOCKS or alone.loops(function) > _DEEPEST_LOOPS:
            what = f"a function that nests more than {_DEEPEST_BLOCKS} blocks or {_DEEPEST_LOOPS} loops"
            raise NotSupported(kernel.name, what, function.loc)
        for s in statements(function.body):
            if isinstance(s, ir.Call) and s.function not in module.functions:
                raise NotSupported(kernel.name, f"the function {s.function}", s.loc)
            if isinstance(s, ir.BuiltinCall) and builtins.storing(s.name) is None:
                raise NotSupported(kernel.name, f"the built-in {s.name}", s.loc)
            for e in expressions(s):
                _check_expression(kernel, e)


def _check_expression(kernel: ir.Function, e: ir.Expr) -> None:
    for inner in subexpressions(e):
        if isinstance(inner, ir.Builtin) and not builtins.is_known(inner.name):
            raise NotSupported(kernel.name, f"the built-in {inner.name}", inner.loc)
        if isinstance(inner.type, Opaque):
            raise NotSupported(kernel.name, f"a value of type {inner.type}")


class Progress(Enum):
    """How a kernel's work-items may be moved so that all of them end."""

    TOGETHER = "together"
    RETRYING = "retrying"
    """In lockstep, few at a time: a compare-and-swap loop lets one item an address through each pass."""
    IN_TURN = "in turn"
    """One after another: items may wait for each other (a lock), or the code would grow too large."""


def progress_of(module: ir.Module, kernel: ir.Function) -> Progress:
    """What the loops with atomic operations in a kernel ask for."""
    functions = called_functions(module, kernel)
    for wanted in (Progress.IN_TURN, Progress.RETRYING):
        names = _functions_that(wanted, functions)
        for function in functions:
            for s in statements(function.body):
                if isinstance(s, ir.Loop) and any(_asks(i, wanted, names) for i in _all_inside(s)):
                    return wanted
        if wanted is Progress.IN_TURN and _is_too_large(module, kernel, functions):
            return wanted
    return Progress.TOGETHER


def _is_too_large(module: ir.Module, kernel: ir.Function, functions: list[ir.Function]) -> bool:
    shape = Shape(module)
    copies = (
        s.size for f in functions for s in statements(f.body) if isinstance(s, (ir.CopyMemory, ir.FillMemory))
    )
    return (
        max(copies, default=0) > _LARGEST_COPY
        or shape.calls(kernel) > _DEEPEST_CALLS
        or shape.blocks(kernel) > _DEEPEST_BLOCKS
        or shape.loops(kernel) > _DEEPEST_LOOPS
    )


def _functions_that(wanted: Progress, functions: list[ir.Function]) -> set[str]:
    """Functions that a loop may not simply call."""
    names: set[str] = set()
    for _ in functions:  # as many rounds as there are functions: calls nest no deeper
        more = {f.name for f in functions if any(_asks(s, wanted, names) for s in statements(f.body))}
        if more == names:
            break
        names = more
    return names


def _asks(s: ir.Statement, wanted: Progress, names: set[str]) -> bool:
    if isinstance(s, ir.Call):
        return s.function in names
    if not isinstance(s, ir.Atomic):
        return False
    # Exchanging constants is taking a lock; exchanging what was computed from the old value is a retry.
    is_lock = s.op == "cmpxchg" and all(isinstance(a, ir.Const) for a in s.args)
    if wanted is Progress.RETRYING:
        return s.op == "cmpxchg"
    return is_lock or s.op == "load" or (s.op == "xchg" and s.result is not None)


class Shape:
    """How deep functions nest: with their calls inlined, or each on its own where `module` is None."""

    def __init__(self, module: ir.Module | None) -> None:
        self.module = module
        self._calls: dict[str, int] = {}
        self._blocks: dict[str, int] = {}
        self._loops: dict[str, int] = {}

    def calls(self, function: ir.Function) -> int:
        """Calls inside calls."""
        if function.name not in self._calls:
            inner = (self.calls(f) for s in statements(function.body) for f in self._called(s))
            self._calls[function.name] = 1 + max(inner, default=0)
        return self._calls[function.name]

    def _called(self, s: ir.Statement) -> list[ir.Function]:
        return [self.module.functions[s.function]] if self.module and isinstance(s, ir.Call) else []

    def blocks(self, function: ir.Function) -> int:
        """Blocks inside blocks; what follows a statement that may jump away counts as inside it."""
        if function.name not in self._blocks:
            self._blocks[function.name] = self._depth(function.body)
        return self._blocks[function.name]

    def _depth(self, block: ir.Block) -> int:
        deepest = level = 0
        for s in block:
            inner = [self._depth(b) for b in blocks(s)] + [self.blocks(f) for f in self._called(s)]
            deepest = max(deepest, level + 1 + max(inner, default=0))
            if self.module and blocks(s) and any(map(_is_jump, _all_inside(s))):
                level += 1
        return deepest

    def loops(self, function: ir.Function) -> int:
        """Loops and switches inside each other."""
        if function.name not in self._loops:
            self._loops[function.name] = self._turns(function.body)
        return self._loops[function.name]

    def _turns(self, block: ir.Block) -> int:
        deepest = 0
        for s in block:
            inner = [self._turns(b) for b in blocks(s)] + [self.loops(f) for f in self._called(s)]
            deepest = max(deepest, max(inner, default=0) + isinstance(s, (ir.Loop, ir.Switch)))
        return deepest


def _all_inside(s: ir.Statement) -> list[ir.Statement]:
    return [x for block in blocks(s) for x in statements(block)]


def _is_jump(s: ir.Statement) -> bool:
    return isinstance(s, (ir.Return, ir.Break, ir.Continue))
