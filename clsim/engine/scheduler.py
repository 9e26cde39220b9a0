"""The scheduler as its callers see it: what the host observes, and how it waits.

Effects and observation are apart: `Graph` carries out the effects of commands when its schedule says; status,
profiling times and callbacks follow from the virtual clock alone, which the host's calls advance. A final
status is never told before the effects are there.

There is no thread of its own. Every call that can make a flushed command ready runs what is ready before it
returns (`pump`), and every call delivers the callbacks that have become due (`settle`).

One lock guards all state. Methods are called with it held; it is let go while a command's effects, a callback
or a wait is under way.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from clsim.checks import waits
from clsim.engine.command import DONE, QUEUED, RUNNING, SUBMITTED, TIMED, Command
from clsim.engine.graph import SCHEDULES, Graph
from clsim.spec import (
    CL_COMPLETE,
    CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
    CL_QUEUED,
    CL_RUNNING,
    CL_SUBMITTED,
)

if TYPE_CHECKING:
    from clsim.objects.event import Event
    from clsim.objects.queue import CommandQueue

__all__ = ["SCHEDULES", "Engine"]

_POLLS_BEFORE_HELP = 8
"""Polls of a command that was never flushed after which a lenient platform flushes its queue."""


class Engine(Graph):
    """The scheduler of one platform."""

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

    def on_status(self, event: Event, status: int, callback: Callable[[int], None]) -> None:
        """Calls `callback(status or error)` once the event has reached `status`."""
        event.holds += 1
        command = event.command
        if event.callbacks is None:
            event.callbacks = []
        event.callbacks.append((status, callback))
        if command is None or command.state >= TIMED:
            self._reached(event, CL_COMPLETE)
        elif command.state == SUBMITTED:
            self._reached(event, CL_SUBMITTED)

    def _reached(self, event: Event, reached: int) -> None:
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

    def finish(self, queue: CommandQueue, waiter: str) -> int:
        """Flushes a queue and blocks until all its commands are complete."""
        self.flush(queue)
        commands = list(queue.pending)
        done = None if self.order is None else self.order.latest(queue)
        code = self.complete(commands, waiter)
        if code == 0:
            self.advance_to(queue.last_end_ns)
            if self.order is not None and done is not None:
                self.order.host_saw_all(done, [command.stamp for command in commands])
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
            self._reached(event, CL_COMPLETE)
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
