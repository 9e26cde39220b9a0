"""One chunk of a launch while its generated function runs: lane places, memory, and the slow paths.

Generated code does what is in bounds by itself and comes here for the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clsim.vm.dtypes import DTYPES, SIZES

if TYPE_CHECKING:
    from clsim.vm.lockstep.launch import LaunchState


class Chunk:
    """A box of whole work-groups. `dims`: the lane axes' lengths; `origin`: its first group by dimension."""

    def __init__(self, launch: LaunchState, dims: tuple[int, ...], origin: tuple[int, ...]) -> None:
        self.launch = launch
        self.dims = dims
        self.lows: tuple[int, ...] = (0,) * len(dims)
        self._around: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
        self.whole = dims
        """The axes' lengths before any part of the lanes was cut off."""
        self.origin = origin
        self.code = launch.code
        self.arguments = launch.arguments
        self.segments = launch.segments
        self.data: list[Any] = list(launch.data)
        self.copies: list[int] = [1] * len(self.data)
        self._copy_strides: list[tuple[int, ...]] = [()] * len(self.data)
        self._copy_index: dict[Any, Any] = {}
        self._axis: dict[Any, Any] = {}
        self._flat: dict[tuple[int, str], Any] = {}
        self.loop_limit = launch.loop_limit
        for name, value in launch.parameters.items():
            setattr(self, name, value)
        for d, first in enumerate(origin):
            setattr(self, f"group{d}", first)
        for replica in launch.code.replicas:
            self._allocate(replica.seg, replica.axes, replica.granule)

    def _allocate(self, seg: int, axes: int, granule: int) -> None:
        """Memory of a private or local object: granule by granule, each for all copies."""
        copies, strides = 1, [0] * len(self.dims)
        for k in reversed(range(len(self.dims))):
            if axes >> k & 1:
                strides[k] = copies * granule
                copies *= self.dims[k]
        size = self.segments[seg].size
        self.copies[seg] = copies
        self._copy_strides[seg] = tuple(strides)
        self.data[seg] = np.zeros(-(-size // granule) * granule * copies, np.uint8)
        initial = self.launch.initial.get(seg)
        if initial is not None:
            padded = np.zeros(-(-size // granule) * granule, np.uint8)
            padded[:size] = initial
            rows = self.data[seg].reshape(-1, copies, granule)
            rows[...] = padded.reshape(-1, 1, granule)

    # ------------------------------------------------------------ places of lanes

    def axis(self, name: str, code: str) -> Any:
        """The group index or local id along an axis, shaped to broadcast."""
        k = self.code.axes.index(name)
        key = name, code, self.lows[k], self.dims[k]
        found = self._axis.get(key)
        if found is None:
            first = self.origin[int(name[1:])] if name[0] == "g" else self.lows[k]
            shape = [1] * len(self.dims)
            shape[k] = self.dims[k]
            found = np.arange(first, first + self.dims[k]).astype(DTYPES[code]).reshape(shape)
            self._axis[key] = found
        return found

    def _shift(self, coefs: tuple[int, ...]) -> int:
        """What the chunk's origin adds to an affine form, whose coefficients count from group 0."""
        total = 0
        for name, c in zip(self.code.axes, coefs, strict=True):
            if c and name[0] == "g":
                total += c * self.origin[int(name[1:])]
        return total

    def offsets(self, base: int, coefs: tuple[int, ...]) -> Any:
        total: Any = np.int64(base)
        for name, c in zip(self.code.axes, coefs, strict=True):
            if c:
                total = total + self.axis(name, "i8") * c
        return total

    def placed(self, or_equal: bool, base: int, coefs: tuple[int, ...]) -> Any:
        """Whether an affine form is below 0 (or at most 0), as a mask."""
        low = high = base + self._shift(coefs)
        for n, c in zip(self.dims, coefs, strict=True):
            reach = c * (n - 1)
            if reach < 0:
                low += reach
            else:
                high += reach
        if or_equal:
            low, high = low - 1, high - 1
        if high < 0:
            return True
        if low >= 0:
            return False
        values = self.offsets(base, coefs)
        return values <= 0 if or_equal else values < 0

    # ------------------------------------------------------------ views

    def span(
        self,
        seg: int,
        size: int,
        coefs: tuple[int, ...],
        writes: bool,
        cuts: tuple[tuple[int, int, int], ...],
    ) -> tuple[Any, ...]:
        """What views with these coefficients share.

        Least and largest base that keep all lanes inside, strides, coefficients, the bytes from the base
        to the first lane, the same for the first lane's copy, and, where `cuts` leave only part of an axis,
        the shape.
        """
        segment = self.segments[seg]
        limit = -1 if writes and segment.read_only else segment.size
        dims = self.whole
        shift = self._shift(coefs)
        shape = None
        if cuts:
            sizes = list(dims)
            for axis, first, end in cuts:
                sizes[axis] = max(0, end - first)
                shift += coefs[axis] * first
            dims = tuple(sizes)
            strides = self._copy_strides[seg] or (0,) * len(dims)
            shape = tuple(n if c or s else 1 for n, c, s in zip(dims, coefs, strides, strict=True))
        low = high = shift
        for n, c in zip(dims, coefs, strict=True):
            reach = c * (n - 1)
            if reach < 0:
                low += reach
            else:
                high += reach
        return -low, limit - size - high, coefs, coefs, shift, 0, shape

    def span_of_copies(
        self,
        seg: int,
        size: int,
        coefs: tuple[int, ...],
        writes: bool,
        cuts: tuple[tuple[int, int, int], ...],
    ) -> tuple[Any, ...]:
        low, high, _, _, shift, _, shape = self.span(seg, size, coefs, writes, cuts)
        copies, own = self.copies[seg], self._copy_strides[seg]
        strides = tuple(c * copies + s for c, s in zip(coefs, own, strict=True))
        return low, high, strides, coefs, shift, sum(own[axis] * first for axis, first, _ in cuts), shape

    # ------------------------------------------------------------ parts of the lanes

    def narrow(self, axis: int, low: int, high: int) -> None:
        """From here on only the local ids from `low` to `high` along an axis run."""
        self._around.append((self.dims, self.lows))
        self.dims = (*self.dims[:axis], high - low, *self.dims[axis + 1 :])
        self.lows = (*self.lows[:axis], low, *self.lows[axis + 1 :])

    def widen(self) -> None:
        self.dims, self.lows = self._around.pop()

    def shape(self, axes: int) -> tuple[int, ...]:
        """Of a value that varies on some axes, for the lanes that run now."""
        return tuple(n if axes >> k & 1 else 1 for k, n in enumerate(self.dims))

    def spread(self, value: Any, axes: int, dtype: Any) -> Any:
        """A fresh array with a value for all lanes that run now."""
        result = np.zeros(self.shape(axes), dtype)
        if value is not None:
            result[...] = value
        return result

    def flat(self, seg: int, code: str) -> Any:
        """All elements of an object as one array of a type."""
        key = seg, code
        found = self._flat.get(key)
        if found is None:
            data = self.data[seg]
            found = data[: data.size // SIZES[code] * SIZES[code]].view(DTYPES[code])
            self._flat[key] = found
        return found

    def writable(self, seg: int, code: str) -> Any:
        """The same for stores: empty where the argument may not be written."""
        flat = self.flat(seg, code)
        return flat[:0] if self.segments[seg].read_only else flat

    def copy_index(self, seg: int) -> Any:
        """Which copy of a replicated object each lane has."""
        key = seg, self.lows, self.dims
        found = self._copy_index.get(key)
        if found is None:
            granule = self.code.granules[seg]
            total: Any = np.int64(0)
            for k, stride in enumerate(self._copy_strides[seg]):
                if stride:
                    shape = [1] * len(self.dims)
                    shape[k] = self.dims[k]
                    lanes = np.arange(self.lows[k], self.lows[k] + self.dims[k])
                    total = total + (lanes * (stride // granule)).reshape(shape)
            found = self._copy_index[key] = total
        return found

    def address(self, seg: int) -> int:
        return int(self.segments[seg].address)
