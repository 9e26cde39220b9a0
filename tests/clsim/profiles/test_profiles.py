"""Profiles are checked data: what they say is sourced, and contradictions are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clsim import profiles
from clsim.spec import info


@pytest.mark.parametrize("name", profiles.names())
def test_every_shipped_profile_loads_and_has_an_identity_of_its_own(name: str) -> None:
    others = {profiles.load(other).identity for other in profiles.names() if other != name}
    assert profiles.load(name).identity not in others


def test_an_unknown_name_is_answered_with_the_names_there_are() -> None:
    with pytest.raises(profiles.ProfileError, match="adreno-750, generic, mali-g710"):
        profiles.load("adreno-751")


def test_reported_values_of_an_adreno_750_are_the_reported_ones() -> None:
    info = profiles.load("adreno-750").info
    assert info["CL_DEVICE_GLOBAL_MEM_SIZE"] == 5814714368
    assert info["CL_DEVICE_MAX_MEM_ALLOC_SIZE"] == 1073741824
    assert info["CL_DEVICE_MEM_BASE_ADDR_ALIGN"] == 1024
    assert "cl_khr_fp64" not in profiles.load("adreno-750").extensions


def _board(tmp_path: Path, based_on: str = "generic", **fields: Any) -> Path:
    file = tmp_path / f"board{len(list(tmp_path.iterdir()))}.json"
    file.write_text(json.dumps({"based_on": based_on, **fields}))
    return file


def test_an_overridden_value_does_not_inherit_the_source_of_the_base(tmp_path: Path) -> None:
    base = profiles.load("adreno-750")
    assert base.source_of("CL_DEVICE_MAX_COMPUTE_UNITS") == "https://github.com/Oblomov/clinfo/issues/92"
    heir = profiles.load(_board(tmp_path, "adreno-750", info={"CL_DEVICE_MAX_COMPUTE_UNITS": 3}))
    assert heir.info["CL_DEVICE_MAX_COMPUTE_UNITS"] == 3
    assert heir.source_of("CL_DEVICE_MAX_COMPUTE_UNITS") == "default"
    assert heir.source_of("CL_DEVICE_GLOBAL_MEM_SIZE") == base.source_of("CL_DEVICE_GLOBAL_MEM_SIZE")


def test_a_file_may_be_based_on_a_file_beside_it_whatever_the_working_directory(tmp_path: Path) -> None:
    first = _board(tmp_path, device_name="first")
    second = _board(tmp_path, first.name, vendor="second")
    profile = profiles.load(second)
    assert (profile.device_name, profile.vendor) == ("first", "second")


def test_profiles_that_are_based_on_each_other_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"based_on": "b.json"}')
    (tmp_path / "b.json").write_text('{"based_on": "a.json"}')
    with pytest.raises(profiles.ProfileError, match="based on itself"):
        profiles.load(tmp_path / "a.json")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is no JSON"),
        ("[]", "a JSON object, not list"),
        ("[" * 100_000, "is no JSON"),
        ('{"info": 1', "JSON"),
    ],
)
def test_a_file_that_is_no_profile_is_refused(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "broken.json"
    file.write_text(text)
    with pytest.raises(profiles.ProfileError, match=words):
        profiles.load(file)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(profiles.ProfileError, match="cannot be read"):
        profiles.load(tmp_path / "nothing.json")


def test_a_profile_cannot_be_changed() -> None:
    profile = profiles.load("generic")
    with pytest.raises(ValueError, match="frozen"):
        profile.device_name = "another"
    assert profiles.load("generic") is profile


def test_the_platforms_version_names_clsim_and_the_format_of_its_binaries(tmp_path: Path) -> None:
    from clsim.clc import FORMAT

    board = str(_board(tmp_path, platform_version="OpenCL 3.0 a board"))
    for name in (*profiles.names(), board):
        assert profiles.load(name).platform_version.endswith(f" clsim format {FORMAT}")


def test_the_generic_device_claims_nothing_that_clsim_does_not_run() -> None:
    generic = profiles.load("generic")
    assert generic.not_run == ()
    assert generic.honest() is generic


def test_an_honest_board_keeps_its_limits_and_loses_what_clsim_does_not_run(tmp_path: Path) -> None:
    board = profiles.load(
        _board(
            tmp_path,
            "adreno-750",
            extensions=["cl_khr_fp16", "cl_khr_subgroups"],
            c_features=["__opencl_c_int64", "__opencl_c_images"],
        )
    )
    assert {"cl_khr_subgroups", "__opencl_c_images", "CL_DEVICE_IMAGE_SUPPORT"} <= set(board.not_run)
    honest = board.honest()
    assert honest.not_run == ()
    assert honest.extensions == ("cl_khr_fp16",)
    assert honest.c_features == ("__opencl_c_int64",)
    assert honest.info["CL_DEVICE_IMAGE_SUPPORT"] is False
    assert honest.info["CL_DEVICE_IMAGE2D_MAX_WIDTH"] == 0
    assert honest.info["CL_DEVICE_GLOBAL_MEM_SIZE"] == 5814714368
    assert honest.digest != board.digest


@pytest.mark.parametrize("name", profiles.names())
def test_sources_are_links_or_name_a_report_or_a_measurement(name: str) -> None:
    for source in profiles.load(name).sources.values():
        assert source.startswith(("https://github.com/", "a device report of ", "measured: "))


@pytest.mark.parametrize("name", profiles.names())
def test_profiles_answer_every_query_that_a_device_of_their_version_must(name: str) -> None:
    profile = profiles.load(name)
    by_other_means = {
        "TYPE", "VENDOR_ID", "PLATFORM", "NAME", "VENDOR", "VERSION", "OPENCL_C_VERSION", "EXTENSIONS",
        "PARENT_DEVICE", "REFERENCE_COUNT", "NUMERIC_VERSION", "OPENCL_C_ALL_VERSIONS", "OPENCL_C_FEATURES",
        "EXTENSIONS_WITH_VERSION", "ILS_WITH_VERSION", "BUILT_IN_KERNELS_WITH_VERSION",
        "QUEUE_ON_HOST_PROPERTIES",
    }  # fmt: skip
    wanted = {
        query.name
        for query in info.DEVICE.values()
        if query.exists(profile.version, profile.extensions) and query.name != "CL_DRIVER_VERSION"
    }
    assert wanted - {f"CL_DEVICE_{name}" for name in by_other_means} <= set(profile.info)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"info": {"CL_DEVICE_MAX_MEM_ALLOC_SIZE": 1 << 60}}, "over CL_DEVICE_GLOBAL_MEM_SIZE"),
        ({"info": {"CL_DEVICE_MAX_WORK_ITEM_SIZES": [1, 1]}}, "one a dimension"),
        ({"info": {"CL_DEVICE_MAX_WORK_ITEM_SIZES": [8, 8, 8]}}, "over the product"),
        ({"info": {"CL_DEVICE_MAX_WORK_ITEM_SIZES": [1024, 0, 1]}}, "from 1"),
        ({"info": {"CL_DEVICE_MAX_WORK_GROUP_SIZE": 0}}, "at least 1"),
        ({"info": {"CL_DEVICE_MEM_BASE_ADDR_ALIGN": 100}}, "in bits"),
        ({"info": {"CL_DEVICE_ADDRESS_BITS": 31}}, "more than 31 address bits"),
        ({"info": {"CL_DEVICE_IMAGE_SUPPORT": True}}, "IMAGE2D_MAX_WIDTH other than 0"),
        ({"info": {"CL_DEVICE_IMAGE_SUPPORT": 1}}, "cl_bool"),
        ({"info": {"CL_DEVICE_LOCAL_MEM_SIZE": "32K"}}, "cl_ulong"),
        ({"info": {"CL_DEVICE_GLOBAL_MEM_SIZE": None}}, "CL_DEVICE_GLOBAL_MEM_SIZE"),
        ({"info": {"CL_DEVICE_DOUBLE_FP_CONFIG": 0}}, "cl_khr_fp64"),
        ({"info": {"CL_DEVICE_HALF_FP_CONFIG": 6}}, "cl_khr_fp16"),
        ({"extensions": ["fp64"]}, "'fp64' does not have the form"),
        ({"extensions": ["cl_khr_fp64", "cl_khr_fp64"]}, "listed twice"),
        ({"device_version": "OpenCL 1.1 old"}, "newer version"),
        ({"opencl_c_version": "1.2"}, "must start like 'OpenCL C 3.0 '"),
        ({"sources": {"CL_DEVICE_PAGE_SIZE_QCOM": "a report"}}, "does not have"),
        ({"info": 7}, "info is an object"),
        ({"based_on": 7}, "name of a profile"),
        ({"info": {"CL_DEVICE_NO_SUCH_THING": 1}}, "no device query"),
        ({"device_version": "3.0"}, "must start like"),
        ({"quirks": {"explodes": "often"}}, "unknown quirk"),
        ({"quirks": {"in_order_failure": "often"}}, "continue, fail"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_profile_that_contradicts_itself_is_refused(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    with pytest.raises(profiles.ProfileError, match=words) as refused:
        profiles.load(_board(tmp_path, **change))
    assert "\n" not in str(refused.value)


def test_the_digest_changes_with_any_value_but_not_with_a_source(tmp_path: Path) -> None:
    changes: list[dict[str, Any]] = [
        {},
        {"driver_version": "2.0"},
        {"sources": {"vendor": "a report"}},
        {"cost": {"poll_ns": 7}},
    ]
    digests = [profiles.load(_board(tmp_path, **change)).digest for change in changes]
    assert digests[0] == digests[2]
    assert len(set(digests)) == 3
