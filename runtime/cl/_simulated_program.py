"""Programs and kernels of the simulated implementation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from clsim import api, spec
from runtime.cl import interface
from runtime.cl._scalars import pack, packed_as
from runtime.cl._simulated_base import Calls, Simulated, calling, raw_device, translated
from runtime.cl._simulated_objects import Buffer
from runtime.cl.codes import BuildStatus, ErrorCode
from runtime.cl.interface import BuildError, CLError, KernelArgument, LocalMemory, WorkGroupInfo

_BUILD_FAILURES = {
    ErrorCode.CL_BUILD_PROGRAM_FAILURE,
    ErrorCode.CL_COMPILE_PROGRAM_FAILURE,
    ErrorCode.CL_LINK_PROGRAM_FAILURE,
}


class Program(Simulated, interface.Program):
    """`interface.Program` over a clsim program."""

    __slots__ = ()

    _kind = "program"
    _invalid = ErrorCode.CL_INVALID_PROGRAM
    _calls = Calls(
        api.clRetainProgram, api.clReleaseProgram, api.clGetProgramInfo, spec.CL_PROGRAM_REFERENCE_COUNT
    )

    def retain(self) -> Program:
        return Program(self.add_reference())

    @property
    def devices(self) -> tuple[interface.Device, ...]:
        from runtime.cl.simulated import Device

        return tuple(Device(raw) for raw in self.info(spec.CL_PROGRAM_DEVICES))

    def build(self, options: str = "", devices: Sequence[interface.Device] | None = None) -> None:
        chosen = None if devices is None else [raw_device(device) for device in devices]
        try:
            api.clBuildProgram(self.live("clBuildProgram"), chosen, options)
        except spec.CLError as error:
            if error.code not in _BUILD_FAILURES:
                raise translated(error) from None
            logs = (self.build_log(device).strip() for device in devices or self.devices)
            raise BuildError(error.code, error.routine, error.reason, "\n".join(filter(None, logs))) from None

    def build_status(self, device: interface.Device) -> BuildStatus:
        return BuildStatus(self._build_info(device, spec.CL_PROGRAM_BUILD_STATUS))

    def build_log(self, device: interface.Device) -> str:
        return cast(str, self._build_info(device, spec.CL_PROGRAM_BUILD_LOG))

    def _build_info(self, device: interface.Device, query: int) -> Any:
        with calling():
            return api.clGetProgramBuildInfo(self.live("clGetProgramBuildInfo"), raw_device(device), query)

    @property
    def source(self) -> str:
        return cast(str, self.info(spec.CL_PROGRAM_SOURCE))

    @property
    def kernel_names(self) -> tuple[str, ...]:
        return tuple(sorted(filter(None, self.info(spec.CL_PROGRAM_KERNEL_NAMES).split(";"))))

    @property
    def binaries(self) -> dict[interface.Device, bytes]:
        binaries = self.info(spec.CL_PROGRAM_BINARIES)
        return {
            device: binary
            for device, binary in zip(self.devices, binaries, strict=True)
            if binary and self.build_status(device) == BuildStatus.SUCCESS
        }

    def kernel(self, name: str) -> Kernel:
        with calling():
            return Kernel(api.clCreateKernel(self.live("clCreateKernel"), name))


class Kernel(Simulated, interface.Kernel):
    """`interface.Kernel` over a clsim kernel."""

    __slots__ = ()

    _kind = "kernel"
    _invalid = ErrorCode.CL_INVALID_KERNEL
    _calls = Calls(
        api.clRetainKernel, api.clReleaseKernel, api.clGetKernelInfo, spec.CL_KERNEL_REFERENCE_COUNT
    )

    def retain(self) -> Kernel:
        return Kernel(self.add_reference())

    @property
    def name(self) -> str:
        return cast(str, self._raw.name)

    @property
    def argument_count(self) -> int:
        return len(self._raw.parameters)

    @property
    def program(self) -> Program:
        return Program(self.info(spec.CL_KERNEL_PROGRAM), borrowed=True)

    def set_args(self, *args: KernelArgument) -> None:
        routine = "clSetKernelArg"
        raw = self.live(routine)
        if len(args) != len(raw.parameters):
            reason = f"kernel {raw.name} takes {len(raw.parameters)} arguments, but {len(args)} were given"
            raise CLError(ErrorCode.CL_INVALID_KERNEL_ARGS, routine, reason)
        with calling():
            for index, argument in enumerate(args):
                if isinstance(argument, Buffer):
                    api.clSetKernelArg(raw, index, None, argument.live(routine))
                elif isinstance(argument, LocalMemory):
                    api.clSetKernelArg(raw, index, argument.size_bytes, None)
                elif type(argument) in (int, float, bool):
                    api.clSetKernelArg(raw, index, None, self._packed(index, cast(float, argument)))
                elif isinstance(argument, interface.CLObject):
                    reason = (
                        f"argument {index} of kernel {raw.name} is {argument!r}, no buffer of this context"
                    )
                    raise CLError(ErrorCode.CL_INVALID_ARG_VALUE, routine, reason)
                else:
                    api.clSetKernelArg(raw, index, None, argument)

    def _packed(self, index: int, number: int | float) -> bytes:
        where = f"argument {index} of kernel {self._raw.name}"
        return pack(packed_as(self._raw.parameters[index].type_name, number, where), number, where)

    def work_group_info(self, device: interface.Device) -> WorkGroupInfo:
        def ask(query: int) -> Any:
            return api.clGetKernelWorkGroupInfo(
                self.live("clGetKernelWorkGroupInfo"), raw_device(device), query
            )

        with calling():
            x, y, z = ask(spec.CL_KERNEL_COMPILE_WORK_GROUP_SIZE)
            return WorkGroupInfo(
                work_group_size=ask(spec.CL_KERNEL_WORK_GROUP_SIZE),
                compile_work_group_size=(x, y, z),
                local_mem_size=ask(spec.CL_KERNEL_LOCAL_MEM_SIZE),
                preferred_multiple=ask(spec.CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE),
                private_mem_size=ask(spec.CL_KERNEL_PRIVATE_MEM_SIZE),
            )
