"""The tables of the information queries."""

from __future__ import annotations

import struct

import pytest

from clsim import spec
from clsim.spec import info


def test_every_row_stands_under_its_own_number() -> None:
    for table in info.TABLES.values():
        for number, query in table.items():
            assert getattr(spec, query.name) == number


def test_every_type_has_a_layout_or_is_an_array_of_one_that_has() -> None:
    for table in info.TABLES.values():
        for query in table.values():
            base = query.type.removesuffix("[]").removesuffix("[3]").removesuffix("[16]").removesuffix("[8]")
            if base != "unsigned char*":  # CL_PROGRAM_BINARIES is written through pointers
                struct.calcsize(info.FORMATS[base])


@pytest.mark.parametrize(
    ("number", "type_", "since"),
    [
        (spec.CL_DEVICE_NAME, "char[]", (1, 0)),
        (spec.CL_DEVICE_TYPE, "cl_device_type", (1, 0)),
        (spec.CL_DEVICE_MAX_WORK_ITEM_SIZES, "size_t[]", (1, 0)),
        (spec.CL_DEVICE_MAX_WORK_GROUP_SIZE, "size_t", (1, 0)),
        (spec.CL_DEVICE_GLOBAL_MEM_SIZE, "cl_ulong", (1, 0)),
        (spec.CL_DEVICE_PARTITION_PROPERTIES, "cl_device_partition_property[]", (1, 2)),
        (spec.CL_DEVICE_SVM_CAPABILITIES, "cl_device_svm_capabilities", (2, 0)),
    ],
)
def test_a_device_query_has_the_standards_type_and_version(
    number: int, type_: str, since: tuple[int, int]
) -> None:
    assert info.DEVICE[number][1:3] == (type_, since)


@pytest.mark.parametrize(
    ("type_", "size"),
    [("cl_uint", 4), ("cl_bool", 4), ("cl_ulong", 8), ("cl_device_type", 8), ("cl_name_version", 68)],
)
def test_types_have_the_sizes_of_the_headers(type_: str, size: int) -> None:
    assert struct.calcsize(info.FORMATS[type_]) == size


def test_a_query_exists_from_its_version_on_or_with_its_extension() -> None:
    numeric = info.DEVICE[spec.CL_DEVICE_NUMERIC_VERSION]
    assert numeric.exists((3, 0))
    assert not numeric.exists((1, 2))
    assert numeric.exists((1, 2), {"cl_khr_extended_versioning"})
    half = info.DEVICE[spec.CL_DEVICE_HALF_FP_CONFIG]
    assert not half.exists((3, 0))
    assert half.exists((1, 2), {"cl_khr_fp16"})


def test_the_four_classic_profiling_queries_are_in_every_version() -> None:
    assert {q.name for q in info.PROFILING.values() if q.exists((1, 0))} == {
        "CL_PROFILING_COMMAND_QUEUED",
        "CL_PROFILING_COMMAND_SUBMIT",
        "CL_PROFILING_COMMAND_START",
        "CL_PROFILING_COMMAND_END",
    }
