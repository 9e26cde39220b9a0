"""Accesses through pointers that are only known as addresses, and atomics."""

from __future__ import annotations

from typing import Any

import numpy as np

from clsim.clc.types import Space
from clsim.vm.dtypes import DTYPES, SCALAR_TYPES, SIZES
from clsim.vm.lockstep import atomics
from clsim.vm.lockstep.chunk_access import AccessingChunk
from clsim.vm.lockstep.runtime import Miss
from clsim.vm.scalar_ops import uniform

_SHARED = (Space.GLOBAL, Space.CONSTANT)

_NULL = 0
"""The segment that stands for what no pointer leads to."""


class AddressedChunk(AccessingChunk):
    """The complete chunk: what generated code calls."""

    def _candidates(self, addresses: Any) -> list[tuple[int, Any]]:
        """Segments that some lanes' addresses lie in, with those lanes; the rest belongs to NULL."""
        left = np.ones(np.shape(addresses), bool)
        found: list[tuple[int, Any]] = []
        for k, segment in enumerate(self.segments):
            if segment.is_null:
                continue
            start = np.uint64(segment.address)
            here = left & (addresses >= start) & (addresses - start <= np.uint64(segment.size))
            if here.any():
                # One past the end may be the start of another object, which is meant then.
                inside = here & (addresses - start < np.uint64(segment.size))
                if inside.any():
                    found.append((k, inside))
                    left &= ~inside
        for k, segment in enumerate(self.segments):
            if segment.is_null or not left.any():
                continue
            here = left & (addresses == np.uint64((segment.address + segment.size) & ((1 << 64) - 1)))
            if here.any():
                found.append((k, here))
                left &= ~here
        if left.any():
            found.append((_NULL, left))
        return found

    def _offsets_in(self, seg: int, addresses: Any) -> Any:
        return (addresses - np.uint64(self.segments[seg].address)).astype(np.int64)

    def load_address(self, addresses: Any, place: int, component: int, mask: Any) -> Any:
        addresses = np.asarray(addresses, np.uint64)
        code = self.code.places[place].code
        result: Any = SCALAR_TYPES[code](0)
        for seg, lanes in self._candidates(addresses):
            active = lanes if mask is None else lanes & mask
            offsets = np.where(lanes, self._offsets_in(seg, addresses), 0)
            values = self.load_bytes(seg, offsets, place, component, active)
            result = np.where(lanes, values, result)
        return result

    def load_address_one(self, address: int, place: int, component: int, mask: Any) -> Any:
        code = self.code.places[place].code
        return uniform(np.asarray(self.load_address(address, place, component, mask)).flat[0], code)

    def store_address(self, addresses: Any, values: tuple[Any, ...], place: int, mask: Any) -> None:
        addresses = np.asarray(addresses, np.uint64)
        for seg, lanes in self._candidates(addresses):
            active = lanes if mask is None else lanes & mask
            offsets = np.where(lanes, self._offsets_in(seg, addresses), 0)
            self.store_bytes(seg, offsets, values, place, active)

    # ------------------------------------------------------------ recording

    def record_view(self, seg: int, view: Any, place: int, mask: Any) -> None:
        """Note what an affine access touches. `view` is the strided view, or the miss it came to."""
        if isinstance(view, Miss):
            offsets = self.offsets(view.base, view.coefs)
        else:
            start = view.__array_interface__["data"][0]
            spot = self.code.places[place]
            start -= spot.reporter * SIZES[spot.code]
            offsets = np.int64(start - self.data[seg].__array_interface__["data"][0])
            for k, (n, stride) in enumerate(zip(view.shape, view.strides, strict=True)):
                if n > 1:
                    shape = [1] * view.ndim
                    shape[k] = n
                    offsets = offsets + (np.arange(n) * stride).reshape(shape)
        self.record_bytes(seg, offsets, place, mask)

    def record_elements(self, seg: int, index: Any, place: int, mask: Any) -> None:
        spot = self.code.places[place]
        self.record_bytes(seg, (index - spot.reporter) * SIZES[spot.code], place, mask)

    def record_address(self, addresses: Any, place: int, mask: Any) -> None:
        addresses = np.asarray(addresses, np.uint64)
        for seg, lanes in self._candidates(addresses):
            active = lanes if mask is None else lanes & mask
            self.record_bytes(seg, np.where(lanes, self._offsets_in(seg, addresses), 0), place, active)

    def record_bytes(self, seg: int, offsets: Any, place: int, mask: Any) -> None:
        spot, segment = self.code.places[place], self.segments[seg]
        recorder = self.launch.recorder
        if recorder is None or segment.argument < 0 or segment.space not in _SHARED:
            return
        if spot.write and segment.read_only:
            return
        offsets = np.asarray(offsets, np.int64)
        on = (offsets >= 0) & (offsets <= segment.size - spot.size)
        offsets, on = np.broadcast_arrays(offsets, on if mask is None else on & mask)
        touched = np.atleast_1d(offsets)[np.atleast_1d(on)]
        if spot.write:
            recorder.add(segment.argument, True, segment.size, touched, spot.size)
        if spot.reads:
            recorder.add(segment.argument, False, segment.size, touched, spot.size)

    # ------------------------------------------------------------ atomics

    def atomic(
        self, op: str, seg: int, offsets: Any, args: tuple[Any, ...], place: int, mask: Any, wanted: bool
    ) -> Any:
        """An atomic of every active lane; old values in the shape of all lanes."""
        return self._atomic_in(op, seg, np.asarray(offsets, np.int64), args, place, mask, wanted)

    def atomic_address(
        self, op: str, addresses: Any, args: tuple[Any, ...], place: int, mask: Any, wanted: bool
    ) -> Any:
        addresses = np.asarray(addresses, np.uint64)
        result: Any = SCALAR_TYPES[self.code.places[place].code](0)
        for seg, lanes in self._candidates(addresses):
            active = lanes if mask is None else lanes & mask
            offsets = np.where(lanes, self._offsets_in(seg, addresses), 0)
            old = self._atomic_in(op, seg, offsets, args, place, active, wanted)
            if wanted:
                result = np.where(lanes, old, result)
        return result

    def _atomic_in(
        self, op: str, seg: int, offsets: Any, args: tuple[Any, ...], place: int, mask: Any, wanted: bool
    ) -> Any:
        spot = self.code.places[place]
        size, dtype = SIZES[spot.code], DTYPES[spot.code]
        inside = self.check(spot, seg, offsets, size, mask)
        on = np.broadcast_to(inside if mask is None else inside & mask, self.dims)
        old = np.zeros(self.dims, dtype) if wanted else None
        data = self.data[seg]
        if not on.any():
            return old
        at = np.broadcast_to(self.position(seg, np.where(inside, offsets, 0)), self.dims)[on]
        memory = data[: data.size // size * size].view(dtype)
        values = tuple(np.broadcast_to(np.asarray(a, dtype), self.dims)[on] for a in args)
        found = atomics.apply(op, memory, np.atleast_1d(at) // size, values, wanted)
        if op == "cmpxchg" and self.launch.retrying:
            self.launch.count_tries(bool((found == values[0]).any()))
        if old is not None:
            old[on] = found
        return old
