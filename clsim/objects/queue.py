"""A command queue: what order its commands keep, and which of them are not done yet.

An in-order queue needs no list of its history: a command depends on the one before it, the `tail`. An
out-of-order queue keeps the commands that are not done, for markers, barriers and `clFinish`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clsim.ledger import Site
from clsim.objects.base import Counted
from clsim.spec import (
    CL_INVALID_COMMAND_QUEUE,
    CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE,
    CL_QUEUE_PROFILING_ENABLE,
)

if TYPE_CHECKING:
    from clsim.checks.order import Stamp
    from clsim.engine.command import Command
    from clsim.objects.context import Context
    from clsim.objects.device import Device


class CommandQueue(Counted):
    """A host command queue (section 5.1). Its events and its unfinished commands hold it."""

    __slots__ = (
        "barrier",
        "barrier_end_ns",
        "barrier_stamp",
        "chains",
        "context",
        "device",
        "event_bytes",
        "in_order",
        "last_end_ns",
        "pending",
        "profiling",
        "properties",
        "properties_array",
        "stamp",
        "tail",
        "unflushed",
    )

    kind = "queue"
    invalid = CL_INVALID_COMMAND_QUEUE

    def __init__(
        self,
        context: Context,
        device: Device,
        site: Site,
        properties: int = 0,
        properties_array: tuple[int, ...] | None = None,
    ) -> None:
        super().__init__(context.platform, site)
        self.context = context
        context.hold()
        self.device = device
        self.properties = properties
        self.properties_array = properties_array
        self.in_order = not properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE
        self.profiling = bool(properties & CL_QUEUE_PROFILING_ENABLE)
        self.event_bytes = self.platform.event_bytes(self.profiling)
        """What a live event of the queue takes."""
        self.tail: Command | None = None
        """The latest command, while it is not done."""
        self.pending: dict[Command, None] = {}
        """Commands enqueued and not done, oldest first."""
        self.unflushed: list[Command] = []
        self.barrier: Command | None = None
        self.barrier_end_ns = 0
        self.last_end_ns = 0
        # The order check's: the latest command, the latest barrier, the chains of an out-of-order queue.
        self.stamp: Stamp | None = None
        self.barrier_stamp: Stamp | None = None
        self.chains: list[int] = []

    @property
    def label(self) -> str:
        return f"queue #{self.number}"

    def _released(self) -> None:
        self.platform.epoch += 1
        self.platform.engine.queue_released(self)

    def holds_object(self, item: Counted) -> bool:
        return item is self.context

    def end(self) -> None:
        super().end()
        self.platform.ledger.queue_gone(self.number)
        if self.platform.engine.order is not None:
            self.platform.engine.order.queue_gone(self)
        self.context.drop()
