"""Arithmetic on constants, exactly as the types have it."""

from __future__ import annotations

import math
import struct
from typing import TypeAlias

from clsim.clc.types import BOOL, FLOAT, HALF, Kind, Scalar

Number: TypeAlias = "int | float | bool"


def wrap(value: int, type_: Scalar) -> int:
    """An integer modulo its type's width."""
    bits = 8 * type_.size
    value &= (1 << bits) - 1
    if type_.kind is Kind.INT and value >> (bits - 1):
        value -= 1 << bits
    return value


def round_to(value: float, type_: Scalar) -> float:
    """A float rounded to its type, to nearest even; what is too large becomes infinite."""
    if type_ is FLOAT:
        code = "<f"
    elif type_ is HALF:
        code = "<e"
    else:
        return value
    try:
        return float(struct.unpack(code, struct.pack(code, value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def convert(value: Number, to: Scalar) -> Number:
    """The value as the type has it: wrapped, rounded or, from a float to an integer, truncated."""
    if to is BOOL:
        return bool(value)
    if to.kind is Kind.FLOAT:
        return _to_float(value, to)
    if isinstance(value, float):
        if math.isnan(value) or math.isinf(value):
            if math.isnan(value):
                return 0
            limit = 1 << (8 * to.size - (to.kind is Kind.INT))
            return limit - 1 if value > 0 else -limit if to.kind is Kind.INT else 0
        value = int(value)
    return wrap(int(value), to)


def _to_float(value: Number, to: Scalar) -> float:
    if isinstance(value, float) or to.size == 8:
        return round_to(float(value), to)
    # An integer goes to the narrow type in one rounding, so not through double.
    integer = int(value)
    precision = 24 if to is FLOAT else 11
    magnitude = abs(integer)
    shift = magnitude.bit_length() - precision
    if shift > 0:
        low = magnitude & ((1 << shift) - 1)
        magnitude >>= shift
        half = 1 << (shift - 1)
        if low > half or (low == half and magnitude & 1):
            magnitude += 1
        magnitude <<= shift
    return round_to(float(-magnitude if integer < 0 else magnitude), to)


def unary(op: str, type_: Scalar, a: Number) -> Number:
    if op == "neg":
        return -a if type_.kind is Kind.FLOAT else wrap(-int(a), type_)
    if op == "not":
        return wrap(~int(a), type_)
    return not a


def binary(op: str, type_: Scalar, a: Number, b: Number) -> Number | None:
    """The result, or None where it is not defined (a division by zero) and the machine shall decide."""
    if type_.kind is Kind.FLOAT:
        return round_to(_float_binary(op, float(a), float(b)), type_)
    x, y = int(a), int(b)
    if op in ("shl", "shr"):
        count = y & (8 * type_.size - 1)
        return wrap(x << count if op == "shl" else x >> count, type_)
    if op in ("div", "rem"):
        if y == 0:
            return None
        quotient = abs(x) // abs(y)
        if (x < 0) != (y < 0):
            quotient = -quotient
        return wrap(quotient if op == "div" else x - quotient * y, type_)
    if op == "add":
        return wrap(x + y, type_)
    if op == "sub":
        return wrap(x - y, type_)
    if op == "mul":
        return wrap(x * y, type_)
    if op == "and":
        return wrap(x & y, type_)
    if op == "or":
        return wrap(x | y, type_)
    return wrap(x ^ y, type_)


def _float_binary(op: str, a: float, b: float) -> float:
    if op == "add":
        return a + b
    if op == "sub":
        return a - b
    if op == "mul":
        return a * b
    if b == 0.0:
        if a == 0.0 or math.isnan(a):
            return math.nan
        return math.copysign(math.inf, math.copysign(1.0, a) * math.copysign(1.0, b))
    return a / b


def compare(op: str, a: Number, b: Number) -> bool:
    if op == "eq":
        return a == b
    if op == "ne":
        return a != b
    if op == "lt":
        return a < b
    if op == "le":
        return a <= b
    if op == "gt":
        return a > b
    return a >= b


_CODES = {Kind.FLOAT: {2: "<e", 4: "<f", 8: "<d"}}


def to_bytes(value: Number, type_: Scalar) -> bytes:
    """The value as little-endian bytes of its type."""
    if type_.kind is Kind.FLOAT:
        return struct.pack(_CODES[Kind.FLOAT][type_.size], value)
    return int(value).to_bytes(type_.size, "little", signed=type_.kind is Kind.INT)
