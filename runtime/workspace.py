"""Devices, their contexts, and the one command queue of each device behind a stable handle.

Profiling needs a queue that was created for it (OpenCL 5.1), so a profiling session replaces the queue.
Whoever kept the old one would be left with a dead object. Nobody here keeps a queue: they keep its
`QueueHandle`, which leads to the queue in force, whichever that is, for as long as the workspace lives.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from runtime._closing import Closing
from runtime.cl.codes import ErrorCode
from runtime.cl.interface import Buffer, CLError, Context, Device, Event, Kernel, Queue

if TYPE_CHECKING:
    from typing_extensions import Buffer as HostMemory


class LaunchSink(Protocol):
    """Who is told of every kernel launch while a profiling session is open."""

    def add(self, label: str, event: Event) -> None:
        """Takes over the launch's event; releases it in its own time."""


class QueueHandle:
    """The stable way to the command queue of a device; the queue itself comes and goes.

    Launch and copy through the handle's own methods and the queue's replacement is never seen: they hold
    the handle's lock, and a launch made while a session is open is timed like the runtime's own. Who needs
    the queue itself takes it `in_force()` for a moment, and prepares anew what was made from it, such as
    bindings (`Binding.on`), once `generation` has changed.

    All methods may be called from several threads.
    """

    __slots__ = ("__weakref__", "_closed", "_context", "_device", "_queue", "generation", "lock", "sink")

    def __init__(self, context: Context, device: Device) -> None:
        self._context = context
        self._device = device
        self._queue: Queue | None = context.create_queue(device)
        self._closed = False
        self.generation = 0
        """How often the queue was replaced."""
        self.lock = threading.RLock()
        """Held while the queue is used or replaced."""
        self.sink: LaunchSink | None = None
        """Whom to hand the events of launches; None outside of profiling sessions."""

    @property
    def device(self) -> Device:
        return self._device

    @property
    def context(self) -> Context:
        return self._context

    @property
    def profiling(self) -> bool:
        """Whether the queue in force takes times."""
        return self.queue.profiling

    @property
    def queue(self) -> Queue:
        """The queue in force, borrowed: the next session's start or end releases it.

        Raises CL_INVALID_COMMAND_QUEUE once the workspace is closed.
        """
        queue = self._queue
        if queue is None:
            if self._closed:
                raise CLError(
                    ErrorCode.CL_INVALID_COMMAND_QUEUE, "QueueHandle.queue", "the workspace is closed"
                )
            # A replacement failed after the old queue was given up; the device may be well again by now.
            queue = self._queue = self._context.create_queue(self._device)
        return queue

    @contextmanager
    def in_force(self) -> Iterator[Queue]:
        """The queue in force, which nobody replaces before the block ends (except its own thread)."""
        with self.lock:
            yield self.queue

    def replace(self, *, profiling: bool) -> None:
        """Finishes and releases the queue in force and creates another one in its place.

        Events of the old queue stay valid, and no work is lost or reordered. Raises CLError: where the old
        queue cannot be finished it stays in force if the new one was to profile; where the new one cannot
        be created, a queue without profiling takes its place.
        """
        with self.lock:
            old = self.queue
            failure: CLError | None = None
            try:
                old.finish()
            except CLError as error:
                if profiling:
                    raise
                failure = error  # the way back to normal must not depend on the work that went before
            self._queue = None
            self.generation += 1
            old.release()
            try:
                self._queue = self._context.create_queue(self._device, profiling=profiling)
            except CLError:
                if profiling:
                    self._queue = self._context.create_queue(self._device)
                raise
            if failure is not None:
                raise failure

    def enqueue_kernel(
        self,
        kernel: Kernel,
        global_size: Sequence[int],
        local_size: Sequence[int] | None = None,
        offset: Sequence[int] | None = None,
        wait_for: Iterable[Event] = (),
        want_event: bool = False,
    ) -> Event | None:
        """As `Queue.enqueue_kernel`; timed by the open profiling sessions."""
        with self.lock:
            sink = self.sink
            if sink is None:
                return self.queue.enqueue_kernel(
                    kernel, global_size, local_size, offset, wait_for, want_event
                )
            event = self.queue.enqueue_kernel(kernel, global_size, local_size, offset, wait_for, True)
            assert event is not None, "an event was asked for"
            wanted = event.retain() if want_event else None
            sink.add(kernel.name, event)
            return wanted

    def enqueue_write(
        self,
        buffer: Buffer,
        data: HostMemory,
        *,
        offset: int = 0,
        blocking: bool = True,
        wait_for: Iterable[Event] = (),
        want_event: bool = False,
    ) -> Event | None:
        """As `Queue.enqueue_write`."""
        with self.lock:
            return self.queue.enqueue_write(
                buffer, data, offset=offset, blocking=blocking, wait_for=wait_for, want_event=want_event
            )

    def enqueue_read(
        self,
        buffer: Buffer,
        into: HostMemory,
        *,
        offset: int = 0,
        blocking: bool = True,
        wait_for: Iterable[Event] = (),
        want_event: bool = False,
    ) -> Event | None:
        """As `Queue.enqueue_read`."""
        with self.lock:
            return self.queue.enqueue_read(
                buffer, into, offset=offset, blocking=blocking, wait_for=wait_for, want_event=want_event
            )

    def enqueue_copy(
        self,
        source: Buffer,
        target: Buffer,
        size: int | None = None,
        *,
        source_offset: int = 0,
        target_offset: int = 0,
        wait_for: Iterable[Event] = (),
        want_event: bool = False,
    ) -> Event | None:
        """As `Queue.enqueue_copy`."""
        with self.lock:
            return self.queue.enqueue_copy(
                source,
                target,
                size,
                source_offset=source_offset,
                target_offset=target_offset,
                wait_for=wait_for,
                want_event=want_event,
            )

    def enqueue_fill(
        self,
        buffer: Buffer,
        pattern: bytes,
        *,
        offset: int = 0,
        size: int | None = None,
        wait_for: Iterable[Event] = (),
        want_event: bool = False,
    ) -> Event | None:
        """As `Queue.enqueue_fill`."""
        with self.lock:
            return self.queue.enqueue_fill(
                buffer, pattern, offset=offset, size=size, wait_for=wait_for, want_event=want_event
            )

    def enqueue_marker(self, wait_for: Iterable[Event] = (), want_event: bool = False) -> Event | None:
        """As `Queue.enqueue_marker`."""
        with self.lock:
            return self.queue.enqueue_marker(wait_for, want_event)

    def enqueue_barrier(self, wait_for: Iterable[Event] = (), want_event: bool = False) -> Event | None:
        """As `Queue.enqueue_barrier`."""
        with self.lock:
            return self.queue.enqueue_barrier(wait_for, want_event)

    def flush(self) -> None:
        """As `Queue.flush`."""
        with self.lock:
            self.queue.flush()

    def finish(self) -> None:
        """As `Queue.finish`; other threads wait with it, as the queue may not change meanwhile."""
        with self.lock:
            self.queue.finish()

    def close(self) -> None:
        """Finishes and releases the queue in force; the handle is dead from now on."""
        with self.lock:
            queue, self._queue, self._closed = self._queue, None, True
            if queue is not None:
                try:
                    queue.finish()
                finally:
                    queue.release()

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"generation {self.generation}"
        return f"<QueueHandle of {self._device.name}: {state}>"


class KernelTables:
    """Kernel objects by name, one table a thread: OpenCL forbids two threads to share one (appendix A.2).

    A thread's table is released when the thread ends, all of them by `release`.
    """

    __slots__ = ("__weakref__", "_local", "_lock", "_tables")

    def __init__(self) -> None:
        self._local = threading.local()
        self._lock = threading.Lock()
        self._tables: weakref.WeakSet[_KernelTable] = weakref.WeakSet()

    def here(self) -> dict[str, Kernel]:
        """The calling thread's table."""
        table: _KernelTable | None = getattr(self._local, "table", None)
        if table is None:
            table = self._local.table = _KernelTable()
            with self._lock:
                self._tables.add(table)
        return table.kernels

    def release(self) -> None:
        """Releases the kernels of every thread's table; no other thread may be launching one."""
        with self._lock:
            tables = list(self._tables)
        for table in tables:
            table.release()


class _KernelTable:
    __slots__ = ("__weakref__", "kernels")

    def __init__(self) -> None:
        self.kernels: dict[str, Kernel] = {}

    def release(self) -> None:
        kernels, self.kernels = self.kernels, {}
        for kernel in kernels.values():
            if not kernel.released:
                kernel.release()

    def __del__(self) -> None:
        self.release()


class Workspace(Closing):
    """Devices with one context a platform, and one queue a device. What it made goes with `close`."""

    def __init__(self, devices: Device | Sequence[Device]) -> None:
        """Raises ValueError for no device or one named twice, CLError where a context or queue fails."""
        self.devices = tuple(devices) if isinstance(devices, Sequence) else (devices,)
        if not self.devices:
            raise ValueError("a workspace needs at least one device")
        self._contexts: list[Context] = []
        self._handles: list[QueueHandle] = []
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        context_of: dict[int, Context] = {}
        for index, device in enumerate(self.devices):
            if device in self.devices[:index]:
                raise ValueError(f"the device {device.name} is named twice")
            peers = [i for i, other in enumerate(self.devices) if other.platform == device.platform]
            if peers[0] not in context_of:
                context = device.platform.create_context([self.devices[i] for i in peers])
                self._contexts.append(context)
                context_of[peers[0]] = context
            self._handles.append(QueueHandle(context_of[peers[0]], device))

    @property
    def device(self) -> Device:
        """The first device, which methods mean when none is named."""
        return self.devices[0]

    def context(self, device: Device | None = None) -> Context:
        """The context of a device, borrowed."""
        return self.queue(device).context

    def queue(self, device: Device | None = None) -> QueueHandle:
        """The stable handle of a device's queue; the same object at every call.

        Raises ValueError for a device of another workspace.
        """
        if not self._handles:
            raise CLError(ErrorCode.CL_INVALID_CONTEXT, "Workspace.queue", "the workspace is closed")
        if device is None:
            return self._handles[0]
        for handle in self._handles:
            if handle.device == device:
                return handle
        names = ", ".join(known.name for known in self.devices)
        raise ValueError(f"the device {device.name} is not in this workspace; it has: {names}")

    def close(self) -> None:
        """Finishes and releases the queues, then the contexts. A second call does nothing."""
        handles, self._handles = self._handles, []
        contexts, self._contexts = self._contexts, []
        failure: CLError | None = None
        for handle in handles:
            try:
                handle.close()
            except CLError as error:
                failure = failure or error
        for context in contexts:
            context.release()
        if failure is not None:
            raise failure

    def __repr__(self) -> str:
        return f"<Workspace of {', '.join(device.name for device in self.devices)}>"
