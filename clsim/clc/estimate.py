"""A static estimate of what one work-item of a function costs, for the cost model."""

from __future__ import annotations

from clsim.clc import ir
from clsim.clc.types import Pointer, Space, Type, Vector, Void
from clsim.clc.walk import expressions, subexpressions

UNKNOWN_TRIPS = 16
_LIMIT = 1 << 62
_COSTLY = 8
"""Operations that a built-in function counts for."""
_FREE = (ir.Const, ir.Read, ir.Address, ir.Bitcast, ir.Extract, ir.Build)


def estimate(function: ir.Function, callees: dict[str, tuple[int, int]]) -> tuple[int, int]:
    """Operations, and bytes of global memory moved."""
    operations, moved = _block(function.body, callees)
    return min(operations, _LIMIT), min(moved, _LIMIT)


def _block(block: ir.Block, callees: dict[str, tuple[int, int]]) -> tuple[int, int]:
    operations = moved = 0
    constants: dict[ir.Var, int | float | bool] = {}
    for statement in block:
        o, m = _statement(statement, callees, constants)
        operations += o
        moved += m
        if isinstance(statement, ir.Assign):
            if isinstance(statement.value, ir.Const):
                constants[statement.var] = statement.value.value
            else:
                constants.pop(statement.var, None)
    return operations, moved


def _statement(
    statement: ir.Statement, callees: dict[str, tuple[int, int]], constants: dict[ir.Var, int | float | bool]
) -> tuple[int, int]:
    operations = moved = 0
    for value in expressions(statement):
        o, m = _expression(value)
        operations += o
        moved += m
    if isinstance(statement, ir.Store):
        moved += _bytes(statement.pointer.type, statement.value.type)
    elif isinstance(statement, ir.CopyMemory):
        moved += sum(statement.size for p in (statement.source, statement.target) if _is_global(p.type))
    elif isinstance(statement, ir.Atomic):
        operations += 1
        moved += 2 * _bytes(statement.pointer.type, statement.type)
    elif isinstance(statement, ir.BuiltinCall):
        operations += _COSTLY
    elif isinstance(statement, ir.Call):
        o, m = callees.get(statement.function, (0, 0))
        operations += o
        moved += m
    elif isinstance(statement, ir.If):
        sides = [_block(statement.then, callees), _block(statement.otherwise, callees)]
        operations += max(o for o, _ in sides) + 1
        moved += max(m for _, m in sides)
    elif isinstance(statement, ir.Switch):
        sides = [_block(block, callees) for _, block in statement.cases] or [(0, 0)]
        operations += max(o for o, _ in sides) + 1
        moved += max(m for _, m in sides)
    elif isinstance(statement, ir.Loop):
        trips = _trips(statement, constants)
        passes = [_block(b, callees) for b in (statement.before, statement.body, statement.after)]
        operations = trips * (operations + 1 + sum(o for o, _ in passes))
        moved = trips * (moved + sum(m for _, m in passes))
    return operations, moved


def _expression(value: ir.Expr) -> tuple[int, int]:
    operations = moved = 0
    for item in subexpressions(value):
        if isinstance(item, ir.Load):
            moved += _bytes(item.pointer.type, item.type)
        elif isinstance(item, ir.Builtin):
            operations += (0 if item.name.startswith("get_") else _COSTLY) * _width(item.type)
        elif isinstance(item, ir.Offset):
            # A multiplication and an addition, unless the index is a constant.
            operations += 0 if isinstance(item.index, ir.Const) else 2
        elif not isinstance(item, _FREE):
            operations += _width(item.type)
    return operations, moved


def _width(type_: Type) -> int:
    return type_.width if isinstance(type_, Vector) else 1


def _is_global(type_: Type) -> bool:
    return isinstance(type_, Pointer) and type_.space in (Space.GLOBAL, Space.CONSTANT)


def _bytes(pointer: Type, accessed: Type) -> int:
    if not _is_global(pointer) or isinstance(accessed, Void):
        return 0
    if isinstance(accessed, Vector):
        return accessed.elem.size * accessed.width
    return accessed.size


def _trips(loop: ir.Loop, constants: dict[ir.Var, int | float | bool]) -> int:
    """How often a loop runs: worked out for `for (i = a; i < b; i += c)` with constants, else a guess."""
    test = loop.test
    if not isinstance(test, ir.Compare) or len(loop.after) != 1 or not isinstance(test.b, ir.Const):
        return UNKNOWN_TRIPS
    step = loop.after[0]
    counter = test.a
    if not isinstance(counter, ir.Read) or not isinstance(step, ir.Assign) or step.var is not counter.var:
        return UNKNOWN_TRIPS
    change = step.value
    if (
        not isinstance(change, ir.Binary)
        or change.op not in ("add", "sub")
        or not isinstance(change.a, ir.Read)
        or change.a.var is not counter.var
        or not isinstance(change.b, ir.Const)
        or counter.var not in constants
    ):
        return UNKNOWN_TRIPS
    by = change.b.value if change.op == "add" else -change.b.value
    span = test.b.value - constants[counter.var]
    if test.op in ("le", "ge"):
        span += 1 if test.op == "le" else -1
    elif test.op not in ("lt", "gt", "ne"):
        return UNKNOWN_TRIPS
    if by == 0 or (span > 0) != (by > 0):
        return 0 if span == 0 or by != 0 else UNKNOWN_TRIPS
    return int(-(-abs(span) // abs(by)))
