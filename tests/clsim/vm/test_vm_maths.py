"""Built-in functions of numbers stay within the errors that the standard allows, by mpmath."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from clsim.vm import builtins

mpmath.mp.prec = 200


def mp(x: Any) -> Any:
    return mpmath.mpf(float(x))


def error_in_ulp(got: Any, exact: Any, kind: Any) -> float:
    """Distance from the exact value in units of the last place of the result type (section 7.4)."""
    if mpmath.isnan(exact):
        return 0.0 if np.isnan(got) else math.inf
    limit = mpmath.mpf(float(np.finfo(kind).max))
    if abs(exact) > limit:
        return 0.0 if np.isinf(got) and (got > 0) == (exact > 0) else math.inf
    if not np.isfinite(got):
        return math.inf
    digits = np.finfo(kind).nmant
    smallest = int(np.finfo(kind).minexp)
    exponent = smallest if exact == 0 else max(smallest, int(mpmath.floor(mpmath.log(abs(exact), 2))))
    return float(abs(mp(got) - exact) / mpmath.ldexp(1, exponent - digits))


def spread(low: float, high: float, count: int = 160) -> Any:
    return np.random.default_rng(5).uniform(low, high, count)


def magnitudes(low: int, high: int, count: int = 160) -> Any:
    """Numbers of both signs whose sizes spread evenly over powers of two."""
    random = np.random.default_rng(6)
    return np.ldexp(random.uniform(1, 2, count), random.integers(low, high, count)) * random.choice(
        [-1, 1], count
    )


ANY = magnitudes(-30, 20)
POSITIVE = np.abs(magnitudes(-30, 30))
UNIT = spread(-1, 1)
# Name, exact function, arguments, ulp allowed for float and for double (full profile).
ONE_ARGUMENT: list[tuple[str, Callable[[Any], Any], Any, float, float]] = [
    ("acos", mpmath.acos, UNIT, 4, 4),
    ("acosh", mpmath.acosh, 1 + POSITIVE, 4, 4),
    ("acospi", lambda x: mpmath.acos(x) / mpmath.pi, UNIT, 5, 5),
    ("asin", mpmath.asin, UNIT, 4, 4),
    ("asinh", mpmath.asinh, ANY, 4, 4),
    ("asinpi", lambda x: mpmath.asin(x) / mpmath.pi, UNIT, 5, 5),
    ("atan", mpmath.atan, ANY, 5, 5),
    ("atanh", mpmath.atanh, UNIT, 5, 5),
    ("atanpi", lambda x: mpmath.atan(x) / mpmath.pi, ANY, 5, 5),
    ("cbrt", lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)), ANY, 2, 2),
    ("cos", mpmath.cos, magnitudes(-20, 30), 4, 4),
    ("cosh", mpmath.cosh, spread(-80, 80), 4, 4),
    ("cospi", lambda x: mpmath.cos(mpmath.pi * x), magnitudes(-10, 12), 4, 4),
    ("erf", mpmath.erf, spread(-4, 4), 16, 16),
    ("erfc", mpmath.erfc, spread(-4, 9), 16, 16),
    ("exp", mpmath.exp, spread(-87, 88), 3, 3),
    ("exp2", lambda x: mpmath.power(2, x), spread(-125, 127), 3, 3),
    ("exp10", lambda x: mpmath.power(10, x), spread(-37, 38), 3, 3),
    ("expm1", mpmath.expm1, spread(-20, 20), 3, 3),
    ("lgamma", lambda x: mpmath.log(abs(mpmath.gamma(x))), spread(0.1, 30), 1000, 1000),
    ("log", mpmath.log, POSITIVE, 3, 3),
    ("log2", lambda x: mpmath.log(x, 2), POSITIVE, 3, 3),
    ("log10", mpmath.log10, POSITIVE, 3, 3),
    ("log1p", mpmath.log1p, POSITIVE, 2, 2),
    ("rsqrt", lambda x: 1 / mpmath.sqrt(x), POSITIVE, 2, 2),
    ("sin", mpmath.sin, magnitudes(-20, 30), 4, 4),
    ("sinh", mpmath.sinh, spread(-80, 80), 4, 4),
    ("sinpi", lambda x: mpmath.sin(mpmath.pi * x), magnitudes(-10, 12), 4, 4),
    ("sqrt", mpmath.sqrt, POSITIVE, 0.5, 0.5),
    ("tan", mpmath.tan, magnitudes(-20, 20), 5, 5),
    ("tanh", mpmath.tanh, spread(-9, 9), 5, 5),
    ("tanpi", lambda x: mpmath.tan(mpmath.pi * x), spread(-0.49, 0.49), 6, 6),
    ("tgamma", mpmath.gamma, spread(0.2, 30), 16, 16),
    ("degrees", lambda x: x * 180 / mpmath.pi, ANY, 2, 2),
    ("radians", lambda x: x * mpmath.pi / 180, ANY, 2, 2),
]


@pytest.mark.parametrize("kind", [np.float32, np.float64], ids=["float", "double"])
@pytest.mark.parametrize("name", [row[0] for row in ONE_ARGUMENT])
def test_a_function_of_one_argument_is_as_exact_as_the_standard_asks(name: str, kind: Any) -> None:
    _, exact, arguments, single, double = next(row for row in ONE_ARGUMENT if row[0] == name)
    function = builtins.elementwise(name)
    assert function is not None
    x = arguments.astype(kind)
    with np.errstate(all="ignore"):
        results = function(x)
    assert results.dtype == kind
    worst = max(error_in_ulp(r, exact(mp(v)), kind) for v, r in zip(x, results, strict=True))
    assert worst <= (single if kind is np.float32 else double)


TWO_ARGUMENTS: list[tuple[str, Callable[[Any, Any], Any], Any, Any, float]] = [
    ("atan2", mpmath.atan2, ANY, ANY[::-1].copy(), 6),
    ("atan2pi", lambda y, x: mpmath.atan2(y, x) / mpmath.pi, ANY, ANY[::-1].copy(), 6),
    ("hypot", mpmath.hypot, magnitudes(-60, 60), magnitudes(-60, 60)[::-1].copy(), 4),
    ("pow", mpmath.power, np.abs(spread(0.1, 9)), spread(-20, 20), 16),
    ("powr", mpmath.power, np.abs(spread(0.1, 9)), spread(-20, 20), 16),
    ("fmod", lambda x, y: mpmath.sign(x) * mpmath.fmod(abs(x), abs(y)), ANY, UNIT, 0),
    ("fdim", lambda x, y: x - y if x > y else mpmath.mpf(0), ANY, ANY[::-1].copy(), 0.5),
]


@pytest.mark.parametrize("kind", [np.float32, np.float64], ids=["float", "double"])
@pytest.mark.parametrize("name", [row[0] for row in TWO_ARGUMENTS])
def test_a_function_of_two_arguments_is_as_exact_as_the_standard_asks(name: str, kind: Any) -> None:
    _, exact, first, second, allowed = next(row for row in TWO_ARGUMENTS if row[0] == name)
    function = builtins.elementwise(name)
    assert function is not None
    x, y = first.astype(kind), second.astype(kind)
    with np.errstate(all="ignore"):
        results = function(x, y)
    assert results.dtype == kind
    worst = max(error_in_ulp(r, exact(mp(a), mp(b)), kind) for a, b, r in zip(x, y, results, strict=True))
    assert worst <= allowed


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64], ids=["half", "float", "double"])
def test_fma_rounds_once(kind: Any) -> None:
    random = np.random.default_rng(7)
    scale = 8 if kind is np.float16 else 60
    a, b = (
        (np.ldexp(random.uniform(-2, 2, 400), random.integers(-scale, scale, 400))).astype(kind) for _ in "ab"
    )
    with np.errstate(all="ignore"):
        product = a.astype(np.float64) * b.astype(np.float64)
        # Sums that nearly cancel, and sums far apart, are where two roundings go wrong.
        c = np.where(random.integers(0, 2, 400) == 0, -product, product * random.uniform(-1e3, 1e3, 400))
        c = c.astype(kind)
        usable = np.isfinite(c)
        a, b, c = a[usable], b[usable], c[usable]
        function = builtins.elementwise("fma")
        assert function is not None
        results = function(a, b, c)
    for x, y, z, r in zip(a, b, c, results, strict=True):
        exact = mp(x) * mp(y) + mp(z)
        assert error_in_ulp(r, exact, kind) <= 0.5


def test_fma_of_doubles_is_exact_where_parts_overflow_or_vanish() -> None:
    function = builtins.elementwise("fma")
    assert function is not None
    huge, tiny = np.float64(1e300), np.float64(5e-324)
    with np.errstate(all="ignore"):
        assert function(huge, huge, np.float64(-np.inf)) == -np.inf
        assert function(huge, np.float64(1e10), np.float64(-1e305)) == np.inf
        assert function(np.float64(2.0**600), np.float64(2.0**423), np.float64(-(2.0**1023))) == 0
        assert function(tiny, np.float64(0.5), np.float64(1.0)) == 1.0
        assert function(np.float64(1 + 2**-52), np.float64(1 + 2**-52), np.float64(-1.0)) == 2**-51 + 2**-104


def test_remainder_goes_to_the_nearest_even_quotient() -> None:
    function = builtins.elementwise("remainder")
    assert function is not None
    x = np.array([5, 7, -5, 2.5, 7.5, 1e30, 3], np.float32)
    y = np.array([2, 2, 2, 1, 5, 3, np.inf], np.float32)
    with np.errstate(all="ignore"):
        results = function(x, y)
    assert [float(v) for v in results] == [
        math.remainder(float(a), float(b)) for a, b in zip(x, y, strict=True)
    ]


def test_remquo_gives_seven_bits_of_the_quotient_with_its_sign() -> None:
    function = builtins.storing("remquo")
    assert function is not None
    x = np.array([29, -29, 29, 1000, 0.25], np.float32)
    y = np.array([3, 3, -3, 7, 1], np.float32)
    rest, quotient = function(x, y)
    assert rest.tolist() == [-1, 1, -1, -1, 0.25]
    assert quotient.tolist() == [10, -10, -10, 143 & 127, 0]


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("round", [2.5, -2.5, 0.49999997, -0.2, 8388609.0], [3, -3, 0, -0.0, 8388609.0]),
        ("rint", [2.5, 3.5, -0.5], [2, 4, -0.0]),
        ("logb", [8.0, 0.3, np.inf, 0.0], [3, -2, np.inf, -np.inf]),
        ("sign", [3.0, -0.0, np.nan, -7.0], [1, -0.0, 0, -1]),
        ("cospi", [0.5, 1.0, 1.5, 100000.0], [0, -1, 0, 1]),
        ("sinpi", [1.0, -1.0, 0.5, 2.0], [0.0, -0.0, 1, 0.0]),
        ("tgamma", [0.0, -1.0, 5.0], [np.inf, np.nan, 24]),
    ],
)
def test_edges_are_what_the_standard_says(name: str, arguments: list[float], expected: list[float]) -> None:
    function = builtins.elementwise(name)
    assert function is not None
    with np.errstate(all="ignore"):
        results = function(np.array(arguments, np.float32))
    np.testing.assert_array_equal(results, np.array(expected, np.float32))
    assert np.signbit(results).tolist() == np.signbit(np.array(expected, np.float32)).tolist()


INTEGERS: list[tuple[str, str, Callable[..., int]]] = [
    ("abs", "x", lambda w, lo, hi, x: abs(x)),
    ("abs_diff", "xy", lambda w, lo, hi, x, y: abs(x - y)),
    ("add_sat", "xy", lambda w, lo, hi, x, y: min(max(x + y, lo), hi)),
    ("sub_sat", "xy", lambda w, lo, hi, x, y: min(max(x - y, lo), hi)),
    ("hadd", "xy", lambda w, lo, hi, x, y: (x + y) >> 1),
    ("rhadd", "xy", lambda w, lo, hi, x, y: (x + y + 1) >> 1),
    ("clz", "x", lambda w, lo, hi, x: w - (x & ((1 << w) - 1)).bit_length()),
    ("ctz", "x", lambda w, lo, hi, x: ((x & -x).bit_length() - 1) if x else w),
    ("popcount", "x", lambda w, lo, hi, x: (x & ((1 << w) - 1)).bit_count()),
    ("mul_hi", "xy", lambda w, lo, hi, x, y: (x * y) >> w),
    ("mad_sat", "xyz", lambda w, lo, hi, x, y, z: min(max(x * y + z, lo), hi)),
    ("max", "xy", lambda w, lo, hi, x, y: max(x, y)),
]


@pytest.mark.parametrize("code", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("name", [row[0] for row in INTEGERS])
def test_integer_functions_agree_with_python_on_any_width(name: str, code: str) -> None:
    _, letters, exact = next(row for row in INTEGERS if row[0] == name)
    function = builtins.elementwise(name)
    assert function is not None
    info = np.iinfo(code)
    random = np.random.default_rng(8)
    edges = [int(info.min), int(info.max), 0, 1, int(info.max) // 2, int(info.max) - 1]
    values = edges + [int(v) for v in random.integers(info.min, info.max, 60, dtype=code, endpoint=True)]
    columns = [
        np.array([values[(k * (c + 1) + c) % len(values)] for k in range(300)], code)
        for c in range(len(letters))
    ]
    with np.errstate(all="ignore"):
        results = function(*columns)
    width = 8 * int(code[1])
    for row, r in zip(zip(*(c.tolist() for c in columns), strict=True), results.tolist(), strict=True):
        expected = exact(width, int(info.min), int(info.max), *row)
        assert r == expected, row


def test_rotate_and_upsample_move_bits() -> None:
    rotate, upsample = builtins.elementwise("rotate"), builtins.elementwise("upsample")
    assert rotate is not None
    assert upsample is not None
    assert int(rotate(np.uint8(0b10010110), np.uint8(3))) == 0b10110100
    assert int(rotate(np.int32(1), np.int32(-1))) == -(2**31)
    assert int(upsample(np.int8(-1), np.uint8(2))) == -254
    assert int(upsample(np.uint32(7), np.uint32(9))) == (7 << 32) | 9
