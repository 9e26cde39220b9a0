"""Error codes: wrong calls, and the codes whose condition holds for each.

The standard fixes no precedence between errors: where a call has several faults, any of their codes will do.
What concerns one chapter stands in that chapter's tests; here are the rest, in one table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from clkit import built, int32, int_buffer, kernel

from runtime.cl.codes import ErrorCode
from runtime.cl.interface import Buffer, CLError, Context, Device, Kernel, MapFlags, MemFlags, Program, Queue


@dataclass
class World:
    """What the wrong calls are made with."""

    device: Device
    context: Context
    queue: Queue
    data: Buffer  # 64 bytes
    program: Program
    add: Kernel


@pytest.fixture
def world(device: Device, context: Context, queue: Queue) -> World:
    data = int_buffer(context, range(16))
    add = kernel(context, "add", data, int32(1))
    return World(device, context, queue, data, built(context), add)


HOST = bytearray(64)

WRONG_CALLS: dict[str, tuple[Callable[[World], object], set[str]]] = {
    "a context of no device": (lambda w: w.device.platform.create_context([]), {"CL_INVALID_VALUE"}),
    "a buffer of no size": (lambda w: w.context.create_buffer(0), {"CL_INVALID_BUFFER_SIZE"}),
    "a buffer of a negative size": (lambda w: w.context.create_buffer(-1), {"CL_INVALID_BUFFER_SIZE"}),
    "a buffer larger than the device allows": (
        lambda w: w.context.create_buffer(w.device.limits.max_mem_alloc_size + 1),
        {"CL_INVALID_BUFFER_SIZE", "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    ),
    "a buffer read and written only": (
        lambda w: w.context.create_buffer(64, MemFlags.READ_ONLY | MemFlags.WRITE_ONLY),
        {"CL_INVALID_VALUE"},
    ),
    "a buffer to be read by nobody and somebody": (
        lambda w: w.context.create_buffer(64, MemFlags.HOST_NO_ACCESS | MemFlags.HOST_READ_ONLY),
        {"CL_INVALID_VALUE"},
    ),
    "a buffer that uses and copies its host memory": (
        lambda w: w.context.create_buffer(64, MemFlags.USE_HOST_PTR | MemFlags.COPY_HOST_PTR, HOST),
        {"CL_INVALID_VALUE"},
    ),
    "a buffer that uses and allocates its host memory": (
        lambda w: w.context.create_buffer(64, MemFlags.USE_HOST_PTR | MemFlags.ALLOC_HOST_PTR, HOST),
        {"CL_INVALID_VALUE"},
    ),
    "a buffer that uses host memory it was not given": (
        lambda w: w.context.create_buffer(64, MemFlags.USE_HOST_PTR),
        {"CL_INVALID_HOST_PTR"},
    ),
    "a buffer that copies host memory it was not given": (
        lambda w: w.context.create_buffer(64, MemFlags.COPY_HOST_PTR),
        {"CL_INVALID_HOST_PTR"},
    ),
    "a buffer with host memory it has no use for": (
        lambda w: w.context.create_buffer(64, MemFlags.READ_WRITE, HOST),
        {"CL_INVALID_HOST_PTR"},
    ),
    "a buffer larger than its host memory": (
        lambda w: w.context.create_buffer(65, MemFlags.COPY_HOST_PTR, HOST),
        {"CL_INVALID_HOST_PTR"},
    ),
    "a buffer with unknown flags": (
        lambda w: w.context.create_buffer(64, MemFlags(1 << 30)),
        {"CL_INVALID_VALUE"},
    ),
    "a write past the end": (lambda w: w.queue.enqueue_write(w.data, bytes(65)), {"CL_INVALID_VALUE"}),
    "a write beginning past the end": (
        lambda w: w.queue.enqueue_write(w.data, bytes(4), offset=64),
        {"CL_INVALID_VALUE"},
    ),
    "a write at a negative offset": (
        lambda w: w.queue.enqueue_write(w.data, bytes(4), offset=-4),
        {"CL_INVALID_VALUE"},
    ),
    "a read past the end": (
        lambda w: w.queue.enqueue_read(w.data, bytearray(8), offset=60),
        {"CL_INVALID_VALUE"},
    ),
    "a read of a huge offset": (
        lambda w: w.queue.enqueue_read(w.data, bytearray(8), offset=2**62),
        {"CL_INVALID_VALUE"},
    ),
    "a copy past the end of the source": (
        lambda w: w.queue.enqueue_copy(w.data, w.context.create_buffer(128), 65),
        {"CL_INVALID_VALUE"},
    ),
    "a copy past the end of the target": (
        lambda w: w.queue.enqueue_copy(w.data, w.context.create_buffer(64), 64, target_offset=4),
        {"CL_INVALID_VALUE"},
    ),
    "a fill past the end": (
        lambda w: w.queue.enqueue_fill(w.data, bytes(4), offset=60, size=8),
        {"CL_INVALID_VALUE"},
    ),
    "a fill of no pattern": (lambda w: w.queue.enqueue_fill(w.data, b""), {"CL_INVALID_VALUE"}),
    "a fill of three bytes": (
        lambda w: w.queue.enqueue_fill(w.data, b"abc", size=3),
        {"CL_INVALID_VALUE"},
    ),
    "a fill of a pattern too long": (
        lambda w: w.queue.enqueue_fill(w.context.create_buffer(256), bytes(256)),
        {"CL_INVALID_VALUE"},
    ),
    "a fill at an offset between patterns": (
        lambda w: w.queue.enqueue_fill(w.data, bytes(4), offset=2, size=4),
        {"CL_INVALID_VALUE"},
    ),
    "a fill of half a pattern": (
        lambda w: w.queue.enqueue_fill(w.data, bytes(4), size=6),
        {"CL_INVALID_VALUE"},
    ),
    "a write to what the host must not write": (
        lambda w: w.queue.enqueue_write(
            w.context.create_buffer(4, MemFlags.READ_WRITE | MemFlags.HOST_READ_ONLY), bytes(4)
        ),
        {"CL_INVALID_OPERATION"},
    ),
    "a read of what the host must not read": (
        lambda w: w.queue.enqueue_read(
            w.context.create_buffer(4, MemFlags.READ_WRITE | MemFlags.HOST_WRITE_ONLY), bytearray(4)
        ),
        {"CL_INVALID_OPERATION"},
    ),
    "a read of what the host must not touch": (
        lambda w: w.queue.enqueue_read(
            w.context.create_buffer(4, MemFlags.READ_WRITE | MemFlags.HOST_NO_ACCESS), bytearray(4)
        ),
        {"CL_INVALID_OPERATION"},
    ),
    "a map past the end": (
        lambda w: w.queue.enqueue_map(w.data, MapFlags.READ, offset=60, size=8),
        {"CL_INVALID_VALUE"},
    ),
    "a launch of a kernel without arguments": (
        lambda w: w.queue.enqueue_kernel(w.program.kernel("add"), (16,)),
        {"CL_INVALID_KERNEL_ARGS"},
    ),
    "a launch of no dimension": (
        lambda w: w.queue.enqueue_kernel(w.add, ()),
        {"CL_INVALID_WORK_DIMENSION", "CL_INVALID_GLOBAL_WORK_SIZE"},
    ),
    "a launch of a released kernel": (
        lambda w: (w.add.release(), w.queue.enqueue_kernel(w.add, (16,))),
        {"CL_INVALID_KERNEL"},
    ),
    "a kernel of an unknown name": (
        lambda w: w.program.kernel("subtract"),
        {"CL_INVALID_KERNEL_NAME"},
    ),
    "a queue of a released context": (
        lambda w: (w.context.release(), w.context.create_queue(w.device)),
        {"CL_INVALID_CONTEXT"},
    ),
}


@pytest.mark.parametrize("call", WRONG_CALLS)
def test_a_wrong_call_raises_a_code_whose_condition_holds(world: World, call: str) -> None:
    attempt, codes = WRONG_CALLS[call]
    with pytest.raises(CLError) as caught:
        attempt(world)
    assert caught.value.name in codes, f"{caught.value} is none of {', '.join(sorted(codes))}"


@pytest.mark.parametrize("call", WRONG_CALLS)
def test_a_wrong_call_changes_nothing(world: World, call: str) -> None:
    kept = world.context.retain()
    with pytest.raises(CLError):
        WRONG_CALLS[call][0](world)
    data = bytearray(64)
    world.queue.enqueue_read(world.data, data)
    world.queue.finish()
    assert data == bytes(memoryview(int_bytes()))
    kept.release()


def int_bytes() -> bytes:
    return b"".join(int32(number) for number in range(16))


def test_an_error_tells_code_name_routine_and_reason(world: World) -> None:
    with pytest.raises(CLError) as caught:
        world.queue.enqueue_write(world.data, bytes(65))
    error = caught.value
    assert error.code == ErrorCode.CL_INVALID_VALUE
    assert error.name == "CL_INVALID_VALUE"
    assert error.routine == "clEnqueueWriteBuffer"
    assert "65" in error.reason
    assert str(error).startswith("clEnqueueWriteBuffer: CL_INVALID_VALUE: ")


def test_an_error_can_be_pickled(world: World) -> None:
    import pickle

    with pytest.raises(CLError) as caught:
        world.context.create_buffer(0)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (copy.code, copy.routine, copy.reason) == (
        caught.value.code,
        caught.value.routine,
        caught.value.reason,
    )
