"""Rectangular reads, writes and copies of buffers (section 5.2.2)."""

from __future__ import annotations

from collections.abc import Sequence

from clsim.api.entry import entry, live, same_context, wait_list
from clsim.api.memory import host_bytes
from clsim.api.rect import Rect, check_pitches, rows
from clsim.api.transfer import (
    check_alignment,
    check_host_access,
    check_range,
    enqueue_transfer,
)
from clsim.objects import Buffer, CommandQueue, Event
from clsim.spec import (
    CL_COMMAND_COPY_BUFFER_RECT,
    CL_COMMAND_READ_BUFFER_RECT,
    CL_COMMAND_WRITE_BUFFER_RECT,
    CL_INVALID_VALUE,
    CL_MEM_COPY_OVERLAP,
    CLError,
)


def _enqueue_host_rect(
    routine: str,
    queue: CommandQueue,
    buffer: Buffer,
    reads: bool,
    buffer_rect: Rect,
    host_rect: Rect,
    ptr: object,
    event_wait_list: Sequence[Event] | None,
    want_event: bool,
    blocking: bool,
) -> Event | None:
    """A rectangular read or write; it touches the bytes of the buffer from its first to its last."""
    check_pitches(routine, buffer_rect)
    check_pitches(routine, host_rect)
    check_range(routine, buffer, buffer_rect.first, buffer_rect.extent)
    memory = host_bytes(routine, "ptr", ptr, CL_INVALID_VALUE, writable=reads)
    if memory.size < host_rect.first + host_rect.extent:
        raise CLError(
            CL_INVALID_VALUE,
            routine,
            f"ptr has {memory.size} bytes, {host_rect.first + host_rect.extent} are needed",
        )
    check_alignment(routine, queue, buffer)
    check_host_access(routine, buffer, reads)
    inside, outside = rows(buffer.bytes, buffer_rect, not reads), rows(memory, host_rect, reads)

    def run() -> int:
        if reads:
            outside[:] = inside
        else:
            inside[:] = outside
        return 0

    return enqueue_transfer(
        routine,
        queue,
        CL_COMMAND_READ_BUFFER_RECT if reads else CL_COMMAND_WRITE_BUFFER_RECT,
        run,
        ((buffer, buffer_rect.first, buffer_rect.first + buffer_rect.extent, not reads),),
        queue.platform.engine.costs.host_transfer(buffer_rect.size),
        event_wait_list,
        want_event,
        blocking,
    )


@entry(live("queue", CommandQueue), live("buffer", Buffer), same_context("queue", "buffer"), wait_list())
def clEnqueueReadBufferRect(
    queue: CommandQueue,
    buffer: Buffer,
    blocking_read: bool,
    buffer_origin: Sequence[int],
    host_origin: Sequence[int],
    region: Sequence[int],
    buffer_row_pitch: int,
    buffer_slice_pitch: int,
    host_row_pitch: int,
    host_slice_pitch: int,
    ptr: object,
    event_wait_list: Sequence[Event] | None = None,
    want_event: bool = False,
) -> Event | None:
    """Reads a box of `region` (bytes, rows, slices). A pitch of 0 is computed. Raises as the plain read."""
    routine = "clEnqueueReadBufferRect"
    inside = Rect.of(routine, buffer_origin, region, buffer_row_pitch, buffer_slice_pitch)
    outside = Rect.of(routine, host_origin, region, host_row_pitch, host_slice_pitch)
    return _enqueue_host_rect(
        routine, queue, buffer, True, inside, outside, ptr, event_wait_list, want_event, blocking_read
    )


@entry(live("queue", CommandQueue), live("buffer", Buffer), same_context("queue", "buffer"), wait_list())
def clEnqueueWriteBufferRect(
    queue: CommandQueue,
    buffer: Buffer,
    blocking_write: bool,
    buffer_origin: Sequence[int],
    host_origin: Sequence[int],
    region: Sequence[int],
    buffer_row_pitch: int,
    buffer_slice_pitch: int,
    host_row_pitch: int,
    host_slice_pitch: int,
    ptr: object,
    event_wait_list: Sequence[Event] | None = None,
    want_event: bool = False,
) -> Event | None:
    """Writes a box of `region` (bytes, rows, slices). A pitch of 0 is computed. Raises as the plain write."""
    routine = "clEnqueueWriteBufferRect"
    inside = Rect.of(routine, buffer_origin, region, buffer_row_pitch, buffer_slice_pitch)
    outside = Rect.of(routine, host_origin, region, host_row_pitch, host_slice_pitch)
    return _enqueue_host_rect(
        routine, queue, buffer, False, inside, outside, ptr, event_wait_list, want_event, blocking_write
    )


@entry(
    live("queue", CommandQueue),
    live("src_buffer", Buffer),
    live("dst_buffer", Buffer),
    same_context("queue", "src_buffer", "dst_buffer"),
    wait_list(),
)
def clEnqueueCopyBufferRect(
    queue: CommandQueue,
    src_buffer: Buffer,
    dst_buffer: Buffer,
    src_origin: Sequence[int],
    dst_origin: Sequence[int],
    region: Sequence[int],
    src_row_pitch: int,
    src_slice_pitch: int,
    dst_row_pitch: int,
    dst_slice_pitch: int,
    event_wait_list: Sequence[Event] | None = None,
    want_event: bool = False,
) -> Event | None:
    """Copies a box between buffers, or within one without overlap. Raises as the plain copy."""
    routine = "clEnqueueCopyBufferRect"
    source = Rect.of(routine, src_origin, region, src_row_pitch, src_slice_pitch)
    target = Rect.of(routine, dst_origin, region, dst_row_pitch, dst_slice_pitch)
    check_pitches(routine, source)
    check_pitches(routine, target)
    check_range(routine, src_buffer, source.first, source.extent)
    check_range(routine, dst_buffer, target.first, target.extent)
    check_alignment(routine, queue, src_buffer)
    check_alignment(routine, queue, dst_buffer)
    if src_buffer is dst_buffer and source.pitches != target.pitches:
        raise CLError(CL_INVALID_VALUE, routine, "within one buffer, both pitches must be the same")
    if src_buffer.storage is dst_buffer.storage and source.overlaps(
        target, src_buffer.origin, dst_buffer.origin
    ):
        raise CLError(CL_MEM_COPY_OVERLAP, routine, "the two boxes overlap")
    from_rows, to_rows = rows(src_buffer.bytes, source, False), rows(dst_buffer.bytes, target, True)

    def run() -> int:
        to_rows[:] = from_rows
        return 0

    return enqueue_transfer(
        routine,
        queue,
        CL_COMMAND_COPY_BUFFER_RECT,
        run,
        (
            (src_buffer, source.first, source.first + source.extent, False),
            (dst_buffer, target.first, target.first + target.extent, True),
        ),
        queue.platform.engine.costs.device_transfer(2 * source.size),
        event_wait_list,
        want_event,
    )
