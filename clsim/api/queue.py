"""Command queues, flush and finish (sections 5.1 and 5.15)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clsim.api.entry import device, entry, live
from clsim.api.info import answer
from clsim.api.submit import told_of_fault
from clsim.objects import CommandQueue, Context, Device
from clsim.spec import (
    CL_INVALID_COMMAND_QUEUE,
    CL_INVALID_DEVICE,
    CL_INVALID_QUEUE_PROPERTIES,
    CL_INVALID_VALUE,
    CL_OUT_OF_RESOURCES,
    CL_QUEUE_CONTEXT,
    CL_QUEUE_DEVICE,
    CL_QUEUE_DEVICE_DEFAULT,
    CL_QUEUE_ON_DEVICE,
    CL_QUEUE_ON_DEVICE_DEFAULT,
    CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE,
    CL_QUEUE_PROFILING_ENABLE,
    CL_QUEUE_PROPERTIES,
    CL_QUEUE_PROPERTIES_ARRAY,
    CL_QUEUE_REFERENCE_COUNT,
    CL_QUEUE_SIZE,
    CLError,
)

_HOST_BITS = CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE
_ALL_BITS = _HOST_BITS | CL_QUEUE_ON_DEVICE | CL_QUEUE_ON_DEVICE_DEFAULT


def _check_device(routine: str, context: Context, device: Device) -> None:
    if device not in context.devices:
        raise CLError(CL_INVALID_DEVICE, routine, f"{device.label} is not in {context.label}")


def _check_bits(routine: str, device: Device, properties: int, valid: int) -> None:
    if properties & ~valid:
        raise CLError(CL_INVALID_VALUE, routine, f"properties {properties:#x} have bits outside {valid:#x}")
    if properties & CL_QUEUE_ON_DEVICE_DEFAULT and not properties & CL_QUEUE_ON_DEVICE:
        raise CLError(CL_INVALID_VALUE, routine, "CL_QUEUE_ON_DEVICE_DEFAULT needs CL_QUEUE_ON_DEVICE")
    if properties & CL_QUEUE_ON_DEVICE:
        raise CLError(CL_INVALID_QUEUE_PROPERTIES, routine, "device queues are not simulated")
    unsupported = properties & ~device.queue_properties
    if unsupported:
        raise CLError(
            CL_INVALID_QUEUE_PROPERTIES,
            routine,
            f"{device.label} does not support properties {unsupported:#x}",
        )


@entry(live("context", Context), device("device"))
def clCreateCommandQueue(context: Context, device: Device, properties: int = 0) -> CommandQueue:
    """Raises CL_INVALID_CONTEXT, CL_INVALID_DEVICE, CL_INVALID_VALUE, CL_INVALID_QUEUE_PROPERTIES."""
    _check_device("clCreateCommandQueue", context, device)
    _check_bits("clCreateCommandQueue", device, properties, _HOST_BITS)
    return CommandQueue(context, device, context.platform.site(), properties)


@entry(live("context", Context), device("device"))
def clCreateCommandQueueWithProperties(
    context: Context, device: Device, properties: Sequence[int] | None = None
) -> CommandQueue:
    """`properties`: names and values, a final 0 may be left out.

    Raises CL_INVALID_CONTEXT, CL_INVALID_DEVICE, CL_INVALID_VALUE, CL_INVALID_QUEUE_PROPERTIES;
    CL_INVALID_OPERATION on a device before version 2.0, which does not have this entry point.
    """
    routine = "clCreateCommandQueueWithProperties"
    _check_device(routine, context, device)
    pairs = list(properties or ())
    if pairs and pairs[-1] == 0 and len(pairs) % 2:
        pairs.pop()
    if len(pairs) % 2:
        raise CLError(CL_INVALID_VALUE, routine, "the property list ends with a name without a value")
    bits = 0
    for name, value in zip(pairs[::2], pairs[1::2], strict=True):
        if name == CL_QUEUE_PROPERTIES:
            bits = value
        elif name != CL_QUEUE_SIZE or not bits & CL_QUEUE_ON_DEVICE:
            raise CLError(CL_INVALID_VALUE, routine, f"property {name:#x} is not known")
    _check_bits(routine, device, bits, _ALL_BITS)
    array = None if properties is None else (*pairs, 0)
    return CommandQueue(context, device, context.platform.site(), bits, array)


@entry(live("queue", CommandQueue))
def clRetainCommandQueue(queue: CommandQueue) -> None:
    """Raises CL_INVALID_COMMAND_QUEUE."""
    queue.retain()


@entry(live("queue", CommandQueue))
def clReleaseCommandQueue(queue: CommandQueue) -> None:
    """Gives up a reference; an implicit flush. The queue ends with its last command and event.

    Raises CL_INVALID_COMMAND_QUEUE.
    """
    site = queue.platform.site()
    if queue.references > 1:
        queue.platform.engine.flush(queue)
    queue.release(site)


QUEUE_INFO = {
    CL_QUEUE_CONTEXT: lambda q: q.context,
    CL_QUEUE_DEVICE: lambda q: q.device,
    CL_QUEUE_REFERENCE_COUNT: lambda q: q.references,
    CL_QUEUE_PROPERTIES: lambda q: q.properties,
    CL_QUEUE_PROPERTIES_ARRAY: lambda q: list(q.properties_array or ()),
    CL_QUEUE_DEVICE_DEFAULT: lambda q: None,
}


@entry(live("queue", CommandQueue))
def clGetCommandQueueInfo(queue: CommandQueue, param_name: int) -> Any:
    """Raises CL_INVALID_COMMAND_QUEUE (also for a query of device queues), CL_INVALID_VALUE."""
    if param_name == CL_QUEUE_SIZE:
        raise CLError(
            CL_INVALID_COMMAND_QUEUE, "clGetCommandQueueInfo", f"{queue.label} is not a device queue"
        )
    return answer("clGetCommandQueueInfo", QUEUE_INFO, param_name, queue)


@entry(live("queue", CommandQueue))
def clFlush(queue: CommandQueue) -> None:
    """Submits all commands enqueued so far. Raises CL_INVALID_COMMAND_QUEUE."""
    queue.platform.engine.flush(queue)


@entry(live("queue", CommandQueue))
def clFinish(queue: CommandQueue) -> None:
    """Blocks until all commands enqueued so far are complete.

    Raises CL_INVALID_COMMAND_QUEUE; the code of a wait that can never end, after a `deadlock` finding;
    CL_OUT_OF_RESOURCES for a kernel that left its memory, on devices that tell so late.
    """
    code = queue.platform.engine.finish(queue, f"clFinish on {queue.label}")
    if code:
        raise CLError(code, "clFinish", "nothing can end this wait; see the finding")
    if told_of_fault(queue):
        raise CLError(CL_OUT_OF_RESOURCES, "clFinish", "a kernel left its memory; see the finding")
