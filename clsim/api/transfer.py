"""Reading, writing, copying and filling buffers (sections 5.2.2 and 5.2.3)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from clsim.api.entry import entry, live, same_context, wait_list
from clsim.api.memory import host_bytes
from clsim.api.submit import submit
from clsim.checks import mapped, order
from clsim.engine.command import Command
from clsim.objects import Buffer, CommandQueue, Event
from clsim.spec import (
    CL_COMMAND_COPY_BUFFER,
    CL_COMMAND_FILL_BUFFER,
    CL_COMMAND_MIGRATE_MEM_OBJECTS,
    CL_COMMAND_READ_BUFFER,
    CL_COMMAND_WRITE_BUFFER,
    CL_INVALID_MEM_OBJECT,
    CL_INVALID_OPERATION,
    CL_INVALID_VALUE,
    CL_MEM_COPY_OVERLAP,
    CL_MEM_HOST_NO_ACCESS,
    CL_MEM_HOST_READ_ONLY,
    CL_MEM_HOST_WRITE_ONLY,
    CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED,
    CL_MIGRATE_MEM_OBJECT_HOST,
    CL_MISALIGNED_SUB_BUFFER_OFFSET,
    CLError,
)

MAX_PATTERN_BYTES = 128
"""Size of the largest vector type, long16 (section 5.2.2)."""

Access = tuple[Buffer, int, int, bool]
"""Bytes of a buffer that a transfer touches: from, to, and whether it writes them."""


def check_alignment(routine: str, queue: CommandQueue, buffer: Buffer) -> None:
    if buffer.origin % queue.device.base_align:
        raise CLError(
            CL_MISALIGNED_SUB_BUFFER_OFFSET,
            routine,
            f"{buffer.label} begins at byte {buffer.origin}, {queue.device.label} wants multiples of "
            f"{queue.device.base_align}",
        )


def check_range(routine: str, buffer: Buffer, offset: int, size: int) -> None:
    """No bytes at all are within every buffer: only a map of nothing is an error in the standard."""
    try:
        offset, size = operator.index(offset), operator.index(size)
    except TypeError:
        reason = f"offset {offset!r:.40} and size {size!r:.40} are not both whole numbers"
        raise CLError(CL_INVALID_VALUE, routine, reason) from None
    if offset < 0 or size < 0 or offset + size > buffer.size:
        raise CLError(
            CL_INVALID_VALUE,
            routine,
            f"bytes {offset} to {offset + size} are not within the {buffer.size} of {buffer.label}",
        )


def check_host_access(routine: str, buffer: Buffer, reads: bool) -> None:
    forbidden = CL_MEM_HOST_NO_ACCESS | (CL_MEM_HOST_WRITE_ONLY if reads else CL_MEM_HOST_READ_ONLY)
    if buffer.flags & forbidden:
        what = "read" if reads else "written"
        raise CLError(
            CL_INVALID_OPERATION, routine, f"{buffer.label} was created not to be {what} by the host"
        )


def enqueue_transfer(
    routine: str,
    queue: CommandQueue,
    command_type: int,
    run: Callable[[], int],
    accesses: Sequence[Access],
    device_ns: int,
    event_wait_list: Sequence[Event] | None,
    want_event: bool,
    blocking: bool = False,
) -> Event | None:
    site = queue.platform.site()
    buffers = tuple(dict.fromkeys(access[0] for access in accesses))
    command = Command(
        queue,
        command_type,
        site,
        run=run,
        holds=buffers,
        storages=tuple(buffer.storage for buffer in buffers),
        device_ns=device_ns,
        transfer=True,
    )
    for buffer, start, stop, writes in accesses:
        if buffer.storage.mappings:
            mapped.check(buffer, start, stop, not writes, writes, f"the {command.label}", site)
    if queue.platform.engine.order is not None:
        command.uses = order.transfer(accesses)
    return submit(routine, queue, command, event_wait_list, want_event, blocking=blocking)


@entry(live("queue", CommandQueue), live("buffer", Buffer), same_context("queue", "buffer"), wait_list())
def clEnqueueReadBuffer(
    queue: CommandQueue,
    buffer: Buffer,
    blocking_read: bool,
    offset: int,
    size: int,
    ptr: object,
    event_wait_list: Sequence[Event] | None = None,
    want_event: bool = False,
) -> Event | None:
    """Reads `size` bytes into `ptr`, writable memory that the command keeps alive.

    Raises CL_INVALID_COMMAND_QUEUE, CL_INVALID_MEM_OBJECT, CL_INVALID_CONTEXT,
    CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_VALUE, CL_MISALIGNED_SUB_BUFFER_OFFSET, CL_INVALID_OPERATION;
    blocking: CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST.
    """
    routine = "clEnqueueReadBuffer"
    check_range(routine, buffer, offset, size)
    target = host_bytes(routine, "ptr", ptr, CL_INVALID_VALUE, writable=True)
    if target.size < size:
        raise CLError(CL_INVALID_VALUE, routine, f"ptr has {target.size} bytes, size is {size}")
    check_alignment(routine, queue, buffer)
    check_host_access(routine, buffer, reads=True)
    data = buffer.bytes

    def run() -> int:
        target[:size] = data[offset : offset + size]
        return 0

    return enqueue_transfer(
        routine,
        queue,
        CL_COMMAND_READ_BUFFER,
        run,
        ((buffer, offset, offset + size, False),),
        queue.platform.engine.costs.host_transfer(size),
        event_wait_list,
        want_event,
        blocking_read,
    )


@entry(live("queue", CommandQueue), live("buffer", Buffer), same_context("queue", "buffer"), wait_list())
def clEnqueueWriteBuffer(
    queue: CommandQueue,
    buffer: Buffer,
    blocking_write: bool,
    offset: int,
    size: int,
    ptr: object,
    event_wait_list: Sequence[Event] | None = None,
    want_event: bool = False,
) -> Event | None:
    """Writes `size` bytes of `ptr`, memory that the command keeps alive and reads when it runs.

    Raises what clEnqueueReadBuffer raises.
    """
    routine = "clEnqueueWriteBuffer"
    check_range(routine, buffer, offset, size)
    source = host_bytes(routine, "ptr", ptr, CL_INVALID_VALUE)
    if source.size < size:
        raise CLError(CL_INVALID_VALUE, routine, f"ptr has {source.size} bytes, size is {size}")
    check_alignment(routine, queue, buffer)
    check_host_access(routine, buffer, reads=False)
    data = buffer.bytes

    def run() -> int:
        data[offset : offset + size] = source[:size]
        return 0

    return enqueue_transfer(
        routine,
        queue,
        CL_COMMAND_WRITE_BUFFER,
        run,
        ((buffer, offset, offset + size, True),),
        queue.platform.engine.costs.host_transfer(size),
        event_wait_list,
        want_event,
        blocking_write,
    )


@entry(
    live("queue", CommandQueue),
    live("src_buffer", Buffer),
    live("dst_buffer", Buffer),
    same_context("queue", "src_buffer", "dst_buffer"),
    wait_list(),
)
def clEnqueueCopyBuffer(
    queue: CommandQueue,
    src_buffer: Buffer,
    dst_buffer: Buffer,
    src_offset: int,
    dst_offset: int,
    size: int,
    event_wait_list: Sequence[Event] | None = None,
    want_event: bool = False,
) -> Event | None:
    """Copies bytes between buffers.

    Raises CL_INVALID_COMMAND_QUEUE, CL_INVALID_MEM_OBJECT, CL_INVALID_CONTEXT,
    CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_VALUE, CL_MISALIGNED_SUB_BUFFER_OFFSET, CL_MEM_COPY_OVERLAP.
    """
    routine = "clEnqueueCopyBuffer"
    check_range(routine, src_buffer, src_offset, size)
    check_range(routine, dst_buffer, dst_offset, size)
    check_alignment(routine, queue, src_buffer)
    check_alignment(routine, queue, dst_buffer)
    if src_buffer.storage is dst_buffer.storage:
        first, second = src_buffer.origin + src_offset, dst_buffer.origin + dst_offset
        if abs(first - second) < size:
            raise CLError(
                CL_MEM_COPY_OVERLAP,
                routine,
                f"bytes from {first} and from {second} overlap over {size} bytes",
            )
    source, target = src_buffer.bytes, dst_buffer.bytes

    def run() -> int:
        target[dst_offset : dst_offset + size] = source[src_offset : src_offset + size]
        return 0

    return enqueue_transfer(
        routine,
        queue,
        CL_COMMAND_COPY_BUFFER,
        run,
        (
            (src_buffer, src_offset, src_offset + size, False),
            (dst_buffer, dst_offset, dst_offset + size, True),
        ),
        queue.platform.engine.costs.device_transfer(2 * size),
        event_wait_list,
        want_event,
    )


@entry(live("queue", CommandQueue), live("buffer", Buffer), same_context("queue", "buffer"), wait_list())
def clEnqueueFillBuffer(
    queue: CommandQueue,
    buffer: Buffer,
    pattern: object,
    pattern_size: int | None,
    offset: int,
    size: int,
    event_wait_list: Sequence[Event] | None = None,
    want_event: bool = False,
) -> Event | None:
    """Repeats a pattern of 1, 2, 4, ... or 128 bytes; `pattern_size` None is all of `pattern`. OpenCL 1.2.

    Raises CL_INVALID_COMMAND_QUEUE, CL_INVALID_MEM_OBJECT, CL_INVALID_CONTEXT,
    CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_VALUE, CL_MISALIGNED_SUB_BUFFER_OFFSET.
    """
    routine = "clEnqueueFillBuffer"
    check_range(routine, buffer, offset, size)
    if pattern is None:
        raise CLError(CL_INVALID_VALUE, routine, "pattern is NULL")
    cell = host_bytes(routine, "pattern", pattern, CL_INVALID_VALUE)
    width = cell.size if pattern_size is None else pattern_size
    if width < 1 or width & (width - 1) or width > MAX_PATTERN_BYTES or width > cell.size:
        raise CLError(
            CL_INVALID_VALUE,
            routine,
            f"the pattern has {width} bytes, not 1, 2, 4, ... or {MAX_PATTERN_BYTES}",
        )
    if offset % width or size % width:
        raise CLError(
            CL_INVALID_VALUE, routine, f"offset {offset} and size {size} are not both multiples of {width}"
        )
    check_alignment(routine, queue, buffer)
    cell = cell[:width].copy()
    data = buffer.bytes

    def run() -> int:
        data[offset : offset + size].reshape(-1, width)[:] = cell
        return 0

    return enqueue_transfer(
        routine,
        queue,
        CL_COMMAND_FILL_BUFFER,
        run,
        ((buffer, offset, offset + size, True),),
        queue.platform.engine.costs.device_transfer(size),
        event_wait_list,
        want_event,
    )


@entry(live("queue", CommandQueue), wait_list())
def clEnqueueMigrateMemObjects(
    queue: CommandQueue,
    mem_objects: Sequence[Buffer],
    flags: int,
    event_wait_list: Sequence[Event] | None = None,
    want_event: bool = False,
) -> Event | None:
    """A command that only takes time: the devices share their memory. OpenCL 1.2.

    Raises CL_INVALID_COMMAND_QUEUE, CL_INVALID_MEM_OBJECT, CL_INVALID_CONTEXT,
    CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_VALUE.
    """
    routine = "clEnqueueMigrateMemObjects"
    if not mem_objects:
        raise CLError(CL_INVALID_VALUE, routine, "there is no memory object")
    for index, item in enumerate(mem_objects):
        if not isinstance(item, Buffer):
            raise CLError(CL_INVALID_MEM_OBJECT, routine, f"mem_objects[{index}] is {item!r:.40}")
        live("mem_objects", Buffer).test(routine, item)
        same_context("queue", f"mem_objects[{index}]").test(routine, queue, item)
    if flags & ~(CL_MIGRATE_MEM_OBJECT_HOST | CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED):
        raise CLError(CL_INVALID_VALUE, routine, f"flags {flags:#x} are not valid")
    command = Command(
        queue,
        CL_COMMAND_MIGRATE_MEM_OBJECTS,
        queue.platform.site(),
        holds=tuple(mem_objects),
        storages=tuple(item.storage for item in mem_objects),
        device_ns=queue.platform.engine.costs.host_transfer(sum(item.size for item in mem_objects)),
        transfer=True,
    )
    return submit(routine, queue, command, event_wait_list, want_event)
