"""Buffers, sub-buffers, transfers and maps: what they do, and the codes of what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from host import ADD, Host, code_of, launch, read, status, write

from clsim import api
from clsim import spec as cl
from clsim.spec import CLError

MIB = 1 << 20


# ---------------------------------------------------------------- creating


@pytest.mark.parametrize(
    ("flags", "size", "host_ptr", "code"),
    [
        (1 << 20, 16, None, cl.CL_INVALID_VALUE),
        (cl.CL_MEM_READ_ONLY | cl.CL_MEM_WRITE_ONLY, 16, None, cl.CL_INVALID_VALUE),
        (cl.CL_MEM_READ_WRITE | cl.CL_MEM_READ_ONLY, 16, None, cl.CL_INVALID_VALUE),
        (cl.CL_MEM_USE_HOST_PTR | cl.CL_MEM_ALLOC_HOST_PTR, 16, bytearray(16), cl.CL_INVALID_VALUE),
        (cl.CL_MEM_USE_HOST_PTR | cl.CL_MEM_COPY_HOST_PTR, 16, bytearray(16), cl.CL_INVALID_VALUE),
        (cl.CL_MEM_HOST_READ_ONLY | cl.CL_MEM_HOST_NO_ACCESS, 16, None, cl.CL_INVALID_VALUE),
        (0, 0, None, cl.CL_INVALID_BUFFER_SIZE),
        (0, 1 << 60, None, cl.CL_INVALID_BUFFER_SIZE),
        (cl.CL_MEM_USE_HOST_PTR, 16, None, cl.CL_INVALID_HOST_PTR),
        (cl.CL_MEM_COPY_HOST_PTR, 16, None, cl.CL_INVALID_HOST_PTR),
        (cl.CL_MEM_READ_WRITE, 16, bytearray(16), cl.CL_INVALID_HOST_PTR),
        (cl.CL_MEM_COPY_HOST_PTR, 16, bytearray(15), cl.CL_INVALID_HOST_PTR),
    ],
)
def test_a_buffer_that_cannot_be_is_refused_and_nothing_changes(flags, size, host_ptr, code):
    host = Host()
    with pytest.raises(CLError) as error:
        api.clCreateBuffer(host.context, flags, size, host_ptr)
    assert code_of(error) == code
    assert host.platform.ledger.total("buffer") == 0
    assert host.platform.ledger.bytes("buffer") == 0


def test_more_memory_than_the_device_has_is_an_allocation_failure(profile_with):
    small = {"CL_DEVICE_MAX_MEM_ALLOC_SIZE": MIB, "CL_DEVICE_GLOBAL_MEM_SIZE": 2 * MIB}
    host = Host(profile_with(info=small))
    held = [host.buffer(MIB), host.buffer(MIB)]
    with pytest.raises(CLError) as error:
        host.buffer(1)
    assert code_of(error) == cl.CL_MEM_OBJECT_ALLOCATION_FAILURE
    api.clReleaseMemObject(held[0])
    host.buffer(MIB)


def test_queries_of_a_buffer_and_of_its_sub_buffer():
    host = Host()
    memory = np.arange(1024, dtype=np.uint8)
    buffer = api.clCreateBuffer(host.context, cl.CL_MEM_USE_HOST_PTR, 512, memory)
    sub = api.clCreateSubBuffer(buffer, cl.CL_MEM_READ_ONLY, cl.CL_BUFFER_CREATE_TYPE_REGION, (128, 64))
    ask = api.clGetMemObjectInfo
    assert ask(buffer, cl.CL_MEM_TYPE) == cl.CL_MEM_OBJECT_BUFFER
    assert ask(buffer, cl.CL_MEM_SIZE) == 512
    assert ask(buffer, cl.CL_MEM_HOST_PTR) is memory
    assert ask(buffer, cl.CL_MEM_ASSOCIATED_MEMOBJECT) is None
    assert ask(buffer, cl.CL_MEM_OFFSET) == 0
    assert ask(buffer, cl.CL_MEM_CONTEXT) is host.context
    assert ask(sub, cl.CL_MEM_SIZE) == 64
    assert ask(sub, cl.CL_MEM_OFFSET) == 128
    assert ask(sub, cl.CL_MEM_ASSOCIATED_MEMOBJECT) is buffer
    assert ask(sub, cl.CL_MEM_FLAGS) == cl.CL_MEM_READ_ONLY | cl.CL_MEM_USE_HOST_PTR
    assert bytes(ask(sub, cl.CL_MEM_HOST_PTR)[:2]) == bytes([128, 129])
    with pytest.raises(CLError) as error:
        ask(buffer, 0x9999)
    assert code_of(error) == cl.CL_INVALID_VALUE


# ---------------------------------------------------------------- sub-buffers


def sub(buffer, origin, size, flags=0):
    return api.clCreateSubBuffer(buffer, flags, cl.CL_BUFFER_CREATE_TYPE_REGION, (origin, size))


def test_the_alignment_of_a_sub_buffer_is_the_devices_in_bits(profile_with):
    for bits, first, second in ((1024, False, True), (16384, False, False)):
        host = Host(profile_with(info={"CL_DEVICE_MEM_BASE_ADDR_ALIGN": bits}))
        buffer = host.buffer(MIB)
        for origin, fits in ((321984, first), (322048, second)):
            if fits:
                sub(buffer, origin, 64)
                continue
            with pytest.raises(CLError) as error:
                sub(buffer, origin, 64)
            assert code_of(error) == cl.CL_MISALIGNED_SUB_BUFFER_OFFSET
        with pytest.raises(CLError) as error:
            sub(buffer, MIB - 32768, 32769)
        assert code_of(error) == cl.CL_INVALID_VALUE


def test_sub_buffers_that_cannot_be_are_refused():
    host = Host()
    buffer = host.buffer(1024, cl.CL_MEM_READ_ONLY)
    for origin, size, flags, code in (
        (0, 0, 0, cl.CL_INVALID_BUFFER_SIZE),
        (0, 2048, 0, cl.CL_INVALID_VALUE),
        (-128, 64, 0, cl.CL_INVALID_VALUE),
        (0, 64, cl.CL_MEM_WRITE_ONLY, cl.CL_INVALID_VALUE),
        (0, 64, cl.CL_MEM_ALLOC_HOST_PTR, cl.CL_INVALID_VALUE),
        (64, 64, 0, cl.CL_MISALIGNED_SUB_BUFFER_OFFSET),
    ):
        with pytest.raises(CLError) as error:
            sub(buffer, origin, size, flags)
        assert code_of(error) == code
    part = sub(buffer, 128, 128)
    with pytest.raises(CLError) as error:
        sub(part, 0, 64)
    assert code_of(error) == cl.CL_INVALID_MEM_OBJECT
    assert host.platform.ledger.live("buffer") == 2


def test_a_sub_buffer_is_the_same_memory():
    host = Host()
    queue = host.queue()
    buffer = host.ints(*range(64))
    part = sub(buffer, 128, 16)
    launch(queue, host.kernel(ADD, part, np.int32(1000)), 4)
    assert read(queue, buffer)[30:38] == [30, 31, 1032, 1033, 1034, 1035, 36, 37]


# ---------------------------------------------------------------- transfers


def test_fill_repeats_its_pattern_and_copy_moves_bytes(any_schedule):
    host = Host(schedule=any_schedule)
    queue = host.queue()
    a, b = host.ints(0, 0, 0, 0), host.ints(9, 9, 9, 9)
    api.clEnqueueFillBuffer(queue, a, np.array([7, 8], np.int32), None, 0, 16)
    api.clEnqueueCopyBuffer(queue, a, b, 4, 8, 8)
    assert read(queue, b) == [9, 9, 8, 7]


def test_a_fill_takes_its_pattern_when_it_is_enqueued():
    host = Host(schedule="late")
    queue = host.queue()
    buffer = host.ints(0)
    pattern = np.array([7], np.int32)
    api.clEnqueueFillBuffer(queue, buffer, pattern, None, 0, 4)
    pattern[0] = 8
    assert read(queue, buffer) == [7]


def bad_transfers(host, queue, buffer):
    room = bytearray(64)
    fill = api.clEnqueueFillBuffer
    return [
        (lambda: api.clEnqueueReadBuffer(queue, buffer, True, 60, 8, room), cl.CL_INVALID_VALUE),
        (lambda: api.clEnqueueReadBuffer(queue, buffer, True, 0, 8, None), cl.CL_INVALID_VALUE),
        (lambda: api.clEnqueueReadBuffer(queue, buffer, True, 0, 8, b"12345678"), cl.CL_INVALID_VALUE),
        (lambda: api.clEnqueueWriteBuffer(queue, buffer, True, 0, 64, b"short"), cl.CL_INVALID_VALUE),
        (lambda: api.clEnqueueWriteBuffer(queue, buffer, True, -1, 4, room), cl.CL_INVALID_VALUE),
        (lambda: api.clEnqueueCopyBuffer(queue, buffer, buffer, 0, 4, 8), cl.CL_MEM_COPY_OVERLAP),
        (lambda: api.clEnqueueCopyBuffer(queue, buffer, buffer, 0, 60, 8), cl.CL_INVALID_VALUE),
        (lambda: fill(queue, buffer, None, None, 0, 64), cl.CL_INVALID_VALUE),
        (lambda: fill(queue, buffer, b"abc", None, 0, 63), cl.CL_INVALID_VALUE),
        (lambda: fill(queue, buffer, b"abcd", None, 2, 8), cl.CL_INVALID_VALUE),
        (lambda: fill(queue, buffer, b"abcd", None, 0, 6), cl.CL_INVALID_VALUE),
        (lambda: fill(queue, buffer, bytes(256), None, 0, 64), cl.CL_INVALID_VALUE),
        (lambda: api.clEnqueueReadBuffer(queue, None, True, 0, 4, room), cl.CL_INVALID_MEM_OBJECT),
        (lambda: api.clEnqueueReadBuffer(None, buffer, True, 0, 4, room), cl.CL_INVALID_COMMAND_QUEUE),
        (
            lambda: api.clEnqueueReadBuffer(queue, buffer, True, 0, 4, room, [None]),
            cl.CL_INVALID_EVENT_WAIT_LIST,
        ),
    ]


@pytest.mark.parametrize("index", range(15))
def test_transfers_that_cannot_be_are_refused_and_enqueue_nothing(index):
    host = Host()
    queue = host.queue()
    call, code = bad_transfers(host, queue, host.buffer(64))[index]
    with pytest.raises(CLError) as error:
        call()
    assert code_of(error) == code
    assert not queue.pending
    assert not host.platform.ledger.commands


def test_objects_of_two_contexts_do_not_mix():
    host = Host()
    other = api.clCreateContext(None, host.devices)
    queue = api.clCreateCommandQueue(other, host.device, 0)
    event = api.clCreateUserEvent(host.context)
    with pytest.raises(CLError) as error:
        api.clEnqueueReadBuffer(queue, host.buffer(4), True, 0, 4, bytearray(4))
    assert code_of(error) == cl.CL_INVALID_CONTEXT
    with pytest.raises(CLError) as error:
        api.clEnqueueMarkerWithWaitList(queue, [event])
    assert code_of(error) == cl.CL_INVALID_CONTEXT


@pytest.mark.parametrize(
    ("flags", "reads", "writes"),
    [
        (cl.CL_MEM_HOST_NO_ACCESS, False, False),
        (cl.CL_MEM_HOST_READ_ONLY, True, False),
        (cl.CL_MEM_HOST_WRITE_ONLY, False, True),
    ],
)
def test_host_access_flags_are_kept(flags, reads, writes):
    host = Host()
    queue = host.queue()
    buffer = host.buffer(16, flags)
    for allowed, call, map_flags in (
        (reads, api.clEnqueueReadBuffer, cl.CL_MAP_READ),
        (writes, api.clEnqueueWriteBuffer, cl.CL_MAP_WRITE),
    ):
        if allowed:
            call(queue, buffer, True, 0, 16, bytearray(16))
            mapping, _ = api.clEnqueueMapBuffer(queue, buffer, True, map_flags, 0, 16)
            api.clEnqueueUnmapMemObject(queue, buffer, mapping)
            continue
        with pytest.raises(CLError) as error:
            call(queue, buffer, True, 0, 16, bytearray(16))
        assert code_of(error) == cl.CL_INVALID_OPERATION
        with pytest.raises(CLError) as error:
            api.clEnqueueMapBuffer(queue, buffer, True, map_flags, 0, 16)
        assert code_of(error) == cl.CL_INVALID_OPERATION


def test_a_box_is_read_written_and_copied_by_its_pitches():
    host = Host()
    queue = host.queue()
    image = np.arange(8 * 6, dtype=np.uint8).reshape(6, 8)
    buffer = host.buffer(image)
    out = np.zeros((2, 3), np.uint8)
    api.clEnqueueReadBufferRect(queue, buffer, True, (2, 1, 0), (0, 0, 0), (3, 2, 1), 8, 0, 3, 0, out)
    assert out.tolist() == image[1:3, 2:5].tolist()
    api.clEnqueueWriteBufferRect(
        queue, buffer, True, (0, 4, 0), (0, 0, 0), (3, 2, 1), 8, 0, 3, 0, np.full((2, 3), 99, np.uint8)
    )
    api.clEnqueueCopyBufferRect(queue, buffer, buffer, (0, 4, 0), (5, 0, 0), (3, 2, 1), 8, 0, 8, 0)
    expected = image.copy()
    expected[4:6, 0:3] = 99
    expected[0:2, 5:8] = 99
    after = np.zeros_like(image)
    api.clEnqueueReadBuffer(queue, buffer, True, 0, 48, after)
    assert after.tolist() == expected.tolist()


def test_boxes_overlap_only_where_their_rows_do():
    host = Host()
    queue = host.queue()
    buffer = host.buffer(64)
    copy = api.clEnqueueCopyBufferRect
    copy(queue, buffer, buffer, (0, 0, 0), (4, 1, 0), (4, 4, 1), 8, 0, 8, 0)
    for target in ((3, 1, 0), (0, 3, 0), (0, 0, 0)):
        with pytest.raises(CLError) as error:
            copy(queue, buffer, buffer, (0, 0, 0), target, (4, 4, 1), 8, 0, 8, 0)
        assert code_of(error) == cl.CL_MEM_COPY_OVERLAP
    for region, pitch in (((4, 0, 1), 8), ((4, 4, 1), 3), ((9, 1, 1), 8)):
        with pytest.raises(CLError) as error:
            copy(queue, buffer, buffer, (0, 0, 0), (0, 4, 0), region, pitch, 0, pitch, 0)
        assert code_of(error) == cl.CL_INVALID_VALUE


def test_transfers_of_no_bytes_are_commands_like_others():
    host = Host()
    queue = host.queue()
    a, b = host.ints(1), host.ints(2)
    calls = [
        lambda: api.clEnqueueReadBuffer(queue, a, True, 4, 0, bytearray(0), None, True),
        lambda: api.clEnqueueWriteBuffer(queue, a, True, 0, 0, b"", None, True),
        lambda: api.clEnqueueCopyBuffer(queue, a, b, 0, 4, 0, None, True),
        lambda: api.clEnqueueFillBuffer(queue, a, b"abcd", None, 4, 0, None, True),
    ]
    events = [call() for call in calls]
    api.clWaitForEvents(events)
    assert (read(queue, a), read(queue, b)) == ([1], [2])


# ---------------------------------------------------------------- maps


def test_a_map_shows_the_bytes_and_writes_through_it_are_seen_after_unmap(any_schedule):
    host = Host(schedule=any_schedule)
    queue = host.queue()
    buffer = host.ints(1, 2, 3, 4)
    launch(queue, host.kernel(ADD, buffer, np.int32(10)), 4)
    mapping, event = api.clEnqueueMapBuffer(
        queue, buffer, True, cl.CL_MAP_READ | cl.CL_MAP_WRITE, 4, 8, None, True
    )
    assert event is not None
    assert status(event) == cl.CL_COMPLETE
    view = np.frombuffer(mapping.view, np.int32)
    assert view.tolist() == [12, 13]
    view[0] = 77
    assert api.clGetMemObjectInfo(buffer, cl.CL_MEM_MAP_COUNT) == 1
    api.clEnqueueUnmapMemObject(queue, buffer, mapping)
    assert read(queue, buffer) == [11, 77, 13, 14]
    assert api.clGetMemObjectInfo(buffer, cl.CL_MEM_MAP_COUNT) == 0
    with pytest.raises(CLError) as error:
        api.clEnqueueUnmapMemObject(queue, buffer, mapping)
    assert code_of(error) == cl.CL_INVALID_VALUE
    assert not list(host.platform.findings)


@pytest.mark.parametrize("use_host_ptr", ["in_place", "shadow"])
def test_the_programs_own_memory_holds_the_latest_bits_after_a_map(profile_with, use_host_ptr):
    host = Host(profile_with(use_host_ptr=use_host_ptr))
    queue = host.queue()
    array = np.arange(4096, dtype=np.int32)
    buffer = api.clCreateBuffer(host.context, cl.CL_MEM_USE_HOST_PTR, array.nbytes, array)
    kernel = host.kernel(ADD, buffer, np.int32(1))
    launch(queue, kernel, 4096)
    mapping, _ = api.clEnqueueMapBuffer(queue, buffer, True, cl.CL_MAP_READ | cl.CL_MAP_WRITE, 1024, 1024)
    assert mapping.address == array.ctypes.data + 1024
    assert array[256:512].tolist() == list(range(257, 513))
    array[256] = -5
    api.clEnqueueUnmapMemObject(queue, buffer, mapping)
    launch(queue, kernel, 4096)
    result = read(queue, buffer)
    assert result[255:258] == [257, -4, 259]


def test_a_shadow_copy_is_not_refreshed_without_a_map(profile_with):
    host = Host(profile_with(use_host_ptr="shadow"))
    queue = host.queue()
    array = np.zeros(4, np.int32)
    buffer = api.clCreateBuffer(host.context, cl.CL_MEM_USE_HOST_PTR, array.nbytes, array)
    launch(queue, host.kernel(ADD, buffer, np.int32(1)), 4)
    api.clFinish(queue)
    assert array.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("flags", "offset", "size"),
    [
        (1 << 10, 0, 4),
        (cl.CL_MAP_READ | cl.CL_MAP_WRITE_INVALIDATE_REGION, 0, 4),
        (cl.CL_MAP_READ, 0, 0),
        (cl.CL_MAP_READ, 12, 8),
    ],
)
def test_maps_that_cannot_be_are_refused(flags, offset, size):
    host = Host()
    buffer = host.buffer(16)
    with pytest.raises(CLError) as error:
        api.clEnqueueMapBuffer(host.queue(), buffer, True, flags, offset, size)
    assert code_of(error) == cl.CL_INVALID_VALUE
    assert buffer.map_count == 0
    assert not buffer.storage.mappings


def test_a_kernel_that_writes_what_the_host_has_mapped_is_reported():
    host = Host()
    queue = host.queue()
    buffer = host.ints(1, 2)
    mapping, _ = api.clEnqueueMapBuffer(queue, buffer, True, cl.CL_MAP_READ, 0, 8)
    launch(queue, host.kernel(ADD, buffer, np.int32(1)), 2)
    (finding,) = host.platform.findings.of("unmapped-access")
    assert "'a'" in finding.message
    assert buffer.label in finding.message
    assert [place.label for place in finding.sites] == ["mapped", "enqueued"]
    for n in range(100):
        api.clEnqueueMapBuffer(queue, buffer, True, cl.CL_MAP_READ, 0, 8)
        assert api.clGetMemObjectInfo(buffer, cl.CL_MEM_MAP_COUNT) == n + 2
    api.clEnqueueUnmapMemObject(queue, buffer, mapping)


def test_kernels_that_leave_the_mapped_buffer_alone_or_only_read_it_are_not_reported():
    host = Host()
    queue = host.queue()
    buffer, out = host.ints(1, 2), host.ints(0, 0)
    api.clEnqueueMapBuffer(queue, buffer, True, cl.CL_MAP_READ, 0, 8)
    source = """
    kernel void reads(global const int *a, global int *o) { o[get_global_id(0)] = a[get_global_id(0)]; }
    kernel void leaves(global int *a, local int *t) { t[get_local_id(0)] = 1; }
    """
    launch(queue, host.kernel(source, buffer, out, name="reads"), 2)
    launch(queue, host.kernel(source, buffer, ("local", 64), name="leaves"), 2)
    write(queue, out, np.zeros(2, np.int32), blocking=True)
    assert not list(host.platform.findings)
