"""Kernel arguments, index spaces and launches: results, and the codes of what is refused."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from host import ADD, Host, code_of, launch, read, set_args, status

from clsim import api
from clsim import spec as cl
from clsim.spec import CLError

SIZES = """
kernel void sizes(global int *local_size, global int *enqueued) {
    local_size[get_group_id(0)] = get_local_size(0);
    enqueued[get_group_id(0)] = ENQUEUED;
}
"""


def ndrange(queue, kernel, global_size, local_size=None, offset=None, **more):
    work_dim = more.pop("work_dim", len(global_size or (1,)))
    return api.clEnqueueNDRangeKernel(queue, kernel, work_dim, offset, global_size, local_size, **more)


# ---------------------------------------------------------------- arguments


LOCAL = "kernel void k(local float *t, global float *g, int n) { t[0] = 1; g[0] = t[0] + n; }"


@pytest.mark.parametrize(
    ("index", "size", "value", "code"),
    [
        (3, 4, np.int32(1), cl.CL_INVALID_ARG_INDEX),
        (-1, 4, np.int32(1), cl.CL_INVALID_ARG_INDEX),
        (0, 0, None, cl.CL_INVALID_ARG_SIZE),
        (0, 64, np.zeros(16, np.float32), cl.CL_INVALID_ARG_VALUE),
        (1, 4, None, cl.CL_INVALID_ARG_SIZE),
        (1, 8, np.int64(0), cl.CL_INVALID_MEM_OBJECT),
        (2, 8, np.int64(1), cl.CL_INVALID_ARG_SIZE),
        (2, None, np.int16(1), cl.CL_INVALID_ARG_SIZE),
        (2, 4, None, cl.CL_INVALID_ARG_VALUE),
        (2, 4, 17, cl.CL_INVALID_ARG_VALUE),
    ],
)
def test_an_argument_that_does_not_fit_is_refused_and_the_old_value_stays(index, size, value, code):
    host = Host()
    queue = host.queue()
    buffer = host.buffer(4)
    kernel = host.kernel(LOCAL, ("local", 64), buffer, np.int32(2))
    with pytest.raises(CLError) as error:
        api.clSetKernelArg(kernel, index, size, value)
    assert code_of(error) == code
    launch(queue, kernel, 1)
    out = np.zeros(1, np.float32)
    api.clEnqueueReadBuffer(queue, buffer, True, 0, 4, out)
    assert out[0] == 3


def test_a_launch_with_an_argument_that_was_never_set_is_refused():
    host = Host()
    kernel = host.kernel(ADD, host.ints(1))
    with pytest.raises(CLError) as error:
        launch(host.queue(), kernel, 1)
    assert code_of(error) == cl.CL_INVALID_KERNEL_ARGS
    assert "'n'" in error.value.reason


def test_a_local_argument_over_the_devices_local_memory_fails_the_launch():
    host = Host()
    kernel = host.kernel(LOCAL, ("local", 64), host.buffer(4), np.int32(2))
    api.clSetKernelArg(kernel, 0, (1 << 20) + 1, None)
    with pytest.raises(CLError) as error:
        launch(host.queue(), kernel, 1)
    assert code_of(error) == cl.CL_OUT_OF_RESOURCES


def test_a_null_pointer_argument_is_allowed_and_its_use_is_a_finding():
    host = Host()
    queue = host.queue()
    kernel = host.kernel("kernel void k(global int *a) { if (a) a[0] = 1; }", None)
    launch(queue, kernel, 1)
    api.clFinish(queue)
    assert not list(host.platform.findings)
    launch(queue, host.kernel("kernel void k(global int *a) { a[0] = 1; }", None), 1)
    api.clFinish(queue)
    assert host.platform.findings.of("null-write")


def test_a_struct_argument_is_copied_whole():
    host = Host()
    queue = host.queue()
    source = """
    typedef struct { int a; float b; char c; } item;
    kernel void k(global int *o, item x) { o[0] = x.a + (int)x.b + x.c; }
    """
    value = np.array([(1, 2.0, 3)], np.dtype([("a", "<i4"), ("b", "<f4"), ("c", "i1")], align=True))
    out = host.ints(0)
    launch(queue, host.kernel(source, out, value), 1)
    assert read(queue, out) == [6]


# ---------------------------------------------------------------- index spaces


@pytest.mark.parametrize(
    ("global_size", "local_size", "offset", "work_dim", "code"),
    [
        ((4,), None, None, 0, cl.CL_INVALID_WORK_DIMENSION),
        ((4, 1, 1, 1), None, None, 4, cl.CL_INVALID_WORK_DIMENSION),
        ((10,), (4,), None, 1, cl.CL_INVALID_WORK_GROUP_SIZE),
        ((4,), (0,), None, 1, cl.CL_INVALID_WORK_GROUP_SIZE),
        ((2048,), (2048,), None, 1, cl.CL_INVALID_WORK_ITEM_SIZE),
        ((64, 64), (64, 64), None, 2, cl.CL_INVALID_WORK_GROUP_SIZE),
        ((1 << 64,), None, None, 1, cl.CL_INVALID_GLOBAL_WORK_SIZE),
        ((4,), None, ((1 << 64) - 2,), 1, cl.CL_INVALID_GLOBAL_OFFSET),
    ],
)
def test_an_index_space_that_cannot_be_is_refused(global_size, local_size, offset, work_dim, code):
    host = Host()
    queue = host.queue()
    kernel = host.kernel(ADD, host.ints(*range(16)), np.int32(1))
    with pytest.raises(CLError) as error:
        ndrange(queue, kernel, global_size, local_size, offset, work_dim=work_dim)
    assert code_of(error) == code
    assert not queue.pending


def test_a_global_size_of_zero_is_refused_before_version_2_1(profile_with):
    host = Host(profile_with(version="1.2"))
    kernel = host.kernel(ADD, host.ints(1), np.int32(1))
    for size in ((0,), (4, 0), None):
        with pytest.raises(CLError) as error:
            ndrange(host.queue(), kernel, size)
        assert code_of(error) == cl.CL_INVALID_GLOBAL_WORK_SIZE


def test_a_global_size_of_zero_runs_nothing_after_its_wait_list_from_version_2_1():
    host = Host()
    queue = host.queue()
    buffer = host.ints(1)
    kernel = host.kernel(ADD, buffer, np.int32(1))
    for size in ((0,), (4, 0), None):
        user = api.clCreateUserEvent(host.context)
        event = ndrange(queue, kernel, size, event_wait_list=[user], want_event=True)
        api.clFlush(queue)
        for _ in range(20):
            assert status(event) == cl.CL_SUBMITTED
        api.clSetUserEventStatus(user, cl.CL_COMPLETE)
        api.clWaitForEvents([event])
    assert read(queue, buffer) == [1]


def test_groups_that_do_not_divide_depend_on_the_language_version(profile_with):
    profile = profile_with(info={"CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT": True})
    profile = type(profile).model_validate({**profile.model_dump(), "opencl_c_version": "OpenCL C 2.0 test"})
    plain = "-DENQUEUED=4"
    for options, allowed in (
        (plain, False),
        (plain + " -cl-std=CL1.2", False),
        ("-DENQUEUED=get_enqueued_local_size(0) -cl-std=CL2.0", True),
        (plain + " -cl-std=CL2.0 -cl-uniform-work-group-size", False),
    ):
        host = Host(profile)
        queue = host.queue()
        local, enqueued = host.ints(0, 0, 0), host.ints(0, 0, 0)
        kernel = host.kernel(SIZES, local, enqueued, options=options)
        if allowed:
            ndrange(queue, kernel, (10,), (4,))
            assert read(queue, local) == [4, 4, 2]
            assert read(queue, enqueued) == [4, 4, 4]
        else:
            with pytest.raises(CLError) as error:
                ndrange(queue, kernel, (10,), (4,))
            assert code_of(error) == cl.CL_INVALID_WORK_GROUP_SIZE


def test_a_required_work_group_size_is_kept_and_used_where_none_is_given():
    host = Host()
    queue = host.queue()
    source = (
        "kernel __attribute__((reqd_work_group_size(4, 1, 1))) " + SIZES.replace("kernel ", "", 1).strip()
    )
    local, enqueued = host.ints(0, 0, 0), host.ints(0, 0, 0)
    kernel = host.kernel(source, local, enqueued, options="-DENQUEUED=0")
    with pytest.raises(CLError) as error:
        ndrange(queue, kernel, (12,), (6,))
    assert code_of(error) == cl.CL_INVALID_WORK_GROUP_SIZE
    ndrange(queue, kernel, (12,))
    assert read(queue, local) == [4, 4, 4]
    ask = api.clGetKernelWorkGroupInfo
    assert ask(kernel, None, cl.CL_KERNEL_COMPILE_WORK_GROUP_SIZE) == (4, 1, 1)
    with pytest.raises(CLError):
        ndrange(queue, kernel, (10,))


def test_the_chosen_local_size_divides_the_global_one():
    host = Host()
    queue = host.queue()
    for size in (1, 7, 12, 64, 97, 1000, 4096):
        groups = host.buffer(4 * size)
        enqueued = host.buffer(4 * size)
        ndrange(queue, host.kernel(SIZES, groups, enqueued, options="-DENQUEUED=1"), (size,))
        seen = [value for value in read(queue, groups) if value]
        assert sum(seen) == size
        assert len(set(seen)) == 1


def test_offset_and_dimensions_reach_the_kernel():
    host = Host()
    queue = host.queue()
    out = host.ints(*[0] * 12)
    source = """
    kernel void k(global int *o) {
        int x = get_global_id(0) - get_global_offset(0), y = get_global_id(1) - get_global_offset(1);
        o[y * 4 + x] = get_global_id(1) * 100 + get_global_id(0);
    }
    """
    ndrange(queue, host.kernel(source, out), (4, 3), (2, 1), (10, 20))
    assert read(queue, out) == [100 * y + x for y in (20, 21, 22) for x in (10, 11, 12, 13)]


def test_a_misaligned_sub_buffer_argument_is_refused_on_a_device_that_wants_more(profile_with):
    host = Host()
    buffer = host.buffer(1024)
    part = api.clCreateSubBuffer(buffer, 0, cl.CL_BUFFER_CREATE_TYPE_REGION, (128, 64))
    kernel = host.kernel(ADD, part, np.int32(1))
    host.device.base_align = 256
    with pytest.raises(CLError) as error:
        launch(host.queue(), kernel, 1)
    assert code_of(error) == cl.CL_MISALIGNED_SUB_BUFFER_OFFSET


# ---------------------------------------------------------------- queries


def test_kernel_queries():
    host = Host()
    hint = "__attribute__((work_group_size_hint(8,1,1)))"
    source = f"kernel {hint} void k(global const float *a, local int *t, float2 v) {{}}"
    program = host.program(source, "-cl-kernel-arg-info")
    kernel = api.clCreateKernel(program, "k")
    ask = api.clGetKernelInfo
    assert ask(kernel, cl.CL_KERNEL_FUNCTION_NAME) == "k"
    assert ask(kernel, cl.CL_KERNEL_NUM_ARGS) == 3
    assert ask(kernel, cl.CL_KERNEL_PROGRAM) is program
    assert ask(kernel, cl.CL_KERNEL_CONTEXT) is host.context
    assert ask(kernel, cl.CL_KERNEL_ATTRIBUTES) == "work_group_size_hint(8,1,1)"
    arg = api.clGetKernelArgInfo
    assert [arg(kernel, n, cl.CL_KERNEL_ARG_NAME) for n in range(3)] == ["a", "t", "v"]
    assert [arg(kernel, n, cl.CL_KERNEL_ARG_TYPE_NAME) for n in range(3)] == ["float*", "int*", "float2"]
    assert [arg(kernel, n, cl.CL_KERNEL_ARG_ADDRESS_QUALIFIER) for n in range(3)] == [
        cl.CL_KERNEL_ARG_ADDRESS_GLOBAL,
        cl.CL_KERNEL_ARG_ADDRESS_LOCAL,
        cl.CL_KERNEL_ARG_ADDRESS_PRIVATE,
    ]
    assert arg(kernel, 0, cl.CL_KERNEL_ARG_TYPE_QUALIFIER) == cl.CL_KERNEL_ARG_TYPE_CONST
    with pytest.raises(CLError) as error:
        arg(kernel, 3, cl.CL_KERNEL_ARG_NAME)
    assert code_of(error) == cl.CL_INVALID_ARG_INDEX
    group = api.clGetKernelWorkGroupInfo
    assert group(kernel, host.device, cl.CL_KERNEL_WORK_GROUP_SIZE) == 1024
    assert group(kernel, host.device, cl.CL_KERNEL_LOCAL_MEM_SIZE) == 0
    api.clSetKernelArg(kernel, 1, 256, None)
    assert group(kernel, host.device, cl.CL_KERNEL_LOCAL_MEM_SIZE) == 256
    with pytest.raises(CLError) as error:
        group(kernel, host.device, cl.CL_KERNEL_GLOBAL_WORK_SIZE)
    assert code_of(error) == cl.CL_INVALID_VALUE


def test_argument_names_need_the_build_option():
    host = Host()
    with pytest.raises(CLError) as error:
        api.clGetKernelArgInfo(host.kernel(ADD), 0, cl.CL_KERNEL_ARG_NAME)
    assert code_of(error) == cl.CL_KERNEL_ARG_INFO_NOT_AVAILABLE


# ---------------------------------------------------------------- bound launches


def test_a_bound_launch_keeps_the_arguments_it_was_bound_with():
    host = Host()
    queue = host.queue()
    first, second = host.ints(0), host.ints(0)
    kernel = host.kernel(ADD, first, np.int32(1))
    bound = api.bind_ndrange(queue, kernel, (1,))
    set_args(kernel, second, np.int32(100))
    for _ in range(3):
        bound()
    event = bound.enqueue(None, True)
    api.clWaitForEvents([event])
    assert read(queue, first) == [4]
    assert read(queue, second) == [0]


@pytest.mark.parametrize("execution", ["normal", "none"])
def test_a_bound_launch_is_invalid_once_an_argument_or_the_queue_is_released(execution):
    host = Host(execution=execution)
    for victim, code in (
        ("buffer", cl.CL_INVALID_KERNEL_ARGS),
        ("queue", cl.CL_INVALID_COMMAND_QUEUE),
        ("kernel", cl.CL_INVALID_KERNEL),
    ):
        queue, buffer = host.queue(), host.ints(0)
        kernel = host.kernel(ADD, buffer, np.int32(1))
        bound = api.bind_ndrange(queue, kernel, (1,))
        bound()
        {
            "buffer": lambda: api.clReleaseMemObject(buffer),  # noqa: B023 - called at once
            "queue": lambda: api.clReleaseCommandQueue(queue),  # noqa: B023
            "kernel": lambda: api.clReleaseKernel(kernel),  # noqa: B023
        }[victim]()
        for _ in range(2):
            with pytest.raises(CLError) as error:
                bound()
            assert code_of(error) == code


def test_a_released_bound_launch_holds_nothing_and_is_refused():
    host = Host()
    queue, buffer = host.queue(), host.ints(0)
    kernel = host.kernel(ADD, buffer, np.int32(1))
    bound = api.bind_ndrange(queue, kernel, (1,))
    bound()
    api.clFinish(queue)
    api.clReleaseMemObject(buffer)
    api.clReleaseKernel(kernel)
    assert host.platform.ledger.live("buffer") == 1
    bound.release()
    bound.release()
    assert host.platform.ledger.live("buffer") == host.platform.ledger.live("kernel") == 0
    with pytest.raises(CLError) as error:
        bound()
    assert code_of(error) == cl.CL_INVALID_KERNEL


def test_a_bound_launch_moves_to_another_queue():
    host = Host()
    first, second = host.queue(), host.profiling_queue()
    buffer = host.ints(0)
    bound = api.bind_ndrange(first, host.kernel(ADD, buffer, np.int32(1)), (1,))
    moved = bound.on(second)
    bound.release()
    api.clReleaseCommandQueue(first)
    event = moved.enqueue(None, True)
    api.clWaitForEvents([event])
    assert event.queue is second
    assert read(second, buffer) == [1]


def test_launches_that_run_nothing_take_the_same_time_as_commands_of_the_graph():
    """The short path of `execution="none"` must not show in times."""

    def end(want_event: bool) -> int:
        host = Host(execution="none")
        queue = host.queue()
        kernel = host.kernel(ADD, host.ints(0), np.int32(1))
        bound = api.bind_ndrange(queue, kernel, (1 << 20,))
        for _ in range(10):
            if want_event:
                api.clReleaseEvent(bound.enqueue(None, True))
                api.clFlush(queue)
            else:
                bound()
        api.clFinish(queue)
        return queue.last_end_ns - 10 * 4000

    # Flushing and releasing events costs host time; what the device does hides it all.
    assert abs(end(True) - end(False)) < 100_000


# ---------------------------------------------------------------- threads


def test_two_threads_that_set_arguments_in_turns_are_reported():
    host = Host()
    kernel = host.kernel(ADD)
    first, second = host.ints(0), host.ints(0)
    api.clSetKernelArg(kernel, 0, None, first)
    thread = threading.Thread(target=lambda: api.clSetKernelArg(kernel, 0, None, second))
    thread.start()
    thread.join()
    assert not list(host.platform.findings)
    api.clSetKernelArg(kernel, 1, None, np.int32(1))
    (finding,) = host.platform.findings.of("shared-kernel")
    assert kernel.label in finding.message


def test_one_kernel_a_thread_writes_only_its_own_buffer():
    host = Host()
    source = host.program(ADD)

    def work(results: list[int]) -> None:
        queue, buffer = host.queue(), host.ints(0)
        kernel = api.clCreateKernel(source, "add")
        for _ in range(50):
            set_args(kernel, buffer, np.int32(1))
            launch(queue, kernel, 1)
        results += read(queue, buffer)

    results: list[int] = []
    threads = [threading.Thread(target=work, args=(results,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [50] * 4
    assert not list(host.platform.findings)
