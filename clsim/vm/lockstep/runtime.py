"""Small functions that generated code calls on masks and values.

A mask is a bool array, or True or False where a whole chunk agrees.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clsim.vm.convert import convert, convert_uniform
from clsim.vm.scalar_ops import divide as divide_one
from clsim.vm.scalar_ops import remainder as remainder_one
from clsim.vm.scalar_ops import uniform, value_of

__all__ = [
    "Miss",
    "bits",
    "bits_one",
    "both",
    "compare_bools",
    "convert",
    "convert_uniform",
    "cut",
    "divide",
    "divide_one",
    "either",
    "modulo",
    "negate",
    "not_all",
    "number",
    "reduce_mask",
    "remainder_one",
    "some",
    "uniform",
    "write_masked",
    "write_masked_rows",
]


class Miss:
    """A view that would leave its object, as the affine offsets of its lanes."""

    __slots__ = ("base", "coefs")

    def __init__(self, base: int, coefs: tuple[int, ...]) -> None:
        self.base = base
        self.coefs = coefs


def cut(value: Any, parts: tuple[tuple[int, int, int], ...]) -> Any:
    """The lanes `low` to `high` along some axes of what varies there."""
    if value.__class__ is not np.ndarray or not value.ndim:
        return value
    index = [slice(None)] * value.ndim
    for axis, low, high in parts:
        if value.shape[axis] != 1:
            index[axis] = slice(low, high)
    return value[tuple(index)]


# ------------------------------------------------------------ masks


def both(a: Any, b: Any) -> Any:
    if a is True:
        return b
    if a is False or b is False:
        return False
    return a if b is True else a & b


def either(a: Any, b: Any) -> Any:
    if a is False:
        return b
    if a is True or b is True:
        return True
    return a if b is False else a | b


def negate(a: Any) -> Any:
    if a is True:
        return False
    return True if a is False else ~a


def some(a: Any) -> bool:
    """Whether any lane is set."""
    return a if a is True or a is False else bool(a.any())


def not_all(a: Any) -> bool:
    return not a if a is True or a is False else not a.all()


def compare_bools(a: Any, b: Any, equal: bool) -> Any:
    return np.equal(a, b) if equal else np.not_equal(a, b)


def number(a: Any, dtype: Any, one: tuple[int, ...]) -> Any:
    """Bools as 0 and 1 of a type. `one` is the shape of a single lane."""
    return a.astype(dtype) if a.__class__ is np.ndarray else np.full(one, a, dtype)


def reduce_mask(a: Any, axes: tuple[int, ...]) -> Any:
    """Whether any lane along the axes is set."""
    return a if a is None or a is True or a is False else np.asarray(a).any(axis=axes, keepdims=True)


# ------------------------------------------------------------ numbers


def bits(a: Any, dtype: Any) -> Any:
    return np.array(a).view(dtype)


def bits_one(a: Any, code: str) -> Any:
    return value_of(np.asarray(a).tobytes(), code)


def divide(a: Any, b: Any) -> Any:
    """Integer division that truncates; by zero it gives 0."""
    quotient = a // b
    if a.dtype.kind == "u":
        return quotient
    return quotient + ((quotient * b != a) & ((a < 0) != (b < 0)) & (b != 0))


def modulo(a: Any, b: Any) -> Any:
    """`a % b` of numbers that are not negative; NumPy divides by one number faster than it takes a rest."""
    return a - a // b * b


# ------------------------------------------------------------ masked writes


def write_masked(view: Any, value: Any, mask: Any) -> None:
    """Write active lanes only, never touching what the others lead to."""
    if mask is True:
        view[...] = value
    elif mask is not False:
        if mask.size == 1:
            if mask.all():
                view[...] = value
        else:
            np.copyto(view, value, where=mask)


def write_masked_rows(view: Any, value: Any, mask: Any) -> None:
    """The same on memory of this chunk alone, whose lanes lead to different places: faster."""
    if mask is True:
        view[...] = value
    elif mask is not False:
        view[...] = np.where(mask, value, view)
