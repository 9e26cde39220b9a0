"""Kernel arguments: set one launch after another, captured when it is enqueued (section 5.9.2)."""

from __future__ import annotations

import ctypes
import struct
from array import array

import pytest
from clkit import (
    Gate,
    built,
    fails,
    int32,
    int_buffer,
    kernel,
    read_ints,
    reference_counts,
    release,
)

from runtime.cl.codes import ErrorCode
from runtime.cl.interface import Context, Device, LocalMemory, Queue

SCALARS = """
kernel void integers(global long *out, char a, uchar b, short c, ushort d, int e, uint f, long g, ulong h) {
    out[0] = a; out[1] = b; out[2] = c; out[3] = d; out[4] = e; out[5] = f; out[6] = g; out[7] = h;
}
kernel void halves(global float *out, float a, float b) { out[0] = a + b; }
kernel void vector(global int *out, int4 v, uchar2 w) {
    out[0] = v.x; out[1] = v.y; out[2] = v.z; out[3] = v.w; out[4] = w.x; out[5] = w.y;
}
typedef struct { int first; float second; short third[3]; } record;
kernel void fields(global int *out, record r) {
    out[0] = r.first; out[1] = (int)(r.second * 2); out[2] = r.third[0] + r.third[2];
}
kernel void is_null(global int *out, global const int *maybe) { out[0] = maybe == 0; }
kernel void reversed(global int *data, local int *group) {
    int i = get_local_id(0), n = get_local_size(0);
    group[i] = data[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    data[get_global_id(0)] = group[n - 1 - i];
}
kernel void weighted(global int *out, constant int *weights) {
    out[get_global_id(0)] = weights[get_global_id(0)] * 2;
}
"""


def test_arguments_are_captured_at_the_enqueue(context: Context, queue: Queue, gate: Gate) -> None:
    data = [int_buffer(context, [0] * 4) for _ in range(3)]
    store = kernel(context, "store")
    queue.enqueue_marker([gate.event])
    for number, target in enumerate(data, 1):
        store.set_args(target, int32(10 * number))
        queue.enqueue_kernel(store, (4,))
    store.set_args(data[0], int32(-1))
    gate.open()
    assert [read_ints(queue, target) for target in data] == [[10] * 4, [20] * 4, [30] * 4]


def test_the_bytes_of_an_argument_can_change_after_it_was_set(context: Context, queue: Queue) -> None:
    data = int_buffer(context, [0] * 4)
    value = bytearray(int32(5))
    store = kernel(context, "store", data, value)
    value[:] = int32(6)
    queue.enqueue_kernel(store, (4,))
    assert read_ints(queue, data) == [5] * 4


def test_arguments_stay_set_between_launches(context: Context, queue: Queue) -> None:
    data = int_buffer(context, [0] * 4)
    add = kernel(context, "add", data, int32(3))
    for _ in range(4):
        queue.enqueue_kernel(add, (4,))
    assert read_ints(queue, data) == [12] * 4


def test_two_kernel_objects_of_one_function_have_their_own_arguments(context: Context, queue: Queue) -> None:
    first, second = int_buffer(context, [0] * 4), int_buffer(context, [0] * 4)
    program = built(context)
    kernels = program.kernel("store"), program.kernel("store")
    kernels[0].set_args(first, int32(1))
    kernels[1].set_args(second, int32(2))
    for one in kernels:
        queue.enqueue_kernel(one, (4,))
    assert read_ints(queue, first) + read_ints(queue, second) == [1] * 4 + [2] * 4


def test_a_second_wrapper_has_the_same_arguments(context: Context, queue: Queue) -> None:
    data = int_buffer(context, [0] * 4)
    first = kernel(context, "store")
    second = first.retain()
    first.set_args(data, int32(9))
    queue.enqueue_kernel(second, (4,))
    first.release()
    queue.enqueue_kernel(second, (4,))
    assert read_ints(queue, data) == [9] * 4
    second.release()


def test_integers_of_every_size_arrive(context: Context, queue: Queue) -> None:
    out = context.create_buffer(64)
    values = (-128, 255, -32768, 65535, -(2**31), 2**32 - 1, -(2**63), 2**63 - 1)
    integers = built(context, SCALARS).kernel("integers")
    integers.set_args(
        out, *(struct.pack("=" + code, value) for code, value in zip("bBhHiIqQ", values, strict=True))
    )
    queue.enqueue_kernel(integers, (1,))
    back = array("q", bytes(64))
    queue.enqueue_read(out, back)
    assert tuple(back) == values


def test_arguments_come_from_bytes_arrays_and_ctypes_values(context: Context, queue: Queue) -> None:
    out = context.create_buffer(4)
    halves = built(context, SCALARS).kernel("halves")
    half = 1.5
    for value in (struct.pack("=f", half), array("f", [half]), ctypes.c_float(half)):
        halves.set_args(out, value, struct.pack("=f", 1.0))
        queue.enqueue_kernel(halves, (1,))
        back = array("f", [0])
        queue.enqueue_read(out, back)
        assert back[0] == 2.5


def test_vectors_are_passed_as_their_bytes(context: Context, queue: Queue) -> None:
    out = int_buffer(context, [0] * 6)
    vector = built(context, SCALARS).kernel("vector")
    vector.set_args(out, struct.pack("=4i", 1, -2, 3, -4), bytes([250, 5]))
    queue.enqueue_kernel(vector, (1,))
    assert read_ints(queue, out) == [1, -2, 3, -4, 250, 5]


def test_structures_are_passed_as_their_bytes(context: Context, queue: Queue) -> None:
    out = int_buffer(context, [0] * 3)
    fields = built(context, SCALARS).kernel("fields")
    fields.set_args(out, struct.pack("=if3h2x", 7, 2.5, 10, 20, 30))
    queue.enqueue_kernel(fields, (1,))
    assert read_ints(queue, out) == [7, 5, 40]


def test_none_is_a_null_pointer(context: Context, queue: Queue) -> None:
    out = int_buffer(context, [-1])
    is_null = built(context, SCALARS).kernel("is_null")
    is_null.set_args(out, None)
    queue.enqueue_kernel(is_null, (1,))
    assert read_ints(queue, out) == [1]
    is_null.set_args(out, out)
    queue.enqueue_kernel(is_null, (1,))
    assert read_ints(queue, out) == [0]


def test_local_memory_is_shared_by_a_work_group(context: Context, queue: Queue) -> None:
    data = int_buffer(context, range(12))
    reversed_ = built(context, SCALARS).kernel("reversed")
    reversed_.set_args(data, LocalMemory(16))
    queue.enqueue_kernel(reversed_, (12,), (4,))
    assert read_ints(queue, data) == [3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8]


def test_a_constant_buffer_is_a_buffer(context: Context, queue: Queue) -> None:
    out, weights = int_buffer(context, [0] * 4), int_buffer(context, [5, 6, 7, 8])
    weighted = built(context, SCALARS).kernel("weighted")
    weighted.set_args(out, weights)
    queue.enqueue_kernel(weighted, (4,))
    assert read_ints(queue, out) == [10, 12, 14, 16]


def test_a_plain_number_is_packed_or_refused_never_guessed(context: Context, queue: Queue) -> None:
    out = context.create_buffer(4)
    program = built(context, SCALARS, "-cl-kernel-arg-info")
    halves = program.kernel("halves")
    halves.set_args(out, 1, 0.25)
    queue.enqueue_kernel(halves, (1,))
    back = array("f", [0])
    queue.enqueue_read(out, back)
    assert back[0] == 1.25
    fields = program.kernel("fields")
    with fails(ErrorCode.CL_INVALID_ARG_VALUE):
        fields.set_args(out, 3)
    integers = program.kernel("integers")
    with fails(ErrorCode.CL_INVALID_ARG_VALUE):
        integers.set_args(out, 128, 0, 0, 0, 0, 0, 0, 0)


def test_a_kernel_tells_its_name_its_arguments_and_its_program(context: Context) -> None:
    program = built(context, SCALARS)
    integers = program.kernel("integers")
    assert integers.name == "integers"
    assert integers.argument_count == 9
    assert integers.program.handle == program.handle


def test_a_wrong_number_of_arguments_is_refused(context: Context) -> None:
    data = int_buffer(context, [0])
    store = kernel(context, "store")
    for arguments in ((), (data,), (data, int32(1), int32(2))):
        with fails(ErrorCode.CL_INVALID_KERNEL_ARGS):
            store.set_args(*arguments)


@pytest.mark.parametrize("size", [0, 1, 3, 5, 8])
def test_a_value_of_another_size_is_refused(context: Context, size: int) -> None:
    data = int_buffer(context, [0])
    store = kernel(context, "store")
    with fails(ErrorCode.CL_INVALID_ARG_SIZE, ErrorCode.CL_INVALID_ARG_VALUE):
        store.set_args(data, bytes(size))


def test_local_memory_of_no_size_is_refused_before_version_3_1(context: Context, device: Device) -> None:
    data = int_buffer(context, [0])
    reversed_ = built(context, SCALARS).kernel("reversed")
    if device.version >= (3, 1):
        reversed_.set_args(data, LocalMemory(0))
    else:
        with fails(ErrorCode.CL_INVALID_ARG_SIZE):
            reversed_.set_args(data, LocalMemory(0))


def test_local_memory_takes_a_size_and_no_bytes(context: Context) -> None:
    reversed_ = built(context, SCALARS).kernel("reversed")
    with fails(ErrorCode.CL_INVALID_ARG_VALUE):
        reversed_.set_args(int_buffer(context, [0]), bytes(4))


def test_more_local_memory_than_the_device_has_is_refused(
    context: Context, queue: Queue, device: Device
) -> None:
    reversed_ = built(context, SCALARS).kernel("reversed")
    data = int_buffer(context, range(4))
    reversed_.set_args(data, LocalMemory(device.limits.local_mem_size + 4))
    with fails(ErrorCode.CL_OUT_OF_RESOURCES):
        queue.enqueue_kernel(reversed_, (4,), (4,))
    with fails(ErrorCode.CL_OUT_OF_RESOURCES):
        queue.bind(reversed_, [data, LocalMemory(device.limits.local_mem_size + 4)], (4,), (4,))
    assert read_ints(queue, data) == [0, 1, 2, 3]


def test_an_argument_that_was_never_set_is_refused(context: Context, queue: Queue) -> None:
    with fails(ErrorCode.CL_INVALID_KERNEL_ARGS):
        queue.enqueue_kernel(kernel(context, "store"), (4,))


def test_a_released_buffer_cannot_be_set(context: Context) -> None:
    data = int_buffer(context, [0])
    data.release()
    with fails(ErrorCode.CL_INVALID_MEM_OBJECT):
        kernel(context, "store").set_args(data, int32(1))


def test_a_buffer_where_a_value_belongs_is_refused(context: Context) -> None:
    data = int_buffer(context, [0])
    codes = ErrorCode.CL_INVALID_ARG_SIZE, ErrorCode.CL_INVALID_ARG_VALUE, ErrorCode.CL_INVALID_MEM_OBJECT
    with fails(*codes):
        kernel(context, "store").set_args(data, data)
    with fails(*codes):
        kernel(context, "store").set_args(int32(1), int32(1))


def test_a_kernel_does_not_keep_its_buffers(context: Context) -> None:
    data = int_buffer(context, [0])
    before = reference_counts(data)
    store = kernel(context, "store", data, int32(1))
    assert reference_counts(data) == before
    store.release()


def test_a_kernel_with_a_released_buffer_is_not_launched(context: Context, queue: Queue) -> None:
    data = int_buffer(context, [0] * 4)
    store = kernel(context, "store", data, int32(1))
    data.release()
    with fails(ErrorCode.CL_INVALID_KERNEL_ARGS, ErrorCode.CL_INVALID_MEM_OBJECT):
        queue.enqueue_kernel(store, (4,))
    replacement = int_buffer(context, [0] * 4)
    store.set_args(replacement, int32(1))
    queue.enqueue_kernel(store, (4,))
    assert read_ints(queue, replacement) == [1] * 4


def test_a_buffer_with_another_wrapper_left_is_a_live_argument(context: Context, queue: Queue) -> None:
    data = int_buffer(context, [0] * 4)
    store = kernel(context, "store", data, int32(1))
    second = data.retain()
    data.release()
    queue.enqueue_kernel(store, (4,))
    assert read_ints(queue, second) == [1] * 4
    second.release()


def test_a_buffer_released_after_the_enqueue_is_still_written(context: Context, queue: Queue) -> None:
    source, target = int_buffer(context, range(4)), int_buffer(context, [0] * 4)
    move = kernel(context, "move", source, target)
    queue.enqueue_kernel(move, (4,))
    source.release()
    assert read_ints(queue, target) == [0, 1, 2, 3]
    release(move)
