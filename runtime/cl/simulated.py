"""The abstract CL interface over clsim, the simulated platform."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import clsim
from clsim import api, profiles, spec
from runtime.cl import interface
from runtime.cl._simulated_base import Calls, Simulated, calling, raw_device
from runtime.cl._simulated_objects import Buffer, UserEvent, wait_for_events
from runtime.cl._simulated_program import Program
from runtime.cl._simulated_queue import Queue
from runtime.cl.codes import DeviceType, ErrorCode, MemFlags
from runtime.cl.interface import CLError, DeviceIdentity, Limits

if TYPE_CHECKING:
    from typing_extensions import Buffer as HostMemory


def open_platform(profile: str = "generic", **options: Any) -> Platform:
    """A new simulated platform; `options` are those of `clsim.Platform`."""
    return Platform(clsim.Platform(profile, **options))


def profile_names() -> tuple[str, ...]:
    """Names of the profiles that clsim ships."""
    return profiles.names()


class Platform(interface.Platform):
    """`interface.Platform` over a clsim platform; `native` leads to its ledger and findings."""

    __slots__ = ("_raw",)

    def __init__(self, raw: clsim.Platform) -> None:
        self._raw = raw

    @property
    def native(self) -> clsim.Platform:
        return self._raw

    @property
    def name(self) -> str:
        return self._text(spec.CL_PLATFORM_NAME)

    @property
    def vendor(self) -> str:
        return self._text(spec.CL_PLATFORM_VENDOR)

    @property
    def version(self) -> str:
        return self._text(spec.CL_PLATFORM_VERSION)

    @property
    def extensions(self) -> frozenset[str]:
        return frozenset(self._text(spec.CL_PLATFORM_EXTENSIONS).split())

    def _text(self, query: int) -> str:
        return str(api.clGetPlatformInfo(self._raw, query))

    def devices(self, kind: DeviceType = DeviceType.ALL) -> tuple[Device, ...]:
        with calling():
            try:
                return tuple(Device(raw) for raw in api.clGetDeviceIDs(self._raw, int(kind)))
            except spec.CLError as error:
                if error.code == ErrorCode.CL_DEVICE_NOT_FOUND:
                    return ()
                raise

    def create_context(self, devices: Sequence[interface.Device]) -> Context:
        for device in devices:
            if device.platform != self:
                reason = f"the device {device.name} is not of the platform {self.name}"
                raise CLError(ErrorCode.CL_INVALID_DEVICE, "clCreateContext", reason)
        with calling():
            return Context(api.clCreateContext(None, [raw_device(device) for device in devices]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Platform) and self._raw is other._raw

    def __hash__(self) -> int:
        return hash(self._raw)

    def __repr__(self) -> str:
        return f"<simulated platform {self.name}, {self.version}>"


class Device(interface.Device):
    """`interface.Device` over a clsim device."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    @property
    def native(self) -> Any:
        return self._raw

    @property
    def platform(self) -> Platform:
        return Platform(self._raw.platform)

    @property
    def kind(self) -> DeviceType:
        return DeviceType(self._ask(spec.CL_DEVICE_TYPE))

    @property
    def name(self) -> str:
        return str(self._ask(spec.CL_DEVICE_NAME))

    @property
    def vendor(self) -> str:
        return str(self._ask(spec.CL_DEVICE_VENDOR))

    @property
    def version(self) -> tuple[int, int]:
        major, minor = self._raw.version
        return major, minor

    @property
    def extensions(self) -> frozenset[str]:
        return frozenset(self._ask(spec.CL_DEVICE_EXTENSIONS).split())

    @cached_property
    def limits(self) -> Limits:
        ask = self._ask
        return Limits(
            max_compute_units=ask(spec.CL_DEVICE_MAX_COMPUTE_UNITS),
            max_work_item_dimensions=ask(spec.CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS),
            max_work_item_sizes=tuple(ask(spec.CL_DEVICE_MAX_WORK_ITEM_SIZES)),
            max_work_group_size=ask(spec.CL_DEVICE_MAX_WORK_GROUP_SIZE),
            max_mem_alloc_size=ask(spec.CL_DEVICE_MAX_MEM_ALLOC_SIZE),
            global_mem_size=ask(spec.CL_DEVICE_GLOBAL_MEM_SIZE),
            local_mem_size=ask(spec.CL_DEVICE_LOCAL_MEM_SIZE),
            max_constant_buffer_size=ask(spec.CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE),
            max_parameter_size=ask(spec.CL_DEVICE_MAX_PARAMETER_SIZE),
            mem_base_addr_align_bits=ask(spec.CL_DEVICE_MEM_BASE_ADDR_ALIGN),
            address_bits=ask(spec.CL_DEVICE_ADDRESS_BITS),
            profiling_timer_resolution_ns=ask(spec.CL_DEVICE_PROFILING_TIMER_RESOLUTION),
            image_support=bool(ask(spec.CL_DEVICE_IMAGE_SUPPORT)),
        )

    @cached_property
    def identity(self) -> DeviceIdentity:
        return DeviceIdentity(
            platform_name=self.platform.name,
            platform_version=self.platform.version,
            device_name=self.name,
            device_vendor=self.vendor,
            device_version=str(self._ask(spec.CL_DEVICE_VERSION)),
            driver_version=str(self._ask(spec.CL_DRIVER_VERSION)),
        )

    @property
    def is_simulated(self) -> bool:
        return True

    def _ask(self, query: int) -> Any:
        with calling():
            return api.clGetDeviceInfo(self._raw, query)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self._raw is other._raw

    def __hash__(self) -> int:
        return hash(self._raw)

    def __repr__(self) -> str:
        return f"<simulated device {self.name}>"


class Context(Simulated, interface.Context):
    """`interface.Context` over a clsim context."""

    __slots__ = ()

    _kind = "context"
    _invalid = ErrorCode.CL_INVALID_CONTEXT
    _calls = Calls(
        api.clRetainContext, api.clReleaseContext, api.clGetContextInfo, spec.CL_CONTEXT_REFERENCE_COUNT
    )

    def retain(self) -> Context:
        return Context(self.add_reference())

    @property
    def devices(self) -> tuple[interface.Device, ...]:
        return tuple(Device(raw) for raw in self.info(spec.CL_CONTEXT_DEVICES))

    def create_queue(
        self, device: interface.Device, *, profiling: bool = False, out_of_order: bool = False
    ) -> Queue:
        properties = spec.CL_QUEUE_PROFILING_ENABLE if profiling else 0
        if out_of_order:
            properties |= spec.CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE
        with calling():
            # The older entry point: the newer one came with OpenCL 2.0, and these properties need no more.
            raw = api.clCreateCommandQueue(self.live("clCreateCommandQueue"), raw_device(device), properties)
        return Queue(raw)

    def create_buffer(
        self, size: int, flags: MemFlags = MemFlags.READ_WRITE, host: HostMemory | None = None
    ) -> Buffer:
        with calling():
            return Buffer(api.clCreateBuffer(self.live("clCreateBuffer"), int(flags), size, host))

    def program_from_source(self, source: str) -> Program:
        routine = "clCreateProgramWithSource"
        if not source:
            raise CLError(ErrorCode.CL_INVALID_VALUE, routine, "the source is empty")
        with calling():
            return Program(api.clCreateProgramWithSource(self.live(routine), source))

    def program_from_binaries(self, binaries: Mapping[interface.Device, bytes]) -> Program:
        routine = "clCreateProgramWithBinary"
        with calling():
            return Program(
                api.clCreateProgramWithBinary(
                    self.live(routine), [raw_device(device) for device in binaries], list(binaries.values())
                )
            )

    def create_user_event(self) -> UserEvent:
        with calling():
            return UserEvent(api.clCreateUserEvent(self.live("clCreateUserEvent")))

    def wait_for_events(self, events: Sequence[interface.Event]) -> None:
        self.live("clWaitForEvents")
        wait_for_events(events)
