"""Programs: building, compiling, linking, and binaries that load only where they belong (rule 15)."""

from __future__ import annotations

import hashlib
import json
import random

import numpy as np
import pytest
from host import ADD, Host, code_of, launch, read

from clsim import api
from clsim import spec as cl
from clsim.objects.binary import MAGIC
from clsim.spec import CLError

TWO = ADD + "\nkernel void sub(global int *a, int n) { a[get_global_id(0)] -= n; }"


def source_program(host, text):
    return api.clCreateProgramWithSource(host.context, text)


def build_info(program, device, query):
    return api.clGetProgramBuildInfo(program, device, query)


def binaries(program):
    return api.clGetProgramInfo(program, cl.CL_PROGRAM_BINARIES)


# ---------------------------------------------------------------- building


def test_a_program_goes_from_none_to_success():
    host = Host()
    program = source_program(host, ADD)
    assert build_info(program, host.device, cl.CL_PROGRAM_BUILD_STATUS) == cl.CL_BUILD_NONE
    assert build_info(program, host.device, cl.CL_PROGRAM_BINARY_TYPE) == cl.CL_PROGRAM_BINARY_TYPE_NONE
    assert api.clGetProgramInfo(program, cl.CL_PROGRAM_BINARY_SIZES) == [0]
    for query in (cl.CL_PROGRAM_NUM_KERNELS, cl.CL_PROGRAM_KERNEL_NAMES):
        with pytest.raises(CLError) as error:
            api.clGetProgramInfo(program, query)
        assert code_of(error) == cl.CL_INVALID_PROGRAM_EXECUTABLE
    with pytest.raises(CLError) as error:
        api.clCreateKernel(program, "add")
    assert code_of(error) == cl.CL_INVALID_PROGRAM_EXECUTABLE
    api.clBuildProgram(program, None, "-DX=1")
    assert build_info(program, host.device, cl.CL_PROGRAM_BUILD_STATUS) == cl.CL_BUILD_SUCCESS
    assert build_info(program, host.device, cl.CL_PROGRAM_BUILD_OPTIONS) == "-DX=1"
    executable = cl.CL_PROGRAM_BINARY_TYPE_EXECUTABLE
    assert build_info(program, host.device, cl.CL_PROGRAM_BINARY_TYPE) == executable
    assert api.clGetProgramInfo(program, cl.CL_PROGRAM_KERNEL_NAMES) == "add"
    assert api.clGetProgramInfo(program, cl.CL_PROGRAM_SOURCE) == ADD


def test_a_build_that_fails_leaves_a_log_with_the_place():
    host = Host()
    program = source_program(host, "kernel void k(global int *a) {\n  a[0] = nothing;\n}")
    told = []
    with pytest.raises(CLError) as error:
        api.clBuildProgram(program, None, None, lambda: told.append(1))
    assert code_of(error) == cl.CL_BUILD_PROGRAM_FAILURE
    assert told == [1]
    assert build_info(program, host.device, cl.CL_PROGRAM_BUILD_STATUS) == cl.CL_BUILD_ERROR
    log = build_info(program, host.device, cl.CL_PROGRAM_BUILD_LOG)
    assert ":2:10: error:" in log
    assert "nothing" in log


def test_bad_options_change_nothing():
    host = Host()
    program = source_program(host, ADD)
    api.clBuildProgram(program)
    before = binaries(program)
    with pytest.raises(CLError) as error:
        api.clBuildProgram(program, None, "-unknown")
    assert code_of(error) == cl.CL_INVALID_BUILD_OPTIONS
    assert build_info(program, host.device, cl.CL_PROGRAM_BUILD_STATUS) == cl.CL_BUILD_SUCCESS
    assert binaries(program) == before
    with pytest.raises(CLError) as error:
        api.clCompileProgram(program, None, "-unknown")
    assert code_of(error) == cl.CL_INVALID_COMPILER_OPTIONS


def test_a_program_with_kernels_cannot_be_built_again_until_they_are_released():
    host = Host()
    program = source_program(host, ADD)
    api.clBuildProgram(program)
    kernel = api.clCreateKernel(program, "add")
    with pytest.raises(CLError) as error:
        api.clBuildProgram(program)
    assert code_of(error) == cl.CL_INVALID_OPERATION
    api.clReleaseKernel(kernel)
    api.clBuildProgram(program)


def test_a_program_is_built_for_the_devices_that_were_named():
    host = Host(devices=2)
    first, second = host.devices
    program = source_program(host, ADD)
    api.clBuildProgram(program, [second])
    assert api.clGetProgramInfo(program, cl.CL_PROGRAM_NUM_DEVICES) == 2
    assert api.clGetProgramInfo(program, cl.CL_PROGRAM_DEVICES) == [first, second]
    sizes = api.clGetProgramInfo(program, cl.CL_PROGRAM_BINARY_SIZES)
    assert sizes[0] == 0
    assert sizes[1] == len(binaries(program)[1]) > 0
    assert binaries(program)[0] == b""
    kernel = api.clCreateKernel(program, "add")
    buffer = host.ints(1)
    api.clSetKernelArg(kernel, 0, None, buffer)
    api.clSetKernelArg(kernel, 1, None, np.int32(1))
    with pytest.raises(CLError) as error:
        launch(host.queue(device=first), kernel, 1)
    assert code_of(error) == cl.CL_INVALID_PROGRAM_EXECUTABLE
    queue = host.queue(device=second)
    launch(queue, kernel, 1)
    assert read(queue, buffer) == [2]


def test_kernels_are_found_by_their_exact_names():
    host = Host()
    long = "k" * 300
    program = host.program(
        f"kernel void k() {{}} kernel void k2() {{}} kernel void {long}() {{}} kernel void _source() {{}}\n"
        "#define NAME(x) made_by_##x\nkernel void NAME(macro)() {}\n// kernel void comment() {}"
    )
    for name in ("k", "k2", long, "_source", "made_by_macro"):
        kernel = api.clCreateKernel(program, name)
        assert api.clGetKernelInfo(kernel, cl.CL_KERNEL_FUNCTION_NAME) == name
    for name in ("comment", "", "K", "k3"):
        with pytest.raises(CLError) as error:
            api.clCreateKernel(program, name)
        assert code_of(error) == cl.CL_INVALID_KERNEL_NAME
    assert len(api.clCreateKernelsInProgram(program)) == 5


def test_sources_are_joined_as_they_are():
    host = Host()
    kernel = "kernel void k(global int *o) { *o = A; }"
    broken = api.clCreateProgramWithSource(host.context, ["#define A 1", kernel])
    api.clBuildProgram(broken)
    assert api.clGetProgramInfo(broken, cl.CL_PROGRAM_NUM_KERNELS) == 0
    whole = api.clCreateProgramWithSource(host.context, ["#define A 1\n", kernel])
    api.clBuildProgram(whole)
    assert api.clGetProgramInfo(whole, cl.CL_PROGRAM_KERNEL_NAMES) == "k"
    for strings in ([], None, [None], ["a", 3]):
        with pytest.raises(CLError) as error:
            api.clCreateProgramWithSource(host.context, strings)
        assert code_of(error) == cl.CL_INVALID_VALUE


# ---------------------------------------------------------------- compile and link


def test_headers_are_found_by_the_names_they_are_included_by():
    host = Host()
    header = source_program(host, "#define STEP 5\n")
    main = source_program(host, '#include "inc/a.h"\nkernel void k(global int *a) { a[0] += STEP; }')
    api.clCompileProgram(main, None, None, [header], ["inc/a.h"])
    assert (
        build_info(main, host.device, cl.CL_PROGRAM_BINARY_TYPE) == cl.CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT
    )
    program = api.clLinkProgram(host.context, None, None, [main])
    buffer = host.ints(1)
    kernel = api.clCreateKernel(program, "k")
    api.clSetKernelArg(kernel, 0, None, buffer)
    queue = host.queue()
    launch(queue, kernel, 1)
    assert read(queue, buffer) == [6]


def test_separate_compilation_refuses_what_does_not_fit():
    host = Host()
    header = source_program(host, "#define STEP 5\n")
    main = source_program(host, '#include "inc/a.h"\nkernel void k(global int *a) { a[0] += STEP; }')
    for headers, names in (([header], None), (None, ["inc/a.h"]), ([header], ["a", "b"])):
        with pytest.raises(CLError) as error:
            api.clCompileProgram(main, None, None, headers, names)
        assert code_of(error) == cl.CL_INVALID_VALUE
    with pytest.raises(CLError) as error:
        api.clCompileProgram(main, None, None, [header], ["b.h"])
    assert code_of(error) == cl.CL_COMPILE_PROGRAM_FAILURE
    assert "inc/a.h" in build_info(main, host.device, cl.CL_PROGRAM_BUILD_LOG)
    with pytest.raises(CLError) as error:
        api.clLinkProgram(host.context, None, None, [source_program(host, ADD)])
    assert code_of(error) == cl.CL_INVALID_OPERATION
    with pytest.raises(CLError) as error:
        api.clLinkProgram(host.context, None, None, [])
    assert code_of(error) == cl.CL_INVALID_VALUE
    main = source_program(host, ADD)
    api.clCompileProgram(main)
    with pytest.raises(CLError) as error:
        api.clLinkProgram(host.context, None, "-strange", [main])
    assert code_of(error) == cl.CL_INVALID_LINKER_OPTIONS


def test_two_programs_that_define_one_function_do_not_link():
    host = Host()
    parts = [source_program(host, ADD), source_program(host, ADD)]
    for part in parts:
        api.clCompileProgram(part)
    with pytest.raises(api.LinkFailure) as error:
        api.clLinkProgram(host.context, None, None, parts)
    assert "'add'" in build_info(error.value.program, host.device, cl.CL_PROGRAM_BUILD_LOG)


# ---------------------------------------------------------------- binaries


def load(host, *raw):
    return api.clCreateProgramWithBinary(host.context, host.devices, list(raw))


def test_a_binary_gives_the_same_results_and_the_same_binary():
    host = Host()
    raw = binaries(host.program(TWO, "-DX=3"))[0]
    program = load(host, raw)
    assert api.clGetProgramInfo(program, cl.CL_PROGRAM_SOURCE) == ""
    assert binaries(program) == [raw]
    with pytest.raises(CLError) as error:
        api.clCreateKernel(program, "sub")
    assert code_of(error) == cl.CL_INVALID_PROGRAM_EXECUTABLE
    api.clBuildProgram(program)
    assert build_info(program, host.device, cl.CL_PROGRAM_BUILD_OPTIONS) == "-DX=3"
    assert binaries(program) == [raw]
    queue = host.queue()
    buffer = host.ints(10)
    for name, expected in (("sub", [7]), ("add", [10])):
        kernel = api.clCreateKernel(program, name)
        api.clSetKernelArg(kernel, 0, None, buffer)
        api.clSetKernelArg(kernel, 1, None, np.int32(3))
        launch(queue, kernel, 1)
        assert read(queue, buffer) == expected


def test_the_same_source_gives_the_same_binary():
    assert binaries(Host().program(TWO)) == binaries(Host().program(TWO))


def test_a_binary_of_one_simulated_process_loads_in_a_platform_of_another():
    raw = binaries(Host().program(ADD))[0]
    api.clBuildProgram(load(Host(), raw))


def test_a_binary_of_another_device_driver_or_profile_is_refused(profile_with):
    raw = binaries(Host().program(ADD))[0]
    base = profile_with()
    others = [
        type(base).model_validate({**base.model_dump(), field: value})
        for field, value in (
            ("driver_version", "1.1"),
            ("device_name", "another"),
            ("platform_name", "another"),
            ("device_version", "OpenCL 2.0 clsim"),
        )
    ]
    for profile in ["adreno-750", "mali-g710", profile_with(in_order_failure="fail"), *others]:
        with pytest.raises(api.BinaryRefused) as error:
            load(Host(profile), raw)
        assert code_of(error) == cl.CL_INVALID_BINARY
        assert error.value.statuses == [cl.CL_INVALID_BINARY]


def test_no_binary_and_an_empty_one_are_invalid_values():
    host = Host()
    for raw in (None, b""):
        with pytest.raises(api.BinaryRefused) as error:
            load(host, raw)
        assert code_of(error) == cl.CL_INVALID_VALUE
    for devices, raws in (([], []), (host.devices, []), (host.devices, None)):
        with pytest.raises(CLError) as error:
            api.clCreateProgramWithBinary(host.context, devices, raws)
        assert code_of(error) == cl.CL_INVALID_VALUE


def test_every_truncation_and_every_flipped_bit_of_a_binary_is_refused():
    host = Host()
    raw = binaries(host.program(ADD))[0]
    for length in range(1, len(raw)):
        with pytest.raises(api.BinaryRefused):
            load(host, raw[:length])
    chooser = random.Random(0)
    for _ in range(300):
        place = chooser.randrange(len(raw))
        damaged = bytearray(raw)
        damaged[place] ^= 1 << chooser.randrange(8)
        with pytest.raises(api.BinaryRefused):
            load(host, bytes(damaged))
        with pytest.raises(api.BinaryRefused):
            load(host, chooser.randbytes(chooser.randrange(1, 2000)))
    assert host.platform.ledger.live("program") == 1


def signed(body: bytes) -> bytes:
    return body + hashlib.sha256(body).digest()


def test_a_binary_with_a_right_digest_and_a_hostile_inside_is_refused():
    host = Host()
    raw = binaries(host.program(ADD))[0][:-32]
    start = len(MAGIC) + 4
    length = int.from_bytes(raw[len(MAGIC) : start], "little")
    header = json.loads(raw[start : start + length])

    def with_header(text: bytes, size: int | None = None) -> bytes:
        count = len(text) if size is None else size
        return signed(MAGIC + count.to_bytes(4, "little") + text + raw[start + length :])

    def changed(**fields: object) -> bytes:
        return with_header(json.dumps({**header, **fields}).encode())

    hostile = [
        with_header(b"[" * 100_000),
        with_header(b"[1, 2]"),
        with_header(b"\xff\xfe"),
        with_header(b"{}", 1 << 31),
        changed(kind="virus"),
        changed(kind=7),
        changed(compiler="0"),
        changed(profile="0"),
        with_header(json.dumps({k: v for k, v in header.items() if k != "options"}).encode()),
        signed(raw[: start + length]),
        signed(raw[: start + length] + b"\x00" * 100),
        signed(raw + b"more"),
    ]
    for n, binary in enumerate(hostile):
        with pytest.raises(api.BinaryRefused) as error:
            load(host, binary)
        assert code_of(error) == cl.CL_INVALID_BINARY, n


def test_two_binaries_of_two_programs_are_not_mixed_up():
    host = Host()
    add, sub = binaries(host.program(ADD))[0], binaries(host.program(TWO))[0]
    loaded = [load(host, raw) for raw in (add, sub)]
    for program in loaded:
        api.clBuildProgram(program)
    assert [api.clGetProgramInfo(p, cl.CL_PROGRAM_KERNEL_NAMES) for p in loaded] == ["add", "add;sub"]


def test_binaries_go_by_device_and_a_bad_one_is_named():
    host = Host(devices=2)
    raws = binaries(host.program(ADD))
    assert len(raws) == 2
    api.clBuildProgram(load(host, *raws))
    with pytest.raises(api.BinaryRefused) as error:
        load(host, raws[0], raws[1][:-1])
    assert error.value.statuses == [cl.CL_SUCCESS, cl.CL_INVALID_BINARY]
    assert "device #2" in error.value.reason


def test_compiled_programs_and_libraries_survive_as_binaries():
    host = Host()
    part = source_program(host, ADD)
    api.clCompileProgram(part)
    again = load(host, binaries(part)[0])
    assert (
        build_info(again, host.device, cl.CL_PROGRAM_BINARY_TYPE) == cl.CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT
    )
    library = api.clLinkProgram(host.context, None, "-create-library", [again])
    assert build_info(library, host.device, cl.CL_PROGRAM_BINARY_TYPE) == cl.CL_PROGRAM_BINARY_TYPE_LIBRARY
    with pytest.raises(CLError) as error:
        api.clCreateKernel(library, "add")
    assert code_of(error) == cl.CL_INVALID_PROGRAM_EXECUTABLE
    program = api.clLinkProgram(host.context, None, None, [load(host, binaries(library)[0])])
    assert api.clGetProgramInfo(program, cl.CL_PROGRAM_KERNEL_NAMES) == "add"


def test_what_the_machine_cannot_run_is_named_when_it_is_launched(monkeypatch):
    from clsim import vm
    from clsim.api import index_space

    def refuse(module, name):
        raise vm.NotSupported(name, "everything")

    monkeypatch.setattr(index_space, "prepare", refuse)
    host = Host()
    kernel = host.kernel(ADD, host.ints(1), np.int32(1))
    with pytest.raises(CLError) as error:
        launch(host.queue(), kernel, 1)
    assert code_of(error) == cl.CL_OUT_OF_RESOURCES
    assert host.platform.findings.of("not-simulated")
