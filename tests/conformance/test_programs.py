"""Programs from source: building, its failures, and what a program tells (sections 5.8 and 5.9.1)."""

from __future__ import annotations

import pytest
from clkit import KERNELS, built, fails, int_buffer, read_ints

from runtime.cl.codes import BuildStatus, ErrorCode
from runtime.cl.interface import BuildError, Context, Device, Queue

BROKEN = (
    "kernel void fine(global int *a) { a[0] = 1; }\nkernel void broken(global int *a) { a[0] = nowhere; }\n"
)
NAMES = """
// kernel void commented(global int *out) { out[0] = 1; }
#define MADE(name, value) kernel void name(global int *out) { out[0] = value; }
MADE(k, 1) MADE(k2, 2) MADE(k_2, 3) MADE(K, 4) MADE(_k, 5)
void helper(global int *out) { out[0] = 6; }
"""


def test_a_program_tells_its_source_and_its_devices(context: Context, device: Device) -> None:
    program = context.program_from_source(KERNELS)
    assert program.source == KERNELS
    assert program.devices == (device,)


def test_a_program_tells_the_state_of_its_build(context: Context, device: Device) -> None:
    program = context.program_from_source(KERNELS)
    assert program.build_status(device) == BuildStatus.NONE
    program.build()
    assert program.build_status(device) == BuildStatus.SUCCESS
    assert isinstance(program.build_log(device), str)


def test_a_built_program_tells_its_kernels(context: Context) -> None:
    assert built(context).kernel_names == ("add", "move", "scale", "store")
    assert built(context, NAMES).kernel_names == ("K", "_k", "k", "k2", "k_2")


@pytest.mark.parametrize(("name", "value"), [("k", 1), ("k2", 2), ("k_2", 3), ("K", 4), ("_k", 5)])
def test_a_kernel_is_found_by_its_exact_name(context: Context, queue: Queue, name: str, value: int) -> None:
    out = int_buffer(context, [0])
    kernel = built(context, NAMES).kernel(name)
    kernel.set_args(out)
    queue.enqueue_kernel(kernel, (1,))
    assert kernel.name == name
    assert read_ints(queue, out) == [value]


@pytest.mark.parametrize("name", ["", "kk", "k3", "commented", "helper", "k ", "MADE", "_source"])
def test_what_is_no_kernels_name_is_refused(context: Context, name: str) -> None:
    program = built(context, NAMES)
    with fails(ErrorCode.CL_INVALID_KERNEL_NAME):
        program.kernel(name)


def test_options_reach_the_compiler(context: Context, queue: Queue) -> None:
    source = "kernel void give(global int *out) { out[0] = VALUE; out[1] = OTHER; }"
    out = int_buffer(context, [0, 0])
    for value in (1, 2):
        give = built(context, source, f"-D VALUE={value} -DOTHER=(VALUE+10)").kernel("give")
        give.set_args(out)
        queue.enqueue_kernel(give, (1,))
        assert read_ints(queue, out) == [value, value + 10]


def test_a_program_can_be_built_anew_with_other_options(context: Context, queue: Queue) -> None:
    program = context.program_from_source("kernel void give(global int *out) { out[0] = VALUE; }")
    out = int_buffer(context, [0])
    for value in (7, 8):
        program.build(f"-DVALUE={value}")
        with program.kernel("give") as give:
            give.set_args(out)
            queue.enqueue_kernel(give, (1,))
            assert read_ints(queue, out) == [value]
            queue.finish()


def test_a_program_with_kernels_is_not_built_anew(context: Context) -> None:
    program = built(context)
    with program.kernel("add"), fails(ErrorCode.CL_INVALID_OPERATION):
        program.build()


def test_a_broken_source_fails_with_a_log_that_says_where(context: Context, device: Device) -> None:
    program = context.program_from_source(BROKEN)
    with pytest.raises(BuildError) as caught:
        program.build()
    assert caught.value.name == "CL_BUILD_PROGRAM_FAILURE"
    assert "nowhere" in caught.value.log
    assert ":2:" in caught.value.log
    assert program.build_status(device) == BuildStatus.ERROR
    assert "nowhere" in program.build_log(device)


def test_a_program_that_was_not_built_has_no_kernels(context: Context) -> None:
    program = context.program_from_source(KERNELS)
    with fails(ErrorCode.CL_INVALID_PROGRAM_EXECUTABLE):
        program.kernel("add")
    with fails(ErrorCode.CL_INVALID_PROGRAM_EXECUTABLE):
        _ = program.kernel_names
    assert program.binaries == {}


def test_a_program_whose_build_failed_has_no_kernels(context: Context) -> None:
    program = context.program_from_source(BROKEN)
    with pytest.raises(BuildError):
        program.build()
    with fails(ErrorCode.CL_INVALID_PROGRAM_EXECUTABLE):
        program.kernel("fine")
    assert program.binaries == {}


def test_options_that_are_none_are_refused(context: Context) -> None:
    with fails(ErrorCode.CL_INVALID_BUILD_OPTIONS, ErrorCode.CL_BUILD_PROGRAM_FAILURE):
        context.program_from_source(KERNELS).build("-no-such-option-at-all")


def test_a_build_for_no_device_is_refused(context: Context) -> None:
    with fails(ErrorCode.CL_INVALID_VALUE):
        context.program_from_source(KERNELS).build("", [])


def test_an_empty_source_is_refused(context: Context) -> None:
    with fails(ErrorCode.CL_INVALID_VALUE):
        context.program_from_source("")


def test_a_program_lives_as_long_as_its_kernels(context: Context, queue: Queue) -> None:
    program = built(context)
    add = program.kernel("add")
    program.release()
    data = int_buffer(context, [1])
    add.set_args(data, (4).to_bytes(4, "little"))
    queue.enqueue_kernel(add, (1,))
    assert read_ints(queue, data) == [5]


def test_a_released_program_is_refused(context: Context, device: Device) -> None:
    program = built(context)
    program.release()
    calls = (
        program.build,
        lambda: program.kernel("add"),
        lambda: program.kernel_names,
        lambda: program.binaries,
        lambda: program.source,
        lambda: program.build_log(device),
        lambda: program.build_status(device),
        lambda: program.refcount,
        program.retain,
        program.release,
    )
    for call in calls:
        with fails(ErrorCode.CL_INVALID_PROGRAM):
            call()
