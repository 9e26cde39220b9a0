"""Waits that do not end by themselves: a missing flush, a deadlock, a stall.

What a blocked command waits for is found by walking its unresolved dependencies backwards to their roots:
commands that were never flushed, and user events that nobody has set.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from clsim.engine.command import QUEUED, TIMED, Command
from clsim.ledger import Site

if TYPE_CHECKING:
    from clsim.checks.finding import Findings
    from clsim.objects.event import Event
    from clsim.objects.queue import CommandQueue


def _roots(commands: Iterable[Command]) -> list[Command]:
    """What the commands wait for and what itself waits for nothing else, in a fixed order."""
    roots: list[Command] = []
    seen: set[int] = set()
    stack = list(reversed(list(commands)))
    while stack:
        command = stack.pop()
        if id(command) in seen or command.state >= TIMED:
            continue
        seen.add(id(command))
        before = [earlier for earlier, _ in command.before if earlier.state < TIMED]
        if before:
            stack.extend(reversed(before))
        if not before or command.state == QUEUED:
            roots.append(command)
    return roots


def unflushed_before(commands: Sequence[Command]) -> list[tuple[CommandQueue, Command]]:
    """The queues that must be flushed before the commands can run, each with a command that waits in it."""
    found: dict[int, tuple[CommandQueue, Command]] = {}
    for root in _roots(commands):
        if root.queue is not None and root.state == QUEUED:
            found.setdefault(id(root.queue), (root.queue, root))
    return list(found.values())


def unflushed_with_callbacks(queues: Iterable[CommandQueue]) -> list[tuple[CommandQueue, Command]]:
    """Queues that were not flushed and whose commands call the program back: that could end a wait."""
    found = []
    for queue in queues:
        for command in queue.unflushed:
            if command.event is not None and command.event.callbacks:
                found.append((queue, command))
                break
    return found


def unset_user_events(commands: Sequence[Command]) -> list[Event]:
    """The user events that somebody must set before the commands can run."""
    return [root.event for root in _roots(commands) if root.queue is None and root.event is not None]


def is_certain(events: Sequence[Event], alone: bool) -> bool:
    """Whether a wait for these events can never end: nobody could set one, or nobody is left to do it."""
    return alone or not events or any(event.references == 0 for event in events)


def missing_flush(
    findings: Findings,
    queue: CommandQueue,
    command: Command,
    waiter: str | Event,
    *,
    polling: bool = False,
) -> None:
    who = waiter if isinstance(waiter, str) else f"a poll of {waiter.label}"
    findings.add(
        "missing-flush",
        "error" if queue.platform.strict else "warning",
        f"{who} waits for {command.label}, which was never flushed to the device",
        objects=(queue.label,),
        sites=(("enqueued", command.site), ("waited for", queue.platform.site())),
        advice=f"call clFlush on {queue.label} before its events are {'polled' if polling else 'waited on'} "
        "from elsewhere (section 5.15)",
    )


def blocking_in_callback(findings: Findings, commands: Sequence[Command], waiter: str) -> None:
    """A callback blocks (section 5.11: undefined)."""
    if commands:
        findings.add(
            "blocking-in-callback",
            "error",
            f"{waiter} blocks inside a callback",
            sites=(("waits", commands[0].platform.site()), ("for", commands[0].site)),
            advice="use the non-blocking form and a callback of its own",
        )


def callback_raised(findings: Findings, error: Exception) -> None:
    """A callback let an exception out: there is nobody to catch it."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    sites = []
    if last is not None:
        code = last.tb_frame.f_code
        sites.append(("raised", Site(code.co_filename, last.tb_lineno or 0, code.co_name)))
    findings.add(
        "callback-raised",
        "error",
        f"a callback raised {type(error).__name__}: {error}",
        sites=sites,
        advice="a callback must handle its own errors",
    )


def _describe(events: Sequence[Event], left: Sequence[Command], waiter: str) -> str:
    blocked = left[0].label if len(left) == 1 else f"{left[0].label} and {len(left) - 1} more"
    if not events:
        return f"{waiter} waits for {blocked}, which only the present callback's return can let go on"
    names = ", ".join(event.label for event in events)
    return f"{waiter} waits for {blocked}, which waits for {names}"


def deadlock(findings: Findings, events: Sequence[Event], left: Sequence[Command], waiter: str) -> None:
    orphans = [event.label for event in events if event.references == 0]
    reason = (
        f"; no reference to {', '.join(orphans)} is left, so nobody can set it"
        if orphans
        else "; the waiting thread is the only one"
    )
    findings.add(
        "deadlock",
        "error",
        _describe(events, left, waiter) + (reason if events else ""),
        objects=[event.label for event in events],
        sites=[
            ("blocked command enqueued", left[0].site),
            *((f"{event.label} created", event.birth) for event in events),
            ("waits", left[0].platform.site()),
        ],
        advice="set the user event before waiting, or wait from another thread (section 5.11)",
    )


def stalled(findings: Findings, events: Sequence[Event], left: Sequence[Command], waiter: str) -> None:
    findings.add(
        "stalled",
        "warning",
        _describe(events, left, waiter) + "; only another thread can end this",
        objects=[event.label for event in events],
        sites=[
            ("blocked command enqueued", left[0].site),
            *((f"{event.label} created", event.birth) for event in events),
            ("waits", left[0].platform.site()),
        ],
        advice="whoever holds the user event must call clSetUserEventStatus",
    )
