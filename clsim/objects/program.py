"""A program and what it was built to, a device at a time.

NONE --build, compile, link--> IN_PROGRESS --> SUCCESS or ERROR
SUCCESS, ERROR --build again--> IN_PROGRESS          (not while kernels exist)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from clsim.ledger import Site
from clsim.objects import binary
from clsim.objects.base import Counted
from clsim.spec import (
    CL_BUILD_NONE,
    CL_BUILD_SUCCESS,
    CL_INVALID_PROGRAM,
    CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT,
    CL_PROGRAM_BINARY_TYPE_EXECUTABLE,
    CL_PROGRAM_BINARY_TYPE_LIBRARY,
    CL_PROGRAM_BINARY_TYPE_NONE,
)

if TYPE_CHECKING:
    from clsim.clc.ir import Function, Module
    from clsim.objects.context import Context
    from clsim.objects.device import Device
    from clsim.vm import Kernel as MachineKernel

BINARY_TYPES = {
    "executable": CL_PROGRAM_BINARY_TYPE_EXECUTABLE,
    "compiled": CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT,
    "library": CL_PROGRAM_BINARY_TYPE_LIBRARY,
}


class Build:
    """What a program is for one device. Replaced as a whole by every build."""

    __slots__ = (
        "_packed",
        "kind",
        "loaded",
        "log",
        "module",
        "nonuniform",
        "options",
        "prepared",
        "status",
    )

    def __init__(self) -> None:
        self.status = CL_BUILD_NONE
        self.options = ""
        self.log = ""
        self.kind = ""
        """What sort of binary there is: "executable", "compiled", "library" or none."""
        self.module: Module | None = None
        self.loaded: bytes | None = None
        """The bytes it was created from (`clCreateProgramWithBinary`)."""
        self.nonuniform = False
        """Whether its kernels may have work-groups of different sizes (OpenCL C 2.0 and later)."""
        self.prepared: dict[str, MachineKernel] = {}
        self._packed: bytes | None = None

    @property
    def binary_type(self) -> int:
        return BINARY_TYPES.get(self.kind, CL_PROGRAM_BINARY_TYPE_NONE)

    @property
    def kernels(self) -> dict[str, Function]:
        """The kernels of an executable that was built."""
        if self.module is None or self.kind != "executable" or self.status != CL_BUILD_SUCCESS:
            return {}
        return self.module.kernels

    def binary(self, program: Program, device: Device) -> bytes:
        """The program binary; empty where there is none."""
        if self.loaded is not None:
            return self.loaded
        if self.module is None:
            return b""
        if self._packed is None:
            self._packed = binary.pack(
                device, self.module, self.kind, self.options, program.source or "", self.nonuniform
            )
        return self._packed


class Program(Counted):
    """A program (section 5.8). Its kernels hold it; `attached` counts those the client still has."""

    __slots__ = ("attached", "builds", "context", "devices", "source")

    kind = "program"
    invalid = CL_INVALID_PROGRAM

    def __init__(
        self,
        context: Context,
        site: Site,
        devices: Sequence[Device],
        source: str | None = None,
        binaries: Mapping[Device, tuple[bytes, binary.LoadedBinary]] | None = None,
    ) -> None:
        super().__init__(context.platform, site)
        self.context = context
        context.hold()
        self.devices = tuple(devices)
        self.source = source
        self.attached = 0
        self.builds = {device: Build() for device in self.devices}
        for device, (raw, loaded) in (binaries or {}).items():
            build = self.builds[device]
            build.loaded = raw
            build.kind = loaded.kind
            build.options = loaded.options
            build.nonuniform = loaded.nonuniform
            build.module = loaded.module

    @property
    def kernel_names(self) -> list[str]:
        """Names of the kernels of all executables, sorted; empty before a successful build."""
        return sorted({name for build in self.builds.values() for name in build.kernels})

    @property
    def is_built(self) -> bool:
        return any(
            build.status == CL_BUILD_SUCCESS and build.kind == "executable" for build in self.builds.values()
        )

    def holds_object(self, item: Counted) -> bool:
        return item is self.context

    def end(self) -> None:
        super().end()
        self.context.drop()
