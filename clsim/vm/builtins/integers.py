"""Integer built-ins on arrays and NumPy scalars (OpenCL C, section 6.15.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clsim.vm.dtypes import LIMITS


def _code(x: Any) -> str:
    return f"{x.dtype.kind}{x.dtype.itemsize}"


def _bits(x: Any) -> int:
    return 8 * int(x.dtype.itemsize)


def _limits(x: Any) -> tuple[Any, Any]:
    low, high = LIMITS[_code(x)]
    return x.dtype.type(low), x.dtype.type(high)


def _unsigned(x: Any) -> np.dtype[Any]:
    return np.dtype(f"u{x.dtype.itemsize}")


def _abs(x: Any) -> Any:
    return np.abs(x).astype(_unsigned(x)) if x.dtype.kind == "i" else x


def _abs_diff(x: Any, y: Any) -> Any:
    kind = _unsigned(x)
    a, b = x.astype(kind), y.astype(kind)
    return np.where(x > y, a - b, b - a)[()]


def _add_sat(x: Any, y: Any) -> Any:
    low, high = _limits(x)
    total = x + y
    if x.dtype.kind == "u":
        return np.where(total < x, high, total)[()]
    overflow = ((x ^ total) & (y ^ total)) < 0
    return np.where(overflow, np.where(x < 0, low, high), total)[()]


def _sub_sat(x: Any, y: Any) -> Any:
    low, high = _limits(x)
    difference = x - y
    if x.dtype.kind == "u":
        return np.where(x < y, low, difference)[()]
    overflow = ((x ^ y) & (x ^ difference)) < 0
    return np.where(overflow, np.where(x < 0, low, high), difference)[()]


def _hadd(x: Any, y: Any) -> Any:
    one = x.dtype.type(1)
    return (x >> one) + (y >> one) + (x & y & one)


def _rhadd(x: Any, y: Any) -> Any:
    one = x.dtype.type(1)
    return (x >> one) + (y >> one) + ((x | y) & one)


def _clz(x: Any) -> Any:
    """Halving search for the highest set bit; exact for 64 bits, where a float's exponent is not."""
    kind = _unsigned(x).type
    rest = x.astype(kind)
    count = np.zeros(np.shape(x), kind)
    step = _bits(x) // 2
    while step:
        empty = rest < (kind(1) << kind(_bits(x) - step))
        count = count + np.where(empty, kind(step), kind(0))
        rest = np.where(empty, rest << kind(step), rest).astype(kind)
        step //= 2
    return (count + (rest == 0).astype(kind)).astype(x.dtype)[()]


def _ctz(x: Any) -> Any:
    kind = _unsigned(x).type
    y = x.astype(kind)
    lowest = y & (~y + kind(1))
    return np.where(
        y == 0, x.dtype.type(_bits(x)), x.dtype.type(_bits(x) - 1) - _clz(lowest).astype(x.dtype)
    )[()]


def _popcount(x: Any) -> Any:
    kind = _unsigned(x).type
    y = x.astype(np.uint64) & np.uint64((1 << _bits(x)) - 1)
    y = y - ((y >> np.uint64(1)) & np.uint64(0x5555555555555555))
    y = (y & np.uint64(0x3333333333333333)) + ((y >> np.uint64(2)) & np.uint64(0x3333333333333333))
    y = (y + (y >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    y = (y * np.uint64(0x0101010101010101)) >> np.uint64(56)
    return y.astype(kind).astype(x.dtype)


def _mul_hi(x: Any, y: Any) -> Any:
    bits = _bits(x)
    if bits < 64:
        wide = np.int64 if x.dtype.kind == "i" else np.uint64
        return ((x.astype(wide) * y.astype(wide)) >> wide(bits)).astype(x.dtype)
    half, low32 = np.uint64(32), np.uint64(0xFFFFFFFF)
    a, b = x.astype(np.uint64), y.astype(np.uint64)
    a_low, a_high, b_low, b_high = a & low32, a >> half, b & low32, b >> half
    middle = a_high * b_low + ((a_low * b_low) >> half)
    carried = a_low * b_high + (middle & low32)
    high = a_high * b_high + (middle >> half) + (carried >> half)
    if x.dtype.kind == "i":
        zero = np.uint64(0)
        high = high - np.where(x < 0, b, zero) - np.where(y < 0, a, zero)
    return high.astype(x.dtype)[()]


def _mad_hi(a: Any, b: Any, c: Any) -> Any:
    return _mul_hi(a, b) + c


def _mad_sat(a: Any, b: Any, c: Any) -> Any:
    low, high = _limits(a)
    if _bits(a) < 64:
        wide = np.int64
        if a.dtype == np.uint32:  # the product needs 64 unsigned bits, the sum one more
            product = a.astype(np.uint64) * b.astype(np.uint64)
            total = product + c.astype(np.uint64)
            return np.where((total < product) | (total > np.uint64(high)), high, total.astype(a.dtype))[()]
        total = a.astype(wide) * b.astype(wide) + c.astype(wide)
        return np.minimum(np.maximum(total, wide(low)), wide(high)).astype(a.dtype)
    return _mad_sat_long(a, b, c, low, high)


def _mad_sat_long(a: Any, b: Any, c: Any, low: Any, high: Any) -> Any:
    """128-bit product and sum as two words: the result fits where the high word only repeats the sign."""
    upper, lower = _mul_hi(a, b), a.astype(np.uint64) * b.astype(np.uint64)
    total = lower + c.astype(np.uint64)
    carry = (total < lower).astype(a.dtype)
    if a.dtype.kind == "u":
        return np.where((upper != 0) | (carry != 0), high, total.astype(a.dtype))[()]
    upper = upper + carry + (c >> a.dtype.type(63))
    as_signed = total.astype(a.dtype)
    fits = upper == (as_signed >> a.dtype.type(63))
    return np.where(fits, as_signed, np.where(upper < 0, low, high))[()]


def rotate(x: Any, n: Any) -> Any:
    kind, bits = _unsigned(x).type, _bits(x)
    y = x.astype(kind)
    left = n.astype(kind) & kind(bits - 1)
    right = (kind(bits) - left) & kind(bits - 1)
    return ((y << left) | (y >> right)).astype(x.dtype)


def upsample(high: Any, low: Any) -> Any:
    wide = np.dtype(f"{high.dtype.kind}{2 * high.dtype.itemsize}")
    return (high.astype(wide) << wide.type(_bits(high))) | low.astype(wide)


def _mul24(x: Any, y: Any) -> Any:
    return x * y


def select_bits(a: Any, b: Any, c: Any) -> Any:
    """`bitselect`: bits of `b` where `c` has ones, else of `a`; floats by their bits."""
    if a.dtype.kind == "f":
        kind = _unsigned(a)
        x, y, z = (np.ascontiguousarray(v).view(kind).reshape(np.shape(v)) for v in (a, b, c))
        return np.asarray((x & ~z) | (y & z)).view(a.dtype).reshape(np.broadcast(x, y, z).shape)[()]
    return (a & ~c) | (b & c)


INTEGERS: dict[str, Callable[..., Any]] = {
    "abs": _abs,
    "abs_diff": _abs_diff,
    "add_sat": _add_sat,
    "sub_sat": _sub_sat,
    "hadd": _hadd,
    "rhadd": _rhadd,
    "clz": _clz,
    "ctz": _ctz,
    "popcount": _popcount,
    "mul_hi": _mul_hi,
    "mad_hi": _mad_hi,
    "mad_sat": _mad_sat,
    "rotate": rotate,
    "upsample": upsample,
    "mul24": _mul24,
    "mad24": lambda x, y, z: x * y + z,
    "max": np.maximum,
    "min": np.minimum,
    "clamp": lambda x, low, high: np.minimum(np.maximum(x, low), high),
    "bitselect": select_bits,
}
