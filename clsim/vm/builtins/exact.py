"""Arithmetic that NumPy lacks: fused multiply-add, IEEE remainder, both rounded correctly."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

_SPLIT = float(2**27 + 1)


def fma(a: Any, b: Any, c: Any) -> Any:
    """`a * b + c` with one rounding (OpenCL C, section 6.15.2)."""
    if a.dtype == np.float64 or b.dtype == np.float64:
        return _fma_double(a, b, c)
    wide = np.float64
    product = a.astype(wide) * b.astype(wide)  # exact: 48 bits
    odd = _round_to_odd(product, c.astype(wide))
    return odd.astype(c.dtype)


def _two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _round_to_odd(a: Any, b: Any) -> Any:
    """The sum with its last bit set whenever it is inexact, so that rounding it again is harmless."""
    total, error = _two_sum(a, b)
    bits = np.ascontiguousarray(total).view(np.int64).reshape(np.shape(total))
    inexact = np.isfinite(total) & (error != 0) & ((bits & 1) == 0)
    toward = np.where(error > 0, np.inf, -np.inf)
    return np.where(inexact, np.nextafter(total, toward), total)


def _two_product(a: Any, b: Any) -> tuple[Any, Any]:
    product = a * b
    big_a, big_b = a * _SPLIT, b * _SPLIT
    high_a = big_a - (big_a - a)
    high_b = big_b - (big_b - b)
    low_a, low_b = a - high_a, b - high_b
    error = ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b
    return product, error


def _fma_double(a: Any, b: Any, c: Any) -> Any:
    a, b, c = np.broadcast_arrays(a, b, c)
    product, low = _two_product(a, b)
    total, error = _two_sum(product, c)
    # total + error + low is exact; the two small parts are joined to odd before the final rounding.
    result = total + _round_to_odd(error, low)
    easy = _is_moderate(a) & _is_moderate(b) & _is_moderate(c) & (np.abs(product) > 1e-200)
    easy &= (np.abs(total) > 1e-200) & (np.abs(product) < 1e300)
    plain = np.where(np.isinf(c) & np.isfinite(a) & np.isfinite(b), c, a * b + c)
    result = np.where(easy, result, plain)
    # Zeros, infinities and NaNs are right as computed plainly; what is left is slow and rare.
    hard = ~easy & np.isfinite(a) & np.isfinite(b) & np.isfinite(c) & (a != 0) & (b != 0) & (c != 0)
    if hard.any():
        result = np.array(result)
        for place in zip(*np.nonzero(np.atleast_1d(hard)), strict=True):
            values = (float(np.atleast_1d(x)[place]) for x in (a, b, c))
            np.atleast_1d(result)[place] = _fma_slow(*values)
    return result[()]


def _is_moderate(x: Any) -> Any:
    size = np.abs(x)
    return (size > 1e-120) & (size < 1e120)


def _fma_slow(a: float, b: float, c: float) -> float:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    try:
        value = float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
    return value if value or not exact else math.copysign(0.0, exact)


def remainder(x: Any, y: Any) -> Any:
    """`x - n * y` with `n` the integer nearest to `x / y`, ties to even; always exact."""
    kind = x.dtype
    wide_x, wide_y = x.astype(np.float64), y.astype(np.float64)
    size = np.abs(wide_y)
    double = size + size
    rest = np.where(np.isinf(double), np.abs(wide_x), np.fmod(np.abs(wide_x), double))
    small = size < 2.0**-1021
    above = np.where(small, rest + rest > size, rest > 0.5 * size)
    less = rest - size
    still = np.where(small, less + less >= size, less >= 0.5 * size)
    rest = np.where(above, np.where(still, less - size, less), rest)
    rest = np.where(np.signbit(wide_x), -rest, rest)
    bad = np.isnan(wide_x) | np.isnan(wide_y) | np.isinf(wide_x) | (wide_y == 0)
    rest = np.where(bad, np.nan, np.where(np.isinf(wide_y), wide_x, rest))
    return rest.astype(kind)


def remquo(x: Any, y: Any) -> tuple[Any, Any]:
    """The remainder, and the low seven bits of the quotient with its sign, as int32."""
    rest = remainder(x, y)
    wide_x, wide_y, wide_rest = (np.abs(v.astype(np.float64)) for v in (x, y, rest))
    wide_rest = np.where(np.signbit(rest) == np.signbit(x), wide_rest, -wide_rest)
    scaled = wide_y * 128.0
    reduced = np.where(np.isinf(scaled), wide_x, np.fmod(wide_x, scaled))
    quotient = np.rint((reduced - wide_rest) / wide_y)
    usable = np.isfinite(quotient) & np.isfinite(rest)
    low = np.where(usable, quotient, 0.0).astype(np.int64) & 127
    low = np.where(np.signbit(x) != np.signbit(y), -low, low)
    return rest, np.where(usable, low, 0).astype(np.int32)[()]
