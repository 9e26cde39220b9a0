"""What `prepare` finds out about a kernel: whether the machine runs it, and on which tier."""

from __future__ import annotations

from clsim.clc import ir
from clsim.clc.types import Opaque, Pointer, Record, Scalar, Vector
from clsim.vm import builtins
from clsim.vm.errors import NotSupported
from clsim.vm.walk import called_functions, expressions_of, operands, statements

_LARGEST_COPY = 1 << 15
_DEEPEST_CALLS = 48


def check_supported(module: ir.Module, kernel: ir.Function) -> None:
    """Raise `NotSupported` for the first thing that no tier runs."""
    for parameter in kernel.parameters:
        if parameter.record is None and not isinstance(parameter.var.type, (Scalar, Vector, Pointer, Record)):
            raise NotSupported(kernel.name, f"a parameter of type {parameter.var.type}", kernel.loc)
    for function in called_functions(module, kernel):
        for s in statements(function.body):
            if isinstance(s, ir.Call) and s.function not in module.functions:
                raise NotSupported(kernel.name, f"the function {s.function}", s.loc)
            if isinstance(s, ir.BuiltinCall) and builtins.storing(s.name) is None:
                raise NotSupported(kernel.name, f"the built-in {s.name}", s.loc)
            for e in expressions_of(s):
                _check_expression(kernel, e)


def _check_expression(kernel: ir.Function, e: ir.Expr) -> None:
    if isinstance(e, ir.Builtin) and not builtins.is_known(e.name):
        raise NotSupported(kernel.name, f"the built-in {e.name}", e.loc)
    if isinstance(e.type, Opaque):
        raise NotSupported(kernel.name, f"a value of type {e.type}")
    for inner in operands(e):
        _check_expression(kernel, inner)


def needs_scalar(module: ir.Module, kernel: ir.Function) -> bool:
    """Whether lanes in lockstep could wait for each other for ever, or the code would grow too large.

    A loop that ends by another work-item's atomic operation (a lock, a compare-and-swap retry) makes no
    progress while all lanes move together.
    """
    functions = called_functions(module, kernel)
    waits = {f.name for f in functions if _waits(f.body)}
    for _ in functions:  # as many rounds as there are functions: calls nest no deeper
        more = {f.name for f in functions if any(_calls(s, waits) for s in statements(f.body))}
        if more <= waits:
            break
        waits |= more
    for function in functions:
        for s in statements(function.body):
            if isinstance(s, ir.Loop) and any(_may_wait(inner, waits) for inner in _inside(s)):
                return True
            if isinstance(s, (ir.CopyMemory, ir.FillMemory)) and s.size > _LARGEST_COPY:
                return True
    return _depth(module, kernel, {}) > _DEEPEST_CALLS


def _inside(loop: ir.Loop) -> list[ir.Statement]:
    return [s for block in (loop.before, loop.body, loop.after) for s in statements(block)]


def _waits(block: ir.Block) -> bool:
    return any(_may_wait(s, set()) for s in statements(block))


def _calls(s: ir.Statement, names: set[str]) -> bool:
    return isinstance(s, ir.Call) and s.function in names


def _may_wait(s: ir.Statement, names: set[str]) -> bool:
    if isinstance(s, ir.Atomic):
        return s.op in ("cmpxchg", "load") or (s.op == "xchg" and s.result is not None)
    return _calls(s, names)


def _depth(module: ir.Module, function: ir.Function, known: dict[str, int]) -> int:
    if function.name not in known:
        known[function.name] = 1 + max(
            (
                _depth(module, module.functions[s.function], known)
                for s in statements(function.body)
                if isinstance(s, ir.Call)
            ),
            default=0,
        )
    return known[function.name]
