"""Which bytes of each argument a launch touched: bitmaps while it runs, pieces at the end."""

from __future__ import annotations

from typing import Any

import numpy as np

from clsim.vm.launch import Access

_LARGEST_BITMAP = 1 << 28


class Recorder:
    """Byte sets by (argument, written). An argument too large for a bitmap gets one bounding piece."""

    def __init__(self) -> None:
        self._maps: dict[tuple[int, bool], Any] = {}
        self._bounds: dict[tuple[int, bool], tuple[int, int]] = {}

    def bitmap(self, argument: int, write: bool, size: int) -> Any:
        """One bool a byte of the argument, or None where only bounds are kept."""
        if size > _LARGEST_BITMAP:
            return None
        found = self._maps.get((argument, write))
        if found is None:
            found = self._maps[argument, write] = np.zeros(size, np.bool_)
        return found

    def add(self, argument: int, write: bool, extent: int, offsets: Any, size: int) -> None:
        """`size` bytes at each of some offsets, all of them in bounds."""
        if not offsets.size:
            return
        bitmap = self.bitmap(argument, write, extent)
        if bitmap is None:
            low, high = self._bounds.get((argument, write), (extent, 0))
            reach = int(offsets.max()) + size
            self._bounds[argument, write] = min(low, int(offsets.min())), max(high, reach)
            return
        for k in range(size):
            bitmap[offsets + k] = True

    def result(self) -> list[Access]:
        """All pieces, by argument, reads before writes."""
        found = []
        for (argument, write), bitmap in self._maps.items():
            found.extend(_pieces(argument, write, bitmap))
        for (argument, write), (low, high) in self._bounds.items():
            found.append(Access(argument, write, low, high - low, high - low, 1, False))
        return sorted(found, key=lambda a: (a.argument, a.write, a.start))


def _pieces(argument: int, write: bool, bitmap: Any) -> list[Access]:
    """Runs of set bytes; runs of one length at equal distances become one piece."""
    edges = np.flatnonzero(np.diff(np.r_[False, bitmap, False].astype(np.int8)))
    starts, sizes = edges[::2], edges[1::2] - edges[::2]
    result = []
    at = 0
    while at < starts.size:
        end = at + 1
        if end < starts.size and sizes[end] == sizes[at]:
            stride = starts[end] - starts[at]
            rest = (np.diff(starts[at:]) == stride) & (sizes[at + 1 :] == sizes[at])
            end = at + 1 + (int(np.argmin(rest)) if not rest.all() else rest.size)
        else:
            stride = sizes[at]
        result.append(Access(argument, write, int(starts[at]), int(sizes[at]), int(stride), end - at, True))
        at = end
    return result
