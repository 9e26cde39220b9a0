"""Why an object still lives: the client's references, and what of the simulator holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clsim.spec import CL_COMMAND_USER

if TYPE_CHECKING:
    from clsim.objects.base import Counted
    from clsim.objects.queue import CommandQueue


def of(item: Counted) -> list[str]:
    """What keeps an object alive, most direct first. Empty for one that has ended."""
    platform = item.platform
    found = []
    if item.references > 0:
        found.append(_count(item.references, "client reference"))
    queues: list[CommandQueue] = []
    for other in list(platform.objects.values()):
        if other.holds_object(item):
            found.append(other.label)
        if other.kind == "queue":
            queues.append(other)  # type: ignore[arg-type]
    accounts = platform.ledger.by_site("event")
    if item.kind == "queue":
        events = sum(account.live for account in accounts if account.queue == item.number)
        found += [_count(events, "event")] if events else []
    if item.kind == "context":
        users = sum(account.live for account in accounts if account.detail == CL_COMMAND_USER)
        found += [_count(users, "user event")] if users else []
    for queue in queues:
        for command in queue.pending:
            if command.queue is item or any(held is item for held in command.holds):
                site = command.site
                found.append(f"the {command.label} enqueued at {site.file}:{site.line}")
    return found


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number != 1 else ''}"
