"""What makes a profile contradict itself. Each check raises ValueError with one clear sentence."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping

from clsim import spec
from clsim.spec import info as queries

_REQUIRED = (
    "CL_DEVICE_ADDRESS_BITS",
    "CL_DEVICE_GLOBAL_MEM_SIZE",
    "CL_DEVICE_LOCAL_MEM_SIZE",
    "CL_DEVICE_MAX_COMPUTE_UNITS",
    "CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE",
    "CL_DEVICE_MAX_MEM_ALLOC_SIZE",
    "CL_DEVICE_MAX_PARAMETER_SIZE",
    "CL_DEVICE_MAX_WORK_GROUP_SIZE",
    "CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS",
    "CL_DEVICE_MAX_WORK_ITEM_SIZES",
    "CL_DEVICE_MEM_BASE_ADDR_ALIGN",
    "CL_DEVICE_PROFILING_TIMER_RESOLUTION",
)
_MAY_BE_ZERO = {"CL_DEVICE_LOCAL_MEM_SIZE"}
_IMAGE_LIMITS = (
    "CL_DEVICE_IMAGE2D_MAX_WIDTH",
    "CL_DEVICE_IMAGE2D_MAX_HEIGHT",
    "CL_DEVICE_MAX_READ_IMAGE_ARGS",
    "CL_DEVICE_MAX_SAMPLERS",
)


def version_of(text: str) -> tuple[int, int]:
    """The version of "OpenCL 3.0 whatever" (section 4.2, CL_DEVICE_VERSION)."""
    return _version("OpenCL", text)


def c_version_of(text: str) -> tuple[int, int]:
    """The version of "OpenCL C 1.2 whatever" (section 4.2, CL_DEVICE_OPENCL_C_VERSION)."""
    return _version("OpenCL C", text)


def _version(prefix: str, text: str) -> tuple[int, int]:
    match = re.match(rf"{prefix} (\d)\.(\d) ", text + " ")
    if match is None:
        raise ValueError(f"must start like '{prefix} 3.0 ', not {text!r} (the standard fixes the form)")
    return int(match[1]), int(match[2])


def check_queries(info: Mapping[str, object]) -> None:
    """Every name is a device query, every value of its type, and none that clsim needs is missing."""
    for name, value in info.items():
        number = getattr(spec, name, None) if name.startswith("CL_DEVICE_") else None
        if number is None:
            raise ValueError(f"{name} is no device query of the standard or a registered extension")
        query = queries.DEVICE.get(number)
        if query is not None and not _has_type(value, query.type):
            raise ValueError(f"{name} is {value!r}, but the standard has it a {query.type}")
    missing = [name for name in _REQUIRED if name not in info]
    if missing:
        raise ValueError(f"{missing[0]} is missing")
    for name in _REQUIRED:
        value = info[name]
        if isinstance(value, int) and value < 1 and name not in _MAY_BE_ZERO:
            raise ValueError(f"{name} is {value}, it is at least 1")


def _has_type(value: object, query_type: str) -> bool:
    if query_type == "char[]":
        return isinstance(value, str)
    if query_type.endswith("]"):
        return isinstance(value, tuple)
    if query_type == "cl_bool":
        return isinstance(value, bool)
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def check_versions(device_version: str, c_version: str) -> None:
    """A device compiles no newer OpenCL C than its own version."""
    device, language = version_of(device_version), c_version_of(c_version)
    if language > device:
        raise ValueError(f"a device of {device_version!r} cannot have {c_version!r}: it is a newer version")


def check_limits(info: Mapping[str, object]) -> None:
    """Limits that bound each other."""
    _not_over(info, "CL_DEVICE_MAX_MEM_ALLOC_SIZE", "CL_DEVICE_GLOBAL_MEM_SIZE")
    memory, bits = _number(info, "CL_DEVICE_GLOBAL_MEM_SIZE"), _number(info, "CL_DEVICE_ADDRESS_BITS")
    if memory > 1 << bits:
        raise ValueError(f"CL_DEVICE_GLOBAL_MEM_SIZE {memory} is more than {bits} address bits can reach")
    sizes = info["CL_DEVICE_MAX_WORK_ITEM_SIZES"]
    dimensions = _number(info, "CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS")
    assert isinstance(sizes, tuple)
    if len(sizes) != dimensions or min(sizes, default=0) < 1:
        raise ValueError(
            f"CL_DEVICE_MAX_WORK_ITEM_SIZES is {sizes}: it needs {dimensions} sizes, one a dimension, from 1"
        )
    group = _number(info, "CL_DEVICE_MAX_WORK_GROUP_SIZE")
    if group > math.prod(sizes):
        raise ValueError(
            f"CL_DEVICE_MAX_WORK_GROUP_SIZE {group} is over the product of CL_DEVICE_MAX_WORK_ITEM_SIZES"
            f" {sizes}"
        )
    alignment = _number(info, "CL_DEVICE_MEM_BASE_ADDR_ALIGN")
    if alignment % 8 or alignment & (alignment - 1):
        raise ValueError(
            f"CL_DEVICE_MEM_BASE_ADDR_ALIGN {alignment} is in bits: a power of two, in whole bytes"
        )
    if info.get("CL_DEVICE_IMAGE_SUPPORT"):
        lacking = [name for name in _IMAGE_LIMITS if not info.get(name)]
        if lacking:
            raise ValueError(f"a device with CL_DEVICE_IMAGE_SUPPORT has a {lacking[0]} other than 0")


def check_extensions(info: Mapping[str, object], extensions: Collection[str]) -> None:
    """An extension for doubles or halves and the configuration of their arithmetic go together."""
    for extension, query in (
        ("cl_khr_fp64", "CL_DEVICE_DOUBLE_FP_CONFIG"),
        ("cl_khr_fp16", "CL_DEVICE_HALF_FP_CONFIG"),
    ):
        if bool(info.get(query, 0)) != (extension in extensions):
            raise ValueError(f"{extension} and a {query} other than 0 go together")


def _not_over(info: Mapping[str, object], smaller: str, larger: str) -> None:
    if _number(info, smaller) > _number(info, larger):
        raise ValueError(f"{smaller} {info[smaller]} is over {larger} {info[larger]}")


def _number(info: Mapping[str, object], name: str) -> int:
    value = info[name]
    assert isinstance(value, int)
    return value
