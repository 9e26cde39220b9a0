"""Contexts (section 4.4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from clsim.api.entry import entry, live
from clsim.api.info import answer
from clsim.objects import Context, Device, Platform
from clsim.spec import (
    CL_CONTEXT_DEVICES,
    CL_CONTEXT_INTEROP_USER_SYNC,
    CL_CONTEXT_NUM_DEVICES,
    CL_CONTEXT_PLATFORM,
    CL_CONTEXT_PROPERTIES,
    CL_CONTEXT_REFERENCE_COUNT,
    CL_DEVICE_TYPE_ALL,
    CL_INVALID_DEVICE,
    CL_INVALID_PLATFORM,
    CL_INVALID_PROPERTY,
    CL_INVALID_VALUE,
    CLError,
)

_KNOWN_PROPERTIES = {CL_CONTEXT_PLATFORM, CL_CONTEXT_INTEROP_USER_SYNC}
_EXTENSION_PROPERTIES = {
    # Vendors' properties, each known only to devices that list its extension.
    0x40C9: "cl_qcom_priority_hint",
    0x40C2: "cl_qcom_perf_hint",
}


def _properties(routine: str, properties: Sequence[object], platform: Platform) -> tuple[Any, ...]:
    """Checks a list of names and values; a terminating 0 may be there or not."""
    pairs = list(properties)
    if pairs and pairs[-1] == 0 and len(pairs) % 2:
        pairs.pop()
    if len(pairs) % 2:
        raise CLError(CL_INVALID_PROPERTY, routine, "the property list ends with a name without a value")
    seen = set()
    for name, value in zip(pairs[::2], pairs[1::2], strict=True):
        if name in seen:
            raise CLError(CL_INVALID_PROPERTY, routine, f"property {name!r} is given twice")
        seen.add(name)
        extension = _EXTENSION_PROPERTIES.get(name) if isinstance(name, int) else None
        if name not in _KNOWN_PROPERTIES and extension not in platform.profile.extensions:
            raise CLError(CL_INVALID_PROPERTY, routine, f"property {name!r} is not known to this device")
        if name == CL_CONTEXT_PLATFORM and value is not platform:
            raise CLError(CL_INVALID_PLATFORM, routine, f"{value!r} is not the devices' platform")
    return tuple(pairs)


def clCreateContext(
    properties: Sequence[object] | None,
    devices: Sequence[Device],
    notify: Callable[[str], None] | None = None,
) -> Context:
    """A context over devices of one platform; `properties` are names and values, a final 0 may be left out.

    Raises CL_INVALID_VALUE for no devices, CL_INVALID_DEVICE, CL_INVALID_PROPERTY, CL_INVALID_PLATFORM.
    """
    if not devices:
        raise CLError(CL_INVALID_VALUE, "clCreateContext", "the list of devices is empty")
    for index, device in enumerate(devices):
        if not isinstance(device, Device):
            raise CLError(
                CL_INVALID_DEVICE, "clCreateContext", f"devices[{index}] is not a device: {device!r}"
            )
    return _create(tuple(devices), properties, notify)


@entry(subject=lambda devices, *_: devices[0], name="clCreateContext")
def _create(
    devices: tuple[Device, ...],
    properties: Sequence[object] | None,
    notify: Callable[[str], None] | None,
) -> Context:
    platform = devices[0].platform
    for index, device in enumerate(devices):
        if device.platform is not platform:
            raise CLError(CL_INVALID_DEVICE, "clCreateContext", f"devices[{index}] is of another platform")
    checked = () if properties is None else _properties("clCreateContext", properties, platform)
    # A device that is listed twice counts once.
    return Context(platform, platform.site(), tuple(dict.fromkeys(devices)), checked, notify)


def clCreateContextFromType(
    properties: Sequence[object] | None,
    platform: Platform,
    device_type: int = CL_DEVICE_TYPE_ALL,
    notify: Callable[[str], None] | None = None,
) -> Context:
    """A context over all devices of a type. Raises what clGetDeviceIDs and clCreateContext raise."""
    from clsim.api.platform import clGetDeviceIDs

    return clCreateContext(properties, clGetDeviceIDs(platform, device_type), notify)


@entry(live("context", Context))
def clRetainContext(context: Context) -> None:
    """Raises CL_INVALID_CONTEXT."""
    context.retain()


@entry(live("context", Context))
def clReleaseContext(context: Context) -> None:
    """Gives up a reference; queues, memory, programs and events keep the context. CL_INVALID_CONTEXT."""
    context.release(context.platform.site())


CONTEXT_INFO = {
    CL_CONTEXT_REFERENCE_COUNT: lambda c: c.references,
    CL_CONTEXT_NUM_DEVICES: lambda c: len(c.devices),
    CL_CONTEXT_DEVICES: lambda c: list(c.devices),
    CL_CONTEXT_PROPERTIES: lambda c: list(c.properties),
}


@entry(live("context", Context))
def clGetContextInfo(context: Context, param_name: int) -> Any:
    """Raises CL_INVALID_CONTEXT, CL_INVALID_VALUE."""
    return answer("clGetContextInfo", CONTEXT_INFO, param_name, context)


@entry(live("context", Context))
def clSetContextDestructorCallback(context: Context, callback: Callable[[], None]) -> None:
    """Has `callback()` called when the context ends, the latest registered first. OpenCL 3.0.

    Raises CL_INVALID_CONTEXT, CL_INVALID_VALUE for no callback, CL_INVALID_OPERATION before version 3.0.
    """
    routine = "clSetContextDestructorCallback"
    if not callable(callback):
        raise CLError(CL_INVALID_VALUE, routine, "callback is NULL")
    context.end_callbacks.append(callback)
