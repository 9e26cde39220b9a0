"""What the compiler knows of the device it compiles for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """A device as its compiler sees it.

    `c_version` is the highest OpenCL C version (CL_DEVICE_OPENCL_C_VERSION); a 3.0 device also takes
    `-cl-std=CL3.0`. `extensions` are the names of CL_DEVICE_EXTENSIONS, `features` the OpenCL C 3.0 feature
    macros. Doubles exist with cl_khr_fp64, arithmetic on halves with cl_khr_fp16.
    """

    name: str = "generic"
    opencl_version: tuple[int, int] = (3, 0)
    c_version: tuple[int, int] = (1, 2)
    extensions: frozenset[str] = frozenset()
    features: frozenset[str] = frozenset()
    image_support: bool = False
    embedded_profile: bool = False

    @property
    def has_double(self) -> bool:
        return "cl_khr_fp64" in self.extensions or "__opencl_c_fp64" in self.features

    @property
    def has_half(self) -> bool:
        return "cl_khr_fp16" in self.extensions

    def accepts(self, version: tuple[int, int]) -> bool:
        """Whether `-cl-std` may name this version of OpenCL C."""
        if version == (3, 0):
            return self.opencl_version >= (3, 0)
        return version <= self.c_version
