"""The schema of a device profile: its fields, their units, and what follows from them.

A profile has two layers. Its *claims* are strings and numbers that are true to the board: everything in
`info`, the version and the extensions. Its *abilities* are what clsim runs, the same for every profile
(`abilities`): a claimed feature that clsim does not run fails at its use, and `honest` masks such claims.

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

from clsim.profiles import abilities, consistency
from clsim.profiles.quirks import QUIRKS

InfoValue: TypeAlias = bool | int | str | tuple[int, ...]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


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
    vendor_id: int = Field(ge=0, lt=1 << 32)
    driver_version: str = Field(min_length=1)
    device_version: str
    opencl_c_version: str
    device_type: Literal["CPU", "GPU", "ACCELERATOR"]
    platform_name: str = Field(min_length=1)
    platform_vendor: str
    platform_version: str
    platform_extensions: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()
    c_features: tuple[str, ...] = Field(
        (), description="macros of optional features of OpenCL C 3.0 (section 6.2.1 of the language)"
    )
    info: dict[str, InfoValue]
    cost: CostModel
    retention: RetentionModel
    quirks: dict[str, str]
    sources: dict[str, str] = Field(description="links and reports, by field or device query")

    @field_validator("device_version", "platform_version")
    @classmethod
    def _is_a_version(cls, value: str) -> str:
        consistency.version_of(value)
        return value

    @field_validator("opencl_c_version")
    @classmethod
    def _is_a_c_version(cls, value: str) -> str:
        consistency.c_version_of(value)
        return value

    @field_validator("extensions", "platform_extensions")
    @classmethod
    def _are_extensions(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if not re.fullmatch(r"cl_[a-z0-9]+_\w+", name):
                raise ValueError(f"{name!r} does not have the form of an extension's name (cl_khr_fp64)")
        if len(set(names)) < len(names):
            raise ValueError(f"{next(n for n in names if names.count(n) > 1)!r} is listed twice")
        return names

    @field_validator("info")
    @classmethod
    def _has_values_of_the_queries_types(cls, info: dict[str, InfoValue]) -> dict[str, InfoValue]:
        consistency.check_queries(info)
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
        consistency.check_versions(self.device_version, self.opencl_c_version)
        consistency.check_limits(self.info)
        consistency.check_extensions(self.info, self.extensions)
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

    def source_of(self, name: str) -> str:
        """Where the value of a field or device query comes from; "default" for a plausible value."""
        return self.sources.get(name, "default")

    @cached_property
    def version(self) -> tuple[int, int]:
        """The device's OpenCL version (major, minor)."""
        return consistency.version_of(self.device_version)

    @cached_property
    def identity(self) -> str:
        """What a program binary belongs to."""
        parts = (self.platform_name, self.device_name, self.vendor, self.device_version, self.driver_version)
        return " / ".join(parts)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything that the profile says, in hexadecimal; sources are no part of it."""
        text = json.dumps(self.model_dump(mode="json", exclude={"sources"}), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    @cached_property
    def not_run(self) -> tuple[str, ...]:
        """Extensions, features and device queries that the profile claims and clsim does not run."""
        return (
            *(name for name in self.extensions if name not in abilities.EXTENSIONS),
            *(name for name in self.c_features if name not in abilities.C_FEATURES),
            *(name for name, value in self.info.items() if value != abilities.NOT_RUN.get(name, value)),
        )

    def honest(self) -> Profile:
        """The same device without its claims of what clsim does not run."""
        if not self.not_run:
            return self
        fields = self.model_dump()
        fields["extensions"] = [name for name in self.extensions if name in abilities.EXTENSIONS]
        fields["c_features"] = [name for name in self.c_features if name in abilities.C_FEATURES]
        fields["info"] = {name: abilities.NOT_RUN.get(name, value) for name, value in self.info.items()}
        return Profile.model_validate(fields)
