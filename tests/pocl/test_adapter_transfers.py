"""Host transfers through pyopencl, whose events wait for their commands when they are destroyed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from runtime.cl._pyopencl_events import PENDING_TRANSFERS, PendingTransfers
from runtime.cl.interface import Context, Queue, Status
from runtime.cl.pyopencl_device import pending_transfers

ROOT = Path(__file__).resolve().parents[2]


class FakeEvent:
    """What `PendingTransfers` sees of a pyopencl event."""

    def __init__(self) -> None:
        self.status = int(Status.QUEUED)

    def get_info(self, query: int) -> int:
        return self.status


def test_transfers_that_are_complete_are_let_go(context: Context, queue: Queue) -> None:
    data = context.create_buffer(64)
    for _ in range(500):
        queue.enqueue_write(data, bytearray(64), blocking=False)
    queue.finish()
    assert pending_transfers() == 0


def test_few_are_kept_however_many_there_are(context: Context, queue: Queue) -> None:
    data = context.create_buffer(64)
    most = 0
    for _ in range(2000):
        queue.enqueue_write(data, bytearray(64), blocking=False)
        if len(PENDING_TRANSFERS) > 100:
            queue.enqueue_marker()
            time.sleep(0.001)
        most = max(most, len(PENDING_TRANSFERS))
    queue.finish()
    assert most < 500
    assert pending_transfers() == 0


def test_those_behind_a_gate_are_kept_until_it_opens(context: Context, queue: Queue) -> None:
    data = context.create_buffer(64)
    with context.create_user_event() as gate:
        start = time.monotonic()
        for _ in range(200):
            queue.enqueue_write(data, bytearray(64), blocking=False, wait_for=[gate])
        queue.flush()
        assert time.monotonic() - start < 5
        assert pending_transfers() == 200
        gate.set_status(Status.COMPLETE)
        queue.finish()
    assert pending_transfers() == 0


def test_a_transfer_in_front_does_not_keep_the_others() -> None:
    pending = PendingTransfers(sweep_at=10)
    slow = FakeEvent()
    pending.keep(slow)
    for _ in range(100):
        event = FakeEvent()
        pending.keep(event)
        event.status = int(Status.COMPLETE)
    assert len(pending) <= 10
    pending.reap()
    assert len(pending) == 1
    slow.status = -5
    pending.reap()
    assert len(pending) == 0


def test_a_sweep_is_paid_by_those_that_came_since_the_last() -> None:
    pending = PendingTransfers(sweep_at=8)
    looks = 0

    class Slow(FakeEvent):
        def get_info(self, query: int) -> int:
            nonlocal looks
            looks += 1
            return self.status

    for _ in range(4096):
        pending.keep(Slow())
    assert len(pending) == 4096
    assert looks < 4 * 4096


def test_a_program_ends_though_a_transfer_waits_for_ever() -> None:
    code = (
        "from runtime.cl.discovery import open_device\n"
        "device = open_device('pocl')\n"
        "context = device.platform.create_context([device])\n"
        "queue, data = context.create_queue(device), context.create_buffer(64)\n"
        "gate = context.create_user_event()\n"
        "event = queue.enqueue_write(data, bytearray(64), blocking=False, wait_for=[gate], want_event=True)\n"
        "queue.flush()\n"
        "event.release()\n"
        "print('enqueued')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "CLRT_PROBE": "0"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.split() == ["enqueued"]
    assert done.returncode == 0, done.stderr
