"""Profiling sessions: kernel launches timed by the device, and nothing left behind.

    with ProfilingSession(workspace.queue()) as session:
        graph.run()
    print(session.total_ns, session.kernels["conv2d"].launches)

The first session to open on a queue has it replaced by one that takes times, the last to close has it
replaced by a normal one, also when its body raises. In between every launch has an event. Events cost
memory and pin what their commands used, so they are short-lived: `_EventDrain` turns them into numbers in
batches, while the device works on, and releases them. Sessions nest: each sees the launches made while it
was open, by anyone who launches through the queue's handle.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple

from runtime.cl.interface import CLError, Event, ProfilingTimes, Status
from runtime.workspace import QueueHandle

if TYPE_CHECKING:
    from typing_extensions import Self

MAX_EVENTS_IN_FLIGHT = 1024
"""Events alive at a time in a session; half of them are drained when there are so many."""

MAX_RECORDS = 1 << 16
"""Launches that a session keeps one by one unless told otherwise; beyond them it adds up only."""

_LARGEST_TIME = (1 << 63) - 1  # nanoseconds: 292 years; more is a difference that went below zero


class LaunchRecord(NamedTuple):
    """One launch in nanoseconds of the device's clock (section 5.14)."""

    label: str
    queued_ns: int
    submitted_ns: int
    started_ns: int
    ended_ns: int

    @property
    def duration_ns(self) -> int:
        return self.ended_ns - self.started_ns


@dataclass
class KernelTotal:
    """What a session saw of one kernel."""

    launches: int = 0
    total_ns: int = 0
    shortest_ns: int = 0
    longest_ns: int = 0

    def _add(self, duration_ns: int) -> None:
        self.shortest_ns = duration_ns if not self.launches else min(self.shortest_ns, duration_ns)
        self.longest_ns = max(self.longest_ns, duration_ns)
        self.launches += 1
        self.total_ns += duration_ns


class ProfilingSession:
    """The launches on a queue between `start` and `stop`, timed by the device.

    A session can be started again once it was stopped, and then begins from nothing. Its figures are
    complete after `stop`; before, they hold what was drained so far. Memory does not grow with the length
    of the session: sums are kept for each kernel, single launches up to `max_records`.
    """

    def __init__(self, handle: QueueHandle, *, max_records: int = MAX_RECORDS) -> None:
        if max_records < 0:
            raise ValueError(f"max_records is {max_records}, but must be 0 or more")
        self._handle = handle
        self._max_records = max_records
        self._open = False
        self._clear()

    def _clear(self) -> None:
        self._totals: dict[str, KernelTotal] = {}
        self._labels: dict[str, int] = {}
        self._label_column = array("I")
        self._time_columns = tuple(array("q") for _ in range(4))
        self._dropped = 0

    def start(self) -> None:
        """Begins to take times. Raises RuntimeError if already started, CLError where no queue can."""
        with self._handle.lock:
            if self._open:
                raise RuntimeError("this profiling session is already started")
            drain = self._handle.sink
            if drain is None:
                self._handle.replace(profiling=True)
                drain = self._handle.sink = _EventDrain()
            assert isinstance(drain, _EventDrain), "nobody else takes launches"
            self._clear()
            self._open = True
            drain.open(self)

    def stop(self) -> None:
        """Waits for the launches and takes their times; the last session puts a normal queue in place.

        Raises RuntimeError if not started, CLError where the device failed; the queue is a normal one
        again even then.
        """
        with self._handle.lock:
            if not self._open:
                raise RuntimeError("this profiling session is not started")
            self._open = False
            drain = self._handle.sink
            assert isinstance(drain, _EventDrain), "an open session has a drain"
            try:
                drain.drain_all()
            finally:
                drain.close(self)
                if drain.idle:
                    self._handle.sink = None
                    self._handle.replace(profiling=False)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.stop()
        except CLError:
            if error is None:
                raise  # else the body's own error says more

    @property
    def kernels(self) -> Mapping[str, KernelTotal]:
        """Sums for each kernel, in order of first launch."""
        return self._totals

    @property
    def launches(self) -> int:
        """Launches timed; those in `dropped` are not among them."""
        return sum(total.launches for total in self._totals.values())

    @property
    def total_ns(self) -> int:
        """Device time of all launches; 0 where there was none."""
        return sum(total.total_ns for total in self._totals.values())

    @property
    def dropped(self) -> int:
        """Launches without usable times: they failed, or the device's times were missing or out of order."""
        return self._dropped

    @property
    def records(self) -> Iterator[LaunchRecord]:
        """The first launches, up to `max_records`, in order."""
        labels = list(self._labels)
        for label, *times in zip(self._label_column, *self._time_columns, strict=True):
            yield LaunchRecord(labels[label], *times)

    def _add(self, label: str, times: ProfilingTimes) -> None:
        total = self._totals.get(label)
        if total is None:
            total = self._totals[label] = KernelTotal()
        total._add(times.ended_ns - times.started_ns)
        if len(self._label_column) < self._max_records:
            self._label_column.append(self._labels.setdefault(label, len(self._labels)))
            queued, submitted, started, ended = self._time_columns
            queued.append(times.queued_ns)
            submitted.append(times.submitted_ns)
            started.append(times.started_ns)
            ended.append(times.ended_ns)


class _EventDrain:
    """The events of a profiling queue, on their way to numbers. Used under the handle's lock."""

    __slots__ = ("_pending", "_sessions")

    def __init__(self) -> None:
        # A launch belongs to the sessions open when it was made: one shared tuple until that changes.
        self._sessions: tuple[ProfilingSession, ...] = ()
        self._pending: deque[tuple[str, Event, tuple[ProfilingSession, ...]]] = deque()

    @property
    def idle(self) -> bool:
        return not self._sessions

    def open(self, session: ProfilingSession) -> None:
        self._sessions = (*self._sessions, session)

    def close(self, session: ProfilingSession) -> None:
        self._sessions = tuple(other for other in self._sessions if other is not session)

    def add(self, label: str, event: Event) -> None:
        pending = self._pending
        pending.append((label, event, self._sessions))
        if len(pending) >= MAX_EVENTS_IN_FLIGHT:
            self._drain(len(pending) // 2)  # the device goes on with the other half meanwhile

    def drain_all(self) -> None:
        self._drain(len(self._pending))

    def _drain(self, count: int) -> None:
        if not count:
            return
        pending = self._pending
        # The queue is in-order: once the last of them is complete, all are.
        failure = _wait(pending[count - 1][1])
        for _ in range(count):
            label, event, sessions = pending.popleft()
            times = _usable_times(event)
            event.release()
            for session in sessions:
                if times is None:
                    session._dropped += 1
                else:
                    session._add(label, times)
        if failure is not None:
            raise failure


def _wait(event: Event) -> CLError | None:
    """Waits for a launch; the error if not the launch failed, which is told by its event, but the waiting."""
    try:
        event.wait()
    except CLError as error:
        try:
            return error if event.status > Status.COMPLETE else None
        except CLError:
            return error
    return None


def _usable_times(event: Event) -> ProfilingTimes | None:
    """The times of a launch, or None where it failed or they cannot be true."""
    try:
        if event.status != Status.COMPLETE:
            return None
        times = event.profile
    except CLError:
        return None
    ordered = 0 <= times.queued_ns <= times.submitted_ns <= times.started_ns <= times.ended_ns
    return times if ordered and times.ended_ns <= _LARGEST_TIME else None
