"""The graph of commands: who waits for whom, and the carrying out of what waits for nothing.

Effects happen when `schedule` says: "fifo" as soon as a command is ready, in the order of becoming ready;
"random" among the ready, by the seed; "late" only when something observes a command's completion or depends
on it. Every command is placed on the virtual clock when it is ready, whatever becomes of its effects.
"""

from __future__ import annotations

import random
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from clsim.engine.agenda import Agenda
from clsim.engine.command import DONE, RUNNING, SUBMITTED, TIMED, Command
from clsim.spec import (
    CL_COMPLETE,
    CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
    CL_OUT_OF_RESOURCES,
    CL_SUBMITTED,
    SimulatorError,
)

if TYPE_CHECKING:
    from clsim.checks import Findings
    from clsim.checks.order import OrderCheck
    from clsim.engine.costs import Costs
    from clsim.objects.event import Event
    from clsim.objects.memory import Storage
    from clsim.objects.queue import CommandQueue

SCHEDULES = ("fifo", "late", "random")

_AUTO_FLUSH = 256
"""Unflushed commands after which a lenient queue submits by itself, as drivers do."""

_MOST_DEFERRED = 4096
"""Commands whose effects the late schedule keeps back at most, so that memory stays bounded."""


class Graph(Agenda):
    """The commands of one platform that are not done."""

    def __init__(
        self,
        costs: Costs,
        findings: Findings,
        *,
        schedule: str = "fifo",
        seed: int = 0,
        strict: bool = False,
        in_order_failure: str = "continue",
    ) -> None:
        super().__init__(findings)
        self.costs = costs
        self.schedule = schedule
        self.strict = strict
        self.in_order_failure = in_order_failure
        self.order: OrderCheck | None = None
        self.unset_user_events: dict[int, Event] = {}
        self._random = random.Random(seed)
        self._late = schedule == "late"
        self._resolved = TIMED if self._late else DONE
        """The state from which on a command no longer holds up those that depend on it."""
        self._eager = schedule == "fifo" and not strict
        self._ready: deque[Command] = deque()
        self._deferred: dict[Command, None] = {}
        self._unflushed: dict[CommandQueue, None] = {}
        """Queues with commands that were not flushed, in the order of the first of them."""

    def _reached(self, event: Event, status: int) -> None:
        """The time at which an event reaches a status is known: its callbacks can be put on the clock."""
        raise NotImplementedError

    # ------------------------------------------------------------ enqueueing

    @property
    def eager(self) -> bool:
        """Whether a command that nobody can watch may run when it is enqueued."""
        return self._eager and self.order is None

    def enqueue(
        self,
        command: Command,
        queue: CommandQueue,
        wait_list: Sequence[Event] = (),
        *,
        after_all: bool = False,
    ) -> None:
        """Enters a command. With `after_all` it waits for everything enqueued before (markers, barriers)."""
        command.queued_ns = self.now_ns
        self._sequence += 1
        command.number = self._sequence
        for event in wait_list:
            self._depend(command, event)
        if queue.in_order:
            if queue.tail is not None:
                self._edge(queue.tail, command, False)
        else:
            if after_all:
                for earlier in queue.pending:
                    self._edge(earlier, command, False)
                command.ready_ns = max(command.ready_ns, queue.last_end_ns)
            if queue.barrier is not None:
                self._edge(queue.barrier, command, False)
            command.ready_ns = max(command.ready_ns, queue.barrier_end_ns)
        for held in command.holds:
            held.holds += 1
        queue.holds += 1
        if command.event is not None:
            command.event.holds += 1
        if self.order is not None:
            self.order.enqueued(command)
        alone = not queue.pending
        queue.pending[command] = None
        queue.tail = command
        queue.unflushed.append(command)
        self._unflushed[queue] = None
        if (alone and self._eager and command.event is None) or (
            len(queue.unflushed) >= _AUTO_FLUSH and not self.strict
        ):
            self.flush(queue)

    def set_barrier(self, queue: CommandQueue, command: Command) -> None:
        """Commands enqueued from now on wait for this one."""
        if command.state < DONE:
            queue.barrier = command
        else:
            self._barrier_done(queue, command)

    def _barrier_done(self, queue: CommandQueue, command: Command) -> None:
        queue.barrier_end_ns = max(queue.barrier_end_ns, command.end_ns)
        if self.order is not None:
            self.order.barrier(queue, command)

    def _depend(self, command: Command, event: Event) -> None:
        earlier = event.command
        if earlier is not None:
            self._edge(earlier, command, True)
            return
        command.ready_ns = max(command.ready_ns, event.end_ns)
        if event.result < 0:
            command.failing = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
        if self.order is not None:
            self.order.joined(command, event.stamp)

    def _edge(self, earlier: Command, later: Command, listed: bool) -> None:
        """`later` starts after `earlier`, because its wait list says so (`listed`) or its queue does."""
        later.before.append((earlier, listed))
        if earlier.state < self._resolved:
            earlier.dependents.append(later)
            later.waiting += 1
        else:
            self._resolve(earlier, later)

    def _resolve(self, earlier: Command, later: Command) -> None:
        if later.ready_ns < earlier.end_ns:
            later.ready_ns = earlier.end_ns
        if self.order is not None:
            self.order.joined(later, earlier.stamp)

    def _inherit_failure(self, command: Command) -> None:
        """A command fails unrun after a failure in its wait list, or of what its queue runs first."""
        for earlier, listed in command.before:
            if earlier.result < 0:
                if listed:
                    command.failing = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
                elif self.in_order_failure == "fail" and not command.failing:
                    command.failing = earlier.result

    def flush(self, queue: CommandQueue) -> None:
        """Submits what the queue has, and runs what is ready."""
        now = self.now_ns
        for command in queue.unflushed:
            command.state = SUBMITTED
            command.submit_ns = now
            if command.event is not None and command.event.callbacks:
                command.event.submit_ns = now
                self._reached(command.event, CL_SUBMITTED)
            if command.waiting == 0:
                self._ready.append(command)
        queue.unflushed.clear()
        self._unflushed.pop(queue, None)
        self.pump()

    # ------------------------------------------------------------ running

    def pump(self) -> None:
        """Runs every flushed command that is ready. Lets go of the lock while one runs."""
        ready = self._ready
        while ready:
            if self.schedule == "random" and len(ready) > 1:
                ready.rotate(-self._random.randrange(len(ready)))
            command = ready.popleft()
            self._place(command)
            if self._late:
                self._deferred[command] = None
                if command.queue is not None and command.queue.references == 0:
                    self._not_for_ever(command)
                self._tell_dependents(command)
                if len(self._deferred) > _MOST_DEFERRED:
                    self._force(next(iter(self._deferred)))
            else:
                self._execute(command)

    def _place(self, command: Command) -> None:
        """Gives a ready command its place on the virtual clock."""
        queue = command.queue
        assert queue is not None
        if command.before:
            self._inherit_failure(command)
        start = command.submit_ns + self.costs.submit_ns
        if start < command.ready_ns:
            start = command.ready_ns
        if start < queue.last_end_ns and queue.in_order:
            start = queue.last_end_ns
        duration = 0 if command.failing else command.device_ns
        if duration:
            device = queue.device
            if command.transfer:
                if start < device.transfer_free_ns:
                    start = device.transfer_free_ns
                device.transfer_free_ns = start + duration
            else:
                if start < device.free_ns:
                    start = device.free_ns
                device.free_ns = start + duration
        end = start + duration
        command.start_ns = start
        command.end_ns = end
        if end > queue.last_end_ns:
            queue.last_end_ns = end
        for storage in command.storages:
            if end > storage.busy_until_ns:
                storage.busy_until_ns = end
        command.state = TIMED
        event = command.event
        if event is not None:
            event.queued_ns = command.queued_ns
            event.submit_ns = command.submit_ns
            event.start_ns = start
            event.end_ns = end
            if event.callbacks:
                self._reached(event, CL_COMPLETE)
        if self.order is not None:
            self.order.enter(command)

    def _tell_dependents(self, command: Command) -> None:
        for later in command.dependents:
            self._resolve(command, later)
            later.waiting -= 1
            if later.waiting == 0 and later.state == SUBMITTED:
                self._ready.append(later)
        command.dependents = []

    def _execute(self, command: Command) -> None:
        """Carries out the effects of a command whose dependencies are done."""
        if command.before:
            # Late, what was timed before may have failed since.
            self._inherit_failure(command)
            command.before = []
        if command.failing:
            self._done(command, command.failing)
            return
        if command.run is None:
            self._done(command, 0)
            return
        command.state = RUNNING
        me = threading.get_ident()
        self._running.append(me)
        result = CL_OUT_OF_RESOURCES
        self.lock.release()
        try:
            result = command.run()
        except SimulatorError:
            raise
        except Exception as error:
            raise SimulatorError(f"{command.label} could not be carried out: {error!r}") from error
        finally:
            self.lock.acquire()
            self._running.remove(me)
            self._done(command, result)

    def _done(self, command: Command, result: int) -> None:
        command.state = DONE
        command.result = result
        if self.order is not None:
            if result == 0:
                self.order.done(command)
            self.order.left(command)
        queue = command.queue
        if self._late and queue is not None:
            self._deferred.pop(command, None)
        elif command.dependents:
            self._tell_dependents(command)
        event = command.event
        if event is not None:
            event.result = result
            event.stamp = command.stamp
            event.command = None
            event.drop()
        if queue is not None:
            queue.pending.pop(command, None)
            if queue.tail is command:
                queue.tail = None
            if queue.barrier is command:
                queue.barrier = None
                self._barrier_done(queue, command)
            queue.drop()
        for held in command.holds:
            # As `drop`, written out: this loop runs for every argument of every launch.
            held.holds -= 1
            if held.holds == 0 and held.references == 0:
                held.end()
        command.run = None
        command.holds = ()
        if self._waiters:
            self.changed.notify_all()

    def _force(self, wanted: Command) -> None:
        """Late schedule: carries out the effects of a timed command, and first those it depends on."""
        stack = [wanted]
        while stack:
            command = stack[-1]
            if command.state == DONE:
                stack.pop()
            elif command.state == RUNNING:
                self._wait()
            else:
                before = [earlier for earlier, _ in command.before if earlier.state < DONE]
                if before:
                    stack.extend(before)
                else:
                    self._execute(command)

    def _not_for_ever(self, command: Command) -> None:
        self.call_at(command.end_ns, lambda: self._force(command))

    def queue_released(self, queue: CommandQueue) -> None:
        """Nobody can wait for a queue any more: its commands are carried out when their time has come."""
        self.flush(queue)
        for command in queue.pending:
            if command.state == TIMED:
                self._not_for_ever(command)

    def instant(self, queue: CommandQueue, device_ns: int, storages: Iterable[Storage]) -> None:
        """A launch without effects, event or wait list on an idle queue: only time passes."""
        costs = self.costs
        self.now_ns += costs.enqueue_profiling_ns if queue.profiling else costs.enqueue_ns
        device = queue.device
        start = self.now_ns + costs.submit_ns
        if start < queue.last_end_ns and queue.in_order:
            start = queue.last_end_ns
        if start < queue.barrier_end_ns:
            start = queue.barrier_end_ns
        if start < device.free_ns:
            start = device.free_ns
        end = start + device_ns
        device.free_ns = end
        if end > queue.last_end_ns:
            queue.last_end_ns = end
        for storage in storages:
            storage.busy_until_ns = end
