"""What the pyopencl implementation of the interface promises beyond what every implementation does."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyopencl as cl
import pytest

from runtime.cl.interface import CLError, Context, Device, LocalMemory, Queue

ROOT = Path(__file__).resolve().parents[2]
SOURCE = """
kernel void add(global int *data, int amount) { data[get_global_id(0)] += amount; }
kernel void shared(global int *data, local int *group) { group[get_local_id(0)] = data[get_global_id(0)]; }
"""


def test_a_bound_launch_costs_what_pyopencls_own_call_costs(context: Context, queue: Queue) -> None:
    with context.program_from_source(SOURCE) as program:
        program.build()
        add = program.kernel("add")
    data = context.create_buffer(256)
    amount = struct.pack("=i", 1)
    add.set_args(data, amount)
    binding = queue.bind(add, [data, amount], (64,), (64,))
    native_queue, native_kernel = queue.native, add.native

    def bare(times: int) -> None:
        for _ in range(times):
            cl.enqueue_nd_range_kernel(native_queue, native_kernel, (64,), (64,))

    def bound(times: int) -> None:
        for _ in range(times):
            binding()

    def seconds(launch: Any) -> float:
        start = time.perf_counter()
        launch(200)
        queue.finish()
        return time.perf_counter() - start

    rounds = [(seconds(bare), seconds(bound)) for _ in range(100)]
    # 1.06 where it was measured. Many short rounds: the best of each is one that nothing disturbed.
    assert min(mine for _, mine in rounds) < 1.3 * min(plain for plain, _ in rounds)


def test_a_build_neither_reads_nor_writes_pyopencls_cache(tmp_path: Path) -> None:
    code = (
        "from runtime.cl.discovery import open_device\n"
        "device = open_device('pocl')\n"
        "context = device.platform.create_context([device])\n"
        "program = context.program_from_source('kernel void k(global int *a) { a[0] = 1; }')\n"
        "program.build()\n"
        "print(program.kernel_names)\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYOPENCL_NO_CACHE"}
    environment |= {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "CLRT_PROBE": "0"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.stdout.strip() == "('k',)", done.stderr
    assert [path for path in tmp_path.rglob("*") if "pyopencl" in path.name.lower()] == []


def test_the_adapter_needs_no_pydantic() -> None:
    code = (
        "import sys\n"
        "for name in ('pydantic', 'typer', 'rich', 'hypothesis'): sys.modules[name] = None\n"
        "from runtime.cl.discovery import open_device\n"
        "device = open_device('pocl')\n"
        "with device.platform.create_context([device]) as context, context.create_queue(device) as queue:\n"
        "    with context.create_buffer(16) as data: queue.enqueue_fill(data, b'x')\n"
        "    queue.finish()\n"
        "print('clsim' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["False"], done.stderr


def test_an_error_that_is_kept_keeps_no_reference(context: Context, queue: Queue) -> None:
    event = queue.enqueue_marker(want_event=True)
    data = context.create_buffer(16)
    assert event is not None
    queue.finish()
    counts = event.refcount, data.refcount
    kept = []
    for call in (
        lambda: queue.enqueue_write(data, bytes(17), wait_for=[event]),
        lambda: queue.enqueue_copy(data, data, 16, wait_for=[event]),
        lambda: queue.enqueue_fill(data, b"abc", wait_for=[event]),
    ):
        with pytest.raises(CLError) as caught:
            call()
        kept.append(caught)
    holder, second = event.retain(), data.retain()
    event.release()
    data.release()
    queue.finish()
    assert (holder.refcount, second.refcount) == counts
    assert all(error.value.code < 0 for error in kept)
    holder.release()
    second.release()


def test_a_failed_set_leaves_no_dead_argument_unseen(context: Context, queue: Queue) -> None:
    """Argument 0 was set, then argument 1 was refused: the kernel has the new buffer now."""
    with context.program_from_source(SOURCE) as program:
        program.build()
        add = program.kernel("add")
    first, second = context.create_buffer(256), context.create_buffer(256)
    add.set_args(first, struct.pack("=i", 1))
    with pytest.raises(CLError):
        add.set_args(second, bytes(8))
    second.release()
    with pytest.raises(CLError) as caught:
        queue.enqueue_kernel(add, (64,))
    assert caught.value.name == "CL_INVALID_KERNEL_ARGS"


def test_more_local_memory_than_there_is_never_reaches_pocl(
    context: Context, queue: Queue, device: Device
) -> None:
    """PoCL 3.0 writes past the end of its local memory, 3.1 ends the process."""
    with context.program_from_source(SOURCE) as program:
        program.build()
        shared = program.kernel("shared")
    data = context.create_buffer(256)
    shared.set_args(data, LocalMemory(device.limits.local_mem_size + 1))
    with pytest.raises(CLError) as caught:
        queue.enqueue_kernel(shared, (64,), (64,))
    assert caught.value.name == "CL_OUT_OF_RESOURCES"


def test_native_objects_are_pyopencls(context: Context, queue: Queue, device: Device) -> None:
    assert isinstance(device.native, cl.Device)
    assert isinstance(context.native, cl.Context)
    assert isinstance(queue.native, cl.CommandQueue)
    with context.create_buffer(16) as data:
        assert isinstance(data.native, cl.Buffer)


def test_objects_of_another_implementation_are_refused(context: Context, queue: Queue) -> None:
    from runtime.cl.discovery import open_device

    stranger = open_device("sim")
    with stranger.platform.create_context([stranger]) as other, other.create_queue(stranger) as strange:
        with other.create_buffer(16) as data, pytest.raises(TypeError, match="implementation"):
            queue.enqueue_fill(data, b"x")
        event = strange.enqueue_marker(want_event=True)
        assert event is not None
        with pytest.raises(TypeError, match="implementation"):
            queue.enqueue_marker([event])
        strange.finish()
        event.release()
