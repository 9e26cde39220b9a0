"""Small helpers of the conformance tests."""

from __future__ import annotations

import struct
import threading
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import pytest

from runtime.cl.codes import ErrorCode, MemFlags
from runtime.cl.interface import (
    Buffer,
    CLError,
    CLObject,
    Context,
    Device,
    Event,
    Kernel,
    Program,
    Queue,
    Status,
)

T = TypeVar("T")

PATIENCE_S = 20.0
"""How long a test waits for what must happen, before it fails."""

KERNELS = """
kernel void add(global int *data, int amount) { data[get_global_id(0)] += amount; }
kernel void store(global int *data, int value) { data[get_global_id(0)] = value; }
kernel void scale(global int *data, int factor, int amount) {
    size_t i = get_global_id(0);
    data[i] = data[i] * factor + amount;
}
kernel void move(global const int *from, global int *to) { to[get_global_id(0)] = from[get_global_id(0)]; }
"""


def int32(value: int) -> bytes:
    """An `int` kernel argument."""
    return struct.pack("=i", value)


def ints(values: Sequence[int] | range) -> array[int]:
    return array("i", values)


def int_buffer(context: Context, values: Sequence[int] | range) -> Buffer:
    """A buffer that holds these numbers."""
    data = ints(values)
    return context.create_buffer(4 * len(data), MemFlags.READ_WRITE | MemFlags.COPY_HOST_PTR, data)


def read_ints(queue: Queue, buffer: Buffer, wait_for: Sequence[Event] = ()) -> list[int]:
    """All of a buffer as numbers, read with a blocking call."""
    data = array("i", bytes(buffer.size))
    queue.enqueue_read(buffer, data, wait_for=wait_for)
    return list(data)


def built(context: Context, source: str = KERNELS, options: str = "") -> Program:
    program = context.program_from_source(source)
    program.build(options)
    return program


def kernel(context: Context, name: str, *args: object) -> Kernel:
    """A kernel of `KERNELS` with its arguments set; it keeps its program by itself."""
    with built(context) as program:
        made = program.kernel(name)
    if args:
        made.set_args(*args)  # type: ignore[arg-type]
    return made


def asked(event: Event | None) -> Event:
    """The event of a command that was enqueued with `want_event=True`."""
    assert event is not None, "an event was asked for"
    return event


@contextmanager
def fails(*codes: ErrorCode) -> Iterator[None]:
    """The block raises CLError with one of these codes."""
    with pytest.raises(CLError) as caught:
        yield
    names = [code.name for code in codes]
    assert caught.value.name in names, f"{caught.value} is none of {', '.join(names)}"


def eventually(question: Callable[[], T], what: str) -> T:
    """The first true answer; fails the test when there is none for long."""
    end = time.monotonic() + PATIENCE_S
    while True:
        answer = question()
        if answer:
            return answer
        assert time.monotonic() < end, f"{what} did not come within {PATIENCE_S} s"
        time.sleep(0.001)


def release(*objects: CLObject) -> None:
    """Releases those that are not released."""
    for item in objects:
        if not item.released:
            item.release()


def reference_counts(*objects: CLObject) -> list[int]:
    return [item.refcount for item in objects]


def settled_counts(*objects: CLObject) -> list[int]:
    """Counts once they stay as they are.

    A driver may drop a finished command's references on another thread, a little after `finish`.
    """
    counts = reference_counts(*objects)
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        time.sleep(0.01)
        now = reference_counts(*objects)
        if now == counts:
            return counts
        counts = now
    return counts


class Gate:
    """A user event that commands wait for. It opens by itself in time, so that no test can hang on it."""

    def __init__(self, context: Context) -> None:
        self.event = context.create_user_event()
        self._lock = threading.Lock()
        self._timer = threading.Timer(PATIENCE_S / 2, self._open_late)
        self._timer.daemon = True
        self._timer.start()
        self.opened = False
        self.late = False

    def open(self, status: int = Status.COMPLETE) -> None:
        with self._lock:
            assert not self.late, "the gate had to open by itself: something blocked"
            self.opened = True
            self.event.set_status(status)

    def open_later(self, seconds: float = 0.05, status: int = Status.COMPLETE) -> threading.Thread:
        """Opens it from another thread, after a while."""

        def wait_and_open() -> None:
            time.sleep(seconds)
            self.open(status)

        thread = threading.Thread(target=wait_and_open)
        thread.start()
        return thread

    def check_closed(self) -> None:
        """Fails the test where a wait that the gate does not concern lasted until it opened by itself."""
        assert not self.opened, "what does not wait for the gate was held back until it opened by itself"

    def _open_late(self) -> None:
        with self._lock:
            if not self.opened:
                self.opened = self.late = True
                self.event.set_status(Status.COMPLETE)

    def close(self) -> None:
        self._timer.cancel()
        self._timer.join()
        if not self.opened:
            self.open()
        release(self.event)


def queue_pair(context: Context, device: Device) -> tuple[Queue, Queue]:
    return context.create_queue(device), context.create_queue(device)
