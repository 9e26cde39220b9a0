"""The abstract CL interface over real implementations of OpenCL, through pyopencl.

What differs from pyopencl itself: references are given up when `release` is called, not when Python
collects; no event is kept that nobody asked for; programs are never taken from pyopencl's own cache on
disk; errors are `CLError`. `platforms()` is where to start, or `runtime.cl.discovery.open_device`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import pyopencl as cl

from runtime.cl import interface
from runtime.cl._pyopencl_base import Owned, calling, code_of, translated
from runtime.cl._pyopencl_events import PENDING_TRANSFERS, UserEvent, wait_for_events
from runtime.cl._pyopencl_memory import Buffer, create_buffer
from runtime.cl._pyopencl_program import Program, program_from_binaries, program_from_source
from runtime.cl._pyopencl_queue import Queue
from runtime.cl.codes import DeviceType, ErrorCode, MemFlags
from runtime.cl.interface import CLError, DeviceIdentity, Limits

if TYPE_CHECKING:
    from typing_extensions import Buffer as HostMemory

_create_context: Callable[..., Any] = cl.Context
_create_queue: Callable[..., Any] = cl.CommandQueue


def platforms() -> tuple[Platform, ...]:
    """All platforms that the loader finds; an empty tuple where there is none."""
    try:
        return tuple(Platform(raw) for raw in cl.get_platforms())
    except cl.Error as error:
        if code_of(error) == ErrorCode.CL_PLATFORM_NOT_FOUND_KHR:
            return ()
        raise translated(error, "clGetPlatformIDs") from None


class Platform(interface.Platform):
    """`interface.Platform` over a pyopencl platform."""

    __slots__ = ("_raw",)

    def __init__(self, raw: cl.Platform) -> None:
        self._raw = raw

    @property
    def native(self) -> Any:
        return self._raw

    @property
    def name(self) -> str:
        return _text(self._raw, cl.platform_info.NAME)

    @property
    def vendor(self) -> str:
        return _text(self._raw, cl.platform_info.VENDOR)

    @property
    def version(self) -> str:
        return _text(self._raw, cl.platform_info.VERSION)

    @property
    def extensions(self) -> frozenset[str]:
        return frozenset(_text(self._raw, cl.platform_info.EXTENSIONS).split())

    def devices(self, kind: DeviceType = DeviceType.ALL) -> tuple[Device, ...]:
        with calling("clGetDeviceIDs"):
            try:
                return tuple(Device(raw) for raw in self._raw.get_devices(int(kind)))
            except cl.Error as error:
                if code_of(error) == ErrorCode.CL_DEVICE_NOT_FOUND:
                    return ()
                raise

    def create_context(self, devices: Sequence[interface.Device]) -> Context:
        if not devices:
            raise CLError(ErrorCode.CL_INVALID_VALUE, "clCreateContext", "there is no device")
        for device in devices:
            if device.platform != self:
                reason = f"the device {device.name} is not of the platform {self.name}"
                raise CLError(ErrorCode.CL_INVALID_DEVICE, "clCreateContext", reason)
        with calling("clCreateContext"):
            return Context(_create_context([device.native for device in devices]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Platform) and bool(self._raw == other._raw)

    def __hash__(self) -> int:
        return hash(self._raw)

    def __repr__(self) -> str:
        return f"<pyopencl platform {self.name}, {self.version}>"


class Device(interface.Device):
    """`interface.Device` over a pyopencl device."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    @property
    def native(self) -> Any:
        return self._raw

    @cached_property
    def platform(self) -> Platform:
        return Platform(self._raw.get_info(cl.device_info.PLATFORM))

    @cached_property
    def kind(self) -> DeviceType:
        return DeviceType(cast(int, self._raw.get_info(cl.device_info.TYPE)))

    @cached_property
    def name(self) -> str:
        return _text(self._raw, cl.device_info.NAME)

    @cached_property
    def vendor(self) -> str:
        return _text(self._raw, cl.device_info.VENDOR)

    @cached_property
    def version(self) -> tuple[int, int]:
        return _version(_text(self._raw, cl.device_info.VERSION))

    @cached_property
    def extensions(self) -> frozenset[str]:
        return frozenset(_text(self._raw, cl.device_info.EXTENSIONS).split())

    @cached_property
    def limits(self) -> Limits:
        info = cl.device_info

        def number(query: int) -> int:
            return int(cast(int, self._raw.get_info(query)))

        return Limits(
            max_compute_units=number(info.MAX_COMPUTE_UNITS),
            max_work_item_dimensions=number(info.MAX_WORK_ITEM_DIMENSIONS),
            max_work_item_sizes=tuple(cast("list[int]", self._raw.get_info(info.MAX_WORK_ITEM_SIZES))),
            max_work_group_size=number(info.MAX_WORK_GROUP_SIZE),
            max_mem_alloc_size=number(info.MAX_MEM_ALLOC_SIZE),
            global_mem_size=number(info.GLOBAL_MEM_SIZE),
            local_mem_size=number(info.LOCAL_MEM_SIZE),
            max_constant_buffer_size=number(info.MAX_CONSTANT_BUFFER_SIZE),
            max_parameter_size=number(info.MAX_PARAMETER_SIZE),
            mem_base_addr_align_bits=number(info.MEM_BASE_ADDR_ALIGN),
            address_bits=number(info.ADDRESS_BITS),
            profiling_timer_resolution_ns=number(info.PROFILING_TIMER_RESOLUTION),
            image_support=bool(number(info.IMAGE_SUPPORT)),
        )

    @cached_property
    def identity(self) -> DeviceIdentity:
        return DeviceIdentity(
            platform_name=self.platform.name,
            platform_version=self.platform.version,
            device_name=self.name,
            device_vendor=self.vendor,
            device_version=_text(self._raw, cl.device_info.VERSION),
            driver_version=_text(self._raw, cl.device_info.DRIVER_VERSION),
        )

    @property
    def is_simulated(self) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and bool(self._raw == other._raw)

    def __hash__(self) -> int:
        return hash(self._raw)

    def __repr__(self) -> str:
        return f"<pyopencl device {self.name}>"


class Context(Owned, interface.Context):
    """`interface.Context` over a pyopencl context."""

    __slots__ = ("_devices",)

    _kind = "context"
    _invalid = ErrorCode.CL_INVALID_CONTEXT
    _count_query = cl.context_info.REFERENCE_COUNT
    _count_routine = "clGetContextInfo"

    def __init__(
        self, raw: Any, devices: tuple[Device, ...] | None = None, *, borrowed: bool = False
    ) -> None:
        super().__init__(raw, borrowed=borrowed)
        if devices is None:
            raws = cast("list[Any]", raw.get_info(cl.context_info.DEVICES))
            devices = tuple(Device(device) for device in raws)
        self._devices = devices

    def retain(self) -> Context:
        with calling("clRetainContext"):
            raw = cl.Context.from_int_ptr(self.live("clRetainContext").int_ptr, True)
        return Context(raw, self._devices)

    @property
    def devices(self) -> tuple[interface.Device, ...]:
        self.live("clGetContextInfo")
        return self._devices

    def create_queue(
        self, device: interface.Device, *, profiling: bool = False, out_of_order: bool = False
    ) -> Queue:
        routine = "clCreateCommandQueueWithProperties"
        self.live(routine)
        own = next((own for own in self._devices if own == device), None)
        if own is None:
            names = ", ".join(known.name for known in self._devices)
            reason = f"the device {device.name} is not of this context, which has: {names}"
            raise CLError(ErrorCode.CL_INVALID_DEVICE, routine, reason)
        properties = 0
        if profiling:
            properties |= cl.command_queue_properties.PROFILING_ENABLE
        if out_of_order:
            properties |= cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
        with calling(routine, lambda: f"profiling={profiling}, out_of_order={out_of_order} on {own.name}"):
            raw = _create_queue(self.live(routine), own.native, properties)
        return Queue(raw, own)

    def create_buffer(
        self, size: int, flags: MemFlags = MemFlags.READ_WRITE, host: HostMemory | None = None
    ) -> Buffer:
        return create_buffer(self.live("clCreateBuffer"), size, flags, host)

    def program_from_source(self, source: str) -> Program:
        return program_from_source(self.live("clCreateProgramWithSource"), self._devices, source)

    def program_from_binaries(self, binaries: Mapping[interface.Device, bytes]) -> Program:
        return program_from_binaries(self.live("clCreateProgramWithBinary"), self._devices, binaries)

    def create_user_event(self) -> UserEvent:
        with calling("clCreateUserEvent"):
            return UserEvent(cl.UserEvent(self.live("clCreateUserEvent")))

    def wait_for_events(self, events: Sequence[interface.Event]) -> None:
        self.live("clWaitForEvents")
        wait_for_events(events)


def pending_transfers() -> int:
    """How many host transfers' events are kept because they were not seen complete yet."""
    return len(PENDING_TRANSFERS)


def _text(raw: Any, query: int) -> str:
    return cast(str, raw.get_info(query)).strip("\0 ")


def _version(text: str) -> tuple[int, int]:
    found = re.match(r"OpenCL (\d+)\.(\d+)", text)
    if found is None:
        raise CLError(
            ErrorCode.CL_INVALID_VALUE,
            "clGetDeviceInfo",
            f"the device's version is {text!r}, but the standard wants 'OpenCL <major>.<minor> ...'",
        )
    return int(found[1]), int(found[2])
