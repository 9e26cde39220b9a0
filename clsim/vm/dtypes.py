"""NumPy types of OpenCL C's scalar types, and the limits of its integers."""

from __future__ import annotations

import struct
from typing import Any, Final

import numpy as np

from clsim.clc.types import Pointer, Scalar, Type, Vector

NUMPY_CODES: Final[dict[str, str]] = {
    "bool": "?",
    "char": "i1",
    "uchar": "u1",
    "short": "i2",
    "ushort": "u2",
    "int": "i4",
    "uint": "u4",
    "long": "i8",
    "ulong": "u8",
    "half": "f2",
    "float": "f4",
    "double": "f8",
}
"""NumPy's short type code for each scalar type's name."""

STRUCT_CODES: Final[dict[str, str]] = dict(
    zip(("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"), "?bBhHiIqQefd", strict=True)
)
"""The `struct` module's letter for each NumPy code."""

DTYPES: Final[dict[str, np.dtype[Any]]] = {code: np.dtype(code) for code in NUMPY_CODES.values()}
SCALAR_TYPES: Final[dict[str, Any]] = {code: dtype.type for code, dtype in DTYPES.items()}
SIZES: Final[dict[str, int]] = {code: dtype.itemsize for code, dtype in DTYPES.items()}

LIMITS: Final[dict[str, tuple[int, int]]] = {
    f"{kind}{size}": (-(1 << (8 * size - 1)), (1 << (8 * size - 1)) - 1)
    if kind == "i"
    else (0, (1 << (8 * size)) - 1)
    for kind in "iu"
    for size in (1, 2, 4, 8)
} | {"?": (0, 1)}
"""Smallest and largest value of each integer code."""


def code_of(type_: Type) -> str:
    """NumPy code of a scalar, of a vector's element, or of a pointer's bits."""
    if isinstance(type_, Scalar):
        return NUMPY_CODES[type_.name]
    if isinstance(type_, Vector):
        return NUMPY_CODES[type_.elem.name]
    if isinstance(type_, Pointer):
        return "u8"
    raise TypeError(f"{type_} has no values")


def width_of(type_: Type) -> int:
    """How many components a value of the type has."""
    return type_.width if isinstance(type_, Vector) else 1


def is_float(code: str) -> bool:
    return code[0] == "f"


def is_integer(code: str) -> bool:
    return code[0] in "iu"


def wrap(code: str, value: int) -> int:
    """The value of an integer type that has the same low bits as `value`."""
    low, high = LIMITS[code]
    if low <= value <= high:
        return value
    if code == "?":
        return 1
    bits = 8 * SIZES[code]
    value &= (1 << bits) - 1
    return value - (1 << bits) if value > high else value


def unpack(type_: Type, data: bytes) -> tuple[Any, ...]:
    """The components of a scalar or vector argument as the machine's uniform values.

    Integers become Python ints, bools Python bools, floats NumPy scalars of their own type.
    """
    code = code_of(type_)
    values = struct.unpack_from(f"<{width_of(type_)}{STRUCT_CODES[code]}", data)
    if is_float(code):
        return tuple(np.frombuffer(data, DTYPES[code], width_of(type_)))
    return values
