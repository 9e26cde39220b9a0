"""Whether a device can run a model at all, told before anything is allocated on it."""

from __future__ import annotations

import math
from typing import Protocol

from runtime.artifact.errors import ArtifactError
from runtime.artifact.manifest import AllocatedTensor, Launch, Manifest
from runtime.artifact.rules import memory_bytes, memory_objects


class DeviceLimits(Protocol):
    """The limits that a model can run into, named as the standard's queries (section 4.2)."""

    @property
    def max_work_group_size(self) -> int: ...

    @property
    def max_work_item_sizes(self) -> tuple[int, ...]: ...

    @property
    def max_mem_alloc_size(self) -> int: ...

    @property
    def global_mem_size(self) -> int: ...

    @property
    def local_mem_size(self) -> int: ...

    @property
    def mem_base_addr_align_bits(self) -> int: ...


def check_device(manifest: Manifest, limits: DeviceLimits) -> None:
    """Raises `ArtifactError` for the first thing of the model that is over a limit of the device."""
    for name, function in manifest.functions.items():
        for index, launch in enumerate(function.launches):
            _check_launch(f"functions.{name}.launches[{index}] ({launch.kernel})", launch, limits)
    for name, kernel in manifest.kernels.items():
        if kernel.local_bytes > limits.local_mem_size:
            raise ArtifactError(
                f"kernel {name}: {kernel.local_bytes} bytes of local memory are over "
                f"the device's limit of {limits.local_mem_size}"
            )
    for what, size_bytes in memory_objects(manifest):
        if size_bytes > limits.max_mem_alloc_size:
            raise ArtifactError(
                f"{what}: {size_bytes} bytes are over the device's limit of {limits.max_mem_alloc_size} "
                "for one allocation"
            )
    total = memory_bytes(manifest)
    if total > limits.global_mem_size:
        raise ArtifactError(f"the model needs {total} bytes, the device has {limits.global_mem_size}")
    _check_offsets(manifest, limits)


def _check_launch(where: str, launch: Launch, limits: DeviceLimits) -> None:
    group = math.prod(launch.local_size)
    if group > limits.max_work_group_size:
        raise ArtifactError(
            f"{where}: local size {launch.local_size} has {group} work-items, over the device's limit "
            f"of {limits.max_work_group_size}; import the network for a target with fewer"
        )
    allowed = limits.max_work_item_sizes
    if len(launch.local_size) > len(allowed):
        raise ArtifactError(f"{where}: {len(launch.local_size)} axes, the device has {len(allowed)}")
    if any(size > most for size, most in zip(launch.local_size, allowed, strict=False)):
        raise ArtifactError(
            f"{where}: local size {launch.local_size} is over the device's limit "
            f"along an axis, {tuple(allowed)}"
        )


def _check_offsets(manifest: Manifest, limits: DeviceLimits) -> None:
    """A tensor inside a storage is a sub-buffer, and those begin at multiples of a unit of the device."""
    unit = max(1, limits.mem_base_addr_align_bits // 8)
    for index, tensor in enumerate(manifest.tensors):
        if isinstance(tensor, AllocatedTensor) and tensor.offset_bytes % unit:
            raise ArtifactError(
                f"tensors[{index}]: offset {tensor.offset_bytes} is no multiple of "
                f"the device's base address alignment, {unit} bytes"
            )
