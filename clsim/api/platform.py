"""Querying platforms and devices (sections 4.1 and 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clsim.api.entry import a_platform, device, entry
from clsim.api.info import answer
from clsim.objects import Device, Platform
from clsim.spec import (
    CL_DEVICE_NOT_FOUND,
    CL_DEVICE_PLATFORM,
    CL_DEVICE_PROFILE,
    CL_DEVICE_TYPE_ACCELERATOR,
    CL_DEVICE_TYPE_ALL,
    CL_DEVICE_TYPE_CPU,
    CL_DEVICE_TYPE_CUSTOM,
    CL_DEVICE_TYPE_DEFAULT,
    CL_DEVICE_TYPE_GPU,
    CL_INVALID_DEVICE_TYPE,
    CL_INVALID_VALUE,
    CL_PLATFORM_EXTENSIONS,
    CL_PLATFORM_NAME,
    CL_PLATFORM_PROFILE,
    CL_PLATFORM_VENDOR,
    CL_PLATFORM_VERSION,
    CLError,
)

_KINDS = (
    CL_DEVICE_TYPE_DEFAULT
    | CL_DEVICE_TYPE_CPU
    | CL_DEVICE_TYPE_GPU
    | CL_DEVICE_TYPE_ACCELERATOR
    | CL_DEVICE_TYPE_CUSTOM
)

_installed: list[Platform] = []


def install(platform: Platform) -> None:
    """Lists a platform in `clGetPlatformIDs`, for hosts that find platforms there."""
    if platform not in _installed:
        _installed.append(platform)


def uninstall(platform: Platform) -> None:
    """Takes a platform off that list."""
    _installed.remove(platform)


def clGetPlatformIDs() -> tuple[Platform, ...]:
    """The installed platforms; none is no error here (a loader makes it one, see cl_khr_icd)."""
    return tuple(_installed)


PLATFORM_INFO = {
    CL_PLATFORM_PROFILE: lambda p: p.devices[0].info.get(CL_DEVICE_PROFILE, "FULL_PROFILE"),
    CL_PLATFORM_VERSION: lambda p: p.profile.platform_version,
    CL_PLATFORM_NAME: lambda p: p.profile.platform_name,
    CL_PLATFORM_VENDOR: lambda p: p.profile.platform_vendor,
    CL_PLATFORM_EXTENSIONS: lambda p: " ".join(sorted(p.profile.platform_extensions)),
}


@entry(a_platform("platform"))
def clGetPlatformInfo(platform: Platform, param_name: int) -> Any:
    """Raises CL_INVALID_PLATFORM, CL_INVALID_VALUE."""
    return answer("clGetPlatformInfo", PLATFORM_INFO, param_name, platform)


@entry(a_platform("platform"))
def clGetDeviceIDs(platform: Platform, device_type: int = CL_DEVICE_TYPE_ALL) -> Sequence[Device]:
    """Raises CL_INVALID_PLATFORM, CL_INVALID_DEVICE_TYPE, CL_DEVICE_NOT_FOUND."""
    if device_type != CL_DEVICE_TYPE_ALL and (not device_type or device_type & ~_KINDS):
        raise CLError(
            CL_INVALID_DEVICE_TYPE, "clGetDeviceIDs", f"device_type {device_type:#x} has no such bits"
        )
    found = [d for d in platform.devices if device_type == CL_DEVICE_TYPE_ALL or d.type & device_type]
    if device_type & CL_DEVICE_TYPE_DEFAULT and device_type != CL_DEVICE_TYPE_ALL and not found:
        found = [platform.devices[0]]
    if not found:
        kinds = ", ".join(sorted({d.profile.device_type for d in platform.devices}))
        raise CLError(CL_DEVICE_NOT_FOUND, "clGetDeviceIDs", f"the platform's devices are of type {kinds}")
    return found


@entry(device("device"))
def clGetDeviceInfo(device: Device, param_name: int) -> Any:
    """A value of the profile. Raises CL_INVALID_DEVICE; CL_INVALID_VALUE for a query the device lacks."""
    if param_name == CL_DEVICE_PLATFORM:
        return device.platform
    if param_name not in device.info:
        raise CLError(CL_INVALID_VALUE, "clGetDeviceInfo", f"no query of this number: {param_name!r:.40}")
    return device.info[param_name]


@entry(a_platform("platform"))
def clUnloadPlatformCompiler(platform: Platform) -> None:
    """A hint that may be ignored, and is. Raises CL_INVALID_PLATFORM."""


@entry(device("device"))
def clGetDeviceAndHostTimer(device: Device) -> tuple[int, int]:
    """The device's and the host's clock in nanoseconds: both the virtual one. Raises CL_INVALID_DEVICE."""
    now = device.platform.engine.now_ns
    return now, now


@entry(device("device"))
def clGetHostTimer(device: Device) -> int:
    """The virtual clock in nanoseconds. Raises CL_INVALID_DEVICE."""
    return device.platform.engine.now_ns


@entry(device("device"))
def clRetainDevice(device: Device) -> None:
    """Does nothing for a root device (section 4.3)."""


@entry(device("device"))
def clReleaseDevice(device: Device) -> None:
    """Does nothing for a root device (section 4.3)."""
