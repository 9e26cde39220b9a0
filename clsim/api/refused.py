"""Entry points of features that clsim does not run: each refused with the standard's nearest code.

On a device that does not claim the feature that is what the standard says; on one that does, it is also a
`not-simulated` finding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from clsim.api.entry import device, entry, live
from clsim.objects import CommandQueue, Context, Device, Kernel, Platform, Program
from clsim.spec import (
    CL_DEVICE_PARTITION_FAILED,
    CL_INVALID_OPERATION,
    CL_INVALID_VALUE,
    CLError,
)


def refusal(
    routine: str, platform: Platform, feature: str, claim: str = "", code: int = CL_INVALID_OPERATION
) -> CLError:
    """The error to raise; reported where the profile's `claim` says that the device has the feature."""
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
    return CLError(code, routine, reason)


@entry(live("context", Context))
def clCreateSampler(context: Context, normalized: bool, addressing_mode: int, filter_mode: int) -> object:
    """Raises CL_INVALID_CONTEXT, CL_INVALID_OPERATION: no device has images."""
    raise refusal("clCreateSampler", context.platform, "images", "CL_DEVICE_IMAGE_SUPPORT")


@entry(live("context", Context))
def clCreateSamplerWithProperties(context: Context, properties: Sequence[int] | None = None) -> object:
    """Raises CL_INVALID_CONTEXT, CL_INVALID_OPERATION: no device has images."""
    raise refusal("clCreateSamplerWithProperties", context.platform, "images", "CL_DEVICE_IMAGE_SUPPORT")


@entry(live("context", Context))
def clCreatePipe(
    context: Context, flags: int, packet_size: int, max_packets: int, properties: Sequence[int] | None = None
) -> object:
    """Raises CL_INVALID_CONTEXT, CL_INVALID_OPERATION."""
    raise refusal("clCreatePipe", context.platform, "pipes", "CL_DEVICE_PIPE_SUPPORT")


@entry(live("context", Context))
def clCreateProgramWithIL(context: Context, il: bytes) -> object:
    """Raises CL_INVALID_CONTEXT, CL_INVALID_OPERATION: no device takes an intermediate language."""
    raise refusal("clCreateProgramWithIL", context.platform, "intermediate language", "CL_DEVICE_IL_VERSION")


@entry(live("context", Context))
def clCreateProgramWithBuiltInKernels(
    context: Context, devices: Sequence[Device], kernel_names: str
) -> object:
    """Raises CL_INVALID_CONTEXT, CL_INVALID_VALUE: there are no built-in kernels."""
    raise refusal(
        "clCreateProgramWithBuiltInKernels",
        context.platform,
        "built-in kernels",
        "CL_DEVICE_BUILT_IN_KERNELS",
        CL_INVALID_VALUE,
    )


@entry(device("device"))
def clCreateSubDevices(device: Device, properties: Sequence[int]) -> object:
    """Raises CL_INVALID_DEVICE, CL_DEVICE_PARTITION_FAILED."""
    raise refusal(
        "clCreateSubDevices",
        device.platform,
        "sub-devices",
        "CL_DEVICE_PARTITION_MAX_SUB_DEVICES",
        CL_DEVICE_PARTITION_FAILED,
    )


@entry(live("queue", CommandQueue))
def clEnqueueNativeKernel(
    queue: CommandQueue, function: Callable[..., None], arguments: Any = None
) -> object:
    """Raises CL_INVALID_COMMAND_QUEUE, CL_INVALID_OPERATION: the device runs no native kernels."""
    raise refusal("clEnqueueNativeKernel", queue.platform, "native kernels")


@entry(live("kernel", Kernel))
def clSetKernelArgSVMPointer(kernel: Kernel, arg_index: int, arg_value: int) -> None:
    """Raises CL_INVALID_KERNEL, CL_INVALID_OPERATION: no device has shared virtual memory."""
    raise refusal(
        "clSetKernelArgSVMPointer", kernel.platform, "shared virtual memory", "CL_DEVICE_SVM_CAPABILITIES"
    )


@entry(live("kernel", Kernel))
def clSetKernelExecInfo(kernel: Kernel, param_name: int, param_value: Any) -> None:
    """Raises CL_INVALID_KERNEL, CL_INVALID_OPERATION: no device has shared virtual memory."""
    raise refusal(
        "clSetKernelExecInfo", kernel.platform, "shared virtual memory", "CL_DEVICE_SVM_CAPABILITIES"
    )


@entry(live("program", Program))
def clSetProgramReleaseCallback(program: Program, callback: Callable[[], None]) -> None:
    """Raises CL_INVALID_PROGRAM, CL_INVALID_OPERATION: program-scope objects have no destructors."""
    raise refusal("clSetProgramReleaseCallback", program.platform, "destructors of program-scope objects")


@entry(live("program", Program))
def clSetProgramSpecializationConstant(program: Program, spec_id: int, value: bytes) -> None:
    """Raises CL_INVALID_PROGRAM, CL_INVALID_OPERATION: no device takes an intermediate language."""
    raise refusal(
        "clSetProgramSpecializationConstant",
        program.platform,
        "intermediate language",
        "CL_DEVICE_IL_VERSION",
    )


@entry(live("context", Context), device("device"))
def clSetDefaultDeviceCommandQueue(context: Context, device: Device, queue: CommandQueue) -> None:
    """Raises CL_INVALID_CONTEXT, CL_INVALID_DEVICE, CL_INVALID_OPERATION: there are no device queues."""
    raise refusal(
        "clSetDefaultDeviceCommandQueue", context.platform, "device queues", "CL_DEVICE_MAX_ON_DEVICE_QUEUES"
    )


@entry(live("kernel", Kernel))
def clGetKernelSubGroupInfo(
    kernel: Kernel, device: Device | None, param_name: int, input_value: Any = None
) -> object:
    """Raises CL_INVALID_KERNEL, CL_INVALID_OPERATION: no device has sub-groups."""
    raise refusal("clGetKernelSubGroupInfo", kernel.platform, "sub-groups", "CL_DEVICE_MAX_NUM_SUB_GROUPS")
