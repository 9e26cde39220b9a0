"""Buffers and mapped memory of the pyopencl implementation."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol, cast

import pyopencl as cl

from runtime.cl import interface
from runtime.cl._pyopencl_base import Owned, WeakMembers, calling, wait_list
from runtime.cl._pyopencl_events import PENDING_TRANSFERS, Event, markers_of
from runtime.cl._wrapper import at_least, host_view
from runtime.cl.codes import ErrorCode, MapFlags, MemFlags
from runtime.cl.interface import CLError

if TYPE_CHECKING:
    from typing_extensions import Buffer as HostMemory

    from runtime.cl._pyopencl_queue import Queue

_HOST_FLAGS = MemFlags.USE_HOST_PTR | MemFlags.COPY_HOST_PTR


class ArgumentUser(Protocol):
    """Who must know when a buffer is gone."""

    def argument_released(self, size: int) -> None: ...


class Life:
    """What the wrappers of one memory object share: how many they are, and who uses it as an argument.

    A kernel does not keep its arguments alive, and a driver that is given a dead one may crash.
    """

    __slots__ = ("__weakref__", "context", "host", "size", "users", "wrappers")

    def __init__(self, size: int, host: memoryview | None, context: int) -> None:
        self.size = size
        self.host = host  # with USE_HOST_PTR: the memory that the buffer lives in
        self.context = context  # its handle
        self.wrappers = 0
        self.users: WeakMembers[ArgumentUser] = WeakMembers()

    def drop(self) -> None:
        """A wrapper is about to give up its reference; before the last does, the users are told."""
        self.wrappers -= 1
        if not self.wrappers:
            for user in self.users.alive():
                user.argument_released(self.size)
            if self.host is not None:
                # Commands in flight may still use it, and the implementation does not tell when they end.
                for marker in markers_of(self.context):
                    PENDING_TRANSFERS.keep(marker, self.host)
                self.host = None

    def add_user(self, user: ArgumentUser) -> None:
        self.users.add(user)


class Buffer(Owned, interface.Buffer):
    """`interface.Buffer` over a pyopencl buffer."""

    __slots__ = ("life",)

    _kind = "buffer"
    _invalid = ErrorCode.CL_INVALID_MEM_OBJECT
    _count_query = cl.mem_info.REFERENCE_COUNT
    _count_routine = "clGetMemObjectInfo"

    def __init__(self, raw: Any, life: Life) -> None:
        super().__init__(raw)
        self.life = life
        life.wrappers += 1

    def retain(self) -> Buffer:
        with calling("clRetainMemObject"):
            raw = cl.MemoryObject.from_int_ptr(self.live("clRetainMemObject").int_ptr, True)
        return Buffer(raw, self.life)

    def release(self) -> None:
        self.check_release()
        self.life.drop()
        self._raw.release()  # also where somebody else still holds pyopencl's object
        super().release()

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if self._raw is not None and not is_finalizing():
            self.life.drop()

    @property
    def size(self) -> int:
        return self.life.size

    @property
    def flags(self) -> MemFlags:
        with calling("clGetMemObjectInfo"):
            return MemFlags(cast(int, self.live("clGetMemObjectInfo").get_info(cl.mem_info.FLAGS)))

    def sub_buffer(self, origin: int, size: int, flags: MemFlags | None = None) -> Buffer:
        routine = "clCreateSubBuffer"
        at_least(origin, 0, "the origin", routine, ErrorCode.CL_INVALID_VALUE)
        at_least(size, 1, "the size", routine, ErrorCode.CL_INVALID_BUFFER_SIZE)
        with calling(routine, lambda: f"bytes {origin} to {origin + size} of {self.size}"):
            raw = self.live(routine).get_sub_region(origin, size, int(flags or 0))
        return Buffer(raw, Life(size, self.life.host, self.life.context))


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
    kept = view if flags & MemFlags.USE_HOST_PTR else None
    return Buffer(raw, Life(size, kept, context.int_ptr))


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
