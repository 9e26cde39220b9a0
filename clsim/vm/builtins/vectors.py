"""Built-ins that see whole vectors: geometric ones, `any`, `all` and the shuffles.

They take and give lists of components (OpenCL C, sections 6.15.5, 6.15.6 and 6.15.14).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Components = Sequence[Any]


def _dot(a: Components, b: Components) -> list[Any]:
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return [total]


def _cross(a: Components, b: Components) -> list[Any]:
    result = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    return result + [a[0].dtype.type(0)] * (len(a) - 3)


def _length(a: Components) -> list[Any]:
    """Computed so that squares neither overflow nor vanish: in double, or scaled for doubles."""
    kind = a[0].dtype
    if len(a) == 1:
        return [np.abs(a[0])]
    if kind != np.float64:
        wide = [x.astype(np.float64) for x in a]
        return [np.sqrt(_dot(wide, wide)[0]).astype(kind)]
    total = a[0]
    for x in a[1:]:
        total = np.hypot(total, x)
    return [total]


def _distance(a: Components, b: Components) -> list[Any]:
    return _length([x - y for x, y in zip(a, b, strict=True)])


def _normalize(a: Components) -> list[Any]:
    size = _length(a)[0]
    kind = a[0].dtype.type
    zero = size == 0
    divisor = np.where(zero, kind(1), size)
    infinite = np.isinf(size)
    if np.any(infinite):
        a = [np.where(infinite, np.where(np.isinf(x), np.copysign(kind(1), x), kind(0)), x) for x in a]
        divisor = np.where(infinite, _length(a)[0], divisor)
    return [x / divisor for x in a]


def _any(a: Components) -> list[Any]:
    found = a[0] < 0
    for x in a[1:]:
        found = found | (x < 0)
    return [found.astype(np.int32)]


def _all(a: Components) -> list[Any]:
    found = a[0] < 0
    for x in a[1:]:
        found = found & (x < 0)
    return [found.astype(np.int32)]


def _pick(source: Components, mask: Components) -> list[Any]:
    """Component `mask[i]` of `source` for each i; only the low bits of the mask count."""
    last = len(source) - 1
    result = []
    for index in mask:
        chosen = source[0]
        place = index & index.dtype.type(last)
        for k in range(1, len(source)):
            chosen = np.where(place == k, source[k], chosen)
        result.append(chosen[()])
    return result


def _padded(source: Components) -> list[Any]:
    return [*source, source[0].dtype.type(0)] if len(source) == 3 else list(source)


VECTORS: dict[str, Callable[..., list[Any]]] = {
    "dot": _dot,
    "cross": _cross,
    "length": _length,
    "distance": _distance,
    "normalize": _normalize,
    "fast_length": _length,
    "fast_distance": _distance,
    "fast_normalize": _normalize,
    "any": _any,
    "all": _all,
    "shuffle": lambda a, mask: _pick(_padded(a), mask),
    "shuffle2": lambda a, b, mask: _pick([*_padded(a), *_padded(b)], mask),
}
