"""An event: the status of one command, or one that the host completes.

    QUEUED --flush--> SUBMITTED --by the clock--> RUNNING --by the clock--> COMPLETE or a negative code

A user event begins SUBMITTED and ends when the host says so. While its command has not run, an event leads to
it; afterwards it holds nothing but four times and a result, and pins its queue.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from clsim.ledger import UNKNOWN, Account, Site
from clsim.objects.base import Counted
from clsim.spec import CL_COMMAND_USER, CL_INVALID_EVENT

if TYPE_CHECKING:
    from clsim.checks.order import Stamp
    from clsim.engine.command import Command
    from clsim.objects.context import Context
    from clsim.objects.queue import CommandQueue


class Event(Counted):
    """An event (section 5.11). `queue` is None for a user event.

    `command` is set until the command has run; the four times and `result` (0 or a negative code) are valid
    once the command's times are known (`Command.timed`) and the command has run, respectively.
    """

    __slots__ = (
        "callbacks",
        "command",
        "command_type",
        "context",
        "end_ns",
        "name",
        "polls",
        "queue",
        "queued_ns",
        "result",
        "stamp",
        "start_ns",
        "submit_ns",
    )

    kind = "event"
    invalid = CL_INVALID_EVENT

    def __init__(
        self,
        context: Context,
        queue: CommandQueue | None,
        command: Command,
        account: Account,
        size_bytes: int,
        name: str = "",
    ) -> None:
        # Written out instead of calling Counted.__init__: events are made by the hundred thousand.
        platform = context.platform
        self.platform = platform
        self.references = 1
        self.holds = 0
        self.birth = account.site
        self.released_at = UNKNOWN
        self.size_bytes = size_bytes
        self.account = account
        self.number = platform.ledger.born(account, size_bytes)
        self.context = context
        self.queue = queue
        self.command: Command | None = command
        self.command_type = account.detail
        self.name = name
        self.callbacks: list[tuple[int, Callable[[int], None]]] | None = None
        self.stamp: Stamp | None = None
        self.polls = 0
        self.result = 0
        self.queued_ns = self.submit_ns = self.start_ns = self.end_ns = 0
        if queue is not None:
            queue.holds += 1
        else:
            context.holds += 1

    @property
    def is_user(self) -> bool:
        return self.command_type == CL_COMMAND_USER

    @property
    def label(self) -> str:
        if self.is_user:
            return f"user event #{self.number}"
        return f"event #{self.number} ({self.name})" if self.name else f"event #{self.number}"

    def _released(self) -> None:
        if self.is_user and self.command is not None:
            self.platform.engine.user_event_released(self)

    def end(self) -> None:
        self.platform.ledger.died(self.account, self.size_bytes)
        if self.queue is not None:
            self.queue.drop()
        else:
            self.context.drop()


def user_event(context: Context, command: Command, site: Site) -> Event:
    """A user event: its command is one that only the host can complete."""
    ledger = context.platform.ledger
    account = ledger.account("event", site, 0, CL_COMMAND_USER)
    return Event(context, None, command, account, context.platform.event_bytes(False))
