"""Buffers and transfers between them and host memory (sections 5.2.1 and 5.2.2)."""

from __future__ import annotations

import gc
import time
import weakref
from array import array

import pytest
from clkit import Gate, asked, fails, int32, int_buffer, ints, kernel, read_ints

from runtime.cl.codes import ErrorCode
from runtime.cl.interface import Context, Device, MapFlags, MemFlags, Queue


class Host(array):  # type: ignore[type-arg]
    """Host memory that can be watched."""


def test_what_was_written_is_read_back(context: Context, queue: Queue) -> None:
    data = context.create_buffer(1024)
    sent = bytes(range(256)) * 4
    queue.enqueue_write(data, sent)
    received = bytearray(1024)
    queue.enqueue_read(data, received)
    assert received == sent


@pytest.mark.parametrize("offset", [0, 1, 13, 64, 255])
def test_transfers_move_the_bytes_from_their_offset_on(context: Context, queue: Queue, offset: int) -> None:
    data = context.create_buffer(256)
    queue.enqueue_fill(data, b"\x07")
    queue.enqueue_write(data, b"\x01", offset=offset)
    everything = bytearray(256)
    queue.enqueue_read(data, everything)
    expected = bytearray(b"\x07" * 256)
    expected[offset] = 1
    assert everything == expected
    piece = bytearray(256 - offset)
    queue.enqueue_read(data, piece, offset=offset)
    assert piece == expected[offset:]


def test_a_transfer_takes_any_contiguous_host_memory(context: Context, queue: Queue) -> None:
    data = context.create_buffer(24)
    for memory in (bytes(range(24)), bytearray(range(24)), array("d", [1.0, 2.0, 3.0])):
        queue.enqueue_write(data, memory)
        back = bytearray(24)
        queue.enqueue_read(data, memoryview(back).cast("B", (2, 3, 4)))
        assert back == memoryview(memory).cast("B")


def test_host_memory_that_is_not_contiguous_is_refused(context: Context, queue: Queue) -> None:
    data = context.create_buffer(8)
    with pytest.raises(BufferError):
        queue.enqueue_write(data, memoryview(bytes(16))[::2])
    with pytest.raises(BufferError):
        queue.enqueue_read(data, memoryview(bytearray(16))[::2])


def test_what_is_read_into_must_be_writable(context: Context, queue: Queue) -> None:
    with pytest.raises(BufferError):
        queue.enqueue_read(context.create_buffer(8), bytes(8))


def test_what_is_no_host_memory_is_refused(context: Context, queue: Queue) -> None:
    with pytest.raises(TypeError):
        queue.enqueue_write(context.create_buffer(8), "abcdefgh")  # type: ignore[arg-type]


def test_transfers_that_do_not_block_keep_the_queues_order(context: Context, queue: Queue) -> None:
    data = int_buffer(context, [0] * 16)
    source, results = ints(range(16)), [ints([0] * 16) for _ in range(3)]
    add = kernel(context, "add", data, int32(100))
    queue.enqueue_write(data, source, blocking=False)
    queue.enqueue_read(data, results[0], blocking=False)
    queue.enqueue_kernel(add, (16,))
    queue.enqueue_read(data, results[1], blocking=False)
    queue.enqueue_kernel(add, (16,))
    queue.enqueue_read(data, results[2], blocking=False)
    queue.finish()
    assert [list(result) for result in results] == [[n + 100 * turn for n in range(16)] for turn in range(3)]


def test_a_write_behind_a_gate_returns_at_once(context: Context, queue: Queue, gate: Gate) -> None:
    data = int_buffer(context, [0] * 8)
    start = time.monotonic()
    event = asked(
        queue.enqueue_write(data, ints(range(8)), blocking=False, wait_for=[gate.event], want_event=True)
    )
    queue.enqueue_write(data, ints([9]), blocking=False, wait_for=[gate.event])
    queue.flush()
    assert time.monotonic() - start < 2
    assert event.status > 0
    gate.open()
    event.wait()
    assert read_ints(queue, data) == [9, *range(1, 8)]
    event.release()


def test_a_write_keeps_its_host_memory_until_it_is_complete(
    context: Context, queue: Queue, gate: Gate
) -> None:
    data = int_buffer(context, [0] * 1000)
    memory = Host("i", range(1000))
    alive = weakref.ref(memory)
    queue.enqueue_write(data, memory, blocking=False, wait_for=[gate.event])
    queue.flush()
    del memory
    gc.collect()
    assert alive() is not None
    gate.open()
    queue.finish()
    assert read_ints(queue, data) == list(range(1000))
    gc.collect()
    assert alive() is None


def test_a_read_keeps_its_host_memory_until_it_is_complete(
    context: Context, queue: Queue, gate: Gate
) -> None:
    data = int_buffer(context, range(1000))
    memory = Host("i", bytes(4000))
    alive = weakref.ref(memory)
    event = asked(queue.enqueue_read(data, memory, blocking=False, wait_for=[gate.event], want_event=True))
    del memory
    gc.collect()
    assert alive() is not None
    gate.open()
    event.wait()
    event.release()
    queue.finish()
    gc.collect()
    assert alive() is None


def test_releasing_everything_behind_a_gate_does_not_wait(
    context: Context, device: Device, gate: Gate
) -> None:
    data = int_buffer(context, [0] * 8)
    queue = context.create_queue(device)
    start = time.monotonic()
    event = asked(
        queue.enqueue_write(data, ints([1] * 8), blocking=False, wait_for=[gate.event], want_event=True)
    )
    queue.flush()
    holder = event.retain()
    event.release()
    queue.release()
    del event, queue
    gc.collect()
    assert time.monotonic() - start < 2
    gate.open()
    holder.wait()
    holder.release()
    with context.create_queue(device) as reader:
        assert read_ints(reader, data) == [1] * 8


def test_many_transfers_that_do_not_block_all_arrive(context: Context, queue: Queue) -> None:
    data = int_buffer(context, [0] * 500)
    for index in range(500):
        queue.enqueue_write(data, ints([index * index]), offset=4 * index, blocking=False)
    results = [ints([0]) for _ in range(500)]
    for index, result in enumerate(results):
        queue.enqueue_read(data, result, offset=4 * index, blocking=False)
    queue.finish()
    assert [result[0] for result in results] == [index * index for index in range(500)]


def test_a_copy_moves_a_range_from_one_buffer_to_another(context: Context, queue: Queue) -> None:
    source, target = int_buffer(context, range(16)), int_buffer(context, [-1] * 16)
    queue.enqueue_copy(source, target, 16, source_offset=8, target_offset=20)
    assert read_ints(queue, target) == [-1] * 5 + [2, 3, 4, 5] + [-1] * 7


def test_a_copy_without_a_size_takes_the_rest_of_the_source(context: Context, queue: Queue) -> None:
    source, target = int_buffer(context, range(8)), int_buffer(context, [-1] * 8)
    queue.enqueue_copy(source, target, source_offset=20)
    assert read_ints(queue, target) == [5, 6, 7, -1, -1, -1, -1, -1]


def test_a_copy_within_one_buffer_needs_ranges_apart(context: Context, queue: Queue) -> None:
    data = int_buffer(context, range(8))
    queue.enqueue_copy(data, data, 16, source_offset=0, target_offset=16)
    assert read_ints(queue, data) == [0, 1, 2, 3, 0, 1, 2, 3]
    with fails(ErrorCode.CL_MEM_COPY_OVERLAP):
        queue.enqueue_copy(data, data, 16, source_offset=0, target_offset=12)


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16, 32, 64, 128])
def test_a_fill_repeats_its_pattern(context: Context, queue: Queue, width: int) -> None:
    data = context.create_buffer(1024)
    queue.enqueue_fill(data, b"\xff")
    pattern = bytes(range(1, width + 1))
    queue.enqueue_fill(data, pattern, offset=2 * width, size=3 * width)
    everything = bytearray(1024)
    queue.enqueue_read(data, everything)
    assert everything == b"\xff" * 2 * width + pattern * 3 + b"\xff" * (1024 - 5 * width)


def test_a_pattern_can_be_forgotten_at_once(context: Context, queue: Queue, gate: Gate) -> None:
    data = int_buffer(context, [0] * 4)
    pattern = bytearray(int32(77))
    queue.enqueue_fill(data, pattern, wait_for=[gate.event])  # type: ignore[arg-type]
    pattern[:] = int32(1)
    gate.open()
    assert read_ints(queue, data) == [77] * 4


def test_a_buffer_with_copied_host_memory_takes_it_at_its_creation(context: Context, queue: Queue) -> None:
    host = ints(range(8))
    data = context.create_buffer(32, MemFlags.READ_WRITE | MemFlags.COPY_HOST_PTR, host)
    for index in range(8):
        host[index] = -1
    assert read_ints(queue, data) == list(range(8))


def test_host_memory_larger_than_the_buffer_is_used_in_part(context: Context, queue: Queue) -> None:
    data = context.create_buffer(16, MemFlags.READ_WRITE | MemFlags.COPY_HOST_PTR, ints(range(8)))
    assert data.size == 16
    assert read_ints(queue, data) == [0, 1, 2, 3]


def test_a_buffer_keeps_the_host_memory_that_it_lives_in(context: Context, queue: Queue) -> None:
    memory = Host("i", range(8))
    alive = weakref.ref(memory)
    data = context.create_buffer(32, MemFlags.READ_WRITE | MemFlags.USE_HOST_PTR, memory)
    del memory
    gc.collect()
    assert alive() is not None
    assert read_ints(queue, data) == list(range(8))
    data.release()
    del data
    queue.finish()
    queue.flush()
    gc.collect()
    assert alive() is None


def test_host_memory_outlives_a_released_buffer_that_a_command_still_uses(
    context: Context, queue: Queue, gate: Gate
) -> None:
    memory = Host("i", range(1000))
    alive = weakref.ref(memory)
    source = context.create_buffer(4000, MemFlags.READ_WRITE | MemFlags.USE_HOST_PTR, memory)
    target = int_buffer(context, [0] * 1000)
    queue.enqueue_marker([gate.event])
    queue.enqueue_copy(source, target)
    queue.flush()
    source.release()
    del source, memory
    gc.collect()
    assert alive() is not None
    gate.open()
    assert read_ints(queue, target) == list(range(1000))
    queue.finish()
    queue.flush()
    gc.collect()
    assert alive() is None


def test_a_buffer_tells_its_size_and_flags(context: Context) -> None:
    with context.create_buffer(100) as data:
        assert data.size == 100
        assert data.flags & MemFlags.READ_WRITE
    with context.create_buffer(8, MemFlags.READ_ONLY | MemFlags.HOST_WRITE_ONLY) as data:
        assert data.flags == MemFlags.READ_ONLY | MemFlags.HOST_WRITE_ONLY


def test_a_released_buffer_is_refused(context: Context, queue: Queue) -> None:
    data, other = context.create_buffer(16), context.create_buffer(16)
    data.release()
    calls = (
        lambda: queue.enqueue_write(data, bytes(16)),
        lambda: queue.enqueue_read(data, bytearray(16)),
        lambda: queue.enqueue_copy(data, other),
        lambda: queue.enqueue_copy(other, data),
        lambda: queue.enqueue_fill(data, bytes(4)),
        lambda: data.sub_buffer(0, 16),
        lambda: data.flags,
        lambda: data.refcount,
        data.retain,
        data.release,
    )
    for call in calls:
        with fails(ErrorCode.CL_INVALID_MEM_OBJECT):
            call()


def test_a_buffer_of_another_context_is_refused(context: Context, queue: Queue, device: Device) -> None:
    mine = int_buffer(context, [0] * 8)
    with device.platform.create_context([device]) as stranger, int_buffer(stranger, [0] * 8) as strange:
        for call in (
            lambda: queue.enqueue_write(strange, bytes(32)),
            lambda: queue.enqueue_read(strange, bytearray(32)),
            lambda: queue.enqueue_copy(mine, strange),
            lambda: queue.enqueue_copy(strange, mine),
            lambda: queue.enqueue_fill(strange, bytes(4)),
            lambda: queue.enqueue_map(strange, MapFlags.READ),
        ):
            with fails(ErrorCode.CL_INVALID_CONTEXT):
                call()
