"""Going through the IR: the expressions and blocks of statements."""

from __future__ import annotations

from collections.abc import Iterator

from clsim.clc import ir

_OPERANDS: dict[type, tuple[str, ...]] = {
    ir.Offset: ("pointer", "index"),
    ir.PointerDifference: ("a", "b"),
    ir.Load: ("pointer",),
    ir.Unary: ("a",),
    ir.Binary: ("a", "b"),
    ir.Compare: ("a", "b"),
    ir.Logical: ("a", "b"),
    ir.Cond: ("test", "a", "b"),
    ir.Convert: ("a",),
    ir.Bitcast: ("a",),
    ir.Extract: ("a",),
}


def operands(value: ir.Expr) -> tuple[ir.Expr, ...]:
    """The direct operands of an expression."""
    kind = type(value)
    names = _OPERANDS.get(kind)
    if names is not None:
        return tuple(getattr(value, name) for name in names)
    if kind is ir.Build:
        return value.parts  # type: ignore[union-attr]
    if kind is ir.Builtin:
        return value.args  # type: ignore[union-attr]
    return ()


def expressions(statement: ir.Statement) -> tuple[ir.Expr, ...]:
    """The expressions that a statement itself evaluates (not those of blocks inside it)."""
    match statement:
        case ir.Assign():
            return (statement.value,)
        case ir.Store():
            return (statement.pointer, statement.value)
        case ir.CopyMemory():
            return (statement.target, statement.source)
        case ir.FillMemory():
            return (statement.target,)
        case ir.Call() | ir.BuiltinCall():
            return statement.args
        case ir.Atomic():
            return (statement.pointer, *statement.args)
        case ir.Printf():
            return tuple(a for a in statement.args if not isinstance(a, bytes))
        case ir.If() | ir.Loop():
            return () if statement.test is None else (statement.test,)
        case ir.Switch():
            return (statement.value,)
        case ir.Return():
            return () if statement.value is None else (statement.value,)
    return ()


def blocks(statement: ir.Statement) -> tuple[ir.Block, ...]:
    """The blocks inside a statement."""
    if isinstance(statement, ir.If):
        return statement.then, statement.otherwise
    if isinstance(statement, ir.Loop):
        return statement.before, statement.body, statement.after
    if isinstance(statement, ir.Switch):
        return tuple(block for _, block in statement.cases)
    return ()


def statements(block: ir.Block) -> Iterator[ir.Statement]:
    """Every statement of a block, those inside others too."""
    stack = [iter(block)]
    while stack:
        for statement in stack[-1]:
            yield statement
            inside = blocks(statement)
            if inside:
                stack += [iter(part) for part in inside]
                break
        else:
            stack.pop()
