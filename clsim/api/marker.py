"""Markers and barriers (section 5.12), and events the host's old calls wait for."""

from __future__ import annotations

from collections.abc import Sequence

from clsim.api.entry import entry, live, wait_list
from clsim.api.submit import submit
from clsim.engine.command import Command
from clsim.objects import CommandQueue, Event
from clsim.spec import CL_COMMAND_BARRIER, CL_COMMAND_MARKER


@entry(live("queue", CommandQueue), wait_list())
def clEnqueueMarkerWithWaitList(
    queue: CommandQueue, event_wait_list: Sequence[Event] | None = None, want_event: bool = False
) -> Event | None:
    """A command that completes after the wait list or, without one, after all enqueued before.

    Raises CL_INVALID_COMMAND_QUEUE, CL_INVALID_CONTEXT, CL_INVALID_EVENT_WAIT_LIST.
    """
    command = Command(queue, CL_COMMAND_MARKER, queue.platform.site())
    return submit(
        "clEnqueueMarkerWithWaitList",
        queue,
        command,
        event_wait_list,
        want_event,
        after_all=not event_wait_list,
    )


@entry(live("queue", CommandQueue), wait_list())
def clEnqueueBarrierWithWaitList(
    queue: CommandQueue, event_wait_list: Sequence[Event] | None = None, want_event: bool = False
) -> Event | None:
    """A marker that commands enqueued later wait for.

    Raises CL_INVALID_COMMAND_QUEUE, CL_INVALID_CONTEXT, CL_INVALID_EVENT_WAIT_LIST.
    """
    command = Command(queue, CL_COMMAND_BARRIER, queue.platform.site())
    return submit(
        "clEnqueueBarrierWithWaitList",
        queue,
        command,
        event_wait_list,
        want_event,
        after_all=not event_wait_list,
        barrier=True,
    )


def clEnqueueMarker(queue: CommandQueue) -> Event:
    """The marker of OpenCL 1.1: after all enqueued before, with an event."""
    event = clEnqueueMarkerWithWaitList(queue, None, True)
    assert event is not None
    return event


def clEnqueueBarrier(queue: CommandQueue) -> None:
    """The barrier of OpenCL 1.1."""
    clEnqueueBarrierWithWaitList(queue)


def clEnqueueWaitForEvents(queue: CommandQueue, event_list: Sequence[Event]) -> None:
    """What OpenCL 1.1 had for a barrier with a wait list."""
    clEnqueueBarrierWithWaitList(queue, event_list)
