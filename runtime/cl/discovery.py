"""Devices by name, with one grammar everywhere.

| name | device |
|---|---|
| `sim`, `sim:adreno-750` | a simulated device, `generic` or of the profile named |
| `pocl` | PoCL on this machine's processor |
| `real`, `real:NVIDIA` | the first real device that works, with that text in its names |
| `real:0:1` | device 1 of platform 0, in the order of the OpenCL loader |

Real devices are tried once per process, with one build and one launch in a child process: some drivers end
the process that uses them where something is missing. CLRT_PROBE=0 leaves that out.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from runtime.cl.codes import ErrorCode
from runtime.cl.interface import CLError, Device

if TYPE_CHECKING:
    from runtime.cl._real_devices import RealDevice

GRAMMAR = "sim, sim:PROFILE, pocl, real, real:TEXT or real:PLATFORM:DEVICE"


def open_device(name: str | None = None, **sim_options: Any) -> Device:
    """The device of a name; None means the environment's CLRT_DEVICE, else `sim`.

    Each call with a simulated device makes a new platform, and `sim_options` are that platform's:
    `execution`, `schedule`, `seed`, `strict` and the others of `clsim.Platform`.

    Raises CLError (CL_DEVICE_NOT_FOUND) that says what there is, or CL_DEVICE_NOT_AVAILABLE that says why
    the device does not work; TypeError for options of a real device.
    """
    if name is None:
        name = os.environ.get("CLRT_DEVICE") or "sim"
    kind, _, rest = name.partition(":")
    if kind == "sim" and (rest or name == "sim"):
        return _simulated(name, rest or "generic", sim_options)
    if name == "pocl" or (kind == "real" and (rest or name == "real")):
        if sim_options:
            given = ", ".join(sim_options)
            raise TypeError(f"{name} is a real device, but {given} are options of simulated ones")
        return _first_working(name, _candidates(name, rest))
    raise _not_found(name, f"names of devices are {GRAMMAR}")


def list_devices() -> list[str]:
    """Names of all devices, each of which `open_device` takes; real ones untried."""
    from runtime.cl.simulated import profile_names

    return [f"sim:{profile}" for profile in profile_names()] + [real.name for real in _real_devices()]


def describe_devices(*, trial: bool = True) -> list[dict[str, Any]]:
    """All devices as values for JSON: name, what it is, its limits, and whether it works and why not.

    `works` is None for a real device where `trial` is false.
    """
    from runtime.cl.simulated import open_platform, profile_names

    rows = []
    for profile in profile_names():
        device = open_platform(profile).devices()[0]
        rows.append(_described(f"sim:{profile}", device, True, None))
    for real in _real_devices():
        fault = _fault(real) if trial else None
        rows.append(_described(real.name, real.device, fault is None if trial else None, fault))
    return rows


def _described(name: str, device: Device, works: bool | None, fault: str | None) -> dict[str, Any]:
    identity, limits = device.identity, device.limits
    return {
        "name": name,
        "simulated": device.is_simulated,
        "device": device.name,
        "vendor": device.vendor,
        "kind": (device.kind.name or "").split("|")[0].lower(),
        "platform": identity.platform_name,
        "platform_version": identity.platform_version,
        "device_version": identity.device_version,
        "driver_version": identity.driver_version,
        "compute_units": limits.max_compute_units,
        "global_mem_bytes": limits.global_mem_size,
        "local_mem_bytes": limits.local_mem_size,
        "max_alloc_bytes": limits.max_mem_alloc_size,
        "max_work_group_size": limits.max_work_group_size,
        "works": works,
        "fault": fault,
    }


def _simulated(name: str, profile: str, options: dict[str, Any]) -> Device:
    from runtime.cl.simulated import open_platform, profile_names

    names = profile_names()
    if profile not in names:
        raise _not_found(name, f"the profiles of simulated devices are {', '.join(names)}")
    return open_platform(profile, **options).devices()[0]


def _candidates(name: str, rest: str) -> list[RealDevice]:
    """The real devices that a name may mean, the best first; raises CL_DEVICE_NOT_FOUND for none."""
    missing = _missing_binding()
    if missing is not None:
        raise _not_found(name, missing)
    from runtime.cl._real_devices import by_preference, pocl_devices, real_devices

    if name == "pocl":
        found = pocl_devices()
        if not found:
            vendors = os.environ.get("OCL_ICD_VENDORS")
            where = "" if vendors is None else f" where OCL_ICD_VENDORS leads to ({vendors})"
            reason = f"there is no PoCL{where}: pip install pyopencl[pocl], or your system's PoCL package"
            raise _not_found(name, reason)
        return found
    every = real_devices()
    numbers = rest.split(":")
    if len(numbers) == 2 and all(number.isdecimal() for number in numbers):
        found = [real for real in every if real.name == f"real:{int(numbers[0])}:{int(numbers[1])}"]
    else:
        wanted = rest.casefold()
        found = by_preference([real for real in every if wanted in _searched(real)])
    if not found:
        there = ", ".join(map(str, every)) or "no real device"
        raise _not_found(name, f"the OpenCL loader finds {there}")
    return found


def _searched(real: RealDevice) -> str:
    device = real.device
    return "\n".join((device.name, device.vendor, device.platform.name, device.platform.vendor)).casefold()


def _first_working(name: str, candidates: list[RealDevice]) -> Device:
    faults = []
    for real in candidates:
        fault = _fault(real)
        if fault is None:
            return real.device
        faults.append(f"{real} does not work: {fault}")
    raise CLError(ErrorCode.CL_DEVICE_NOT_AVAILABLE, f"open_device({name!r})", "; ".join(faults))


def _real_devices() -> list[RealDevice]:
    if _missing_binding() is not None:
        return []
    from runtime.cl._real_devices import real_devices

    return real_devices()


def _fault(real: RealDevice) -> str | None:
    from runtime.cl._real_devices import fault_of

    return fault_of(real)


def _missing_binding() -> str | None:
    """Why there can be no real device, None if there can."""
    if find_spec("pyopencl") is None:
        return "real devices need pyopencl: pip install pyopencl (pyopencl[pocl] has a PoCL with it)"
    try:
        import pyopencl  # noqa: F401
    except ImportError as error:
        return f"pyopencl is installed but cannot be imported: {error}"
    return None


def _not_found(name: str, reason: str) -> CLError:
    there = ", ".join(list_devices())
    return CLError(ErrorCode.CL_DEVICE_NOT_FOUND, f"open_device({name!r})", f"{reason}; there are: {there}")
