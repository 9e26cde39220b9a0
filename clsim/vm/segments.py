"""Memory objects as the machine sees them, and the table that finds one by its address."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import numpy as np

from clsim.clc.types import Space

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clsim.vm.launch import Region

WINDOW_BITS = 40
"""Each private or local object has its own window of addresses, far from every buffer's."""
_FIRST_WINDOW = 1 << 58


def window_address(number: int) -> int:
    """The address of the machine's own object `number`, in the middle of its window."""
    return _FIRST_WINDOW + (number << WINDOW_BITS) + (1 << (WINDOW_BITS - 1))


class Segment:
    """A run of bytes that pointers lead into. `argument` is the kernel argument's index, or -1."""

    __slots__ = (
        "address",
        "argument",
        "data",
        "is_null",
        "label",
        "read_only",
        "size",
        "space",
        "write_only",
    )

    def __init__(
        self,
        data: NDArray[np.uint8],
        address: int,
        label: str,
        space: Space,
        *,
        argument: int = -1,
        read_only: bool = False,
        write_only: bool = False,
        is_null: bool = False,
    ) -> None:
        self.data = data
        self.size = data.size
        self.address = address
        self.label = label
        self.space = space
        self.argument = argument
        self.read_only = read_only
        self.write_only = write_only
        self.is_null = is_null

    @classmethod
    def of_region(cls, region: Region, space: Space, argument: int) -> Segment:
        return cls(
            region.data,
            region.address,
            region.label,
            space,
            argument=argument,
            read_only=region.read_only,
            write_only=region.write_only,
        )


def null_segment(label: str = "NULL", argument: int = -1) -> Segment:
    """What a NULL pointer leads to: nothing, at address 0."""
    return Segment(np.zeros(0, np.uint8), 0, label, Space.GLOBAL, argument=argument, is_null=True)


class AddressTable:
    """Finds the segment that an address read from memory or cast from an integer lies in."""

    __slots__ = ("_null", "_segments", "_starts")

    def __init__(self, null: Segment) -> None:
        self._null = null
        self._segments: list[Segment] = []
        self._starts: list[int] = []

    def add(self, segment: Segment) -> None:
        place = bisect_right(self._starts, segment.address)
        self._starts.insert(place, segment.address)
        self._segments.insert(place, segment)

    def remove(self, segment: Segment) -> None:
        place = self._segments.index(segment)
        del self._segments[place], self._starts[place]

    def find(self, address: int) -> tuple[Segment, int]:
        """The segment and the offset in it. One past the end still belongs to it.

        An address in none keeps its value as an offset from NULL, so that it survives a round trip.
        """
        place = bisect_right(self._starts, address) - 1
        if place >= 0:
            segment = self._segments[place]
            if address <= segment.address + segment.size:
                return segment, address - segment.address
        return self._null, address
