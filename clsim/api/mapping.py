"""Mapping buffers into host memory (section 5.2.4) and unmapping (section 5.5.3)."""

from __future__ import annotations

from collections.abc import Sequence

from clsim.api.entry import entry, live, same_context, wait_list
from clsim.api.submit import submit
from clsim.api.transfer import check_alignment, check_range
from clsim.checks import order
from clsim.engine.command import Command
from clsim.objects import Buffer, CommandQueue, Event, Mapping
from clsim.spec import (
    CL_COMMAND_MAP_BUFFER,
    CL_COMMAND_UNMAP_MEM_OBJECT,
    CL_INVALID_OPERATION,
    CL_INVALID_VALUE,
    CL_MAP_READ,
    CL_MAP_WRITE,
    CL_MAP_WRITE_INVALIDATE_REGION,
    CL_MEM_HOST_NO_ACCESS,
    CL_MEM_HOST_READ_ONLY,
    CL_MEM_HOST_WRITE_ONLY,
    CLError,
)

_FLAGS = CL_MAP_READ | CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION
_WRITES = CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION


def _check_flags(routine: str, buffer: Buffer, flags: int) -> None:
    if flags & ~_FLAGS:
        raise CLError(CL_INVALID_VALUE, routine, f"map_flags {flags:#x} are not valid")
    if flags & CL_MAP_WRITE_INVALIDATE_REGION and flags & (CL_MAP_READ | CL_MAP_WRITE):
        raise CLError(CL_INVALID_VALUE, routine, "CL_MAP_WRITE_INVALIDATE_REGION stands alone")
    forbidden = CL_MEM_HOST_NO_ACCESS
    if flags & CL_MAP_READ:
        forbidden |= CL_MEM_HOST_WRITE_ONLY
    if flags & _WRITES:
        forbidden |= CL_MEM_HOST_READ_ONLY
    if buffer.flags & forbidden:
        raise CLError(
            CL_INVALID_OPERATION, routine, f"{buffer.label} was created not to be accessed so by the host"
        )


@entry(live("queue", CommandQueue), live("buffer", Buffer), same_context("queue", "buffer"), wait_list())
def clEnqueueMapBuffer(
    queue: CommandQueue,
    buffer: Buffer,
    blocking_map: bool,
    map_flags: int,
    offset: int,
    size: int,
    event_wait_list: Sequence[Event] | None = None,
    want_event: bool = False,
) -> tuple[Mapping, Event | None]:
    """A `Mapping` in the place of the pointer, valid once the command is complete, and the event if wanted.

    Raises CL_INVALID_COMMAND_QUEUE, CL_INVALID_MEM_OBJECT, CL_INVALID_CONTEXT,
    CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_VALUE, CL_MISALIGNED_SUB_BUFFER_OFFSET, CL_INVALID_OPERATION;
    blocking: CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST.
    """
    routine = "clEnqueueMapBuffer"
    check_range(routine, buffer, offset, size)
    if size == 0:
        raise CLError(CL_INVALID_VALUE, routine, "the size is 0")
    _check_flags(routine, buffer, map_flags)
    check_alignment(routine, queue, buffer)
    platform = queue.platform
    site = platform.site()
    mapping = Mapping(buffer, map_flags, offset, size, site)
    start = buffer.origin + offset
    storage = buffer.storage

    def run() -> int:
        if not map_flags & CL_MAP_WRITE_INVALIDATE_REGION:
            storage.to_host(start, start + size)
        return 0

    command = Command(
        queue,
        CL_COMMAND_MAP_BUFFER,
        site,
        run=run,
        holds=(buffer,),
        storages=(storage,),
        device_ns=platform.engine.costs.host_transfer(size),
        transfer=True,
    )
    if platform.engine.order is not None:
        command.uses = order.transfer(((buffer, offset, offset + size, False),))
    buffer.map_count += 1
    storage.mappings.append(mapping)
    platform.epoch += 1
    try:
        event = submit(routine, queue, command, event_wait_list, want_event, blocking=blocking_map)
    except CLError:
        buffer.map_count -= 1
        storage.mappings.remove(mapping)
        raise
    return mapping, event


@entry(live("queue", CommandQueue), live("memobj", Buffer), same_context("queue", "memobj"), wait_list())
def clEnqueueUnmapMemObject(
    queue: CommandQueue,
    memobj: Buffer,
    mapped_ptr: Mapping | int,
    event_wait_list: Sequence[Event] | None = None,
    want_event: bool = False,
) -> Event | None:
    """Gives a mapped region back; `mapped_ptr` is the `Mapping`, or its address.

    Raises CL_INVALID_COMMAND_QUEUE, CL_INVALID_MEM_OBJECT, CL_INVALID_CONTEXT,
    CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_VALUE where nothing is mapped there.
    """
    routine = "clEnqueueUnmapMemObject"
    storage = memobj.storage
    mapping = next(
        (m for m in storage.mappings if m.buffer is memobj and (m is mapped_ptr or m.address == mapped_ptr)),
        None,
    )
    if mapping is None:
        raise CLError(CL_INVALID_VALUE, routine, f"nothing of {memobj.label} is mapped at {mapped_ptr!r:.60}")
    platform = queue.platform
    start = memobj.origin + mapping.offset
    stop = start + mapping.size
    writes = mapping.writes

    def run() -> int:
        if writes:
            storage.from_host(start, stop)
        return 0

    command = Command(
        queue,
        CL_COMMAND_UNMAP_MEM_OBJECT,
        platform.site(),
        run=run,
        holds=(memobj,),
        storages=(storage,),
        device_ns=platform.engine.costs.host_transfer(mapping.size if writes else 0),
        transfer=True,
    )
    if platform.engine.order is not None:
        access = (memobj, mapping.offset, mapping.offset + mapping.size, writes)
        command.uses = order.transfer((access,))
    event = submit(routine, queue, command, event_wait_list, want_event)
    storage.mappings.remove(mapping)
    memobj.map_count -= 1
    platform.epoch += 1
    return event
