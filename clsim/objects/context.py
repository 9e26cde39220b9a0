"""A context: what everything else is made in, and what lives as long as any of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from clsim.ledger import Site
from clsim.objects.base import Counted
from clsim.spec import CL_INVALID_CONTEXT

if TYPE_CHECKING:
    from clsim.objects.device import Device
    from clsim.objects.platform import Platform


class Context(Counted):
    """A context (section 4.4). Queues, memory, programs and user events hold it."""

    __slots__ = ("devices", "end_callbacks", "faulty", "notify", "poisoned", "properties")

    kind = "context"
    invalid = CL_INVALID_CONTEXT

    def __init__(
        self,
        platform: Platform,
        site: Site,
        devices: Sequence[Device],
        properties: tuple[int, ...] = (),
        notify: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__(platform, site)
        self.devices = tuple(devices)
        self.properties = properties
        self.notify = notify
        self.end_callbacks: list[Callable[[], None]] = []
        self.faulty = False
        """A kernel left its memory on a device that tells so late: with the next wait of the host."""
        self.poisoned = False
        """The host was told: everything enqueued from then on fails."""

    def end(self) -> None:
        super().end()
        for callback in reversed(self.end_callbacks):
            self.platform.engine.call_later(callback)
