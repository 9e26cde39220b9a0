"""Buffers and mapped memory of the pyopencl implementation."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol, cast

import pyopencl as cl

from runtime.cl import interface
from runtime.cl._pyopencl_base import Owned, calling, wait_list
from runtime.cl._pyopencl_events import Event
from runtime.cl._wrapper import at_least, host_view
from runtime.cl.codes import ErrorCode, MapFlags, MemFlags
from runtime.cl.interface import CLError

if TYPE_CHECKING:
    from typing_extensions import Buffer as HostMemory

    from runtime.cl._pyopencl_queue import Queue

_HOST_FLAGS = MemFlags.USE_HOST_PTR | MemFlags.COPY_HOST_PTR


class ArgumentUser(Protocol):
    """Who must know when a buffer is released."""

    def argument_released(self, buffer: Buffer) -> None: ...


class Buffer(Owned, interface.Buffer):
    """`interface.Buffer` over a pyopencl buffer."""

    __slots__ = ("_host", "_size", "_users")

    _kind = "buffer"
    _invalid = ErrorCode.CL_INVALID_MEM_OBJECT
    _count_query = cl.mem_info.REFERENCE_COUNT
    _count_routine = "clGetMemObjectInfo"

    def __init__(self, raw: Any, size: int, host: memoryview | None) -> None:
        super().__init__(raw)
        self._size = size
        self._host = host  # with USE_HOST_PTR: the memory that the buffer lives in
        self._users: weakref.WeakSet[Any] | None = None

    def retain(self) -> Buffer:
        with calling("clRetainMemObject"):
            raw = cl.MemoryObject.from_int_ptr(self.live("clRetainMemObject").int_ptr, True)
        return Buffer(raw, self._size, self._host)

    def release(self) -> None:
        self.check_release()
        users, self._users = self._users, None
        for user in users or ():
            user.argument_released(self)
        self._raw.release()  # also where somebody else still holds pyopencl's object
        super().release()
        self._host = None

    def add_user(self, user: ArgumentUser) -> None:
        """`user` is told, before it happens, when this wrapper is released."""
        if self._users is None:
            self._users = weakref.WeakSet()
        self._users.add(user)

    @property
    def size(self) -> int:
        return self._size

    @property
    def flags(self) -> MemFlags:
        with calling("clGetMemObjectInfo"):
            return MemFlags(cast(int, self.live("clGetMemObjectInfo").get_info(cl.mem_info.FLAGS)))

    def sub_buffer(self, origin: int, size: int, flags: MemFlags | None = None) -> Buffer:
        routine = "clCreateSubBuffer"
        at_least(origin, 0, "the origin", routine, ErrorCode.CL_INVALID_VALUE)
        at_least(size, 1, "the size", routine, ErrorCode.CL_INVALID_BUFFER_SIZE)
        with calling(routine, lambda: f"bytes {origin} to {origin + size} of {self._size}"):
            raw = self.live(routine).get_sub_region(origin, size, int(flags or 0))
        return Buffer(raw, size, self._host)


def create_buffer(context: Any, size: int, flags: MemFlags, host: HostMemory | None) -> Buffer:
    """`clCreateBuffer` in pyopencl's context."""
    routine = "clCreateBuffer"
    at_least(size, 1, "the size", routine, ErrorCode.CL_INVALID_BUFFER_SIZE)
    view: memoryview | None = None
    if host is not None:
        if not flags & _HOST_FLAGS:
            reason = f"host memory was given, but the flags {flags!r} say nothing of its use"
            raise CLError(ErrorCode.CL_INVALID_HOST_PTR, routine, reason)
        view = host_view(host, routine)
        if view.nbytes < size:
            reason = f"the host memory has {view.nbytes} bytes, fewer than the buffer's {size}"
            raise CLError(ErrorCode.CL_INVALID_HOST_PTR, routine, reason)
    with calling(routine, lambda: f"{size} bytes with flags {flags!r}"):
        raw = cl.Buffer(context, int(flags), size, view)
    return Buffer(raw, size, view if flags & MemFlags.USE_HOST_PTR else None)


class MappedMemory(interface.MappedMemory):
    """`interface.MappedMemory` over the array that pyopencl maps."""

    __slots__ = ("_event", "_map", "_queue", "_view")

    def __init__(self, array: Any, event: Any, queue: Queue, flags: MapFlags) -> None:
        view = memoryview(array)
        self._view = view if flags & ~MapFlags.READ else view.toreadonly()
        self._map = array.base  # unmaps on pyopencl's own account when it is destroyed while mapped
        self._event: Event | None = Event(event)
        self._queue = queue

    @property
    def view(self) -> memoryview:
        self._mapped("view")
        return self._view

    def wait(self) -> None:
        self._mapped("clWaitForEvents")
        cast(Event, self._event).wait()

    def unmap(self, wait_for: Iterable[interface.Event] = (), want_event: bool = False) -> Event | None:
        routine = "clEnqueueUnmapMemObject"
        self._mapped(routine)
        with calling(routine):
            raw = self._map.release(self._queue.live(routine), wait_list(wait_for, routine))
        self._map = self._event = None
        return Event(raw) if want_event else None

    def _mapped(self, routine: str) -> None:
        if self._map is None:
            raise CLError(ErrorCode.CL_INVALID_VALUE, routine, "this memory is not mapped any more")
