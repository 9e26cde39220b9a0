"""Numbers in TVM's intermediate form that are known without running anything."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from runtime.importers.errors import NetworkImportError

Number = int | float


def _divide(a: Number, b: Number) -> Number:
    """C's division: of whole numbers it rounds towards zero."""
    if isinstance(a, float) or isinstance(b, float):
        return a / b
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _remainder(a: Number, b: Number) -> Number:
    return a - b * _divide(a, b)


_BINARY: Mapping[str, Callable[[Any, Any], Number]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mul": operator.mul,
    "Div": _divide,
    "Mod": _remainder,
    "FloorDiv": operator.floordiv,
    "FloorMod": operator.mod,
    "Min": min,
    "Max": max,
    "EQ": operator.eq,
    "NE": operator.ne,
    "LT": operator.lt,
    "LE": operator.le,
    "GT": operator.gt,
    "GE": operator.ge,
    "And": lambda a, b: bool(a and b),
    "Or": lambda a, b: bool(a or b),
    "LShift": operator.lshift,
    "RShift": operator.rshift,
    "BitwiseAnd": operator.and_,
    "BitwiseOr": operator.or_,
    "BitwiseXor": operator.xor,
}
_CALLS = {"tirx.shift_left": operator.lshift, "tirx.shift_right": operator.rshift}


def fold(expression: Any, known: Mapping[Any, Number]) -> Number:
    """The expression's value, given what its variables are. Raises `NetworkImportError` if it has none."""
    if isinstance(expression, int | float):
        return expression
    kind = type(expression).__name__
    if kind in ("IntImm", "FloatImm"):
        value: Number = expression.value
        return value
    if kind == "Var" and expression in known:
        return known[expression]
    if kind == "Not":
        return not fold(expression.a, known)
    if kind == "Cast":
        return fold(expression.value, known)
    if kind in _BINARY:
        return _apply(_BINARY[kind], (expression.a, expression.b), expression, known)
    if kind == "Call" and operator_name(expression) in _CALLS:
        return _apply(_CALLS[operator_name(expression)], expression.args, expression, known)
    raise NetworkImportError(f"not known before the network runs: {expression!s:.120}")


def fold_integer(expression: Any, known: Mapping[Any, Number]) -> int:
    """The same, for sizes and indices."""
    value = fold(expression, known)
    if not isinstance(value, int):
        raise NetworkImportError(f"not a whole number: {value}")
    return int(value)


def operator_name(call: Any) -> str:
    """The name of what a call calls: an operator's, a function's or a packed function's."""
    for attribute in ("name", "name_hint", "global_symbol"):
        name = getattr(call.op, attribute, None)
        if name is not None:
            return str(name)
    return type(call.op).__name__


def _apply(
    function: Callable[[Any, Any], Number], arguments: Any, expression: Any, known: Mapping[Any, Number]
) -> Number:
    try:
        return function(*(fold(argument, known) for argument in arguments))
    except (ArithmeticError, ValueError) as error:
        raise NetworkImportError(f"has no value: {expression!s:.120} ({error})") from None
