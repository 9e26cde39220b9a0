"""The schema of a device profile, and what makes one contradict itself.

A profile has two layers. Its *claims* are strings and numbers that are true to the board: everything in
`info`, the version and the extensions. What clsim can do is the same for every profile; a claimed feature
that clsim does not run fails at its use.

`info` holds every `CL_DEVICE_*` value that does not follow from another field, in the units of the standard:
bytes, bits for `CL_DEVICE_MEM_BASE_ADDR_ALIGN`, pixels for the image pitch and base address alignments.
"""

from __future__ import annotations

import hashlib
import json
import re
from functools import cached_property
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from clsim import spec
from clsim.profiles.quirks import QUIRKS

InfoValue: TypeAlias = bool | int | str | tuple[int, ...]

_VERSION = re.compile(r"OpenCL (\d)\.(\d) ")
_REQUIRED_INFO = (
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


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=False)


class CostModel(_Model):
    """How long things take on the virtual clock; it promises order and plausible sizes, not a board's.

    Nanoseconds, and picoseconds per byte or operation.
    """

    call_ns: int = Field(ge=0, description="any host call")
    poll_ns: int = Field(ge=0, description="a status query")
    enqueue_ns: int = Field(ge=0, description="a call that enqueues")
    enqueue_profiling_ns: int = Field(ge=0, description="the same on a profiling queue")
    submit_ns: int = Field(ge=0, description="from flush to the earliest start")
    launch_ns: int = Field(ge=0, description="the least a kernel takes")
    transfer_ns: int = Field(ge=0, description="the least a transfer takes")
    transfer_ps_per_byte: int = Field(ge=0, description="between host and device")
    device_ps_per_byte: int = Field(ge=0, description="within the device's memory")
    device_ps_per_operation: int = Field(ge=0, description="one operation of one work-item, all units busy")
    build_ns: int = Field(ge=0, description="building a program")


class RetentionModel(_Model):
    """What a live event costs, in bytes of host memory."""

    event: int = Field(ge=0)
    profiled_event: int = Field(ge=0, description="on a queue created with CL_QUEUE_PROFILING_ENABLE")

    def event_bytes(self, profiling: bool) -> int:
        """Bytes that one live event takes."""
        return self.profiled_event if profiling else self.event


class Profile(_Model):
    """A device: who it says it is, its limits, and how it behaves where devices differ."""

    device_name: str = Field(min_length=1)
    vendor: str
    vendor_id: int = Field(ge=0)
    driver_version: str = Field(min_length=1)
    device_version: str
    opencl_c_version: str
    device_type: Literal["CPU", "GPU", "ACCELERATOR"]
    platform_name: str = Field(min_length=1)
    platform_vendor: str
    platform_version: str
    platform_extensions: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()
    c_features: tuple[str, ...] = ()
    info: dict[str, InfoValue]
    cost: CostModel
    retention: RetentionModel
    quirks: dict[str, str]
    sources: dict[str, str]

    @field_validator("device_version", "platform_version")
    @classmethod
    def _is_a_version_string(cls, value: str) -> str:
        if not _VERSION.match(value + " "):
            raise ValueError(f"must start like 'OpenCL 3.0 ', not {value!r} (the standard fixes the form)")
        return value

    @field_validator("info")
    @classmethod
    def _knows_its_queries(cls, info: dict[str, InfoValue]) -> dict[str, InfoValue]:
        unknown = [name for name in info if not name.startswith("CL_DEVICE_") or not hasattr(spec, name)]
        if unknown:
            raise ValueError(f"{unknown[0]} is no device query of the standard")
        missing = [name for name in _REQUIRED_INFO if name not in info]
        if missing:
            raise ValueError(f"{missing[0]} is missing")
        return info

    @field_validator("quirks")
    @classmethod
    def _knows_its_quirks(cls, quirks: dict[str, str]) -> dict[str, str]:
        for name, value in quirks.items():
            if name not in QUIRKS:
                raise ValueError(f"unknown quirk {name!r}; there are: {', '.join(sorted(QUIRKS))}")
            if value not in QUIRKS[name].values:
                raise ValueError(f"quirk {name!r} is one of {', '.join(QUIRKS[name].values)}, not {value!r}")
        return quirks

    @model_validator(mode="after")
    def _does_not_contradict_itself(self) -> Profile:
        allocation, total = (
            self.number("CL_DEVICE_MAX_MEM_ALLOC_SIZE"),
            self.number("CL_DEVICE_GLOBAL_MEM_SIZE"),
        )
        if allocation > total:
            raise ValueError(
                f"CL_DEVICE_MAX_MEM_ALLOC_SIZE {allocation} is over CL_DEVICE_GLOBAL_MEM_SIZE {total}"
            )
        sizes = self.info["CL_DEVICE_MAX_WORK_ITEM_SIZES"]
        dimensions = self.number("CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS")
        if not isinstance(sizes, tuple) or len(sizes) != dimensions:
            raise ValueError(f"CL_DEVICE_MAX_WORK_ITEM_SIZES needs {dimensions} values, one a dimension")
        has_double = bool(self.info.get("CL_DEVICE_DOUBLE_FP_CONFIG", 0))
        if has_double != ("cl_khr_fp64" in self.extensions):
            raise ValueError("cl_khr_fp64 and a CL_DEVICE_DOUBLE_FP_CONFIG other than 0 go together")
        if self.info.get("CL_DEVICE_HALF_FP_CONFIG", 0) and "cl_khr_fp16" not in self.extensions:
            raise ValueError("a CL_DEVICE_HALF_FP_CONFIG other than 0 needs cl_khr_fp16")
        unknown = [n for n in self.sources if n not in type(self).model_fields and n not in self.info]
        if unknown:
            raise ValueError(f"sources names {unknown[0]}, which the profile does not have")
        return self

    def number(self, query: str) -> int:
        """A value of `info` that is a number."""
        value = self.info[query]
        if not isinstance(value, int):
            raise TypeError(f"{query} is {value!r}, not a number")
        return value

    @cached_property
    def version(self) -> tuple[int, int]:
        """The device's OpenCL version (major, minor)."""
        return _version_of(self.device_version)

    @cached_property
    def identity(self) -> str:
        """What a program binary belongs to."""
        parts = (self.platform_name, self.device_name, self.vendor, self.device_version, self.driver_version)
        return " / ".join(parts)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything that the profile says, in hexadecimal."""
        text = json.dumps(self.model_dump(mode="json", exclude={"sources"}), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def _version_of(text: str) -> tuple[int, int]:
    match = _VERSION.match(text + " ")
    assert match is not None
    return int(match[1]), int(match[2])
