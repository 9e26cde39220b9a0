"""Buffers, sub-buffers and what is common to memory objects (sections 5.2 and 5.5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clsim.api.entry import entry, live
from clsim.api.info import answer
from clsim.checks import lifetime
from clsim.objects import Buffer, Context, Storage
from clsim.spec import (
    CL_BUFFER_CREATE_TYPE_REGION,
    CL_INVALID_BUFFER_SIZE,
    CL_INVALID_HOST_PTR,
    CL_INVALID_MEM_OBJECT,
    CL_INVALID_PROPERTY,
    CL_INVALID_VALUE,
    CL_MEM_ALLOC_HOST_PTR,
    CL_MEM_ASSOCIATED_MEMOBJECT,
    CL_MEM_CONTEXT,
    CL_MEM_COPY_HOST_PTR,
    CL_MEM_FLAGS,
    CL_MEM_HOST_NO_ACCESS,
    CL_MEM_HOST_PTR,
    CL_MEM_HOST_READ_ONLY,
    CL_MEM_HOST_WRITE_ONLY,
    CL_MEM_MAP_COUNT,
    CL_MEM_OBJECT_ALLOCATION_FAILURE,
    CL_MEM_OBJECT_BUFFER,
    CL_MEM_OFFSET,
    CL_MEM_PROPERTIES,
    CL_MEM_READ_ONLY,
    CL_MEM_READ_WRITE,
    CL_MEM_REFERENCE_COUNT,
    CL_MEM_SIZE,
    CL_MEM_TYPE,
    CL_MEM_USE_HOST_PTR,
    CL_MEM_USES_SVM_POINTER,
    CL_MEM_WRITE_ONLY,
    CL_MISALIGNED_SUB_BUFFER_OFFSET,
    CLError,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

_KERNEL_ACCESS = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY
_HOST_ACCESS = CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS
_HOST_MEMORY = CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR
_ALL_FLAGS = _KERNEL_ACCESS | _HOST_ACCESS | _HOST_MEMORY

_EXCLUSIVE = (
    (CL_MEM_READ_WRITE, CL_MEM_WRITE_ONLY),
    (CL_MEM_READ_WRITE, CL_MEM_READ_ONLY),
    (CL_MEM_WRITE_ONLY, CL_MEM_READ_ONLY),
    (CL_MEM_ALLOC_HOST_PTR, CL_MEM_USE_HOST_PTR),
    (CL_MEM_COPY_HOST_PTR, CL_MEM_USE_HOST_PTR),
    (CL_MEM_HOST_WRITE_ONLY, CL_MEM_HOST_READ_ONLY),
    (CL_MEM_HOST_WRITE_ONLY, CL_MEM_HOST_NO_ACCESS),
    (CL_MEM_HOST_READ_ONLY, CL_MEM_HOST_NO_ACCESS),
)

_NOT_IN_SUB_BUFFER = (
    # (a flag of the parent, flags that a sub-buffer of it must not have)
    (CL_MEM_WRITE_ONLY, CL_MEM_READ_WRITE | CL_MEM_READ_ONLY),
    (CL_MEM_READ_ONLY, CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY),
    (CL_MEM_HOST_WRITE_ONLY, CL_MEM_HOST_READ_ONLY),
    (CL_MEM_HOST_READ_ONLY, CL_MEM_HOST_WRITE_ONLY),
    (CL_MEM_HOST_NO_ACCESS, CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY),
)


def host_bytes(
    routine: str, name: str, memory: object, code: int, *, writable: bool = False
) -> NDArray[np.uint8]:
    """Anything with the buffer protocol as one-dimensional bytes of the same memory.

    Raises `code` for what is not host memory, not C-contiguous, or read-only where it is to be written.
    """
    try:
        view = memoryview(memory)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise CLError(code, routine, f"{name} is not host memory: {type(memory).__name__}") from None
    if not view.c_contiguous:
        raise CLError(code, routine, f"{name} is not C-contiguous")
    if writable and view.readonly:
        raise CLError(code, routine, f"{name} is read-only memory")
    return np.frombuffer(view, np.uint8)


def _check_flags(routine: str, flags: int) -> None:
    if flags & ~_ALL_FLAGS:
        raise CLError(
            CL_INVALID_VALUE, routine, f"flags {flags:#x} have unknown bits {flags & ~_ALL_FLAGS:#x}"
        )
    for first, second in _EXCLUSIVE:
        if flags & first and flags & second:
            raise CLError(CL_INVALID_VALUE, routine, f"flags {first:#x} and {second:#x} exclude each other")


@entry(live("context", Context))
def clCreateBuffer(context: Context, flags: int, size: int, host_ptr: object = None) -> Buffer:
    """A buffer of `size` bytes; `host_ptr` is anything with the buffer protocol.

    Raises CL_INVALID_CONTEXT, CL_INVALID_VALUE, CL_INVALID_BUFFER_SIZE, CL_INVALID_HOST_PTR,
    CL_MEM_OBJECT_ALLOCATION_FAILURE.
    """
    return _create_buffer("clCreateBuffer", context, flags, size, host_ptr, None)


@entry(live("context", Context))
def clCreateBufferWithProperties(
    context: Context, properties: Sequence[int] | None, flags: int, size: int, host_ptr: object = None
) -> Buffer:
    """As clCreateBuffer; there are no properties a buffer could have yet. CL_INVALID_PROPERTY for any."""
    routine = "clCreateBufferWithProperties"
    names = [p for p in properties or () if p != 0]
    if names:
        raise CLError(CL_INVALID_PROPERTY, routine, f"property {names[0]:#x} is not known")
    array = None if properties is None else tuple(properties) or (0,)
    return _create_buffer(routine, context, flags, size, host_ptr, array)


def _create_buffer(
    routine: str,
    context: Context,
    flags: int,
    size: int,
    host_ptr: object,
    properties: tuple[int, ...] | None,
) -> Buffer:
    _check_flags(routine, flags)
    largest = max(device.max_alloc for device in context.devices)
    if size <= 0:
        raise CLError(CL_INVALID_BUFFER_SIZE, routine, f"size is {size}; a buffer has at least 1 byte")
    if size > largest:
        raise CLError(
            CL_INVALID_BUFFER_SIZE, routine, f"size {size} is over CL_DEVICE_MAX_MEM_ALLOC_SIZE {largest}"
        )
    wants_host = bool(flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR))
    if wants_host != (host_ptr is not None):
        reason = "host_ptr is NULL" if wants_host else "host_ptr is given without USE or COPY_HOST_PTR"
        raise CLError(CL_INVALID_HOST_PTR, routine, reason)
    host = None
    if host_ptr is not None:
        host = host_bytes(routine, "host_ptr", host_ptr, CL_INVALID_HOST_PTR)
        if host.size < size:
            raise CLError(CL_INVALID_HOST_PTR, routine, f"host_ptr has {host.size} bytes, size is {size}")
        host = host[:size]
    platform = context.platform
    total = max(device.global_memory for device in context.devices)
    used = platform.ledger.bytes("buffer")
    if used + size > total:
        raise CLError(
            CL_MEM_OBJECT_ALLOCATION_FAILURE,
            routine,
            f"{size} bytes on top of the {used} in use are over the device's {total}",
        )
    keep = host if flags & CL_MEM_USE_HOST_PTR else None
    try:
        storage = Storage(size, platform.allocate_address(size), keep, platform.in_place)
    except MemoryError:
        raise CLError(
            CL_MEM_OBJECT_ALLOCATION_FAILURE, routine, f"the host has no {size} bytes left"
        ) from None
    if host is not None and keep is None:
        storage.data[:] = host
    return Buffer(
        context,
        platform.site(),
        flags if flags & _KERNEL_ACCESS else flags | CL_MEM_READ_WRITE,
        size,
        storage,
        host_ptr=host_ptr if keep is not None else None,
        properties=properties,
    )


@entry(live("buffer", Buffer))
def clCreateSubBuffer(
    buffer: Buffer, flags: int, create_type: int, create_info: tuple[int, int] | None
) -> Buffer:
    """A view of `(origin, size)` bytes of a buffer.

    Raises CL_INVALID_MEM_OBJECT, CL_INVALID_VALUE, CL_INVALID_BUFFER_SIZE,
    CL_MISALIGNED_SUB_BUFFER_OFFSET.
    """
    routine = "clCreateSubBuffer"
    if buffer.parent is not None:
        raise CLError(CL_INVALID_MEM_OBJECT, routine, f"{buffer.label} is a sub-buffer itself")
    _check_flags(routine, flags)
    if flags & _HOST_MEMORY:
        raise CLError(CL_INVALID_VALUE, routine, "a sub-buffer takes no host pointer flags")
    for mine, forbidden in _NOT_IN_SUB_BUFFER:
        if buffer.flags & mine and flags & forbidden:
            raise CLError(
                CL_INVALID_VALUE,
                routine,
                f"flags {flags & forbidden:#x} do not go with the buffer's {mine:#x}",
            )
    if create_type != CL_BUFFER_CREATE_TYPE_REGION:
        raise CLError(CL_INVALID_VALUE, routine, f"create_type {create_type:#x} is not known")
    if create_info is None:
        raise CLError(CL_INVALID_VALUE, routine, "create_info is NULL")
    origin, size = create_info
    if size == 0:
        raise CLError(CL_INVALID_BUFFER_SIZE, routine, "the region's size is 0")
    if origin < 0 or size < 0 or origin + size > buffer.size:
        raise CLError(
            CL_INVALID_VALUE, routine, f"bytes {origin} to {origin + size} are not within {buffer.size}"
        )
    best = min(device.base_align for device in buffer.context.devices)
    if all(origin % device.base_align for device in buffer.context.devices):
        raise CLError(
            CL_MISALIGNED_SUB_BUFFER_OFFSET,
            routine,
            f"origin {origin} is not a multiple of {best} bytes (CL_DEVICE_MEM_BASE_ADDR_ALIGN)",
        )
    inherited = flags
    if not flags & _KERNEL_ACCESS:
        inherited |= buffer.flags & _KERNEL_ACCESS
    if not flags & _HOST_ACCESS:
        inherited |= buffer.flags & _HOST_ACCESS
    inherited |= buffer.flags & _HOST_MEMORY
    return Buffer(
        buffer.context,
        buffer.platform.site(),
        inherited,
        size,
        buffer.storage,
        parent=buffer,
        origin=origin,
        host_ptr=buffer.host_ptr,
    )


@entry(live("memobj", Buffer))
def clRetainMemObject(memobj: Buffer) -> None:
    """Raises CL_INVALID_MEM_OBJECT."""
    memobj.retain()


@entry(live("memobj", Buffer))
def clReleaseMemObject(memobj: Buffer) -> None:
    """Gives up a reference; commands in flight and sub-buffers keep the object. CL_INVALID_MEM_OBJECT."""
    memobj.release(memobj.platform.site())
    if memobj.references == 0 and memobj.holds:
        lifetime.released_before_user_event(memobj)


@entry(live("memobj", Buffer))
def clSetMemObjectDestructorCallback(memobj: Buffer, callback: Callable[[], None]) -> None:
    """Has `callback()` called when the object ends, the latest registered first.

    Raises CL_INVALID_MEM_OBJECT, CL_INVALID_VALUE for no callback.
    """
    if not callable(callback):
        raise CLError(CL_INVALID_VALUE, "clSetMemObjectDestructorCallback", "callback is NULL")
    memobj.end_callbacks.append(callback)


def _host_pointer(buffer: Buffer) -> Any:
    """The host memory as the program gave it; for a sub-buffer, its part of it."""
    if buffer.host_ptr is None:
        return None
    if buffer.parent is None:
        return buffer.host_ptr
    return memoryview(buffer.host_ptr).cast("B")[buffer.origin :]  # type: ignore[arg-type]


MEM_INFO = {
    CL_MEM_TYPE: lambda m: CL_MEM_OBJECT_BUFFER,
    CL_MEM_FLAGS: lambda m: m.flags,
    CL_MEM_SIZE: lambda m: m.size,
    CL_MEM_HOST_PTR: _host_pointer,
    CL_MEM_MAP_COUNT: lambda m: m.map_count,
    CL_MEM_REFERENCE_COUNT: lambda m: m.references,
    CL_MEM_CONTEXT: lambda m: m.context,
    CL_MEM_ASSOCIATED_MEMOBJECT: lambda m: m.parent,
    CL_MEM_OFFSET: lambda m: m.origin,
    CL_MEM_USES_SVM_POINTER: lambda m: False,
    CL_MEM_PROPERTIES: lambda m: list(m.properties or ()),
}


@entry(live("memobj", Buffer))
def clGetMemObjectInfo(memobj: Buffer, param_name: int) -> Any:
    """Raises CL_INVALID_MEM_OBJECT, CL_INVALID_VALUE."""
    return answer("clGetMemObjectInfo", MEM_INFO, param_name, memobj)
