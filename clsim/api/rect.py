"""Boxes in linear memory: the rectangular reads, writes and copies (section 5.2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clsim.spec import CL_INVALID_VALUE, CLError

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Rect(NamedTuple):
    """A box: `region` is (bytes, rows, slices), the pitches are bytes, `first` is its first byte."""

    first: int
    origin: tuple[int, int, int]
    region: tuple[int, int, int]
    row_pitch: int
    slice_pitch: int

    @classmethod
    def of(
        cls, routine: str, origin: Sequence[int], region: Sequence[int], row_pitch: int, slice_pitch: int
    ) -> Rect:
        """A box with its pitches completed: 0 means as tight as the region allows."""
        if origin is None or region is None or len(origin) != 3 or len(region) != 3:
            raise CLError(CL_INVALID_VALUE, routine, "origin and region have three numbers each")
        if min(region) < 1 or min(origin) < 0:
            raise CLError(CL_INVALID_VALUE, routine, f"region {tuple(region)} has a 0")
        row = row_pitch or region[0]
        plane = slice_pitch or region[1] * row
        first = origin[2] * plane + origin[1] * row + origin[0]
        return cls(first, (origin[0], origin[1], origin[2]), (region[0], region[1], region[2]), row, plane)

    @property
    def size(self) -> int:
        return self.region[0] * self.region[1] * self.region[2]

    @property
    def extent(self) -> int:
        """Bytes from the first to behind the last."""
        return (
            (self.region[2] - 1) * self.slice_pitch + (self.region[1] - 1) * self.row_pitch + self.region[0]
        )

    @property
    def pitches(self) -> tuple[int, int]:
        return (self.row_pitch, self.slice_pitch)

    def overlaps(self, other: Rect, shift: int, other_shift: int) -> bool:
        """Whether two boxes of the same region in one memory share a byte."""
        start, other_start = self.first + shift, other.first + other_shift
        if start + self.extent <= other_start or other_start + other.extent <= start:
            return False
        mine = np.zeros(max(start + self.extent, other_start + other.extent) - min(start, other_start), bool)
        base = min(start, other_start)
        rows(mine[start - base :].view(np.uint8), self._replace(first=0), True)[:] = 1
        return bool(rows(mine[other_start - base :].view(np.uint8), other._replace(first=0), False).any())


def check_pitches(routine: str, rect: Rect) -> None:
    if rect.row_pitch < rect.region[0]:
        raise CLError(CL_INVALID_VALUE, routine, f"row pitch {rect.row_pitch} is under {rect.region[0]}")
    least = rect.region[1] * rect.row_pitch
    if rect.slice_pitch < least or rect.slice_pitch % rect.row_pitch:
        raise CLError(
            CL_INVALID_VALUE,
            routine,
            f"slice pitch {rect.slice_pitch} is not a multiple of {rect.row_pitch} of at least {least}",
        )


def rows(memory: NDArray[np.uint8], rect: Rect, writable: bool) -> NDArray[np.uint8]:
    """The bytes of a box as (slices, rows, bytes), a view of the memory."""
    width, height, depth = rect.region
    return np.lib.stride_tricks.as_strided(
        memory[rect.first :],
        (depth, height, width),
        (rect.slice_pitch, rect.row_pitch, 1),
        writeable=writable,
    )
