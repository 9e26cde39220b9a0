"""Profiles are checked data: what they say is sourced, and contradictions are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clsim import profiles


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


def test_an_overridden_value_does_not_inherit_the_source_of_the_base() -> None:
    base = profiles.load("adreno-750")
    assert base.sources["CL_DEVICE_MAX_COMPUTE_UNITS"].startswith("https://")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"info": {"CL_DEVICE_MAX_MEM_ALLOC_SIZE": 1 << 60}}, "over CL_DEVICE_GLOBAL_MEM_SIZE"),
        ({"info": {"CL_DEVICE_MAX_WORK_ITEM_SIZES": [1, 1]}}, "one a dimension"),
        ({"info": {"CL_DEVICE_DOUBLE_FP_CONFIG": 0}}, "cl_khr_fp64"),
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
    file = tmp_path / "board.json"
    file.write_text(json.dumps({"based_on": "generic", **change}))
    with pytest.raises(profiles.ProfileError, match=words):
        profiles.load(str(file))


def test_the_digest_changes_with_any_value_but_not_with_a_source(tmp_path: Path) -> None:
    digests = []
    for number, change in enumerate(
        [{}, {"driver_version": "2.0"}, {"sources": {"vendor": "a report"}}, {"cost": {"poll_ns": 7}}]
    ):
        file = tmp_path / f"{number}.json"
        file.write_text(json.dumps({"based_on": "generic", **change}))
        digests.append(profiles.load(str(file)).digest)
    assert digests[0] == digests[2]
    assert len(set(digests)) == 3
