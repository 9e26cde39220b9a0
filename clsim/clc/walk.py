"""Going through the IR: the expressions and blocks of statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter

from clsim.clc import ir

_OPERANDS: dict[type, Callable[..., tuple[ir.Expr, ...]]] = {
    ir.Const: lambda e: (),
    ir.Read: lambda e: (),
    ir.Address: lambda e: (),
    ir.Offset: attrgetter("pointer", "index"),
    ir.PointerDifference: attrgetter("a", "b"),
    ir.Load: lambda e: (e.pointer,),
    ir.Unary: lambda e: (e.a,),
    ir.Binary: attrgetter("a", "b"),
    ir.Compare: attrgetter("a", "b"),
    ir.Logical: attrgetter("a", "b"),
    ir.Cond: attrgetter("test", "a", "b"),
    ir.Convert: lambda e: (e.a,),
    ir.Bitcast: lambda e: (e.a,),
    ir.Build: attrgetter("parts"),
    ir.Extract: lambda e: (e.a,),
    ir.Builtin: attrgetter("args"),
}


def operands(value: ir.Expr) -> tuple[ir.Expr, ...]:
    """The direct operands of an expression."""
    return _OPERANDS[type(value)](value)


def subexpressions(value: ir.Expr) -> Iterator[ir.Expr]:
    """An expression and all inside it. Sources nest as deep as they like, so this does not recurse."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        yield item
        waiting += operands(item)


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
    """Every statement of a block, those inside others too, in the order of the source."""
    waiting = list(reversed(block))
    while waiting:
        statement = waiting.pop()
        yield statement
        for inside in reversed(blocks(statement)):
            waiting.extend(reversed(inside))


def called_functions(module: ir.Module, function: ir.Function) -> list[ir.Function]:
    """The function and all that it calls, each once."""
    found = {function.name: function}
    waiting = [function]
    while waiting:
        for statement in statements(waiting.pop().body):
            if isinstance(statement, ir.Call):
                callee = module.functions.get(statement.function)
                if callee is not None and callee.name not in found:
                    found[callee.name] = callee
                    waiting.append(callee)
    return list(found.values())
