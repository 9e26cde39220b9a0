"""The scheduler: when commands run, when they seem to have run, and who is told.

Effects and observation are apart. *Effects*: a command's bytes change while it is RUNNING, which `schedule`
decides: "fifo" as soon as it is ready, in the order of becoming ready; "random" among the ready, by the seed;
"late" only when something observes its completion or depends on it. *Observation*: each command is
placed on a virtual clock which the host's calls advance; status, profiling times and callbacks follow from
the clock alone.

There is no thread of its own. Every call that can make a flushed command ready runs what is ready before it
returns (`pump`), and every call delivers the callbacks that have become due (`deliver`).

One lock guards all state. Public methods are called with it held unless they say otherwise; it is let go
while a command's effects, a callback or a wait is under way.
"""

from __future__ import annotations

import heapq
import random
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from clsim.checks import waits
from clsim.engine import fork
from clsim.engine.command import DONE, QUEUED, RUNNING, SUBMITTED, TIMED, Command
from clsim.spec import (
    CL_COMPLETE,
    CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
    CL_OUT_OF_RESOURCES,
    CL_QUEUED,
    CL_RUNNING,
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

_POLLS_BEFORE_HELP = 8
"""Polls of a command that was never flushed after which a lenient platform flushes its queue."""


class Engine:
    """The scheduler of one platform."""

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
        self.costs = costs
        self.findings = findings
        self.schedule = schedule
        self.strict = strict
        self.in_order_failure = in_order_failure
        self.now_ns = 0
        """The virtual clock."""
        self.lock = threading.Lock()
        self.changed = threading.Condition(self.lock)
        self.order: OrderCheck | None = None
        self.forgotten: deque[Callable[[], None]] = deque()
        """What a garbage collector asked for: it may strike while this very thread holds the lock."""
        self.due: list[tuple[int, int, Callable[[], None], bool]] = []
        """A heap of (time, number, action, whether it is the client's callback)."""
        self.alone: Callable[[], bool] = lambda: threading.active_count() == 1
        """Whether the calling thread is the process's only one; a host not written in Python knows better."""
        self.unset_user_events: dict[int, Event] = {}
        self._random = random.Random(seed)
        self._late = schedule == "late"
        self._resolved = TIMED if self._late else DONE
        """The state from which on a command no longer holds up those that depend on it."""
        self._waiters = 0
        self._eager = schedule == "fifo" and not strict
        self._ready: deque[Command] = deque()
        self._deferred: dict[Command, None] = {}
        self._running: list[int] = []
        """The threads that are carrying out a command, once a command."""
        self._deliverer = 0
        """The thread that is delivering callbacks, or 0."""
        self._unflushed: dict[CommandQueue, None] = {}
        """Queues with commands that were not flushed, in the order of the first of them."""
        self._sequence = 0
        fork.watch(self)

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
                self._schedule_callbacks(command, CL_SUBMITTED)
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
                self._schedule_callbacks(command, CL_COMPLETE)
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

    def queue_released(self, queue: CommandQueue) -> None:
        """Nobody can wait for a queue any more: its commands are carried out when their time has come."""
        self.flush(queue)
        for command in queue.pending:
            if command.state == TIMED:
                self._not_for_ever(command)

    def _not_for_ever(self, command: Command) -> None:
        self.call_at(command.end_ns, lambda: self._force(command))

    def drain(self) -> None:
        """Lets everything happen that can happen without the program: the end of a run."""
        while True:
            self.pump()
            for command in list(self._deferred):
                self._force(command)
            if not self.due or self._deliverer:
                return
            self.advance_to(self.due[0][0])
            self.deliver()

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

    # ------------------------------------------------------------ observing

    def status(self, event: Event) -> int:
        """The status a client sees now. A final status carries out the effects first."""
        command = event.command
        if command is not None and command.state < TIMED:
            return CL_SUBMITTED if command.state == SUBMITTED else CL_QUEUED
        now = self.now_ns
        if now < event.end_ns:
            if now < event.submit_ns:
                return CL_QUEUED
            return CL_SUBMITTED if now < event.start_ns else CL_RUNNING
        if command is not None:
            if command.state == RUNNING:
                return CL_RUNNING
            if command.queue is not None:
                self._force(command)
        self._saw(event)
        return event.result if event.result < 0 else CL_COMPLETE

    def poll(self, event: Event) -> int:
        """A status query: the clock moves on by one quantum, and what is ready runs."""
        self.pump()
        status = self.status(event)
        self.now_ns += self.costs.poll_ns
        command = event.command
        if command is not None and command.state < TIMED:
            event.polls += 1
            if event.polls % _POLLS_BEFORE_HELP == 0:
                for queue, late in waits.unflushed_before([command]):
                    waits.missing_flush(self.findings, queue, late, event, polling=True)
                    if not self.strict:
                        self.flush(queue)
        return status

    def _saw(self, event: Event) -> None:
        """The host knows that the event is complete: what it does from now on comes after."""
        if self.order is not None:
            self.order.host_saw(event.stamp)

    def saw_command(self, command: Command) -> None:
        """The host waited for a command: its time has passed, and what the host does next comes after."""
        self.advance_to(command.end_ns)
        if self.order is not None:
            self.order.host_saw(command.stamp)

    def advance_to(self, time_ns: int) -> None:
        if time_ns > self.now_ns:
            self.now_ns = time_ns

    def on_status(self, event: Event, status: int, callback: Callable[[int], None]) -> None:
        """Calls `callback(status or error)` once the event has reached `status`."""
        event.holds += 1
        command = event.command
        if event.callbacks is None:
            event.callbacks = []
        event.callbacks.append((status, callback))
        if command is None or command.state >= TIMED:
            self._schedule(event, CL_COMPLETE)
        elif command.state == SUBMITTED:
            self._schedule(event, CL_SUBMITTED)

    def _schedule_callbacks(self, command: Command, reached: int) -> None:
        assert command.event is not None
        if reached == CL_SUBMITTED:
            command.event.submit_ns = command.submit_ns
        self._schedule(command.event, reached)

    def _schedule(self, event: Event, reached: int) -> None:
        """Puts on the clock the callbacks whose time is known: those for `reached` and for what is before."""
        times = {CL_SUBMITTED: event.submit_ns, CL_RUNNING: event.start_ns, CL_COMPLETE: event.end_ns}
        left = []
        for status, callback in event.callbacks or ():
            if status >= reached:
                self.call_at(times[status], self._notifier(event, status, callback), client=True)
            else:
                left.append((status, callback))
        event.callbacks = left or None

    def _notifier(self, event: Event, status: int, callback: Callable[[int], None]) -> Callable[[], None]:
        def notify() -> None:
            with self.lock:
                command = event.command
                if status == CL_COMPLETE and command is not None and command.queue is not None:
                    self._force(command)
                if status == CL_COMPLETE:
                    self._saw(event)
                told = event.result if event.result < 0 else status
            try:
                callback(told)
            finally:
                with self.lock:
                    event.drop()

        return notify

    # ------------------------------------------------------------ things that become due

    def call_at(self, time_ns: int, action: Callable[[], None], *, client: bool = False) -> None:
        """Has `action` called at a time: a client's callback without the lock, anything else with it."""
        self._sequence += 1
        heapq.heappush(self.due, (time_ns, self._sequence, action, client))

    def call_later(self, callback: Callable[[], None]) -> None:
        """Has a client's callback called before the present call returns."""
        self.call_at(self.now_ns, callback, client=True)

    def settle(self) -> None:
        """What every entry point does before it returns: collects, and delivers what is due."""
        while self.forgotten:
            self.forgotten.popleft()()
        if self.due and self.due[0][0] <= self.now_ns:
            self.deliver()

    def deliver(self) -> bool:
        """Calls what is due, never from inside another callback. Whether anything was called."""
        if self._deliverer:
            return False
        delivered = False
        self._deliverer = threading.get_ident()
        try:
            while self.due and self.due[0][0] <= self.now_ns:
                _, _, action, client = heapq.heappop(self.due)
                delivered = True
                if not client:
                    action()
                    continue
                self.lock.release()
                try:
                    action()
                except Exception as error:
                    waits.callback_raised(self.findings, error)
                finally:
                    self.lock.acquire()
                self.pump()
        finally:
            self._deliverer = 0
            if self._waiters:
                self.changed.notify_all()
        return delivered

    # ------------------------------------------------------------ waiting

    def complete(self, commands: Sequence[Command], waiter: str) -> int:
        """Blocks until the effects of `commands` are done; 0, or a code where nothing can end the wait.

        `waiter` says who waits, for a finding. The clock is left where it is, save where only its passing
        lets anything happen.
        """
        told = False
        me = threading.get_ident()
        if self._deliverer == me:
            waits.blocking_in_callback(self.findings, commands, waiter)
        while True:
            self.pump()
            for command in commands:
                if command.state == TIMED and command.queue is not None:
                    self._force(command)
            left = [command for command in commands if command.state < DONE]
            if not left:
                return 0
            if self._others_at_work(me):
                self._wait()
                continue
            if self._ready or self.deliver():
                continue
            unflushed = waits.unflushed_before(left) or waits.unflushed_with_callbacks(self._unflushed)
            if unflushed:
                for queue, command in unflushed:
                    waits.missing_flush(self.findings, queue, command, waiter)
                if self.strict:
                    return CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
                for queue, _ in unflushed:
                    self.flush(queue)
                continue
            if self.due and not self._deliverer:
                # Nothing can happen before the next callback is due: so time passes.
                self.advance_to(self.due[0][0])
                continue
            blockers = waits.unset_user_events(left)
            if waits.is_certain(blockers, self.alone()):
                waits.deadlock(self.findings, blockers, left, waiter)
                return CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
            if not told:
                waits.stalled(self.findings, blockers, left, waiter)
                told = True
            self._wait()

    def _wait(self) -> None:
        """Waits, without the lock, until another thread has changed something."""
        self._waiters += 1
        try:
            self.changed.wait()
        finally:
            self._waiters -= 1

    def _others_at_work(self, me: int) -> bool:
        """Whether another thread carries out a command or delivers callbacks: its end changes things."""
        return any(thread != me for thread in self._running) or self._deliverer not in (0, me)

    def before_fork(self) -> None:
        """Takes the lock once no other thread carries out a command: a child is born with whole state."""
        self.lock.acquire()
        while self._others_at_work(threading.get_ident()):
            self._wait()

    def after_fork(self) -> None:
        self.lock.release()

    def finish(self, queue: CommandQueue, waiter: str) -> int:
        """Flushes a queue and blocks until all its commands are complete."""
        self.flush(queue)
        code = self.complete(list(queue.pending), waiter)
        if code == 0:
            self.advance_to(queue.last_end_ns)
            if self.order is not None:
                self.order.host_saw_queue(queue)
        return code

    def wait(self, events: Sequence[Event], waiter: str) -> int:
        """Flushes the queues of events and blocks until all are complete."""
        for event in events:
            if event.command is not None and event.command.state == QUEUED and event.queue is not None:
                self.flush(event.queue)
        commands = [event.command for event in events if event.command is not None]
        code = self.complete(commands, waiter)
        if code == 0:
            for event in events:
                self.advance_to(event.end_ns)
                self._saw(event)
        return code

    # ------------------------------------------------------------ user events

    def add_user_event(self, event: Event) -> None:
        assert event.command is not None
        event.command.event = event
        event.holds += 1
        self.unset_user_events[id(event)] = event

    def set_user_event(self, event: Event, result: int) -> None:
        command = event.command
        assert command is not None
        event.queued_ns = event.submit_ns = command.queued_ns
        event.start_ns = event.end_ns = command.start_ns = command.end_ns = self.now_ns
        command.state = TIMED
        event.result = result
        del self.unset_user_events[id(event)]
        if self.order is not None:
            self.order.user_event_set(command)
        if event.callbacks:
            self._schedule(event, CL_COMPLETE)
        self._done(command, result)
        self.pump()

    def user_event_released(self, event: Event) -> None:
        """Nobody can set it any more: a thread that waits for it must find out."""
        assert event.command is not None
        if not event.command.dependents:
            del self.unset_user_events[id(event)]
            event.command = None
            event.holds -= 1
        self.changed.notify_all()
