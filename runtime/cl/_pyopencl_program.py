"""Programs and kernels of the pyopencl implementation.

Programs are pyopencl's inner `_Program`: its public `Program` keeps a cache on disk of its own, which
would answer builds that this interface's user means to make.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import pyopencl as cl

from runtime.cl import interface
from runtime.cl._pyopencl_base import Owned, calling, code_of, translated
from runtime.cl._pyopencl_memory import Buffer, Life
from runtime.cl._scalars import pack, packed_as
from runtime.cl.codes import BuildStatus, ErrorCode
from runtime.cl.interface import BuildError, CLError, KernelArgument, LocalMemory, WorkGroupInfo

if TYPE_CHECKING:
    from runtime.cl.pyopencl_device import Device

_RawProgram = cl._cl._Program

_BUILD_FAILURES = {
    ErrorCode.CL_BUILD_PROGRAM_FAILURE,
    ErrorCode.CL_COMPILE_PROGRAM_FAILURE,
    ErrorCode.CL_LINK_PROGRAM_FAILURE,
}


class Program(Owned, interface.Program):
    """`interface.Program` over pyopencl's uncached program."""

    __slots__ = ("_devices",)

    _kind = "program"
    _invalid = ErrorCode.CL_INVALID_PROGRAM
    _count_query = cl.program_info.REFERENCE_COUNT
    _count_routine = "clGetProgramInfo"

    def __init__(self, raw: Any, devices: tuple[Device, ...], *, borrowed: bool = False) -> None:
        super().__init__(raw, borrowed=borrowed)
        self._devices = devices

    def retain(self) -> Program:
        with calling("clRetainProgram"):
            raw = _RawProgram.from_int_ptr(self.live("clRetainProgram").int_ptr, True)
        return Program(raw, self._devices)

    def borrowed(self) -> Program:
        """A wrapper of this program for a kernel to give out."""
        with calling("clRetainProgram"):
            raw = _RawProgram.from_int_ptr(self.live("clRetainProgram").int_ptr, True)
        return Program(raw, self._devices, borrowed=True)

    @property
    def devices(self) -> tuple[interface.Device, ...]:
        self.live("clGetProgramInfo")
        return self._devices

    def build(self, options: str = "", devices: Sequence[interface.Device] | None = None) -> None:
        routine = "clBuildProgram"
        targets = self._devices if devices is None else tuple(devices)
        if not targets:
            raise CLError(ErrorCode.CL_INVALID_VALUE, routine, "the list of devices to build for is empty")
        for device in targets:
            self._own(device, routine)
        natives = None if devices is None else [device.native for device in targets]
        try:
            self.live(routine)._build(options=options.encode(), devices=natives)
        except cl.Error as error:
            failure = translated(error, routine, f"with options {options!r}")
            if code_of(error) not in _BUILD_FAILURES:
                raise failure from None
            log = "\n".join(filter(None, (self.build_log(device).strip() for device in targets)))
            raise BuildError(failure.code, failure.routine, failure.reason, log) from None

    def build_status(self, device: interface.Device) -> BuildStatus:
        return BuildStatus(cast(int, self._build_info(device, cl.program_build_info.STATUS)))

    def build_log(self, device: interface.Device) -> str:
        return cast(str, self._build_info(device, cl.program_build_info.LOG))

    def _build_info(self, device: interface.Device, query: int) -> object:
        routine = "clGetProgramBuildInfo"
        self._own(device, routine)
        with calling(routine):
            return cast(object, self.live(routine).get_build_info(device.native, query))

    def _own(self, device: interface.Device, routine: str) -> None:
        if device not in self._devices:
            names = ", ".join(own.name for own in self._devices)
            reason = f"the program is not for the device {device.name}, but for: {names}"
            raise CLError(ErrorCode.CL_INVALID_DEVICE, routine, reason)

    @property
    def source(self) -> str:
        with calling("clGetProgramInfo"):
            return cast(str, self.live("clGetProgramInfo").get_info(cl.program_info.SOURCE))

    @property
    def kernel_names(self) -> tuple[str, ...]:
        with calling("clGetProgramInfo", lambda: "kernel names are known once the program is built"):
            names = cast(str, self.live("clGetProgramInfo").get_info(cl.program_info.KERNEL_NAMES))
        return tuple(sorted(name for name in names.split(";") if name))

    @property
    def binaries(self) -> dict[interface.Device, bytes]:
        routine = "clGetProgramInfo"
        if not any(self.build_status(device) == BuildStatus.SUCCESS for device in self._devices):
            return {}  # some implementations call the program invalid then
        with calling(routine):
            binaries = cast("list[bytes]", self.live(routine).get_info(cl.program_info.BINARIES))
            handles = [raw.int_ptr for raw in self.live(routine).get_info(cl.program_info.DEVICES)]
        # The standard gives both in the program's own order, which need not be that of our devices.
        by_handle = {device.native.int_ptr: device for device in self._devices}
        found = {by_handle[handle]: binary for handle, binary in zip(handles, binaries, strict=True)}
        return {
            device: binary
            for device, binary in found.items()
            if binary and self.build_status(device) == BuildStatus.SUCCESS
        }

    def kernel(self, name: str) -> Kernel:
        with calling("clCreateKernel", lambda: f"kernel {name!r}"):
            raw = cl.Kernel(self.live("clCreateKernel"), name)
        return Kernel(raw, name, self.borrowed())


def program_from_source(context: Any, devices: tuple[Device, ...], source: str) -> Program:
    """`clCreateProgramWithSource` in pyopencl's context."""
    if not source:
        raise CLError(ErrorCode.CL_INVALID_VALUE, "clCreateProgramWithSource", "the source is empty")
    with calling("clCreateProgramWithSource"):
        return Program(_RawProgram(context, source), devices)


def program_from_binaries(
    context: Any, devices: tuple[Device, ...], binaries: Mapping[interface.Device, bytes]
) -> Program:
    """`clCreateProgramWithBinary` in pyopencl's context."""
    routine = "clCreateProgramWithBinary"
    if not binaries:
        raise CLError(ErrorCode.CL_INVALID_VALUE, routine, "there is no binary")
    chosen = tuple(device for device in devices if device in binaries)
    if len(chosen) != len(binaries):
        strange = ", ".join(device.name for device in binaries if device not in chosen)
        raise CLError(ErrorCode.CL_INVALID_DEVICE, routine, f"not devices of this context: {strange}")
    for device in chosen:
        if not binaries[device]:
            raise CLError(ErrorCode.CL_INVALID_VALUE, routine, f"the binary for {device.name} is empty")
    with calling(routine):
        raw = _RawProgram(context, [device.native for device in chosen], [binaries[d] for d in chosen])
    return Program(raw, chosen)


class _Arguments:
    """What was set as a kernel object's arguments, shared by the wrappers of that object."""

    __slots__ = ("buffers", "local_bytes", "packers")

    def __init__(self) -> None:
        self.buffers: tuple[Life, ...] = ()
        self.local_bytes = 0
        self.packers: dict[int, struct.Struct] = {}


class Kernel(Owned, interface.Kernel):
    """`interface.Kernel` over a pyopencl kernel."""

    __slots__ = ("_count", "_name", "_program", "arguments")

    _kind = "kernel"
    _invalid = ErrorCode.CL_INVALID_KERNEL
    _count_query = cl.kernel_info.REFERENCE_COUNT
    _count_routine = "clGetKernelInfo"

    def __init__(self, raw: Any, name: str, program: Program, arguments: _Arguments | None = None) -> None:
        super().__init__(raw)
        self._name = name
        self._program: Program | None = program
        self.arguments = arguments or _Arguments()
        self._count = cast(int, raw.get_info(cl.kernel_info.NUM_ARGS))

    def retain(self) -> Kernel:
        with calling("clRetainKernel"):
            raw = cl.Kernel.from_int_ptr(self.live("clRetainKernel").int_ptr, True)
        return Kernel(raw, self._name, self.program.borrowed(), self.arguments)

    def release(self) -> None:
        super().release()
        self.arguments = _Arguments()
        self._program = None

    @property
    def name(self) -> str:
        return self._name

    @property
    def argument_count(self) -> int:
        return self._count

    @property
    def program(self) -> Program:
        if self._program is None:
            raise self.used_after_release("clGetKernelInfo")
        return self._program

    def check_arguments(self, device: interface.Device, routine: str) -> None:
        """Refuses arguments that a driver may crash on: dead buffers, more local memory than there is."""
        arguments = self.arguments
        for life in arguments.buffers:
            if not life.wrappers:
                reason = f"a buffer of {life.size} bytes, an argument of kernel {self._name}, was released"
                raise CLError(ErrorCode.CL_INVALID_KERNEL_ARGS, routine, reason)
        if arguments.local_bytes and arguments.local_bytes > device.limits.local_mem_size:
            reason = (
                f"kernel {self._name} wants {arguments.local_bytes} bytes of local memory, "
                f"the device has {device.limits.local_mem_size}"
            )
            raise CLError(ErrorCode.CL_OUT_OF_RESOURCES, routine, reason)

    def set_args(self, *args: KernelArgument) -> None:
        routine = "clSetKernelArg"
        self.live(routine)
        if len(args) != self._count:
            reason = f"kernel {self._name} takes {self._count} arguments, but {len(args)} were given"
            raise CLError(ErrorCode.CL_INVALID_KERNEL_ARGS, routine, reason)
        buffers = tuple(argument.life for argument in args if isinstance(argument, Buffer))
        self.arguments.buffers += buffers  # if one is refused, some arguments are the new ones
        for index, argument in enumerate(args):
            try:
                self._set(index, argument)
            except cl.Error as error:
                reason = f"argument {index} of kernel {self._name}, given as {argument!r}"
                raise translated(error, routine, reason) from None
        self.arguments.buffers = buffers
        self.arguments.local_bytes = sum(arg.size_bytes for arg in args if isinstance(arg, LocalMemory))

    def _set(self, index: int, argument: KernelArgument) -> None:
        routine = "clSetKernelArg"
        if isinstance(argument, Buffer):
            self._raw.set_arg(index, argument.live(routine))
        elif argument is None:
            self._raw._set_arg_null(index)
        elif isinstance(argument, LocalMemory):
            self._raw.set_arg(index, cl.LocalMemory(argument.size_bytes))
        elif type(argument) in (int, float, bool):
            self._raw._set_arg_buf(index, self._packed(index, cast(float, argument)))
        elif isinstance(argument, interface.CLObject):
            reason = f"argument {index} of kernel {self._name} is {argument!r}, no buffer of this context"
            raise CLError(ErrorCode.CL_INVALID_ARG_VALUE, routine, reason)
        else:
            self._raw._set_arg_buf(index, argument)

    def _packed(self, index: int, number: int | float) -> bytes:
        where = f"argument {index} of kernel {self._name}"
        packer = self.arguments.packers.get(index)
        if packer is None:
            try:
                declared = cast(str, self._raw.get_arg_info(index, cl.kernel_arg_info.TYPE_NAME))
            except cl.Error:
                declared = "not known (build with -cl-kernel-arg-info)"
            packer = self.arguments.packers[index] = packed_as(declared, number, where)
        return pack(packer, number, where)

    def work_group_info(self, device: interface.Device) -> WorkGroupInfo:
        routine = "clGetKernelWorkGroupInfo"
        info = cl.kernel_work_group_info
        with calling(routine, lambda: f"kernel {self._name} on {device.name}"):
            native = device.native

            def ask(query: int) -> Any:
                return self.live(routine).get_work_group_info(query, native)

            x, y, z = cast("Iterable[int]", ask(info.COMPILE_WORK_GROUP_SIZE))
            return WorkGroupInfo(
                work_group_size=ask(info.WORK_GROUP_SIZE),
                compile_work_group_size=(x, y, z),
                local_mem_size=ask(info.LOCAL_MEM_SIZE),
                preferred_multiple=ask(info.PREFERRED_WORK_GROUP_SIZE_MULTIPLE),
                private_mem_size=ask(info.PRIVATE_MEM_SIZE),
            )
