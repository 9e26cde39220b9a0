"""Buffers and the bytes behind them.

One `Storage` owns the bytes of a buffer; sub-buffers are views of it, never copies. With
CL_MEM_USE_HOST_PTR the profile decides whether device and host share the bytes (`in_place`) or the device
works on a copy that is brought up to date at map and unmap (`shadow`); the standard allows both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from clsim.ledger import Site
from clsim.objects.base import Counted
from clsim.spec import (
    CL_INVALID_MEM_OBJECT,
    CL_MAP_WRITE,
    CL_MAP_WRITE_INVALIDATE_REGION,
    CL_MEM_READ_ONLY,
    CL_MEM_WRITE_ONLY,
)
from clsim.vm.launch import Region

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clsim.checks.order import Record
    from clsim.objects.context import Context

_ALIGNMENT = 128
"""Alignment in bytes of device memory: that of the largest OpenCL C type (section 5.2, long16)."""

_HOST_ALIGNMENT = 16
"""Host memory aligned to less than this is never worked on in place."""


_NOTHING = np.zeros(0, np.uint8)


def aligned_bytes(size: int) -> NDArray[np.uint8]:
    """`size` zero bytes at an aligned address. The pages are not touched before they are used."""
    raw = np.zeros(size + _ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % _ALIGNMENT
    return raw[start : start + size]


class Storage:
    """The bytes of one buffer.

    `data` is a one-dimensional uint8 array; `host` the program's own memory with CL_MEM_USE_HOST_PTR.
    `busy_until_ns` is the virtual time at which the last command enqueued so far is done with it: memory
    released before then still counts as used. `mappings` are the regions the host has mapped and not
    unmapped. `records` belongs to the order check.
    """

    __slots__ = (
        "address",
        "busy_until_ns",
        "data",
        "host",
        "in_place",
        "label",
        "mappings",
        "records",
        "size",
    )

    def __init__(self, size: int, address: int, host: NDArray[np.uint8] | None, in_place: bool) -> None:
        self.size = size
        self.address = address
        self.host = host
        in_place = (
            in_place
            and host is not None
            and bool(host.flags.writeable)
            and host.ctypes.data % _HOST_ALIGNMENT == 0
        )
        self.in_place = in_place
        self.data: NDArray[np.uint8]
        if host is not None and in_place:
            self.data = host
        else:
            self.data = aligned_bytes(size)
            if host is not None:
                self.data[:] = host
        self.busy_until_ns = 0
        self.mappings: list[Mapping] = []
        self.label = "a buffer"
        self.records: dict[object, Record] | None = None

    def to_host(self, start: int, stop: int) -> None:
        """Shows the device's bytes to a host that gave the memory and works on a copy."""
        if self.host is not None and not self.in_place and self.host.flags.writeable:
            self.host[start:stop] = self.data[start:stop]

    def from_host(self, start: int, stop: int) -> None:
        if self.host is not None and not self.in_place:
            self.data[start:stop] = self.host[start:stop]


class Mapping:
    """A mapped region: what `clEnqueueMapBuffer` returns for a pointer.

    `view` is the mapped bytes, valid from the map command's completion until the unmap command.
    `address` is the host address of the first.
    """

    __slots__ = ("address", "buffer", "flags", "offset", "site", "size", "view")

    def __init__(self, buffer: Buffer, flags: int, offset: int, size: int, site: Site) -> None:
        self.buffer = buffer
        self.flags = flags
        self.offset = offset
        self.size = size
        self.site = site
        storage = buffer.storage
        start = buffer.origin + offset
        memory = storage.data if storage.host is None else storage.host
        piece = memory[start : start + size]
        self.view = piece.data
        self.address = int(piece.ctypes.data)

    @property
    def writes(self) -> bool:
        return bool(self.flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION))


class Buffer(Counted):
    """A buffer (section 5.2.1) or, with a `parent`, a sub-buffer of it (section 5.2.3)."""

    __slots__ = (
        "context",
        "end_callbacks",
        "flags",
        "host_ptr",
        "map_count",
        "origin",
        "parent",
        "properties",
        "region",
        "size",
        "storage",
    )

    kind = "buffer"
    invalid = CL_INVALID_MEM_OBJECT

    def __init__(
        self,
        context: Context,
        site: Site,
        flags: int,
        size: int,
        storage: Storage,
        *,
        parent: Buffer | None = None,
        origin: int = 0,
        host_ptr: object = None,
        properties: tuple[int, ...] | None = None,
    ) -> None:
        # The bytes of a sub-buffer are its parent's and are counted there.
        super().__init__(context.platform, site, size if parent is None else 0)
        self.context = context
        self.flags = flags
        self.size = size
        self.storage = storage
        self.parent = parent
        self.origin = origin
        self.host_ptr = host_ptr
        self.properties = properties
        self.end_callbacks: list[Callable[[], None]] = []
        self.map_count = 0
        if parent is None:
            storage.label = self.label
            context.hold()
        else:
            parent.hold()
        self.region = Region(
            storage.data[origin : origin + size],
            storage.address + origin,
            self.label,
            read_only=bool(flags & CL_MEM_READ_ONLY),
            write_only=bool(flags & CL_MEM_WRITE_ONLY),
        )

    @property
    def label(self) -> str:
        return f"{'buffer' if self.parent is None else 'sub-buffer'} #{self.number}"

    @property
    def bytes(self) -> NDArray[np.uint8]:
        """The object's bytes on the device."""
        return self.region.data

    @property
    def ended(self) -> bool:
        """Whether the object is gone, its memory given back."""
        return self.references == 0 and self.holds == 0

    def _released(self) -> None:
        self.platform.epoch += 1

    def holds_object(self, item: Counted) -> bool:
        return item is (self.context if self.parent is None else self.parent)

    def end(self) -> None:
        engine = self.platform.engine
        if self.storage.busy_until_ns > engine.now_ns:
            # Commands that ran already, but are not complete by the clock, still use the memory.
            self.holds += 1
            engine.call_at(self.storage.busy_until_ns, self._idle)
            return
        super().end()
        for callback in reversed(self.end_callbacks):
            engine.call_later(callback)
        # A kernel may still refer to the object as its argument: the bytes are given back now.
        self.region.data = _NOTHING
        if self.parent is None:
            self.storage.data = _NOTHING
            self.storage.host = None
            self.host_ptr = None
            self.context.drop()
        else:
            self.parent.drop()

    def _idle(self) -> None:
        self.drop()
