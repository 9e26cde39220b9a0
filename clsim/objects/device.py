"""A device of the simulated platform: its profile, and the timelines on which its commands run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clsim import spec as cl
from clsim.spec import info

if TYPE_CHECKING:
    from clsim.objects.platform import Platform
    from clsim.profiles.schema import Profile

_TYPES = {
    "CPU": cl.CL_DEVICE_TYPE_CPU,
    "GPU": cl.CL_DEVICE_TYPE_GPU,
    "ACCELERATOR": cl.CL_DEVICE_TYPE_ACCELERATOR,
}


class Device:
    """A root device. Devices are not reference-counted (section 4.3: retaining one has no effect)."""

    __slots__ = (
        "base_align",
        "c_version",
        "free_ns",
        "global_memory",
        "info",
        "local_memory",
        "max_alloc",
        "max_group",
        "max_items",
        "nonuniform_work_groups",
        "number",
        "platform",
        "preferred_multiple",
        "profile",
        "queue_properties",
        "transfer_free_ns",
        "type",
        "version",
    )

    kind = "device"
    invalid = cl.CL_INVALID_DEVICE

    def __init__(self, platform: Platform, profile: Profile, number: int) -> None:
        self.platform = platform
        self.profile = profile
        self.number = number
        self.version = profile.version
        self.c_version = _c_version(profile.opencl_c_version)
        self.type = _TYPES[profile.device_type]
        # Asked for at every launch or allocation, so taken out of the profile once.
        self.base_align = max(1, profile.number("CL_DEVICE_MEM_BASE_ADDR_ALIGN") // 8)
        self.max_alloc = profile.number("CL_DEVICE_MAX_MEM_ALLOC_SIZE")
        self.global_memory = profile.number("CL_DEVICE_GLOBAL_MEM_SIZE")
        self.local_memory = profile.number("CL_DEVICE_LOCAL_MEM_SIZE")
        self.max_group = profile.number("CL_DEVICE_MAX_WORK_GROUP_SIZE")
        sizes = profile.info["CL_DEVICE_MAX_WORK_ITEM_SIZES"]
        self.max_items: tuple[int, ...] = sizes if isinstance(sizes, tuple) else ()
        self.preferred_multiple = _number(profile, "CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE", 1)
        self.nonuniform_work_groups = self.version >= (2, 0) and (
            # In 2.x the feature is mandatory, in 3.0 the device says (table of device queries).
            self.version < (3, 0) or bool(profile.info.get("CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT", False))
        )
        # The name of OpenCL 1.x; 2.0 calls the same value CL_DEVICE_QUEUE_ON_HOST_PROPERTIES.
        self.queue_properties = _number(profile, "CL_DEVICE_QUEUE_PROPERTIES", cl.CL_QUEUE_PROFILING_ENABLE)
        self.info = _queries(profile)
        self.free_ns = 0
        """Virtual time from which the device can run the next kernel."""
        self.transfer_free_ns = 0
        """Virtual time from which its transfer engine is free."""

    @property
    def name(self) -> str:
        return self.profile.device_name

    @property
    def label(self) -> str:
        return f"device #{self.number} ({self.name})"

    def __repr__(self) -> str:
        return f"<{self.label}>"


def _number(profile: Profile, query: str, default: int) -> int:
    return profile.number(query) if query in profile.info else default


def _c_version(text: str) -> tuple[int, int]:
    """The version in a string such as "OpenCL C 1.2 something" (section 4.2)."""
    match = re.match(r"OpenCL C (\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else (1, 2)


def _packed(major: int, minor: int) -> int:
    """A `cl_version` (section 4.2): 10 bits major, 10 minor, 12 patch."""
    return major << 22 | minor << 12


def _queries(profile: Profile) -> dict[int, object]:
    """The answer to every query that a device of this version has, but those that name objects."""
    answers: dict[int, object] = {getattr(cl, name): value for name, value in profile.info.items()}
    answers.update(
        {
            cl.CL_DEVICE_TYPE: _TYPES[profile.device_type],
            cl.CL_DEVICE_NAME: profile.device_name,
            cl.CL_DEVICE_VENDOR: profile.vendor,
            cl.CL_DEVICE_VENDOR_ID: profile.vendor_id,
            cl.CL_DRIVER_VERSION: profile.driver_version,
            cl.CL_DEVICE_VERSION: profile.device_version,
            cl.CL_DEVICE_OPENCL_C_VERSION: profile.opencl_c_version,
            cl.CL_DEVICE_EXTENSIONS: " ".join(profile.extensions),
            cl.CL_DEVICE_REFERENCE_COUNT: 1,
            cl.CL_DEVICE_PARENT_DEVICE: None,
        }
    )
    if profile.version >= (3, 0):
        highest = _c_version(profile.opencl_c_version)
        known = [v for v in ((1, 0), (1, 1), (1, 2), (2, 0)) if v <= highest] + [(3, 0)]
        answers.update(
            {
                cl.CL_DEVICE_NUMERIC_VERSION: _packed(*profile.version),
                cl.CL_DEVICE_EXTENSIONS_WITH_VERSION: [(_packed(1, 0), name) for name in profile.extensions],
                cl.CL_DEVICE_OPENCL_C_ALL_VERSIONS: [(_packed(*v), "OpenCL C") for v in known],
                cl.CL_DEVICE_OPENCL_C_FEATURES: [(_packed(3, 0), name) for name in profile.c_features],
                cl.CL_DEVICE_ILS_WITH_VERSION: [],
                cl.CL_DEVICE_BUILT_IN_KERNELS_WITH_VERSION: [],
            }
        )
    return {number: value for number, value in answers.items() if _has_query(profile, number)}


def _has_query(profile: Profile, number: int) -> bool:
    query = info.DEVICE.get(number)
    return query is None or query.exists(profile.version, profile.extensions)
