"""Launches: index spaces, bound launches, and what is refused (section 5.10)."""

from __future__ import annotations

import pytest
from clkit import asked, built, fails, int32, int_buffer, kernel, read_ints, settled_counts

from runtime.cl.codes import ErrorCode
from runtime.cl.interface import CLError, Context, Device, Kernel, Queue

SPACES = """
kernel void linear(global int *out) {
    int x = get_global_id(0) - get_global_offset(0), y = get_global_id(1) - get_global_offset(1),
        z = get_global_id(2) - get_global_offset(2);
    int i = (z * get_global_size(1) + y) * get_global_size(0) + x;
    out[i] = get_global_id(0) + 100 * get_global_id(1) + 10000 * get_global_id(2);
}
kernel void groups(global int *out) {
    int i = get_global_id(0);
    out[i] = 100 * get_group_id(0) + 10 * get_local_id(0) + get_num_groups(0);
}
kernel void dimensions(global int *out) {
    if (get_global_id(0) + get_global_id(1) + get_global_id(2) == 0) {
        out[0] = get_work_dim();
        out[1] = get_global_size(0); out[2] = get_global_size(1); out[3] = get_global_size(2);
        out[4] = get_local_size(0) * get_local_size(1) * get_local_size(2);
    }
}
kernel __attribute__((reqd_work_group_size(4, 1, 1))) void fixed(global int *out) {
    out[get_global_id(0)] = get_local_size(0);
}
"""


def spaces(context: Context, name: str, *args: object) -> Kernel:
    with built(context, SPACES) as program:
        made = program.kernel(name)
    made.set_args(*args)  # type: ignore[arg-type]
    return made


@pytest.mark.parametrize(
    ("size", "local"),
    [((7,), None), ((8,), (4,)), ((3, 5), None), ((4, 6), (2, 3)), ((2, 3, 4), None), ((2, 4, 6), (1, 2, 3))],
)
def test_every_work_item_of_the_index_space_runs_once(
    context: Context, queue: Queue, size: tuple[int, ...], local: tuple[int, ...] | None
) -> None:
    x, y, z = (*size, 1, 1)[:3]
    out = int_buffer(context, [-1] * (x * y * z))
    queue.enqueue_kernel(spaces(context, "linear", out), size, local)
    expected = [i + 100 * j + 10000 * k for k in range(z) for j in range(y) for i in range(x)]
    assert read_ints(queue, out) == expected


@pytest.mark.parametrize("size", [(6,), (3, 2), (3, 2, 2)])
def test_an_offset_moves_the_global_ids(context: Context, queue: Queue, size: tuple[int, ...]) -> None:
    offset = (5, 7, 9)[: len(size)]
    x, y, z = (*size, 1, 1)[:3]
    ox, oy, oz = (*offset, 0, 0)[:3]
    out = int_buffer(context, [-1] * (x * y * z))
    queue.enqueue_kernel(spaces(context, "linear", out), size, None, offset)
    expected = [
        (i + ox) + 100 * (j + oy) + 10000 * (k + oz) for k in range(z) for j in range(y) for i in range(x)
    ]
    assert read_ints(queue, out) == expected


def test_groups_are_of_the_local_size(context: Context, queue: Queue) -> None:
    out = int_buffer(context, [0] * 12)
    queue.enqueue_kernel(spaces(context, "groups", out), (12,), (4,))
    assert read_ints(queue, out) == [100 * (i // 4) + 10 * (i % 4) + 3 for i in range(12)]


def test_a_kernel_knows_its_index_space(context: Context, queue: Queue) -> None:
    out = int_buffer(context, [0] * 5)
    for size, local in (((8,), (4,)), ((8, 4), (2, 2)), ((8, 4, 2), (2, 2, 1))):
        queue.enqueue_kernel(spaces(context, "dimensions", out), size, local)
        items = 1
        for extent in local:
            items *= extent
        assert read_ints(queue, out) == [len(size), *(*size, 1, 1)[:3], items]


def test_sizes_may_be_any_sequence(context: Context, queue: Queue) -> None:
    data = int_buffer(context, [0] * 8)
    add = kernel(context, "add", data, int32(1))
    queue.enqueue_kernel(add, [8], [4], [0])
    queue.enqueue_kernel(add, range(8, 9), (4,))
    assert read_ints(queue, data) == [2] * 8


def test_an_empty_index_space_is_a_launch_of_nothing_from_version_2_1_on(
    context: Context, queue: Queue, device: Device
) -> None:
    data = int_buffer(context, [0] * 8)
    add = kernel(context, "add", data, int32(1))
    if device.version >= (2, 1):
        event = asked(queue.enqueue_kernel(add, (0,), want_event=True))
        event.wait()
        event.release()
    else:
        with fails(ErrorCode.CL_INVALID_GLOBAL_WORK_SIZE):
            queue.enqueue_kernel(add, (0,))
    assert read_ints(queue, data) == [0] * 8


def test_a_required_group_size_is_told_and_kept(context: Context, queue: Queue, device: Device) -> None:
    out = int_buffer(context, [0] * 8)
    fixed = spaces(context, "fixed", out)
    assert fixed.work_group_info(device).compile_work_group_size == (4, 1, 1)
    queue.enqueue_kernel(fixed, (8,), (4,))
    assert read_ints(queue, out) == [4] * 8
    with fails(ErrorCode.CL_INVALID_WORK_GROUP_SIZE):
        queue.enqueue_kernel(fixed, (8,), (2,))


def test_a_kernel_tells_what_a_group_may_be(context: Context, device: Device) -> None:
    info = kernel(context, "add").work_group_info(device)
    assert 1 <= info.work_group_size <= device.limits.max_work_group_size
    assert info.compile_work_group_size == (0, 0, 0)
    assert info.preferred_multiple >= 1
    assert info.local_mem_size >= 0
    assert info.private_mem_size >= 0


def test_a_local_size_that_does_not_divide_is_refused(context: Context, queue: Queue) -> None:
    data = int_buffer(context, [0] * 16)
    add = kernel(context, "add", data, int32(1))
    for size, local in (((10,), (4,)), ((4, 6), (2, 4)), ((4,), (8,))):
        with fails(ErrorCode.CL_INVALID_WORK_GROUP_SIZE):
            queue.enqueue_kernel(add, size, local)


def test_a_group_over_the_devices_limit_is_refused(context: Context, queue: Queue, device: Device) -> None:
    data = int_buffer(context, [0])
    add = kernel(context, "add", data, int32(1))
    most = device.limits.max_work_group_size
    codes = ErrorCode.CL_INVALID_WORK_GROUP_SIZE, ErrorCode.CL_INVALID_WORK_ITEM_SIZE
    with fails(*codes):
        queue.enqueue_kernel(add, (2 * most,), (2 * most,))
    with fails(*codes):
        queue.enqueue_kernel(add, (most, 2), (most, 2))


def test_a_local_size_of_zero_is_refused(context: Context, queue: Queue) -> None:
    data = int_buffer(context, [0] * 8)
    add = kernel(context, "add", data, int32(1))
    with fails(ErrorCode.CL_INVALID_WORK_GROUP_SIZE, ErrorCode.CL_INVALID_WORK_ITEM_SIZE):
        queue.enqueue_kernel(add, (8,), (0,))


@pytest.mark.parametrize(
    ("size", "local", "offset"),
    [
        ((), None, None),
        ((1, 1, 1, 1), None, None),
        ((8,), (4, 1), None),
        ((8, 1), (4,), None),
        ((8,), None, (0, 0)),
        ((8, 1), None, (0,)),
    ],
)
def test_sizes_of_a_wrong_length_are_refused(
    context: Context,
    queue: Queue,
    size: tuple[int, ...],
    local: tuple[int, ...] | None,
    offset: tuple[int, ...] | None,
) -> None:
    data = int_buffer(context, [0] * 8)
    add = kernel(context, "add", data, int32(1))
    with fails(ErrorCode.CL_INVALID_WORK_DIMENSION):
        queue.enqueue_kernel(add, size, local, offset)
    with fails(ErrorCode.CL_INVALID_WORK_DIMENSION):
        queue.bind(add, [data, int32(1)], size, local, offset)


def test_a_negative_size_is_refused(context: Context, queue: Queue) -> None:
    data = int_buffer(context, [0] * 8)
    add = kernel(context, "add", data, int32(1))
    with fails(ErrorCode.CL_INVALID_GLOBAL_WORK_SIZE):
        queue.enqueue_kernel(add, (-8,))


def test_a_bound_launch_runs_each_time_it_is_called(context: Context, queue: Queue) -> None:
    data = int_buffer(context, [0] * 8)
    add = kernel(context, "add")
    binding = queue.bind(add, [data, int32(2)], (8,), (4,))
    assert binding.kernel_name == "add"
    assert binding.global_size == (8,)
    assert binding.local_size == (4,)
    for _ in range(10):
        binding()
    assert read_ints(queue, data) == [20] * 8
    binding.release()


def test_a_bound_launch_neither_uses_nor_changes_the_kernels_arguments(
    context: Context, queue: Queue
) -> None:
    mine, bound = int_buffer(context, [0] * 8), int_buffer(context, [0] * 8)
    add = kernel(context, "add", mine, int32(1))
    binding = queue.bind(add, [bound, int32(5)], (8,))
    queue.enqueue_kernel(add, (8,))
    binding()
    add.set_args(mine, int32(10))
    binding()
    queue.enqueue_kernel(add, (8,))
    assert read_ints(queue, mine) == [11] * 8
    assert read_ints(queue, bound) == [10] * 8
    binding.release()


def test_a_bound_launch_needs_the_kernel_no_more(context: Context, queue: Queue) -> None:
    data = int_buffer(context, [0] * 8)
    with built(context) as program, program.kernel("add") as add:
        binding = queue.bind(add, [data, int32(1)], (8,))
    binding()
    assert read_ints(queue, data) == [1] * 8
    binding.release()


def test_a_bound_launch_gives_an_event_and_takes_a_wait_list(
    context: Context, profiling_queue: Queue
) -> None:
    queue, data = profiling_queue, int_buffer(context, [0] * 8)
    binding = queue.bind(kernel(context, "add"), [data, int32(1)], (8,))
    first = asked(binding.enqueue())
    second = asked(binding.enqueue([first]))
    second.wait()
    assert first.profile.ended_ns <= second.profile.started_ns
    assert binding.enqueue([second], want_event=False) is None
    assert read_ints(queue, data) == [3] * 8
    first.release()
    second.release()
    binding.release()


def test_a_bound_launch_is_refused_once_an_argument_was_released(context: Context, queue: Queue) -> None:
    data, other = int_buffer(context, range(8)), int_buffer(context, [0] * 8)
    binding = queue.bind(kernel(context, "move"), [data, other], (8,))
    binding()
    queue.finish()
    data.release()
    for call in (binding, binding.enqueue, lambda: binding.on(queue)):
        with fails(ErrorCode.CL_INVALID_KERNEL_ARGS, ErrorCode.CL_INVALID_MEM_OBJECT):
            call()
    binding.release()


def test_a_released_bound_launch_is_refused(context: Context, queue: Queue) -> None:
    data = int_buffer(context, [0] * 8)
    binding = queue.bind(kernel(context, "add"), [data, int32(1)], (8,))
    binding.release()
    for call in (binding, binding.enqueue, lambda: binding.on(queue), binding.release):
        with pytest.raises(CLError):
            call()
    assert read_ints(queue, data) == [0] * 8


def test_what_cannot_be_launched_cannot_be_bound(context: Context, queue: Queue) -> None:
    data = int_buffer(context, [0] * 8)
    add = kernel(context, "add")
    with fails(ErrorCode.CL_INVALID_KERNEL_ARGS):
        queue.bind(add, [data], (8,))
    with fails(ErrorCode.CL_INVALID_ARG_SIZE, ErrorCode.CL_INVALID_ARG_VALUE):
        queue.bind(add, [data, bytes(8)], (8,))
    released = int_buffer(context, [0] * 8)
    released.release()
    with fails(ErrorCode.CL_INVALID_MEM_OBJECT):
        queue.bind(add, [released, int32(1)], (8,))


def test_a_binding_leaves_no_reference(context: Context, queue: Queue) -> None:
    data = int_buffer(context, [0] * 8)
    program = built(context)
    add = program.kernel("add")

    def bind_often(times: int) -> list[int]:
        for _ in range(times):
            binding = queue.bind(add, [data, int32(1)], (8,))
            binding()
            queue.finish()
            binding.release()
        return settled_counts(program, add, data, queue)

    before = bind_often(1)
    assert bind_often(20) == before


def test_a_kernel_of_another_context_is_refused(context: Context, device: Device) -> None:
    data = int_buffer(context, [0] * 8)
    add = kernel(context, "add", data, int32(1))
    with (
        device.platform.create_context([device]) as stranger,
        stranger.create_queue(device) as queue,
        fails(ErrorCode.CL_INVALID_CONTEXT),
    ):
        queue.enqueue_kernel(add, (8,))


def test_a_buffer_of_another_context_is_no_argument(context: Context, device: Device) -> None:
    with (
        device.platform.create_context([device]) as stranger,
        int_buffer(stranger, [0]) as strange,
        fails(ErrorCode.CL_INVALID_CONTEXT, ErrorCode.CL_INVALID_MEM_OBJECT),
    ):
        kernel(context, "add").set_args(strange, int32(1))
