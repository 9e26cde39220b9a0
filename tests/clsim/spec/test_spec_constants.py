"""Generated constants against values that any OpenCL header has."""

from __future__ import annotations

import pytest

from clsim import spec


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CL_SUCCESS", 0),
        ("CL_DEVICE_NOT_FOUND", -1),
        ("CL_INVALID_VALUE", -30),
        ("CL_INVALID_BINARY", -42),
        ("CL_INVALID_EVENT_WAIT_LIST", -57),
        ("CL_INVALID_EVENT", -58),
        ("CL_MAX_SIZE_RESTRICTION_EXCEEDED", -72),
        ("CL_PLATFORM_NOT_FOUND_KHR", -1001),
        ("CL_TRUE", 1),
        ("CL_BLOCKING", 1),
        ("CL_NON_BLOCKING", 0),
        ("CL_DEVICE_TYPE_GPU", 4),
        ("CL_DEVICE_TYPE_ALL", 0xFFFFFFFF),
        ("CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE", 1),
        ("CL_QUEUE_PROFILING_ENABLE", 2),
        ("CL_MEM_READ_WRITE", 1),
        ("CL_MEM_COPY_HOST_PTR", 32),
        ("CL_MEM_HOST_NO_ACCESS", 512),
        ("CL_COMPLETE", 0),
        ("CL_QUEUED", 3),
        ("CL_PLATFORM_PROFILE", 0x0900),
        ("CL_DEVICE_MAX_COMPUTE_UNITS", 0x1002),
        ("CL_DEVICE_NUMERIC_VERSION", 0x105E),
        ("CL_MEM_OBJECT_BUFFER", 0x10F0),
        ("CL_PROGRAM_BINARIES", 0x1166),
        ("CL_KERNEL_WORK_GROUP_SIZE", 0x11B0),
        ("CL_EVENT_COMMAND_EXECUTION_STATUS", 0x11D3),
        ("CL_COMMAND_NDRANGE_KERNEL", 0x11F0),
        ("CL_COMMAND_USER", 0x1204),
        ("CL_PROFILING_COMMAND_QUEUED", 0x1280),
        ("CL_PROFILING_COMMAND_END", 0x1283),
        ("CL_MEM_EXT_HOST_PTR_QCOM", 1 << 29),
        ("CL_VERSION_MAJOR_BITS", 10),
        ("CL_NAME_VERSION_MAX_NAME_SIZE", 64),
    ],
)
def test_a_constant_has_the_value_of_the_headers(name: str, value: int) -> None:
    assert getattr(spec, name) == value


def test_every_constant_is_a_whole_number() -> None:
    names = [name for name in spec.__all__ if name.startswith("CL_")]
    assert len(names) > 1000
    assert all(type(getattr(spec, name)) is int for name in names)


@pytest.mark.parametrize(
    ("routine", "version"),
    [
        ("clGetPlatformIDs", (1, 0)),
        ("clEnqueueFillBuffer", (1, 2)),
        ("clCreateCommandQueueWithProperties", (2, 0)),
    ],
)
def test_an_entry_point_came_with_its_version(routine: str, version: tuple[int, int]) -> None:
    assert spec.SINCE[routine] == version


def test_entry_points_that_a_later_version_replaced_are_deprecated_since_then() -> None:
    assert spec.DEPRECATED["clCreateCommandQueue"] == (2, 0)
    assert spec.DEPRECATED["clEnqueueMarker"] == (1, 2)
    assert "clCreateBuffer" not in spec.DEPRECATED
    assert all(spec.DEPRECATED[name] > spec.SINCE[name] for name in spec.DEPRECATED)


def test_an_entry_point_is_of_the_core_or_of_an_extension_and_never_of_both() -> None:
    assert spec.EXTENSION["clIcdGetPlatformIDsKHR"] == "cl_khr_icd"
    assert not spec.EXTENSION.keys() & spec.SINCE.keys()
