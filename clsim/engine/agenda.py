"""The clock, the lock, and what becomes due: callbacks, and memory whose last command has ended.

There is no thread that calls when the time has come. Every call delivers before it returns what became due
while it ran, and a wait with nothing else to do lets time pass until the next is due.
"""

from __future__ import annotations

import heapq
import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from clsim.checks import waits
from clsim.engine import fork

if TYPE_CHECKING:
    from clsim.checks import Findings


class Agenda:
    """The lock and the clock of one platform, and a heap of actions by time.

    Methods are called with the lock held; it is let go while a client's callback runs and while one waits.
    """

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.now_ns = 0
        """The virtual clock."""
        self.lock = threading.Lock()
        self.changed = threading.Condition(self.lock)
        self.due: list[tuple[int, int, Callable[[], None], bool]] = []
        """A heap of (time, number, action, whether it is the client's callback)."""
        self.forgotten: deque[Callable[[], None]] = deque()
        """What a garbage collector asked for: it may strike while this very thread holds the lock."""
        self.alone: Callable[[], bool] = lambda: threading.active_count() == 1
        """Whether the calling thread is the process's only one; a host not written in Python knows better."""
        self._waiters = 0
        self._running: list[int] = []
        """The threads that are carrying out a command, once a command."""
        self._deliverer = 0
        """The thread that is delivering callbacks, or 0."""
        self._sequence = 0
        fork.watch(self)

    def pump(self) -> None:
        """Runs what has become ready: a callback may have made it so."""
        raise NotImplementedError

    def advance_to(self, time_ns: int) -> None:
        if time_ns > self.now_ns:
            self.now_ns = time_ns

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
