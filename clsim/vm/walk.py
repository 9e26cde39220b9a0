"""Walking the compiler's statements and expressions."""

from __future__ import annotations

from collections.abc import Iterator

from clsim.clc import ir


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
    """All statements of a block, those inside others too, in the order of the source."""
    waiting = list(reversed(block))
    while waiting:
        s = waiting.pop()
        yield s
        for inner in reversed(blocks_of(s)):
            waiting.extend(reversed(inner))


def operands(e: ir.Expr) -> tuple[ir.Expr, ...]:
    """The direct operands of an expression."""
    match e:
        case ir.Const() | ir.Read() | ir.Address():
            return ()
        case ir.Offset():
            return e.pointer, e.index
        case ir.Load():
            return (e.pointer,)
        case ir.Unary() | ir.Convert() | ir.Bitcast() | ir.Extract():
            return (e.a,)
        case ir.Binary() | ir.Compare() | ir.Logical() | ir.PointerDifference():
            return e.a, e.b
        case ir.Cond():
            return e.test, e.a, e.b
        case ir.Build():
            return e.parts
        case ir.Builtin():
            return e.args
    raise AssertionError(type(e).__name__)


def expressions(e: ir.Expr) -> Iterator[ir.Expr]:
    """An expression and all inside it. Sources nest as deep as they like, so this does not recurse."""
    waiting = [e]
    while waiting:
        e = waiting.pop()
        yield e
        waiting.extend(operands(e))


def expressions_of(s: ir.Statement) -> tuple[ir.Expr, ...]:
    """The expressions that stand directly in a statement."""
    match s:
        case ir.Assign():
            return (s.value,)
        case ir.Store():
            return s.pointer, s.value
        case ir.CopyMemory():
            return s.target, s.source
        case ir.FillMemory():
            return (s.target,)
        case ir.Call() | ir.BuiltinCall():
            return s.args
        case ir.Atomic():
            return (s.pointer, *s.args)
        case ir.Printf():
            return tuple(a for a in s.args if not isinstance(a, bytes))
        case ir.If() | ir.Loop():
            return () if s.test is None else (s.test,)
        case ir.Switch():
            return (s.value,)
        case ir.Return():
            return () if s.value is None else (s.value,)
    return ()


def called_functions(module: ir.Module, function: ir.Function) -> list[ir.Function]:
    """The function and all that it calls, each once."""
    found = {function.name: function}
    waiting = [function]
    while waiting:
        for s in statements(waiting.pop().body):
            if isinstance(s, ir.Call) and s.function not in found and s.function in module.functions:
                found[s.function] = module.functions[s.function]
                waiting.append(found[s.function])
    return list(found.values())
