"""Program binaries: read, loaded again, and what is refused as one (section 5.8)."""

from __future__ import annotations

import random

import pytest
from clkit import KERNELS, built, fails, int32, int_buffer, read_ints
from hostile import load_each

from runtime.cl.codes import BuildStatus, ErrorCode
from runtime.cl.interface import Context, Device, Program, Queue

REFUSALS = {"CL_INVALID_BINARY", "CL_INVALID_VALUE", "CL_BUILD_PROGRAM_FAILURE", "CL_INVALID_PROGRAM"}


def binary_of(program: Program, device: Device) -> bytes:
    binaries = program.binaries
    assert list(binaries) == [device]
    assert len(binaries[device]) > 0
    return binaries[device]


def loaded(context: Context, device: Device, binary: bytes, options: str = "") -> Program:
    program = context.program_from_binaries({device: binary})
    program.build(options)
    return program


def scaled(context: Context, queue: Queue, program: Program) -> list[int]:
    data = int_buffer(context, range(8))
    with program.kernel("scale") as scale:
        scale.set_args(data, int32(3), int32(-1))
        queue.enqueue_kernel(scale, (8,))
        result = read_ints(queue, data)
        queue.finish()
    data.release()
    return result


def test_a_program_from_a_binary_does_what_the_source_does(
    context: Context, queue: Queue, device: Device
) -> None:
    source = built(context)
    program = loaded(context, device, binary_of(source, device))
    assert scaled(context, queue, program) == scaled(context, queue, source) == [3 * n - 1 for n in range(8)]


def test_a_program_from_a_binary_tells_its_kernels(context: Context, device: Device) -> None:
    program = loaded(context, device, binary_of(built(context), device))
    assert program.kernel_names == ("add", "move", "scale", "store")
    assert program.source == ""
    assert program.build_status(device) == BuildStatus.SUCCESS
    assert [program.kernel(name).argument_count for name in program.kernel_names] == [2, 2, 3, 2]


def test_every_kernel_of_a_binary_works(context: Context, queue: Queue, device: Device) -> None:
    program = loaded(context, device, binary_of(built(context), device))
    first, second = int_buffer(context, range(4)), int_buffer(context, [0] * 4)
    kernels = {name: program.kernel(name) for name in program.kernel_names}
    kernels["add"].set_args(first, int32(10))
    kernels["move"].set_args(first, second)
    kernels["scale"].set_args(second, int32(2), int32(1))
    kernels["store"].set_args(first, int32(-1))
    for name in ("add", "move", "scale", "store"):
        queue.enqueue_kernel(kernels[name], (4,))
    assert read_ints(queue, first) == [-1] * 4
    assert read_ints(queue, second) == [2 * (n + 10) + 1 for n in range(4)]


def test_a_binary_read_after_a_launch_works_as_well(context: Context, queue: Queue, device: Device) -> None:
    source = built(context)
    expected = scaled(context, queue, source)
    assert scaled(context, queue, loaded(context, device, binary_of(source, device))) == expected


def test_a_binary_of_a_program_from_a_binary_works_as_well(
    context: Context, queue: Queue, device: Device
) -> None:
    first = loaded(context, device, binary_of(built(context), device))
    expected = scaled(context, queue, first)
    second = loaded(context, device, binary_of(first, device))
    assert scaled(context, queue, second) == expected


def test_a_binary_works_in_another_context(context: Context, device: Device) -> None:
    binary = binary_of(built(context), device)
    with (
        device.platform.create_context([device]) as other,
        other.create_queue(device) as queue,
        loaded(other, device, binary) as program,
    ):
        assert scaled(other, queue, program) == [3 * n - 1 for n in range(8)]


def test_a_binary_holds_what_its_options_said(context: Context, queue: Queue, device: Device) -> None:
    source = "kernel void give(global int *out) { out[0] = VALUE; }"
    binaries = [binary_of(built(context, source, f"-DVALUE={value}"), device) for value in (1, 2)]
    out = int_buffer(context, [0])
    for value, binary in zip((1, 2), binaries, strict=True):
        give = loaded(context, device, binary).kernel("give")
        give.set_args(out)
        queue.enqueue_kernel(give, (1,))
        assert read_ints(queue, out) == [value]


def test_binaries_of_two_programs_are_not_mixed_up(context: Context, queue: Queue, device: Device) -> None:
    texts = {
        sign: f"kernel void change(global int *a, int b) {{ a[0] = a[0] {sign} b; }}" for sign in ("+", "-")
    }
    programs = {
        sign: loaded(context, device, binary_of(built(context, text), device)) for sign, text in texts.items()
    }
    for sign, expected in (("+", 13), ("-", 7), ("+", 13)):
        data = int_buffer(context, [10])
        change = programs[sign].kernel("change")
        change.set_args(data, int32(3))
        queue.enqueue_kernel(change, (1,))
        assert read_ints(queue, data) == [expected]


def test_a_program_from_a_binary_has_no_kernels_before_its_build(context: Context, device: Device) -> None:
    program = context.program_from_binaries({device: binary_of(built(context), device)})
    with fails(ErrorCode.CL_INVALID_PROGRAM_EXECUTABLE):
        program.kernel("add")


def test_no_binary_and_an_empty_one_are_refused(context: Context, device: Device) -> None:
    with fails(ErrorCode.CL_INVALID_VALUE):
        context.program_from_binaries({})
    with fails(ErrorCode.CL_INVALID_VALUE):
        context.program_from_binaries({device: b""})


def test_a_binary_for_a_device_outside_the_context_is_refused(context: Context, device: Device) -> None:
    others = [other for other in device.platform.devices() if other != device]
    if not others:
        pytest.skip(f"{device.platform.name} has one device")
    binary = binary_of(built(context), device)
    with fails(ErrorCode.CL_INVALID_DEVICE):
        context.program_from_binaries({others[0]: binary})


def test_bytes_that_are_no_binary_are_refused(context: Context, device: Device, device_name: str) -> None:
    length = len(binary_of(built(context), device))
    noise = random.Random(20)
    junk = [bytes(1), b"x", b"hello world", bytes(length), noise.randbytes(64), noise.randbytes(length)]
    assert set(load_each(device_name, junk)) <= REFUSALS


def test_what_looks_like_another_makers_binary_is_refused(device_name: str) -> None:
    strangers = [
        KERNELS.encode(),
        b"\x7fELF" + bytes(200),
        b"BC\xc0\xde" + bytes(200),
        b"\x03\x02\x23\x07" * 40,
    ]
    assert set(load_each(device_name, strangers)) <= REFUSALS


def test_a_truncated_binary_is_refused(context: Context, device: Device, device_name: str) -> None:
    binary = binary_of(built(context), device)
    lengths = (8, 20, 100, len(binary) // 2, len(binary) - 1)
    assert set(load_each(device_name, [binary[:length] for length in lengths])) <= REFUSALS


def test_a_damaged_binary_does_no_harm_before_a_launch(
    context: Context, device: Device, device_name: str
) -> None:
    binary = binary_of(built(context), device)
    damaged = []
    for place in (0, len(binary) // 3, len(binary) // 2, len(binary) - 1):
        copy = bytearray(binary)
        copy[place] ^= 0xFF
        damaged.append(bytes(copy))
    # Only a checksum could tell all of them; an implementation need not have one.
    assert set(load_each(device_name, damaged)) <= REFUSALS | {"built"}
