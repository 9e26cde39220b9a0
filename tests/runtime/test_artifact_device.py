"""A model that a device cannot run is refused before anything is allocated there."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from runtime.artifact import Artifact, ArtifactError, CompiledKernel, assemble
from tests.runtime.small_artifact import small_artifact, small_parts


@dataclass(frozen=True)
class Limits:
    max_work_group_size: int = 256
    max_work_item_sizes: tuple[int, ...] = (256, 256, 64)
    max_mem_alloc_size: int = 1 << 20
    global_mem_size: int = 1 << 22
    local_mem_size: int = 32768
    mem_base_addr_align_bits: int = 1024


def with_local_size(*local_size: int) -> Artifact:
    parts = small_parts()
    function = parts.functions["add_twice"]
    launches = (
        function.launches[0].model_copy(update={"global_size": local_size, "local_size": local_size}),
        function.launches[1],
    )
    return assemble(
        replace(parts, functions={"add_twice": function.model_copy(update={"launches": launches})})
    )


def test_a_model_within_all_limits_is_taken() -> None:
    exact = Limits(
        max_work_group_size=4,
        max_work_item_sizes=(4,),
        max_mem_alloc_size=16,
        global_mem_size=80,
        local_mem_size=0,
    )
    small_artifact().check_device(exact)
    small_artifact().check_device(Limits())


def test_a_work_group_over_the_devices_size_is_refused_with_both_numbers() -> None:
    with pytest.raises(
        ArtifactError, match=r"small: .*launches\[1\] \(add_some\): local size \(4,\) has 4 work-item"
    ):
        small_artifact().check_device(Limits(max_work_group_size=3))
    with pytest.raises(ArtifactError, match=r"local size \(32, 16\) has 512 work-items, .* limit of 256"):
        with_local_size(32, 16).check_device(Limits())


def test_a_work_group_over_the_limit_of_one_axis_is_refused() -> None:
    with pytest.raises(ArtifactError, match=r"local size \(1, 1, 128\) .* along an axis, \(256, 256, 64\)"):
        with_local_size(1, 1, 128).check_device(Limits())


def test_more_axes_than_the_device_has_are_refused() -> None:
    with pytest.raises(ArtifactError, match="3 axes, the device has 1"):
        with_local_size(1, 1, 1).check_device(Limits(max_work_item_sizes=(256,)))


def test_local_memory_over_the_devices_is_refused() -> None:
    parts = small_parts()
    add = parts.kernels["add"]
    kernels = {**parts.kernels, "add": CompiledKernel(add.source, add.arguments, local_bytes=32769)}
    artifact = assemble(replace(parts, kernels=kernels))
    artifact.check_device(Limits(local_mem_size=32769))
    with pytest.raises(ArtifactError, match=r"kernel add: 32769 bytes of local memory .* limit of 32768"):
        artifact.check_device(Limits())


def test_one_allocation_over_the_devices_limit_is_refused() -> None:
    with pytest.raises(ArtifactError, match=r"tensors\[0\]: 16 bytes are over the device's limit of 15"):
        small_artifact().check_device(Limits(max_mem_alloc_size=15))


def test_more_memory_than_the_device_has_is_refused() -> None:
    with pytest.raises(ArtifactError, match="the model needs 80 bytes, the device has 79"):
        small_artifact().check_device(Limits(global_mem_size=79))


def test_a_tensor_at_an_offset_where_no_sub_buffer_can_begin_is_refused() -> None:
    parts = small_parts()
    tensors = list(parts.tensors)
    tensors[3] = tensors[3].model_copy(update={"offset_bytes": 64})
    artifact = assemble(
        replace(parts, tensors=tensors, storages=[parts.storages[0].model_copy(update={"size_bytes": 80})])
    )
    artifact.check_device(Limits(mem_base_addr_align_bits=512))
    with pytest.raises(ArtifactError, match=r"tensors\[3\]: offset 64 is no multiple of .*, 128 bytes"):
        artifact.check_device(Limits(mem_base_addr_align_bits=1024))
