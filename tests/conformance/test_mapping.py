"""Mapping buffers into host memory (sections 5.2.4 and 5.5.3)."""

from __future__ import annotations

import pytest
from clkit import Gate, asked, fails, int32, int_buffer, ints, kernel, read_ints, reference_counts

from runtime.cl.codes import ErrorCode
from runtime.cl.interface import Context, MapFlags, MemFlags, Queue


def test_a_map_for_reading_shows_the_bytes(context: Context, queue: Queue) -> None:
    data = int_buffer(context, range(8))
    mapped = queue.enqueue_map(data, MapFlags.READ)
    assert list(mapped.view.cast("i")) == list(range(8))
    mapped.unmap()
    queue.finish()


def test_a_map_of_a_part_shows_that_part(context: Context, queue: Queue) -> None:
    data = int_buffer(context, range(8))
    mapped = queue.enqueue_map(data, MapFlags.READ, offset=12, size=8)
    assert mapped.view.nbytes == 8
    assert list(mapped.view.cast("i")) == [3, 4]
    mapped.unmap()
    rest = queue.enqueue_map(data, MapFlags.READ, offset=20)
    assert list(rest.view.cast("i")) == [5, 6, 7]
    rest.unmap()
    queue.finish()


def test_what_was_written_to_a_map_is_in_the_buffer_after_unmap(context: Context, queue: Queue) -> None:
    data = int_buffer(context, range(8))
    mapped = queue.enqueue_map(data, MapFlags.WRITE, offset=8, size=8)
    mapped.view[:4] = int32(100)
    mapped.unmap()
    assert read_ints(queue, data) == [0, 1, 100, *range(3, 8)]


def test_a_map_that_invalidates_is_written_whole(context: Context, queue: Queue) -> None:
    data = int_buffer(context, range(8))
    mapped = queue.enqueue_map(data, MapFlags.WRITE_INVALIDATE_REGION, offset=0, size=16)
    mapped.view[:] = ints([9, 8, 7, 6]).tobytes()
    mapped.unmap()
    assert read_ints(queue, data) == [9, 8, 7, 6, 4, 5, 6, 7]


def test_a_map_for_reading_alone_cannot_be_written(context: Context, queue: Queue) -> None:
    mapped = queue.enqueue_map(int_buffer(context, range(8)), MapFlags.READ)
    assert mapped.view.readonly
    with pytest.raises(TypeError):
        mapped.view[0] = 1
    mapped.unmap()
    queue.finish()


def test_a_kernel_sees_what_a_map_wrote_and_a_map_what_a_kernel_wrote(context: Context, queue: Queue) -> None:
    data = int_buffer(context, [0] * 8)
    add = kernel(context, "add", data, int32(10))
    for turn in range(1, 4):
        mapped = queue.enqueue_map(data, MapFlags.READ | MapFlags.WRITE)
        numbers = mapped.view.cast("i")
        assert list(numbers) == [(turn - 1) * 11] * 8
        for index in range(8):
            numbers[index] += 1
        numbers.release()
        mapped.unmap()
        queue.enqueue_kernel(add, (8,))
    assert read_ints(queue, data) == [33] * 8


def test_a_map_that_does_not_block_is_ready_after_its_wait(
    context: Context, queue: Queue, gate: Gate
) -> None:
    data = int_buffer(context, [0] * 8)
    queue.enqueue_kernel(kernel(context, "store", data, int32(4)), (8,), wait_for=[gate.event])
    mapped = queue.enqueue_map(data, MapFlags.READ, blocking=False)
    queue.flush()
    gate.open()
    mapped.wait()
    assert list(mapped.view.cast("i")) == [4] * 8
    mapped.unmap()
    queue.finish()


def test_an_unmap_can_be_waited_for(context: Context, queue: Queue) -> None:
    data = int_buffer(context, [0] * 8)
    mapped = queue.enqueue_map(data, MapFlags.WRITE)
    mapped.view[:4] = int32(3)
    with asked(mapped.unmap(want_event=True)) as event:
        event.wait()
        assert event.status == 0


def test_a_mapping_ends_once(context: Context, queue: Queue) -> None:
    mapped = queue.enqueue_map(int_buffer(context, range(8)), MapFlags.READ)
    mapped.unmap()
    for call in (mapped.unmap, mapped.wait, lambda: mapped.view):
        with fails(ErrorCode.CL_INVALID_VALUE):
            call()
    queue.finish()


def test_two_parts_can_be_mapped_at_once(context: Context, queue: Queue) -> None:
    data = int_buffer(context, [0] * 8)
    first = queue.enqueue_map(data, MapFlags.WRITE, offset=0, size=16)
    second = queue.enqueue_map(data, MapFlags.WRITE, offset=16, size=16)
    first.view[:] = ints([1] * 4).tobytes()
    second.view[:] = ints([2] * 4).tobytes()
    second.unmap()
    first.unmap()
    assert read_ints(queue, data) == [1] * 4 + [2] * 4


def test_a_map_of_the_programs_own_memory_brings_it_up_to_date(context: Context, queue: Queue) -> None:
    host = ints(range(64))
    data = context.create_buffer(256, MemFlags.READ_WRITE | MemFlags.USE_HOST_PTR, host)
    add = kernel(context, "add", data, int32(1))
    queue.enqueue_kernel(add, (64,))
    mapped = queue.enqueue_map(data, MapFlags.READ | MapFlags.WRITE, offset=32, size=64)
    assert list(host[8:24]) == [n + 1 for n in range(8, 24)]
    assert list(mapped.view.cast("i")) == [n + 1 for n in range(8, 24)]
    mapped.view[:4] = int32(1000)
    assert host[8] == 1000
    mapped.unmap()
    queue.enqueue_kernel(add, (64,))
    assert read_ints(queue, data)[:10] == [2, 3, 4, 5, 6, 7, 8, 9, 1001, 11]
    queue.finish()


def test_a_map_outside_the_buffer_is_refused(context: Context, queue: Queue) -> None:
    data = int_buffer(context, range(8))
    for offset, size in ((0, 33), (32, 1), (16, 17), (0, 0)):
        with fails(ErrorCode.CL_INVALID_VALUE):
            queue.enqueue_map(data, MapFlags.READ, offset=offset, size=size)


def test_invalidating_does_not_go_with_reading_or_writing(context: Context, queue: Queue) -> None:
    data = int_buffer(context, range(8))
    for flags in (MapFlags.READ, MapFlags.WRITE):
        with fails(ErrorCode.CL_INVALID_VALUE):
            queue.enqueue_map(data, MapFlags.WRITE_INVALIDATE_REGION | flags).unmap()


def test_a_map_that_the_buffer_forbids_is_refused(context: Context, queue: Queue) -> None:
    cases = (
        (MemFlags.HOST_NO_ACCESS, MapFlags.READ),
        (MemFlags.HOST_NO_ACCESS, MapFlags.WRITE),
        (MemFlags.HOST_WRITE_ONLY, MapFlags.READ),
        (MemFlags.HOST_READ_ONLY, MapFlags.WRITE),
        (MemFlags.HOST_READ_ONLY, MapFlags.WRITE_INVALIDATE_REGION),
    )
    for forbidden, flags in cases:
        data = context.create_buffer(32, MemFlags.READ_WRITE | forbidden)
        with fails(ErrorCode.CL_INVALID_OPERATION):
            queue.enqueue_map(data, flags)


def test_a_mapping_is_ended_though_its_queue_was_released(context: Context, queue: Queue) -> None:
    data = int_buffer(context, [0] * 8)
    with context.create_queue(queue.device) as other:
        mapped = other.enqueue_map(data, MapFlags.WRITE)
    mapped.view[:4] = int32(6)
    with asked(mapped.unmap(want_event=True)) as event:
        event.wait()
    assert read_ints(queue, data) == [6] + [0] * 7


def test_a_mapping_leaves_no_reference(context: Context, queue: Queue) -> None:
    data = int_buffer(context, range(8))

    def map_often(times: int) -> list[int]:
        for _ in range(times):
            queue.enqueue_map(data, MapFlags.READ).unmap()
        queue.finish()
        return reference_counts(data)

    before = map_often(1)
    assert map_often(20) == before
