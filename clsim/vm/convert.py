"""Conversions between number types on NumPy arrays and scalars (OpenCL C, section 6.2).

A conversion out of the target's range is unspecified unless it saturates; here it always saturates, and a
NaN becomes 0, so that the result is the same on every host.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clsim.vm.dtypes import DTYPES, LIMITS, SCALAR_TYPES, SIZES, is_float

_ROUND = {"": np.trunc, "rtz": np.trunc, "rte": np.rint, "rtp": np.ceil, "rtn": np.floor}
_MANTISSA = {"f2": 11, "f4": 24, "f8": 53}


def convert(x: Any, source: str, target: str, saturate: bool = False, rounding: str = "") -> Any:
    """`x`, an array or NumPy scalar of type `source`, as `target`."""
    if source == target:
        return x
    if target == "?":
        return x != 0
    if source == "?":
        return x.astype(DTYPES[target])
    if is_float(source):
        if is_float(target):
            return _float_to_float(x, source, target, rounding)
        return _float_to_int(x, source, target, rounding)
    if is_float(target):
        return _int_to_float(x, source, target, rounding)
    if saturate:
        low = max(LIMITS[source][0], LIMITS[target][0])
        high = min(LIMITS[source][1], LIMITS[target][1])
        kind = SCALAR_TYPES[source]
        x = np.minimum(np.maximum(x, kind(low)), kind(high))
    return x.astype(DTYPES[target])


def convert_uniform(x: Any, source: str, target: str, saturate: bool = False, rounding: str = "") -> Any:
    """The same for one value as the machine keeps it: a Python int or bool, or a NumPy float scalar."""
    y = convert(SCALAR_TYPES[source](x), source, target, saturate, rounding)
    if is_float(target):
        return y
    return bool(y) if target == "?" else int(y)


def _float_to_int(x: Any, source: str, target: str, rounding: str) -> Any:
    low, high = LIMITS[target]
    whole = _ROUND[rounding](x)
    if SIZES[target] <= 4:
        wide = np.minimum(np.maximum(whole.astype(np.float64), float(low)), float(high))
        return np.where(np.isnan(wide), 0.0, wide).astype(DTYPES[target])[()]
    wide = whole.astype(np.float64)
    over, under = wide >= float(high), wide < float(low)
    kept = np.where(over | under | np.isnan(wide), 0.0, wide).astype(DTYPES[target])
    kind = SCALAR_TYPES[target]
    return np.where(over, kind(high), np.where(under, kind(low), kept))[()]


def _float_to_float(x: Any, source: str, target: str, rounding: str) -> Any:
    y = x.astype(DTYPES[target])
    if rounding in ("", "rte") or SIZES[target] >= SIZES[source]:
        return y
    return _adjust(y, _compare(y.astype(DTYPES[source]), x), target, rounding)


def _int_to_float(x: Any, source: str, target: str, rounding: str) -> Any:
    y = x.astype(DTYPES[target])
    if rounding in ("", "rte") or 8 * SIZES[source] <= _MANTISSA[target]:
        return y
    wide = y.astype(np.float64)
    if SIZES[source] < 8:
        return _adjust(y, _compare(wide, x.astype(np.float64)), target, rounding)
    # Both halves of a 64-bit integer are exact as float64, and so is their difference from `wide`.
    low = np.bitwise_and(x, SCALAR_TYPES[source](0xFFFFFFFF)).astype(np.float64)
    high = np.right_shift(x, SCALAR_TYPES[source](32)).astype(np.float64) * 2.0**32
    return _adjust(y, _compare(wide - high, low), target, rounding)


def _compare(a: Any, b: Any) -> Any:
    """-1, 0 or 1 as a is below, at or above b."""
    return (a > b).astype(np.int8) - (a < b).astype(np.int8)


def _adjust(y: Any, error: Any, target: str, rounding: str) -> Any:
    """Move a value rounded to nearest to the neighbour that a directed rounding asks for."""
    kind = SCALAR_TYPES[target]
    down = np.nextafter(y, kind(-np.inf))
    up = np.nextafter(y, kind(np.inf))
    if rounding == "rtp":
        return np.where(error < 0, up, y)[()]
    if rounding == "rtn":
        return np.where(error > 0, down, y)[()]
    toward_zero = np.where((error > 0) & (y > 0), down, np.where((error < 0) & (y < 0), up, y))
    return toward_zero[()]
