"""The interface over the simulator: what it adds to what every implementation must do."""

from __future__ import annotations

import gc
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from runtime.cl.discovery import open_device
from runtime.cl.interface import CLError, Context, Device, Queue

SOURCE = "kernel void add(global int *data, int amount) { data[get_global_id(0)] += amount; }"
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def device() -> Device:
    return open_device("sim", execution="none")


@pytest.fixture
def context(device: Device) -> Context:
    return device.platform.create_context([device])


@pytest.fixture
def queue(context: Context, device: Device) -> Queue:
    return context.create_queue(device)


def platform_of(device: Device) -> Any:
    return device.native.platform  # type: ignore[attr-defined]


def test_use_after_release_is_a_finding_with_both_places(
    device: Device, context: Context, queue: Queue
) -> None:
    data = context.create_buffer(16)
    data.release()
    with pytest.raises(CLError):
        queue.enqueue_fill(data, b"x")
    (finding,) = platform_of(device).findings
    assert finding.kind == "use-after-release"
    lines = [place.line for place in finding.sites if Path(place.file) == Path(__file__)]
    assert len(lines) == len(finding.sites) == 3  # created, released and used: each in this test
    assert lines == sorted(set(lines))


def test_what_was_forgotten_is_reported(device: Device, context: Context, queue: Queue) -> None:
    context.create_buffer(16)
    gc.collect()
    queue.finish()
    assert [finding.kind for finding in platform_of(device).findings] == ["forgotten"]
    assert platform_of(device).ledger.snapshot()["buffer"] == 0


def test_nothing_is_left_once_all_is_released(device: Device, context: Context, queue: Queue) -> None:
    data = context.create_buffer(64)
    with context.program_from_source(SOURCE) as program:
        program.build()
        kernel = program.kernel("add")
    binding = queue.bind(kernel, [data, struct.pack("=i", 1)], (16,))
    for _ in range(10):
        binding()
    event = binding.enqueue()
    assert event is not None
    queue.finish()
    for item in (binding, event, kernel, data, queue, context):
        item.release()
    left = {kind: count for kind, count in platform_of(device).ledger.snapshot().items() if count}
    assert left == {}
    assert not list(platform_of(device).findings)


def test_borrowed_wrappers_are_not_reported_as_forgotten(
    device: Device, context: Context, queue: Queue
) -> None:
    event = queue.enqueue_marker(want_event=True)
    assert event is not None
    for _ in range(3):
        _ = (event.queue, queue.context)
    gc.collect()
    queue.finish()
    event.release()
    assert not list(platform_of(device).findings)


def test_a_plain_number_is_packed_by_the_parameters_type(context: Context) -> None:
    program = context.program_from_source(
        "kernel void k(global int *out, char a, ulong b, float c, uint4 d) { out[0] = a; }"
    )
    program.build()
    kernel = program.kernel("k")
    data = context.create_buffer(4)
    kernel.set_args(data, -5, 2**64 - 1, 0.5, bytes(16))
    values = kernel.native.arguments  # type: ignore[attr-defined]
    assert values[1:4] == [b"\xfb", b"\xff" * 8, struct.pack("=f", 0.5)]
    for wrong in ((data, 128, 1, 1.0, bytes(16)), (data, 1, -1, 1.0, bytes(16)), (data, 1, 1, 1.0, 3)):
        with pytest.raises(CLError) as caught:
            kernel.set_args(*wrong)
        assert caught.value.name == "CL_INVALID_ARG_VALUE"


def test_a_bound_launch_costs_little_more_than_the_simulators_own(context: Context, queue: Queue) -> None:
    from clsim import api

    program = context.program_from_source(SOURCE)
    program.build()
    kernel = program.kernel("add")
    data = context.create_buffer(4096)
    kernel.set_args(data, struct.pack("=i", 1))
    own = api.bind_ndrange(queue.native, kernel.native, (1024,))  # type: ignore[arg-type]
    binding = queue.bind(kernel, [data, struct.pack("=i", 1)], (1024,))

    def seconds(launch: Any) -> float:
        start = time.perf_counter()
        for _ in range(500):
            launch()
        return time.perf_counter() - start

    rounds = [(seconds(own), seconds(binding)) for _ in range(100)]
    # 1.07 where it was measured. Many short rounds: the best of each is one that nothing disturbed.
    assert min(bound for _, bound in rounds) < 1.3 * min(plain for plain, _ in rounds)


def test_a_program_ends_though_a_transfer_waits_for_ever() -> None:
    code = (
        "from runtime.cl.discovery import open_device\n"
        "device = open_device('sim')\n"
        "context = device.platform.create_context([device])\n"
        "queue, data = context.create_queue(device), context.create_buffer(64)\n"
        "gate = context.create_user_event()\n"
        "queue.enqueue_write(data, bytearray(64), blocking=False, wait_for=[gate])\n"
        "queue.flush()\n"
        "print('enqueued')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["enqueued"]
    assert done.stderr == ""
