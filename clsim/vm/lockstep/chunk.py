"""One chunk of a launch while its generated function runs: lane places, memory, and the slow paths.

Generated code does what is in bounds by itself and comes here for the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clsim.vm.dtypes import DTYPES, SCALAR_TYPES, SIZES
from clsim.vm.lockstep.runtime import cut, write_masked
from clsim.vm.printf import format_pieces
from clsim.vm.scalar_ops import uniform

if TYPE_CHECKING:
    from clsim.vm.lockstep.graph import Place
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

    # ------------------------------------------------------------ faults

    def report(self, kind: str, place: Place, seg: int, offsets: Any, bad: Any) -> None:
        """Record the active lanes in `bad`."""
        bad = np.asarray(bad)
        if not bad.any():
            return
        segment = self.segments[seg]
        bad, offsets = np.broadcast_arrays(bad, offsets)
        lane = self._first(bad)
        where = tuple(i if n > 1 else 0 for i, n in zip(lane, bad.shape, strict=False))
        self.launch.findings.add(
            kind,
            place.loc,
            segment.label,
            int(offsets[where]),
            segment.size,
            place.size,
            self.global_id(lane),
            self._count(bad),
        )

    def _first(self, bad: Any) -> tuple[int, ...]:
        if bad.ndim == 0:
            return (0,) * len(self.dims)
        return tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))

    def _count(self, bad: Any) -> int:
        count = int(bad.sum())
        shape = bad.shape or (1,) * len(self.dims)
        for have, n in zip(shape, self.dims, strict=True):
            if have == 1:
                count *= n
        return count

    def global_id(self, lane: tuple[int, ...]) -> tuple[int, ...]:
        at = dict(zip(self.code.axes, lane, strict=True))
        low = dict(zip(self.code.axes, self.lows, strict=True))
        enqueued = self.code.variant.enqueued
        return tuple(
            (self.origin[d] + at.get(f"g{d}", 0)) * enqueued[d]
            + at.get(f"l{d}", 0)
            + low.get(f"l{d}", 0)
            + self.launch.parameters[f"offset{d}"]
            for d in range(len(enqueued))
        )

    def limit_hit(self, loop: int, mask: Any) -> None:
        """A loop made more passes than it may: its lanes leave it, and that is reported."""
        bad = np.asarray(True if mask is None else mask)
        self.launch.findings.add(
            "loop-limit",
            self.code.locs[loop],
            "",
            0,
            0,
            0,
            self.global_id(self._first(bad)),
            self._count(bad),
        )

    def barrier(self, loc: int, mask: Any) -> None:
        """Lanes of one work-group must all be here, or none of them."""
        if mask is True or mask is False:
            return
        local = tuple(k for k, name in enumerate(self.code.axes) if name[0] == "l" and np.shape(mask)[k] > 1)
        if not local:
            return
        split = mask.any(axis=local, keepdims=True) & ~mask.all(axis=local, keepdims=True)
        if split.any():
            bad = mask & split
            self.launch.findings.add(
                "divergent-barrier",
                self.code.locs[loc],
                "",
                0,
                0,
                0,
                self.global_id(self._first(bad)),
                self._count(bad),
            )

    def barrier_in_box(self, loc: int, mask: Any) -> None:
        """A barrier that only some local ids reach."""
        if self.dims == self.whole:
            self.barrier(loc, mask)
            return
        bad = np.asarray(True if mask is None else mask)
        if bad.any():
            first = self.global_id(self._first(bad))
            self.launch.findings.add(
                "divergent-barrier", self.code.locs[loc], "", 0, 0, 0, first, self._count(bad)
            )

    def check(self, place: Place, seg: int, offsets: Any, size: int, mask: Any, aligned: bool = False) -> Any:
        """Which lanes may go on with an access at byte offsets; reports those that may not."""
        segment = self.segments[seg]
        active = True if mask is None else mask
        verb = "write" if place.write else "read"
        if segment.is_null:
            self.report(f"null-{verb}", place, seg, offsets, active)
            return np.zeros(np.shape(offsets), bool)
        inside = (offsets >= 0) & (offsets <= segment.size - size)
        self.report(f"out-of-bounds-{verb}", place, seg, offsets, ~inside & active)
        if place.write and segment.read_only:
            self.report("write-to-read-only", place, seg, offsets, inside & active)
            return np.zeros(np.shape(offsets), bool)
        if place.align > 1 and not (aligned and segment.address % place.align == 0):
            self.report(
                "misaligned", place, seg, offsets, ((offsets + segment.address) % place.align != 0) & active
            )
        return inside

    # ------------------------------------------------------------ general accesses

    def position(self, seg: int, offsets: Any) -> Any:
        """Where in the object's data the bytes at some offsets lie, for each lane."""
        copies = self.copies[seg]
        if copies == 1 and self.code.granules[seg] == 1:
            return offsets
        granule = self.code.granules[seg]
        index = self.copy_index(seg)
        return (offsets // granule * copies + index) * granule + offsets % granule

    def _straddles(self, seg: int, offsets: Any, size: int) -> bool:
        """Whether bytes that follow each other in the object lie apart, as its copies are in between."""
        granule = self.code.granules[seg]
        return self.copies[seg] > 1 and bool((offsets % granule + size > granule).any())

    def _positions(self, seg: int, offsets: Any, size: int) -> Any:
        """The position of each of the bytes at some offsets, along a last axis."""
        return np.stack([self.position(seg, offsets + k) for k in range(size)], axis=-1)

    def load_bytes(
        self, seg: int, offsets: Any, place: int, component: int, mask: Any, aligned: bool = False
    ) -> Any:
        """One component of an access at any byte offsets; what may not be read gives 0."""
        spot = self.code.places[place]
        offsets = np.asarray(offsets, np.int64)
        before = self.launch.findings.muted
        self.launch.findings.muted = before or component != spot.reporter
        inside = self.check(spot, seg, offsets, spot.size, mask, aligned)
        self.launch.findings.muted = before
        size = SIZES[spot.code]
        if not inside.any():
            return np.zeros(np.shape(self.position(seg, offsets)), DTYPES[spot.code])
        offsets = np.where(inside, offsets + component * size, 0)
        if not aligned and self._straddles(seg, offsets, size):
            raw = np.ascontiguousarray(self.data[seg][self._positions(seg, offsets, size)])
            values = raw.view(DTYPES[spot.code])[..., 0]
        else:
            values = self._take(self.data[seg], self.position(seg, offsets), spot.code, aligned)
        return np.where(inside, values, SCALAR_TYPES[spot.code](0))

    def _take(self, data: Any, at: Any, code: str, aligned: bool = False) -> Any:
        """Values of a type at some byte positions of an object's data."""
        size = SIZES[code]
        if size == 1:
            return data.view(DTYPES[code]).take(at)
        if aligned or not (at & (size - 1)).any():
            return data[: data.size // size * size].view(DTYPES[code]).take(at // size)
        raw = data[at[..., None] + np.arange(size)]
        return np.ascontiguousarray(raw).view(DTYPES[code])[..., 0]

    def load_one(self, seg: int, offset: int, place: int, component: int, mask: Any) -> Any:
        """The same for a uniform access, as the machine keeps uniform values."""
        code = self.code.places[place].code
        return uniform(np.asarray(self.load_bytes(seg, offset, place, component, mask)).flat[0], code)

    def load_miss(self, seg: int, miss: Any, place: int, component: int, mask: Any) -> Any:
        """A strided load some lanes of which are out of bounds, or not aligned."""
        offsets, spot = self.offsets(miss.base, miss.coefs), self.code.places[place]
        return self.load_bytes(seg, offsets, place, component, mask, spot.align <= SIZES[spot.code])

    def gather(self, seg: int, code: str, index: Any, place: int, component: int, mask: Any) -> Any:
        """Elements at some indices; the common case is that all are in bounds."""
        flat = self.flat(seg, code)
        if self.copies[seg] == 1:
            width = self.code.places[place].size // SIZES[code]
            if flat.size and component <= index.min() and index.max() < flat.size - (width - 1 - component):
                return flat.take(index)
        elif self._fits(seg, code, index, place, component):
            return flat.take(index * self.copies[seg] + self.copy_index(seg))
        size = SIZES[code]
        return self.load_bytes(seg, (index - component) * size, place, component, mask, True)

    def _fits(self, seg: int, code: str, index: Any, place: int, component: int) -> bool:
        size = SIZES[code]
        last = (self.segments[seg].size - self.code.places[place].size) // size + component
        return bool(component <= index.min() and index.max() <= last)

    def store_bytes(self, seg: int, offsets: Any, values: tuple[Any, ...], place: int, mask: Any) -> None:
        """All components of a store at any byte offsets."""
        spot = self.code.places[place]
        offsets = np.asarray(offsets, np.int64)
        inside = self.check(spot, seg, offsets, spot.size, mask)
        if not inside.any():
            return
        size = SIZES[spot.code]
        active = inside if mask is None else inside & mask
        for component, value in enumerate(values):
            start = offsets + component * size
            value = np.asarray(value, DTYPES[spot.code])
            at, value, on = np.broadcast_arrays(self.position(seg, start), value, active)
            on = np.atleast_1d(on)
            raw = np.ascontiguousarray(np.atleast_1d(value)[on]).view(np.uint8).reshape(-1, size)
            if self._straddles(seg, start, size):
                places = self._positions(seg, start, size)
                each = np.broadcast_to(places, (*at.shape, size)).reshape(*on.shape, size)[on]
            else:
                each = np.atleast_1d(at)[on][:, None] + np.arange(size)
            self.data[seg][each] = raw

    def store_miss(self, seg: int, miss: Any, values: tuple[Any, ...], place: int, mask: Any) -> None:
        self.store_bytes(seg, self.offsets(miss.base, miss.coefs), values, place, mask)

    def scatter(self, seg: int, code: str, index: Any, value: Any, place: int, mask: Any) -> None:
        """One element a lane at some indices; of lanes that share one, the last wins."""
        if self.copies[seg] == 1:
            flat = self.writable(seg, code)
            fits = flat.size and index.min() >= 0 and index.max() < flat.size
        else:
            flat = self.flat(seg, code)
            fits = self._fits(seg, code, index, place, 0)
        if not fits:
            self.store_bytes(seg, index * SIZES[code], (value,), place, mask)
            return
        if self.copies[seg] > 1:
            index = index * self.copies[seg] + self.copy_index(seg)
        if mask is None or mask is True:
            index, value = np.broadcast_arrays(index, value)
            flat[index] = value
        elif mask is not False:
            index, value, on = np.broadcast_arrays(index, value, mask)
            flat[index[on]] = value[on]

    def last(self, value: Any, mask: Any) -> Any:
        """The value of the last active lane, for a store of all lanes to one place."""
        if mask is None or mask is True:
            return value[(-1,) * np.ndim(value)] if np.ndim(value) else value
        value, on = np.broadcast_arrays(value, mask)
        lanes = np.flatnonzero(on)
        return value.reshape(-1)[lanes[-1]] if lanes.size else value.reshape(-1)[0]

    def store_conflict(self, view: Any, value: Any, mask: Any) -> None:
        """A store of lanes that differ to places that some of them share: the last active one wins."""
        on = np.asarray(True if mask is None else mask)
        value = np.asarray(value)
        shared = [k for k in range(view.ndim) if view.shape[k] == 1 and (_wide(value, k) or _wide(on, k))]
        sizes = [max(value.shape[k] if value.ndim else 1, on.shape[k] if on.ndim else 1) for k in shared]
        for turn in np.ndindex(*sizes) if mask is not None else [tuple(n - 1 for n in sizes)]:
            parts = tuple((k, i, i + 1) for k, i in zip(shared, turn, strict=True))
            write_masked(view, cut(value, parts), cut(on, parts) if on.ndim else bool(on))

    # ------------------------------------------------------------ printf

    def printf(self, pieces: Any, args: tuple[Any, ...], mask: Any) -> None:
        """Format for each active lane."""
        shape = self.dims
        on = np.broadcast_to(np.asarray(True if mask is None else mask), shape)
        columns = [
            a if isinstance(a, str) else [np.broadcast_to(np.asarray(x), shape) for x in a] for a in args
        ]
        for lane in zip(*np.nonzero(on), strict=True) if shape else ([()] if on else []):
            values = [c if isinstance(c, str) else tuple(x[lane] for x in c) for c in columns]
            self.launch.printer.add(self.order(tuple(map(int, lane))), format_pieces(pieces, values))

    def order(self, lane: tuple[int, ...]) -> int:
        """The work-item's place among all: by group, then by local id, the first dimension fastest."""
        at = dict(zip(self.code.axes, lane, strict=True))
        low = dict(zip(self.code.axes, self.lows, strict=True))
        variant = self.code.variant
        group = local = 0
        for d in reversed(range(len(variant.local))):
            group = group * self.launch.parameters[f"groups{d}"] + self.origin[d] + at.get(f"g{d}", 0)
            local = local * variant.local[d] + at.get(f"l{d}", 0) + low.get(f"l{d}", 0)
        return (group << 20) + local


def _wide(value: Any, axis: int) -> bool:
    return bool(value.ndim > 0 and value.shape[axis] > 1)
