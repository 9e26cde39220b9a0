"""A command: one node of the graph that the scheduler works through.

    QUEUED --flush--> SUBMITTED --dependencies timed--> TIMED --picked--> RUNNING --effects done--> DONE

A command is TIMED once the scheduler has placed it on the virtual clock: its start and end are known. Its
effects on memory happen while it is RUNNING, at once (`schedule="fifo"`) or as late as the standard allows
(`"late"`). These are the states of the simulator; what the client sees as a status follows from the four
times and the clock (`Engine.status`). A state never goes back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from clsim import spec as cl

if TYPE_CHECKING:
    from clsim.checks.order import Clock, Stamp, Use
    from clsim.ledger import Site
    from clsim.objects.base import Counted
    from clsim.objects.event import Event
    from clsim.objects.memory import Storage
    from clsim.objects.platform import Platform
    from clsim.objects.queue import CommandQueue

QUEUED, SUBMITTED, TIMED, RUNNING, DONE = range(5)

COMMAND_NAMES = {
    cl.CL_COMMAND_NDRANGE_KERNEL: "kernel",
    cl.CL_COMMAND_TASK: "task",
    cl.CL_COMMAND_READ_BUFFER: "read",
    cl.CL_COMMAND_WRITE_BUFFER: "write",
    cl.CL_COMMAND_COPY_BUFFER: "copy",
    cl.CL_COMMAND_READ_BUFFER_RECT: "rectangular read",
    cl.CL_COMMAND_WRITE_BUFFER_RECT: "rectangular write",
    cl.CL_COMMAND_COPY_BUFFER_RECT: "rectangular copy",
    cl.CL_COMMAND_FILL_BUFFER: "fill",
    cl.CL_COMMAND_MAP_BUFFER: "map",
    cl.CL_COMMAND_UNMAP_MEM_OBJECT: "unmap",
    cl.CL_COMMAND_MIGRATE_MEM_OBJECTS: "migration",
    cl.CL_COMMAND_MARKER: "marker",
    cl.CL_COMMAND_BARRIER: "barrier",
    cl.CL_COMMAND_USER: "user event",
}

STATES = ("queued", "submitted", "timed", "running", "done")


class Command:
    """A command between its enqueue and its end; dropped by everyone once it is done.

    `run` carries out the effects and returns 0 or a negative status; None for commands without effects.
    `holds` are the objects the command keeps alive, `storages` the memory it uses. `waiting` counts the
    dependencies that are not resolved yet, `dependents` are told when this command is resolved. `before` are
    the dependencies that were not done at the enqueue, each with whether it came from the wait list.
    """

    __slots__ = (
        "before",
        "dependents",
        "device_ns",
        "end_ns",
        "event",
        "failing",
        "holds",
        "host_clock",
        "joins",
        "name",
        "number",
        "queue",
        "queued_ns",
        "ready_ns",
        "result",
        "run",
        "site",
        "stamp",
        "start_ns",
        "state",
        "storages",
        "submit_ns",
        "transfer",
        "type",
        "uses",
        "waiting",
    )

    def __init__(
        self,
        queue: CommandQueue | None,
        command_type: int,
        site: Site,
        *,
        run: Callable[[], int] | None = None,
        holds: Sequence[Counted] = (),
        storages: Sequence[Storage] = (),
        device_ns: int = 0,
        transfer: bool = False,
        name: str = "",
    ) -> None:
        self.queue = queue
        self.type = command_type
        self.site = site
        self.run = run
        self.holds = holds
        self.storages = storages
        self.device_ns = device_ns
        self.transfer = transfer
        self.name = name
        self.event: Event | None = None
        self.state = QUEUED
        self.result = 0
        self.failing = 0
        self.waiting = 0
        self.dependents: list[Command] = []
        self.before: list[tuple[Command, bool]] = []
        self.queued_ns = self.submit_ns = self.ready_ns = self.start_ns = self.end_ns = 0
        self.number = 0
        # The order check's: where the command stands, and what it touches.
        self.stamp: Stamp | None = None
        self.joins: list[Stamp] | None = None
        self.host_clock: Clock | None = None
        self.uses: list[Use] | None = None

    @property
    def label(self) -> str:
        what = COMMAND_NAMES.get(self.type, f"command {self.type:#x}")
        if self.name:
            what += f" '{self.name}'"
        return what if self.queue is None else f"{what} on {self.queue.label}"

    @property
    def platform(self) -> Platform:
        owner = self.queue if self.queue is not None else self.event
        assert owner is not None
        return owner.platform

    def __repr__(self) -> str:
        return f"<{self.label}, {STATES[self.state]}>"
