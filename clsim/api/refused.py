"""Entry points of features that clsim does not run: each refused with the standard's nearest code.

On a device that does not claim the feature that is what the standard says; on one that does, it is also a
`not-simulated` finding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from clsim.api.entry import device, entry, live
from clsim.objects import CommandQueue, Context, Device, Kernel, Platform, Program
from clsim.spec import (
    CL_DEVICE_PARTITION_FAILED,
    CL_INVALID_OPERATION,
    CL_INVALID_VALUE,
    CLError,
)


def refuse(routine: str, platform: Platform, feature: str, claim: str, code: int) -> NoReturn:
    """Raises `code`; reports it where the profile's `claim` says that the device has the feature."""
    claimed = bool(claim) and bool(platform.profile.info.get(claim))
    reason = f"the devices have no {feature}"
    if claimed:
        reason = f"clsim does not simulate {feature}, which the device claims"
        platform.findings.add(
            "not-simulated",
            "warning",
            f"{routine}: {reason}",
            objects=(platform.label,),
            sites=(("called", platform.site()),),
            advice='open the platform with claims="honest" to have devices without them',
        )
    raise CLError(code, routine, reason)


@entry(live("context", Context))
def clCreateSampler(context: Context, normalized: bool, addressing_mode: int, filter_mode: int) -> object:
    """Raises CL_INVALID_CONTEXT, CL_INVALID_OPERATION: no device has images."""
    refuse("clCreateSampler", context.platform, "images", "CL_DEVICE_IMAGE_SUPPORT", CL_INVALID_OPERATION)


@entry(live("context", Context))
def clCreateSamplerWithProperties(context: Context, properties: Sequence[int] | None = None) -> object:
    """Raises CL_INVALID_CONTEXT, CL_INVALID_OPERATION: no device has images."""
    routine = "clCreateSamplerWithProperties"
    refuse(routine, context.platform, "images", "CL_DEVICE_IMAGE_SUPPORT", CL_INVALID_OPERATION)


@entry(live("context", Context))
def clCreatePipe(
    context: Context, flags: int, packet_size: int, max_packets: int, properties: Sequence[int] | None = None
) -> object:
    """Raises CL_INVALID_CONTEXT, CL_INVALID_OPERATION."""
    refuse("clCreatePipe", context.platform, "pipes", "CL_DEVICE_PIPE_SUPPORT", CL_INVALID_OPERATION)


@entry(live("context", Context))
def clSVMAlloc(context: Context, flags: int, size: int, alignment: int = 0) -> None:
    """None, the standard's answer where no device has shared virtual memory."""


@entry(live("context", Context))
def clCreateProgramWithIL(context: Context, il: bytes) -> object:
    """Raises CL_INVALID_CONTEXT, CL_INVALID_OPERATION: no device takes an intermediate language."""
    routine = "clCreateProgramWithIL"
    refuse(routine, context.platform, "intermediate language", "CL_DEVICE_IL_VERSION", CL_INVALID_OPERATION)


@entry(live("context", Context))
def clCreateProgramWithBuiltInKernels(
    context: Context, devices: Sequence[Device], kernel_names: str
) -> object:
    """Raises CL_INVALID_CONTEXT, CL_INVALID_VALUE: there are no built-in kernels."""
    routine = "clCreateProgramWithBuiltInKernels"
    claim = "CL_DEVICE_BUILT_IN_KERNELS"
    refuse(routine, context.platform, "built-in kernels", claim, CL_INVALID_VALUE)


@entry(device("device"))
def clCreateSubDevices(device: Device, properties: Sequence[int]) -> object:
    """Raises CL_INVALID_DEVICE, CL_DEVICE_PARTITION_FAILED."""
    claim = "CL_DEVICE_PARTITION_MAX_SUB_DEVICES"
    refuse("clCreateSubDevices", device.platform, "sub-devices", claim, CL_DEVICE_PARTITION_FAILED)


@entry(live("queue", CommandQueue))
def clEnqueueNativeKernel(
    queue: CommandQueue, function: Callable[..., None], arguments: Any = None
) -> object:
    """Raises CL_INVALID_COMMAND_QUEUE, CL_INVALID_OPERATION: the device runs no native kernels."""
    refuse("clEnqueueNativeKernel", queue.platform, "native kernels", "", CL_INVALID_OPERATION)


@entry(live("kernel", Kernel))
def clSetKernelArgSVMPointer(kernel: Kernel, arg_index: int, arg_value: int) -> None:
    """Raises CL_INVALID_KERNEL, CL_INVALID_OPERATION: no device has shared virtual memory."""
    routine = "clSetKernelArgSVMPointer"
    claim = "CL_DEVICE_SVM_CAPABILITIES"
    refuse(routine, kernel.platform, "shared virtual memory", claim, CL_INVALID_OPERATION)


@entry(live("kernel", Kernel))
def clSetKernelExecInfo(kernel: Kernel, param_name: int, param_value: Any) -> None:
    """Raises CL_INVALID_KERNEL, CL_INVALID_OPERATION: no device has shared virtual memory."""
    claim = "CL_DEVICE_SVM_CAPABILITIES"
    refuse("clSetKernelExecInfo", kernel.platform, "shared virtual memory", claim, CL_INVALID_OPERATION)


@entry(live("program", Program))
def clSetProgramReleaseCallback(program: Program, callback: Callable[[], None]) -> None:
    """Raises CL_INVALID_PROGRAM, CL_INVALID_OPERATION: program-scope objects have no destructors."""
    routine = "clSetProgramReleaseCallback"
    refuse(routine, program.platform, "destructors of program-scope objects", "", CL_INVALID_OPERATION)


@entry(live("program", Program))
def clSetProgramSpecializationConstant(program: Program, spec_id: int, value: bytes) -> None:
    """Raises CL_INVALID_PROGRAM, CL_INVALID_OPERATION: no device takes an intermediate language."""
    routine = "clSetProgramSpecializationConstant"
    refuse(routine, program.platform, "intermediate language", "CL_DEVICE_IL_VERSION", CL_INVALID_OPERATION)


@entry(live("context", Context), device("device"))
def clSetDefaultDeviceCommandQueue(context: Context, device: Device, queue: CommandQueue) -> None:
    """Raises CL_INVALID_CONTEXT, CL_INVALID_DEVICE, CL_INVALID_OPERATION: there are no device queues."""
    routine = "clSetDefaultDeviceCommandQueue"
    claim = "CL_DEVICE_MAX_ON_DEVICE_QUEUES"
    refuse(routine, context.platform, "device queues", claim, CL_INVALID_OPERATION)


@entry(live("kernel", Kernel))
def clGetKernelSubGroupInfo(
    kernel: Kernel, device: Device | None, param_name: int, input_value: Any = None
) -> object:
    """Raises CL_INVALID_KERNEL, CL_INVALID_OPERATION: no device has sub-groups."""
    claim = "CL_DEVICE_MAX_NUM_SUB_GROUPS"
    refuse("clGetKernelSubGroupInfo", kernel.platform, "sub-groups", claim, CL_INVALID_OPERATION)
