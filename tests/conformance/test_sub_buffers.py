"""Sub-buffers: views of a part of a buffer (section 5.2.1)."""

from __future__ import annotations

from clkit import fails, int32, int_buffer, kernel, read_ints, reference_counts

from runtime.cl.codes import ErrorCode
from runtime.cl.interface import Context, Device, MemFlags, Queue


def alignment(device: Device) -> int:
    """Bytes at whose multiples a sub-buffer may begin; the limit is told in bits."""
    return device.limits.mem_base_addr_align_bits // 8


def test_a_sub_buffer_is_a_view_of_its_buffer(context: Context, queue: Queue, device: Device) -> None:
    align = alignment(device)
    data = context.create_buffer(4 * align)
    queue.enqueue_fill(data, b"\x01")
    part = data.sub_buffer(align, 2 * align)
    assert part.size == 2 * align
    queue.enqueue_fill(part, b"\x02", offset=4)
    everything = bytearray(4 * align)
    queue.enqueue_read(data, everything)
    assert everything == b"\x01" * (align + 4) + b"\x02" * (2 * align - 4) + b"\x01" * align
    queue.enqueue_write(data, b"\x09" * 8, offset=align)
    seen = bytearray(16)
    queue.enqueue_read(part, seen)
    assert seen == b"\x09" * 8 + b"\x02" * 8


def test_a_kernel_sees_the_sub_buffer_from_its_origin_on(
    context: Context, queue: Queue, device: Device
) -> None:
    align = alignment(device)
    data = int_buffer(context, [0] * (align // 2))  # two times the alignment
    part = data.sub_buffer(align, align)
    queue.enqueue_kernel(kernel(context, "store", part, int32(3)), (2,))
    assert read_ints(queue, data) == [0] * (align // 4) + [3, 3] + [0] * (align // 4 - 2)


def test_two_kernels_work_on_two_parts(context: Context, queue: Queue, device: Device) -> None:
    align = alignment(device)
    count = align // 4
    data = int_buffer(context, [1] * (2 * count))
    first, second = data.sub_buffer(0, align), data.sub_buffer(align, align)
    queue.enqueue_kernel(kernel(context, "scale", first, int32(2), int32(0)), (count,))
    queue.enqueue_kernel(kernel(context, "scale", second, int32(3), int32(1)), (count,))
    assert read_ints(queue, data) == [2] * count + [4] * count


def test_a_buffer_lives_as_long_as_its_parts(context: Context, queue: Queue, device: Device) -> None:
    align = alignment(device)
    data = int_buffer(context, range(align // 2))
    part = data.sub_buffer(align, align)
    data.release()
    assert read_ints(queue, part) == list(range(align // 4, align // 2))
    queue.enqueue_kernel(kernel(context, "store", part, int32(8)), (1,))
    assert read_ints(queue, part)[0] == 8
    part.release()


def test_a_part_and_its_buffer_are_counted_apart(context: Context, device: Device) -> None:
    data = context.create_buffer(2 * alignment(device))
    part = data.sub_buffer(0, 16)
    before = reference_counts(data, part)
    second = part.retain()
    assert reference_counts(data, part) == [before[0], before[1] + 1]
    second.release()
    assert reference_counts(data, part) == before
    part.release()
    data.release()


def test_an_origin_that_is_not_aligned_is_refused(context: Context, device: Device) -> None:
    align = alignment(device)
    data = context.create_buffer(4 * align)
    for origin in (1, align // 2, align + 1, 2 * align - 1):
        with fails(ErrorCode.CL_MISALIGNED_SUB_BUFFER_OFFSET):
            data.sub_buffer(origin, 1)


def test_a_part_outside_the_buffer_is_refused(context: Context, device: Device) -> None:
    align = alignment(device)
    data = context.create_buffer(2 * align)
    for origin, size in ((0, 2 * align + 1), (align, align + 1), (2 * align, 1), (4 * align, 1)):
        with fails(ErrorCode.CL_INVALID_VALUE):
            data.sub_buffer(origin, size)


def test_a_part_of_no_size_is_refused(context: Context) -> None:
    with fails(ErrorCode.CL_INVALID_BUFFER_SIZE, ErrorCode.CL_INVALID_VALUE):
        context.create_buffer(64).sub_buffer(0, 0)


def test_a_part_of_a_part_is_refused(context: Context) -> None:
    part = context.create_buffer(64).sub_buffer(0, 64)
    with fails(ErrorCode.CL_INVALID_MEM_OBJECT):
        part.sub_buffer(0, 32)


def test_a_part_inherits_how_its_buffer_is_used(context: Context) -> None:
    data = context.create_buffer(64, MemFlags.READ_ONLY | MemFlags.HOST_WRITE_ONLY)
    assert data.sub_buffer(0, 32).flags & MemFlags.READ_ONLY
    assert data.sub_buffer(0, 32).flags & MemFlags.HOST_WRITE_ONLY


def test_a_part_cannot_widen_how_its_buffer_is_used(context: Context) -> None:
    data = context.create_buffer(64, MemFlags.READ_ONLY)
    with fails(ErrorCode.CL_INVALID_VALUE):
        data.sub_buffer(0, 32, MemFlags.READ_WRITE)
    with fails(ErrorCode.CL_INVALID_VALUE):
        data.sub_buffer(0, 32, MemFlags.WRITE_ONLY)


def test_a_copy_between_overlapping_parts_is_refused(context: Context, queue: Queue, device: Device) -> None:
    align = alignment(device)
    data = context.create_buffer(4 * align)
    first, second = data.sub_buffer(0, 2 * align), data.sub_buffer(align, 2 * align)
    with fails(ErrorCode.CL_MEM_COPY_OVERLAP):
        queue.enqueue_copy(first, second, 2 * align)
    queue.enqueue_copy(first, second, align, source_offset=0, target_offset=align)
    queue.finish()
