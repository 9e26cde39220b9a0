"""What all enqueues have in common: the event, the wait, and the error of a blocking command."""

from __future__ import annotations

from collections.abc import Sequence

from clsim.engine.command import Command
from clsim.objects import CommandQueue, Event
from clsim.spec import CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, CL_OUT_OF_RESOURCES, CLError


def told_of_fault(queue: CommandQueue) -> bool:
    """Whether the host, having waited, must be told of a kernel that left its memory (a profile's quirk)."""
    if queue.context.faulty:
        queue.context.poisoned = True
    return queue.context.poisoned


def submit(
    routine: str,
    queue: CommandQueue,
    command: Command,
    event_wait_list: Sequence[Event] | None,
    want_event: bool,
    *,
    blocking: bool = False,
    after_all: bool = False,
    barrier: bool = False,
) -> Event | None:
    """Enqueues a command whose arguments were checked; its event if wanted.

    A blocking command raises CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST where one of its wait list failed
    or where nothing can end the wait, and then gives no event.
    """
    platform = queue.platform
    engine = platform.engine
    if queue.context.poisoned:
        raise CLError(CL_OUT_OF_RESOURCES, routine, "an earlier kernel of the context left its memory")
    ledger = platform.ledger
    costs = engine.costs
    engine.now_ns += costs.enqueue_profiling_ns if queue.profiling else costs.enqueue_ns
    ledger.commands[command.type] = ledger.commands.get(command.type, 0) + 1
    event = None
    if want_event:
        account = ledger.account("event", command.site, queue.number, command.type)
        event = Event(queue.context, queue, command, account, queue.event_bytes, command.name)
        command.event = event
    engine.enqueue(command, queue, event_wait_list or (), after_all=after_all)
    if barrier:
        engine.set_barrier(queue, command)
    if blocking:
        engine.flush(queue)
        code = engine.complete((command,), f"{routine} on {queue.label}")
        if code == 0:
            engine.saw_command(command)
            code = command.result
        if code == 0 and told_of_fault(queue):
            code = CL_OUT_OF_RESOURCES
        if code:
            if event is not None:
                event.release()
            reason = "a command failed, or a kernel left its memory"
            if code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST:
                reason = "an event in the wait list failed, or nothing can end this wait (see the findings)"
            raise CLError(code, routine, reason)
    return event
