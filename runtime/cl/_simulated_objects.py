"""Events, buffers and mapped memory of the simulated implementation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

from clsim import api, spec
from runtime.cl import interface
from runtime.cl._simulated_base import Calls, Simulated, calling, wait_list
from runtime.cl.codes import CommandType, ErrorCode, MapFlags, MemFlags, Status
from runtime.cl.interface import CLError, ProfilingTimes

if TYPE_CHECKING:
    from runtime.cl._simulated_queue import Queue


class Event(Simulated, interface.Event):
    """`interface.Event` over a clsim event."""

    __slots__ = ()

    _kind = "event"
    _invalid = ErrorCode.CL_INVALID_EVENT
    _calls = Calls(api.clRetainEvent, api.clReleaseEvent, api.clGetEventInfo, spec.CL_EVENT_REFERENCE_COUNT)

    def retain(self) -> Event:
        return Event(self.add_reference())

    @property
    def status(self) -> int:
        return cast(int, self.info(spec.CL_EVENT_COMMAND_EXECUTION_STATUS))

    @property
    def command(self) -> CommandType:
        return CommandType(self.info(spec.CL_EVENT_COMMAND_TYPE))

    @property
    def queue(self) -> interface.Queue | None:
        from runtime.cl._simulated_queue import Queue

        return Queue(self.info(spec.CL_EVENT_COMMAND_QUEUE), borrowed=True)

    def wait(self) -> None:
        with calling():
            api.clWaitForEvents((self.live("clWaitForEvents"),))

    @property
    def profile(self) -> ProfilingTimes:
        with calling():
            raw = self.live("clGetEventProfilingInfo")
            return ProfilingTimes(
                api.clGetEventProfilingInfo(raw, spec.CL_PROFILING_COMMAND_QUEUED),
                api.clGetEventProfilingInfo(raw, spec.CL_PROFILING_COMMAND_SUBMIT),
                api.clGetEventProfilingInfo(raw, spec.CL_PROFILING_COMMAND_START),
                api.clGetEventProfilingInfo(raw, spec.CL_PROFILING_COMMAND_END),
            )

    def on_status(self, status: Status, callback: Callable[[int], None]) -> None:
        with calling():
            api.clSetEventCallback(self.live("clSetEventCallback"), int(status), callback)


class UserEvent(Event, interface.UserEvent):
    """`interface.UserEvent` over a clsim user event."""

    __slots__ = ()

    _kind = "user event"

    def retain(self) -> UserEvent:
        return UserEvent(self.add_reference())

    @property
    def queue(self) -> None:
        self.info(spec.CL_EVENT_COMMAND_TYPE)
        return None

    def set_status(self, status: int) -> None:
        with calling():
            api.clSetUserEventStatus(self.live("clSetUserEventStatus"), int(status))


def wait_for_events(events: Iterable[interface.Event]) -> None:
    """`clWaitForEvents`."""
    with calling():
        api.clWaitForEvents(wait_list(events, "clWaitForEvents", ErrorCode.CL_INVALID_EVENT))


class Buffer(Simulated, interface.Buffer):
    """`interface.Buffer` over a clsim buffer."""

    __slots__ = ()

    _kind = "buffer"
    _invalid = ErrorCode.CL_INVALID_MEM_OBJECT
    _calls = Calls(
        api.clRetainMemObject, api.clReleaseMemObject, api.clGetMemObjectInfo, spec.CL_MEM_REFERENCE_COUNT
    )

    def retain(self) -> Buffer:
        return Buffer(self.add_reference())

    @property
    def size(self) -> int:
        return cast(int, self._raw.size)

    @property
    def flags(self) -> MemFlags:
        return MemFlags(self.info(spec.CL_MEM_FLAGS))

    def sub_buffer(self, origin: int, size: int, flags: MemFlags | None = None) -> Buffer:
        with calling():
            return Buffer(
                api.clCreateSubBuffer(
                    self.live("clCreateSubBuffer"),
                    int(flags or 0),
                    spec.CL_BUFFER_CREATE_TYPE_REGION,
                    (origin, size),
                )
            )


class MappedMemory(interface.MappedMemory):
    """`interface.MappedMemory` over a clsim mapping."""

    __slots__ = ("_event", "_mapping", "_queue", "_view")

    def __init__(self, mapping: Any, event: Any, queue: Queue, flags: MapFlags) -> None:
        view = memoryview(mapping.view)
        self._view = view if flags & ~MapFlags.READ else view.toreadonly()
        self._mapping: Any = mapping
        self._event = Event(event)
        self._queue = queue

    @property
    def view(self) -> memoryview:
        self._mapped("view")
        return self._view

    def wait(self) -> None:
        self._mapped("clWaitForEvents")
        self._event.wait()

    def unmap(self, wait_for: Iterable[interface.Event] = (), want_event: bool = False) -> Event | None:
        routine = "clEnqueueUnmapMemObject"
        self._mapped(routine)
        with calling():
            raw = api.clEnqueueUnmapMemObject(
                self._queue.live(routine),
                self._mapping.buffer,
                self._mapping,
                wait_list(wait_for, routine, ErrorCode.CL_INVALID_EVENT_WAIT_LIST),
                want_event,
            )
        self._mapping = None
        self._event.release()
        return Event(raw) if want_event else None

    def _mapped(self, routine: str) -> None:
        if self._mapping is None:
            raise CLError(ErrorCode.CL_INVALID_VALUE, routine, "this memory is not mapped any more")
