"""Error and gamma functions, which NumPy lacks, by the standard library's double-precision ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np


def _gamma(x: float) -> float:
    try:
        return math.gamma(x)
    except ValueError:
        return math.copysign(math.inf, x) if x == 0 else math.nan
    except OverflowError:
        return math.inf


def _lgamma(x: float) -> float:
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):
        return math.inf


def _elementwise(function: Callable[[float], float]) -> Callable[[Any], Any]:
    pointwise = np.frompyfunc(function, 1, 1)

    def apply(x: Any) -> Any:
        return np.asarray(pointwise(x.astype(np.float64)), dtype=np.float64).astype(x.dtype)[()]

    return apply


erf = _elementwise(math.erf)
erfc = _elementwise(math.erfc)
tgamma = _elementwise(_gamma)
lgamma = _elementwise(_lgamma)


def lgamma_r(x: Any) -> tuple[Any, Any]:
    """The logarithm of |gamma(x)| and the sign of gamma(x) as int32 (0 at its poles)."""
    floor = np.floor(x)
    negative = (x < 0) & (np.fmod(floor, 2) != 0)
    pole = (x <= 0) & (floor == x)
    sign = np.where(pole, np.where((x == 0), np.where(np.signbit(x), -1, 1), 0), np.where(negative, -1, 1))
    return lgamma(x), sign.astype(np.int32)[()]
