"""Conversions between types: promotions, the usual arithmetic ones, pointer types (OpenCL C 6.2)."""

from __future__ import annotations

from functools import cache, lru_cache

from clsim.clc.types import (
    CHAR,
    INT,
    LONG,
    SHORT,
    UCHAR,
    UINT,
    ULONG,
    USHORT,
    Array,
    Kind,
    Pointer,
    Record,
    Scalar,
    Space,
    Type,
    Vector,
    Void,
    vector,
)  # fmt: skip

_SIGNED = {1: CHAR, 2: SHORT, 4: INT, 8: LONG}
_UNSIGNED = {1: UCHAR, 2: USHORT, 4: UINT, 8: ULONG}


def promote(type_: Scalar) -> Scalar:
    """Integer promotion: what is narrower than int becomes int."""
    return INT if type_.rank < INT.rank else type_


def usual(a: Scalar, b: Scalar) -> Scalar:
    """The common type of two scalar operands."""
    if a.rank < b.rank:
        a, b = b, a
    if a.kind is Kind.FLOAT:
        return a
    a, b = promote(a), promote(b)
    if a.rank == b.rank:
        return a if a.kind is Kind.UINT else b
    return a


def signed(type_: Scalar) -> Scalar:
    """The signed integer of the same size."""
    return _SIGNED[type_.size]


def unsigned(type_: Scalar) -> Scalar:
    """The unsigned integer of the same size."""
    return _UNSIGNED[type_.size]


@cache
def compared(type_: Vector) -> Vector:
    """The type of a comparison of vectors: signed integers as wide as the operands' components."""
    return vector(signed(type_.elem), type_.width)


@lru_cache(maxsize=4096)
def pointer(pointee: Type, space: Space, const: bool = False, volatile: bool = False) -> Pointer:
    """The pointer type, made once."""
    return Pointer(pointee, space, const, volatile)


def shaped(elem: Scalar, count: int) -> Scalar | Vector:
    """`elem` itself for a count of 1, else the vector."""
    return elem if count == 1 else vector(elem, count)


def same_pointee(a: Type, b: Type) -> bool:
    """Whether pointers to these may be mixed without a diagnostic: equal, or either void."""
    return a is b or isinstance(a, Void) or isinstance(b, Void) or a == b or _differs_in_sign_only(a, b)


def _differs_in_sign_only(a: Type, b: Type) -> bool:
    return (
        isinstance(a, Scalar)
        and isinstance(b, Scalar)
        and a.size == b.size
        and a.kind in (Kind.INT, Kind.UINT)
        and b.kind in (Kind.INT, Kind.UINT)
    )


def holds_pointer(type_: Type) -> bool:
    """Whether a record (or array) has a pointer anywhere in it."""
    if isinstance(type_, Pointer):
        return True
    if isinstance(type_, Array):
        return holds_pointer(type_.elem)
    return isinstance(type_, Record) and any(holds_pointer(f.type) for f in type_.fields)
