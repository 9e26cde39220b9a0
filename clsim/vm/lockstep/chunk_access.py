"""What generated code leaves to general code: faults, accesses at any place, and printf."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clsim.vm.dtypes import DTYPES, SCALAR_TYPES, SIZES
from clsim.vm.lockstep.chunk import Chunk
from clsim.vm.lockstep.runtime import cut, write_masked
from clsim.vm.printf import format_pieces
from clsim.vm.scalar_ops import uniform

if TYPE_CHECKING:
    from clsim.vm.lockstep.graph import Place


class AccessingChunk(Chunk):
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
