"""Events, user events, callbacks and profiling (sections 5.11 and 5.14)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from clsim.api.entry import entry, live, require_live
from clsim.api.info import answer
from clsim.engine.command import SUBMITTED, Command
from clsim.objects import Context, Event
from clsim.objects.event import user_event
from clsim.spec import (
    CL_COMMAND_USER,
    CL_COMPLETE,
    CL_EVENT_COMMAND_EXECUTION_STATUS,
    CL_EVENT_COMMAND_QUEUE,
    CL_EVENT_COMMAND_TYPE,
    CL_EVENT_CONTEXT,
    CL_EVENT_REFERENCE_COUNT,
    CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
    CL_INVALID_CONTEXT,
    CL_INVALID_EVENT,
    CL_INVALID_OPERATION,
    CL_INVALID_VALUE,
    CL_PROFILING_COMMAND_COMPLETE,
    CL_PROFILING_COMMAND_END,
    CL_PROFILING_COMMAND_QUEUED,
    CL_PROFILING_COMMAND_START,
    CL_PROFILING_COMMAND_SUBMIT,
    CL_PROFILING_INFO_NOT_AVAILABLE,
    CL_RUNNING,
    CL_SUBMITTED,
    CLError,
    error_name,
)


@entry(live("context", Context))
def clCreateUserEvent(context: Context) -> Event:
    """An event that the host completes; its status is CL_SUBMITTED. Raises CL_INVALID_CONTEXT."""
    platform = context.platform
    site = platform.site()
    command = Command(None, CL_COMMAND_USER, site)
    command.state = SUBMITTED
    command.queued_ns = platform.engine.now_ns
    event = user_event(context, command, site)
    platform.engine.add_user_event(event)
    return event


@entry(live("event", Event))
def clSetUserEventStatus(event: Event, execution_status: int) -> None:
    """Completes a user event, or fails it with a negative status; what waits for it runs before the return.

    Raises CL_INVALID_EVENT (also for an event of a command), CL_INVALID_VALUE, CL_INVALID_OPERATION where
    it was set before.
    """
    routine = "clSetUserEventStatus"
    if not event.is_user:
        raise CLError(CL_INVALID_EVENT, routine, f"{event.label} belongs to a command, not to the host")
    if execution_status > CL_COMPLETE:
        raise CLError(CL_INVALID_VALUE, routine, f"{execution_status} is neither CL_COMPLETE nor negative")
    if event.command is None:
        raise CLError(CL_INVALID_OPERATION, routine, f"the status of {event.label} was already set")
    event.platform.engine.set_user_event(event, execution_status)


def clWaitForEvents(event_list: Sequence[Event]) -> None:
    """Flushes the events' queues and blocks until all are complete.

    Raises CL_INVALID_VALUE for an empty list, CL_INVALID_EVENT, CL_INVALID_CONTEXT,
    CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST where one failed, or where nothing can end the wait
    (then with a `deadlock` finding).
    """
    if not event_list:
        raise CLError(CL_INVALID_VALUE, "clWaitForEvents", "the list of events is empty")
    events = tuple(event_list)
    dead = [e for e in events if not isinstance(e, Event)]
    if dead:
        require_live("clWaitForEvents", f"event_list[{events.index(dead[0])}]", dead[0], Event)
    _wait(events)


@entry(subject=lambda events: events[0], name="clWaitForEvents")
def _wait(events: tuple[Event, ...]) -> None:
    routine = "clWaitForEvents"
    faults = []
    for index, event in enumerate(events):
        try:
            require_live(routine, f"event_list[{index}]", event, Event)
        except CLError as error:
            faults.append(error)
    if faults:
        # All dead handles are told, not the first alone: a stale list usually holds several.
        raise CLError(CL_INVALID_EVENT, routine, "; ".join(fault.reason for fault in faults))
    for event in events:
        if event.context is not events[0].context:
            raise CLError(
                CL_INVALID_CONTEXT, routine, f"{events[0].label} and {event.label} are of different contexts"
            )
    names = events[0].label if len(events) == 1 else f"{len(events)} events"
    code = events[0].platform.engine.wait(events, f"clWaitForEvents on {names}")
    if code:
        raise CLError(code, routine, "nothing can end this wait; see the finding")
    failed = [event for event in events if event.result < 0]
    if failed:
        raise CLError(
            CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
            routine,
            ", ".join(f"{event.label} ended with {error_name(event.result)}" for event in failed),
        )


EVENT_INFO = {
    CL_EVENT_COMMAND_QUEUE: lambda e: e.queue,
    CL_EVENT_CONTEXT: lambda e: e.context,
    CL_EVENT_COMMAND_TYPE: lambda e: e.command_type,
    CL_EVENT_COMMAND_EXECUTION_STATUS: lambda e: e.platform.engine.poll(e),
    CL_EVENT_REFERENCE_COUNT: lambda e: e.references,
}


@entry(live("event", Event))
def clGetEventInfo(event: Event, param_name: int) -> Any:
    """A status query runs what is ready and moves the clock on. Raises CL_INVALID_EVENT, CL_INVALID_VALUE."""
    return answer("clGetEventInfo", EVENT_INFO, param_name, event)


@entry(live("event", Event))
def clSetEventCallback(event: Event, status: int, callback: Callable[[int], None]) -> None:
    """Has `callback(status)` called once the command has reached `status`; for a command that failed, with
    its negative code. Called from inside whichever call finds it due, never from inside a callback.

    Raises CL_INVALID_EVENT; CL_INVALID_VALUE for no callback or another status than CL_SUBMITTED,
    CL_RUNNING or CL_COMPLETE.
    """
    routine = "clSetEventCallback"
    if not callable(callback):
        raise CLError(CL_INVALID_VALUE, routine, "callback is NULL")
    if status not in (CL_SUBMITTED, CL_RUNNING, CL_COMPLETE):
        raise CLError(CL_INVALID_VALUE, routine, f"{status} is none of CL_SUBMITTED, CL_RUNNING, CL_COMPLETE")
    event.platform.engine.on_status(event, status, callback)


PROFILING_INFO: dict[int, Callable[[Event], int]] = {
    CL_PROFILING_COMMAND_QUEUED: lambda e: e.queued_ns,
    CL_PROFILING_COMMAND_SUBMIT: lambda e: e.submit_ns,
    CL_PROFILING_COMMAND_START: lambda e: e.start_ns,
    CL_PROFILING_COMMAND_END: lambda e: e.end_ns,
}


@entry(live("event", Event))
def clGetEventProfilingInfo(event: Event, param_name: int) -> int:
    """A time of the command in nanoseconds of the virtual clock.

    Raises CL_INVALID_EVENT, CL_INVALID_VALUE; CL_PROFILING_INFO_NOT_AVAILABLE for a user event, a queue
    without CL_QUEUE_PROFILING_ENABLE, or a command that is not complete.
    """
    routine = "clGetEventProfilingInfo"
    if param_name not in PROFILING_INFO and not (
        # "Complete" came with 2.0; without commands that enqueue commands it is the end.
        param_name == CL_PROFILING_COMMAND_COMPLETE
        and (event.queue is None or event.queue.device.version >= (2, 0))
    ):
        raise CLError(CL_INVALID_VALUE, routine, f"no query of this number: {param_name!r:.40}")
    if event.queue is None:
        raise CLError(CL_PROFILING_INFO_NOT_AVAILABLE, routine, f"{event.label} has no command")
    if not event.queue.profiling:
        raise CLError(
            CL_PROFILING_INFO_NOT_AVAILABLE,
            routine,
            f"{event.queue.label} was created without CL_QUEUE_PROFILING_ENABLE",
        )
    if event.platform.engine.status(event) != CL_COMPLETE:
        raise CLError(CL_PROFILING_INFO_NOT_AVAILABLE, routine, f"{event.label} is not complete")
    return PROFILING_INFO.get(param_name, PROFILING_INFO[CL_PROFILING_COMMAND_END])(event)


@entry(live("event", Event))
def clRetainEvent(event: Event) -> None:
    """Raises CL_INVALID_EVENT."""
    event.retain()


@entry(live("event", Event))
def clReleaseEvent(event: Event) -> None:
    """Gives up a reference; a command that has not run keeps the event. Raises CL_INVALID_EVENT."""
    event.release(event.platform.site())
