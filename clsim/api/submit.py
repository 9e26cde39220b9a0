"""What all enqueues have in common: the event, the wait, and the error of a blocking command."""

from __future__ import annotations

from collections.abc import Sequence

from clsim.engine.command import Command
from clsim.objects import CommandQueue, Event
from clsim.spec import CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, CLError, error_name


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
    ledger = platform.ledger
    costs = engine.costs
    engine.now_ns += costs.enqueue_profiling_ns if queue.profiling else costs.enqueue_ns
    ledger.commands[command.type] = ledger.commands.get(command.type, 0) + 1
    event = None
    if want_event:
        account = ledger.account("event", command.site, queue.number, command.type)
        event = Event(
            queue.context, queue, command, account, platform.event_bytes(queue.profiling), command.name
        )
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
        if code:
            if event is not None:
                event.release()
            reason = f"a command it waits for failed: {error_name(code)}"
            if code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST:
                reason = "an event in the wait list failed, or nothing can end this wait (see the findings)"
            raise CLError(code, routine, reason)
    return event
