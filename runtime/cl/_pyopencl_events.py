"""Events of the pyopencl implementation, and the keeper of host memory that transfers still use."""

from __future__ import annotations

import atexit
import ctypes
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

import pyopencl as cl

from runtime.cl import interface
from runtime.cl._pyopencl_base import Owned, WeakMembers, calling, events_to_wait_for
from runtime.cl.codes import CommandType, ErrorCode, Status
from runtime.cl.interface import CLError, ProfilingTimes

if TYPE_CHECKING:
    from runtime.cl._pyopencl_queue import Queue

_STATUS = cl.event_info.COMMAND_EXECUTION_STATUS
_QUEUED = cl.profiling_info.QUEUED
_SUBMIT = cl.profiling_info.SUBMIT
_START = cl.profiling_info.START
_END = cl.profiling_info.END


class PendingTransfers:
    """Keeps pyopencl's events, and with them the host memory that their commands use, until complete.

    The event of a host transfer waits for its command when it is destroyed, with the interpreter locked:
    destroyed too early it stalls or, where the command waits for this very program, hangs it. So they are
    kept here and destroyed once complete: those at the front when another comes, all when a queue was
    finished or an event waited for, and when many have gathered.
    """

    def __init__(self, sweep_at: int = 64) -> None:
        self._kept: deque[tuple[Any, object]] = deque()
        self._lock = threading.Lock()
        self._least_sweep = self._sweep_at = sweep_at

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, event: Any, memory: object = None) -> None:
        """Takes over an event whose command may not be complete, and memory that is to live as long."""
        over = []
        with self._lock:
            while self._kept and _is_over(self._kept[0][0]):
                over.append(self._kept.popleft())
            self._kept.append((event, memory))
            sweep = len(self._kept) >= self._sweep_at
        over.clear()  # outside of the lock: what owns the host memory may do anything when it goes
        if sweep:
            self.reap()

    def reap(self) -> None:
        """Destroys all events that are complete."""
        if not self._kept:
            return
        with self._lock:
            events, self._kept = self._kept, deque()
        waiting = [kept for kept in events if not _is_over(kept[0])]
        with self._lock:
            self._kept.extendleft(reversed(waiting))
            # Twice what cannot go yet: a sweep costs a look at each, which so is paid by those that came.
            self._sweep_at = max(self._least_sweep, 2 * len(self._kept))

    def abandon(self) -> None:
        """Keeps for good what is not complete, so that the process can end without waiting for it."""
        self.reap()
        for kept in self._kept:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))


def _is_over(event: Any) -> bool:
    return cast(int, event.get_info(_STATUS)) <= Status.COMPLETE


PENDING_TRANSFERS = PendingTransfers()
atexit.register(PENDING_TRANSFERS.abandon)


LIVE_QUEUES: WeakMembers[Queue] = WeakMembers()
"""The queues that are not released."""


def markers_of(context: int) -> list[Any]:
    """Markers after everything that is enqueued now, one on each live queue of the context of that handle."""
    markers = []
    for queue in LIVE_QUEUES.alive():
        try:
            raw = queue.live("clEnqueueMarkerWithWaitList")
            if raw.get_info(cl.command_queue_info.CONTEXT).int_ptr == context:
                markers.append(cl._cl._enqueue_marker_with_wait_list(raw, None))
        except (CLError, cl.Error):
            continue  # released meanwhile, or broken: nothing more will run on it
    return markers


def plain_event(event: Any) -> Any:
    """A second pyopencl event of the same command, which does not wait when it is destroyed."""
    return cl.Event.from_int_ptr(event.int_ptr, True)


class Event(Owned, interface.Event):
    """`interface.Event` over a pyopencl event."""

    __slots__ = ("_queue",)

    _kind = "event"
    _invalid = ErrorCode.CL_INVALID_EVENT
    _count_query = cl.event_info.REFERENCE_COUNT
    _count_routine = "clGetEventInfo"

    def __init__(self, raw: Any) -> None:
        super().__init__(raw)
        self._queue: Queue | None = None

    def retain(self) -> Event:
        return Event(plain_event(self.live("clRetainEvent")))

    def release(self) -> None:
        super().release()
        self._queue = None

    @property
    def status(self) -> int:
        with calling("clGetEventInfo"):
            return cast(int, self.live("clGetEventInfo").get_info(_STATUS))

    @property
    def command(self) -> CommandType:
        with calling("clGetEventInfo"):
            return CommandType(cast(int, self.live("clGetEventInfo").get_info(cl.event_info.COMMAND_TYPE)))

    @property
    def queue(self) -> interface.Queue | None:
        from runtime.cl._pyopencl_queue import Queue

        if self._queue is None:
            with calling("clGetEventInfo"):
                self._queue = Queue.borrow(self.live("clGetEventInfo").get_info(cl.event_info.COMMAND_QUEUE))
        return self._queue

    def wait(self) -> None:
        with calling("clWaitForEvents"):
            self.live("clWaitForEvents").wait()
        PENDING_TRANSFERS.reap()

    @property
    def profile(self) -> ProfilingTimes:
        with calling("clGetEventProfilingInfo"):
            get = self.live("clGetEventProfilingInfo").get_profiling_info
            return ProfilingTimes(get(_QUEUED), get(_SUBMIT), get(_START), get(_END))

    def on_status(self, status: Status, callback: Callable[[int], None]) -> None:
        routine = "clSetEventCallback"
        if status not in (Status.SUBMITTED, Status.RUNNING, Status.COMPLETE) or not callable(callback):
            # Refused here: pyopencl may end the process where the implementation refuses.
            reason = (
                f"{callback!r} cannot be called at status {status!r}: SUBMITTED, RUNNING or COMPLETE can be"
            )
            raise CLError(ErrorCode.CL_INVALID_VALUE, routine, reason)
        with calling(routine):
            self.live(routine).set_callback(int(status), callback)


class UserEvent(Event, interface.UserEvent):
    """`interface.UserEvent` over a pyopencl user event.

    Only pyopencl's own user event can set a status, and `from_int_ptr` does not make one. So the wrappers
    of one user event share pyopencl's, and each owns a plain event besides, whose count is its reference.
    """

    __slots__ = ("_setter",)

    _kind = "user event"

    def __init__(self, setter: cl.UserEvent) -> None:
        super().__init__(plain_event(setter))
        self._setter: cl.UserEvent | None = setter

    def retain(self) -> UserEvent:
        self.live("clRetainEvent")
        return UserEvent(cast("cl.UserEvent", self._setter))

    def release(self) -> None:
        super().release()
        self._setter = None

    @property
    def queue(self) -> None:
        self.live("clGetEventInfo")
        return None

    def set_status(self, status: int) -> None:
        setter = self._setter
        if setter is None:
            self.live("clSetUserEventStatus")
        if status > Status.COMPLETE:
            raise CLError(
                ErrorCode.CL_INVALID_VALUE,
                "clSetUserEventStatus",
                f"the status is {status}, but must be 0 (complete) or a negative error code",
            )
        with calling("clSetUserEventStatus", lambda: f"to {status}; a user event is set once"):
            cast("cl.UserEvent", setter).set_status(status)


def wait_for_events(events: Iterable[interface.Event]) -> None:
    """`clWaitForEvents`."""
    raws = events_to_wait_for(events)
    if not raws:
        raise CLError(ErrorCode.CL_INVALID_VALUE, "clWaitForEvents", "there is no event to wait for")
    try:
        with calling("clWaitForEvents"):
            cl.wait_for_events(raws)
    finally:
        raws.clear()
    PENDING_TRANSFERS.reap()
