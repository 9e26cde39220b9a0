"""Real devices: which there are, which of them work, and which PoCL is meant by `pocl`."""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from runtime.cl.codes import DeviceType
from runtime.cl.pyopencl_device import Device, Platform, platforms

POCL = "Portable Computing Language"
"""The name of PoCL's platform."""

TRIAL_SECONDS = 120
"""How long a device may take for one build and one launch."""

_ROOT = Path(__file__).resolve().parents[2]
_TRIAL = f"import sys; sys.path.insert(0, {str(_ROOT)!r}); from runtime.cl._trial import main; main()"


@dataclass(frozen=True)
class RealDevice:
    """A device with the numbers by which the loader lists it; its name is `real:platform:number`."""

    platform_number: int
    number: int
    device: Device

    @property
    def name(self) -> str:
        return f"real:{self.platform_number}:{self.number}"

    def __str__(self) -> str:
        return f"{self.name} ({self.device.name}, {self.device.platform.name})"


def real_devices() -> list[RealDevice]:
    """All real devices, in the loader's order."""
    return [
        RealDevice(p, d, device)
        for p, platform in enumerate(platforms())
        for d, device in enumerate(platform.devices())
    ]


def pocl_devices() -> list[RealDevice]:
    """PoCL's devices. Of several PoCLs, the one that came with pyopencl unless OCL_ICD_VENDORS is set."""
    found = [real for real in real_devices() if real.device.platform.name == POCL]
    if "OCL_ICD_VENDORS" not in os.environ and len({real.platform_number for real in found}) > 1:
        found.sort(key=lambda real: not _came_with_pyopencl(real.device.platform))
    return found


def by_preference(devices: list[RealDevice]) -> list[RealDevice]:
    """GPUs and accelerators before processors, else in the order given."""
    return sorted(devices, key=lambda real: bool(real.device.kind & DeviceType.CPU))


def fault_of(real: RealDevice) -> str | None:
    """What is wrong with a device, None if it works; tried once per process in a child process.

    With CLRT_PROBE=0 in the environment nothing is tried. A driver may end the process that uses it, as
    PoCL does where it finds no linker: the child dies instead of the program, and the message says why.
    """
    if os.environ.get("CLRT_PROBE") == "0" or not sys.executable:
        return None
    key = (real.platform_number, real.number)
    if key not in _tried:
        fault = _try_in_a_child(real)
        if fault is not None:
            fault += _advice(real, fault) + " (CLRT_PROBE=0 uses the device without a trial)"
        _tried[key] = fault
    return _tried[key]


_tried: dict[tuple[int, int], str | None] = {}


def _try_in_a_child(real: RealDevice) -> str | None:
    command = [sys.executable, "-c", _TRIAL, str(real.platform_number), str(real.number)]
    try:
        child = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TRIAL_SECONDS
        )
    except subprocess.TimeoutExpired:
        return f"one build and one launch took more than {TRIAL_SECONDS} s"
    except OSError as error:
        return f"no process could be started to try it: {error}"
    said = child.stderr.strip().splitlines()
    try:
        answer = json.loads(child.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        death = (
            f"was ended by {_signal_name(-child.returncode)}"
            if child.returncode < 0
            else (f"ended with code {child.returncode}")
        )
        return f"the process that tried one build and one launch {death}" + _quoted(said)
    if "error" in answer:
        return " ".join(str(answer["error"]).split()) + _quoted(said)
    return None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _quoted(lines: list[str]) -> str:
    telling = [line.strip() for line in lines if line.strip()][-3:]
    return f", having said: {'; '.join(telling)}" if telling else ""


def _advice(real: RealDevice, fault: str) -> str:
    if real.device.platform.name == POCL and (shutil.which("ld") is None or '"ld"' in fault):
        return "; PoCL needs the linker `ld` on PATH: install binutils, or add its folder to PATH"
    return "; check the device's driver, or choose another device"


def _came_with_pyopencl(platform: Platform) -> bool:
    """Whether the driver of a platform lies in pyopencl's own package, as PyPI's PoCL does."""
    path = _library_of(platform)
    return path is not None and re.search(r"[/\\]pyopencl[/\\.]", path) is not None


class _DlInfo(ctypes.Structure):
    _fields_ = (
        ("file_name", ctypes.c_char_p),
        ("file_base", ctypes.c_void_p),
        ("symbol_name", ctypes.c_char_p),
        ("symbol_address", ctypes.c_void_p),
    )


def _library_of(platform: Platform) -> str | None:
    """The file of a platform's driver.

    A loader's platform begins with the address of the driver's table of functions (cl_khr_icd), and the
    dynamic linker can tell which file a function is in.
    """
    if not sys.platform.startswith("linux"):
        return None
    table = ctypes.c_void_p.from_address(platform.native.int_ptr).value
    function = ctypes.c_void_p.from_address(table).value if table else None
    info = _DlInfo()
    if not function or not ctypes.CDLL(None).dladdr(ctypes.c_void_p(function), ctypes.byref(info)):
        return None
    return os.fsdecode(info.file_name)
