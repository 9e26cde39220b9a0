"""The order check: two commands on the same bytes, one writing, and nothing that orders them.

Every command gets a *stamp*: its chain, its position there, and for every chain the last position known to
be before it. The commands of an in-order queue are one chain. A command of an out-of-order queue continues
the chain of a command it waits for, if that is the chain's last, or begins one. So "is A before B" is one
dictionary look-up, whatever lies between.

What orders commands: the queue's order, wait lists, barriers and markers, and the host. A command enqueued
after the host saw another complete (waited, finished, read, was called back) comes after it. What the host
saw is one clock, `host_clock`, which each command refers to as it was at its enqueue.

Each `Storage` keeps the accesses that a later command could still be unordered with: one a chain, range and
kind; those the host saw complete are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from clsim.checks.finding import Findings
    from clsim.engine.command import Command
    from clsim.ledger import Site
    from clsim.objects.kernel import Kernel
    from clsim.objects.launch import Captured
    from clsim.objects.memory import Buffer, Storage
    from clsim.objects.queue import CommandQueue
    from clsim.vm.launch import Access as MachineAccess

Clock = dict[int, int]
"""For every chain, the last position that is in the past."""

_MOST_RECORDS = 512
_MOST_PIECES = 4096


class Stamp:
    """Where a command stands: its chain, its position from 1, and its past (itself included)."""

    __slots__ = ("chain", "past", "position")

    def __init__(self, chain: int, position: int, past: Clock) -> None:
        self.chain = chain
        self.position = position
        self.past = past


class Span(NamedTuple):
    """`pieces` pieces of `size` bytes, `stride` apart, from byte `start` of a storage."""

    start: int
    size: int
    stride: int
    pieces: int

    @property
    def stop(self) -> int:
        return self.start + (self.pieces - 1) * self.stride + self.size

    @property
    def is_solid(self) -> bool:
        return self.pieces == 1 or self.stride <= self.size


class Use(NamedTuple):
    """Bytes that a command touches. `exact` says that it touches all of them for certain."""

    storage: Storage
    span: Span
    writes: bool
    exact: bool


class Record(NamedTuple):
    """A use that was carried out."""

    stamp: Stamp
    use: Use
    number: int
    what: str
    queue: str
    site: Site


def overlap(a: Span, b: Span) -> tuple[bool, bool]:
    """Whether two spans share a byte, and whether that is certain."""
    if a.stop <= b.start or b.stop <= a.start:
        return False, True
    if a.is_solid and b.is_solid:
        return True, True
    if a.pieces > b.pieces:
        a, b = b, a
    if a.pieces > _MOST_PIECES:
        return True, False
    if b.is_solid:
        b = Span(b.start, b.stop - b.start, 1, 1)
    for k in range(a.pieces):
        first = a.start + k * a.stride - b.start
        # Pieces of b that begin before this piece of a ends and end after it begins.
        low = max(0, -(-(first - b.size + 1) // b.stride))
        high = min(b.pieces - 1, (first + a.size - 1) // b.stride)
        if low <= high:
            return True, True
    return False, True


def transfer(accesses: Iterable[tuple[Buffer, int, int, bool]]) -> list[Use]:
    """The uses of a transfer: (buffer, from, to, whether it writes)."""
    return [
        Use(buffer.storage, Span(buffer.origin + start, stop - start, 1, 1), writes, True)
        for buffer, start, stop, writes in accesses
        if stop > start
    ]


def of_kernel(kernel: Kernel, captured: Captured) -> list[Use]:
    """What a launch may touch, by what the compiler found out about each argument."""
    uses = []
    for index, buffer in captured.buffers:
        parameter = kernel.parameters[index]
        span = Span(buffer.origin, buffer.size, 1, 1)
        if parameter.may_read:
            uses.append(Use(buffer.storage, span, False, False))
        if parameter.may_write:
            uses.append(Use(buffer.storage, span, True, False))
    return uses


def as_seen(captured: Captured, accesses: Iterable[MachineAccess]) -> list[Use]:
    """What a launch did touch."""
    buffers = dict(captured.buffers)
    uses = []
    for access in accesses:
        buffer = buffers.get(access.argument)
        if buffer is not None and access.count:
            span = Span(buffer.origin + access.start, access.size, max(1, abs(access.stride)), access.count)
            uses.append(Use(buffer.storage, span, access.write, access.exact))
    return uses


class OrderCheck:
    """The order check of one platform."""

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.host_clock: Clock = {}
        self._tips: Clock = {}
        """The last position of each chain that a command to come may not be after."""
        self._chains = 0
        self._views: dict[int, tuple[Clock, list[int]]] = {}
        """The host clocks that commands under way refer to, oldest first, each with their number."""
        self._ended: list[int] = []
        """Chains of queues that are gone."""

    # ------------------------------------------------------------ what the scheduler tells

    def joined(self, command: Command, stamp: object) -> None:
        """A command starts after one with this stamp."""
        if stamp is not None:
            if command.joins is None:
                command.joins = []
            command.joins.append(stamp)  # type: ignore[arg-type]

    def enqueued(self, command: Command) -> None:
        """A command refers to what the host knows at its enqueue."""
        clock = self.host_clock
        command.host_clock = clock
        view = self._views.get(id(clock))
        if view is None:
            self._views[id(clock)] = (clock, [1])
        else:
            view[1][0] += 1

    def left(self, command: Command) -> None:
        """A command is done or failed."""
        clock = command.host_clock
        if clock is None:
            return
        self._views[id(clock)][1][0] -= 1
        moved = False
        while self._views:
            oldest = next(iter(self._views))
            if self._views[oldest][1][0]:
                break
            del self._views[oldest]
            moved = True
        if moved and self._ended:
            self._retire()

    @property
    def _floor(self) -> Clock:
        """What is in the past of every command that is not done, and of all to come."""
        for clock, _ in self._views.values():
            return clock
        return self.host_clock

    def enter(self, command: Command) -> None:
        """A command's place among the others is known: gives it its stamp."""
        queue = command.queue
        assert queue is not None
        seen: Clock = command.host_clock or {}
        joins: list[Stamp] = command.joins or []
        before = queue.stamp if queue.in_order else queue.barrier_stamp
        if before is not None:
            joins = [*joins, before]
        past: Clock = {}
        for stamp in joins:
            for chain, position in stamp.past.items():
                if position > past.get(chain, 0) and position > seen.get(chain, 0) and chain in self._tips:
                    past[chain] = position
        chain = self._chain_for(queue, joins, seen)
        position = self._tips.get(chain, 0) + 1
        self._tips[chain] = position
        past[chain] = position
        command.stamp = Stamp(chain, position, past)
        command.joins = None
        queue.stamp = command.stamp

    def _chain_for(self, queue: CommandQueue, joins: Sequence[Stamp], seen: Clock) -> int:
        if queue.in_order:
            if queue.stamp is None or queue.stamp.chain not in self._tips:
                return self._new_chain()
            return queue.stamp.chain
        for stamp in reversed(joins):
            if self._tips.get(stamp.chain) == stamp.position and stamp.chain in queue.chains:
                return stamp.chain
        for chain in queue.chains:
            if self._tips[chain] <= seen.get(chain, 0):
                return chain
        chain = self._new_chain()
        queue.chains.append(chain)
        return chain

    def _new_chain(self) -> int:
        self._chains += 1
        return self._chains

    def queue_gone(self, queue: CommandQueue) -> None:
        """A queue has ended. Its chains need no entry in any clock once everything is after their ends."""
        self._ended += [queue.stamp.chain] if queue.in_order and queue.stamp is not None else queue.chains
        self._retire()

    def _retire(self) -> None:
        floor = self._floor
        left = []
        for chain in self._ended:
            if self._tips.get(chain, 0) <= floor.get(chain, 0):
                self._tips.pop(chain, None)
                if chain in self.host_clock:
                    self.host_clock = {c: p for c, p in self.host_clock.items() if c != chain}
            else:
                left.append(chain)
        self._ended = left

    def barrier(self, queue: CommandQueue, command: Command) -> None:
        """What is enqueued from now on starts after a barrier that is done."""
        queue.barrier_stamp = command.stamp

    def host_saw(self, stamp: Stamp | None) -> None:
        """The host knows that a command is complete, and with it its past."""
        if stamp is None or stamp.position <= self.host_clock.get(stamp.chain, 0):
            return
        clock = dict(self.host_clock)
        for chain, position in stamp.past.items():
            if position > clock.get(chain, 0):
                clock[chain] = position
        self.host_clock = clock

    def latest(self, queue: CommandQueue) -> Clock:
        """The positions of the latest commands of a queue that have their places."""
        if queue.in_order:
            return {} if queue.stamp is None else queue.stamp.past
        return {chain: self._tips[chain] for chain in queue.chains}

    def host_saw_all(self, clock: Clock, stamps: Iterable[Stamp | None]) -> None:
        """The host knows that everything up to `clock` is complete, and all commands with these stamps."""
        merged = dict(self.host_clock)
        for past in (clock, *(stamp.past for stamp in stamps if stamp is not None)):
            for chain, position in past.items():
                if position > merged.get(chain, 0) and chain in self._tips:
                    merged[chain] = position
        self.host_clock = merged

    def user_event_set(self, command: Command) -> None:
        """Commands that wait for a user event come after what the host had seen when it set it."""
        command.stamp = Stamp(0, 0, self.host_clock)

    # ------------------------------------------------------------ checking

    def done(self, command: Command) -> None:
        """A command was carried out: compares what it touched with what others touched."""
        stamp = command.stamp
        uses: Sequence[Use] = command.uses or ()
        if stamp is None:
            return
        floor = self._floor
        for use in uses:
            records: dict[object, Record] = use.storage.records or {}
            record = Record(stamp, use, command.number, command.label, _queue(command), command.site)
            seen: Clock = command.host_clock or {}
            gone = []
            for key, other in records.items():
                if self._is_past(other.stamp, floor):
                    gone.append(key)
                    continue
                before = self._is_before(other.stamp, stamp, seen)
                if before:
                    if use.writes and use.exact and _covers(use.span, other.use.span):
                        gone.append(key)
                elif other.stamp is not stamp and (use.writes or other.use.writes):
                    found, certain = overlap(use.span, other.use.span)
                    if found:
                        self._report(other, record, certain and use.exact and other.use.exact)
            for key in gone:
                del records[key]
            records[(stamp.chain, use.span, use.writes)] = record
            if len(records) > _MOST_RECORDS:
                del records[next(iter(records))]
            use.storage.records = records

    def _is_past(self, stamp: Stamp, floor: Clock) -> bool:
        """Whether every command to come is after it."""
        return stamp.chain not in self._tips or stamp.position <= floor.get(stamp.chain, 0)

    @staticmethod
    def _is_before(earlier: Stamp, later: Stamp, seen: Clock) -> bool:
        chain, position = earlier.chain, earlier.position
        return position <= later.past.get(chain, 0) or position <= seen.get(chain, 0)

    def _report(self, one: Record, other: Record, certain: bool) -> None:
        first, second = sorted((one, other), key=lambda record: record.number)
        start = max(first.use.span.start, second.use.span.start)
        stop = min(first.use.span.stop, second.use.span.stop)
        name = first.use.storage.label
        verb = "use" if certain else "may use"
        self.findings.add(
            "race",
            "error" if certain else "possible",
            f"the {first.what} and the {second.what} {verb} the same bytes ({start} to {stop} of {name}), "
            f"the first {_verb(first)}, the second {_verb(second)}, and nothing orders them",
            objects=(name, first.queue, second.queue),
            sites=(("first command", first.site), ("second command", second.site)),
            advice=f"missing edge: put the event of the {first.what} into the wait list of the "
            f"{second.what}, or wait for it, or set a barrier between them",
        )


def _queue(command: Command) -> str:
    return command.queue.label if command.queue is not None else ""


def _verb(record: Record) -> str:
    return "writes" if record.use.writes else "reads"


def _covers(span: Span, other: Span) -> bool:
    return span.is_solid and span.start <= other.start and other.stop <= span.stop
