"""The names of devices, and what is said where there is none. Real devices are in `tests/pocl`."""

from __future__ import annotations

import json

import pytest

from runtime.cl import discovery
from runtime.cl.codes import ErrorCode
from runtime.cl.discovery import describe_devices, list_devices, open_device
from runtime.cl.interface import CLError


@pytest.fixture
def no_binding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "find_spec", lambda name: None)


def refused(name: str, code: ErrorCode = ErrorCode.CL_DEVICE_NOT_FOUND) -> str:
    with pytest.raises(CLError) as caught:
        open_device(name)
    assert caught.value.code == code
    return str(caught.value)


def test_sim_is_the_generic_profile() -> None:
    device = open_device("sim")
    assert device.is_simulated
    assert device.name == open_device("sim:generic").name


def test_a_profile_is_named_after_the_colon() -> None:
    assert "750" in open_device("sim:adreno-750").name
    assert "G710" in open_device("sim:mali-g710").name


def test_without_a_name_the_environment_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLRT_DEVICE", "sim:mali-g710")
    assert "G710" in open_device().name
    assert "750" in open_device("sim:adreno-750").name
    for nothing in ("", None):
        monkeypatch.delenv("CLRT_DEVICE") if nothing is None else monkeypatch.setenv("CLRT_DEVICE", nothing)
        assert open_device().name == open_device("sim").name


def test_each_simulated_device_has_a_platform_of_its_own() -> None:
    first, second = open_device("sim"), open_device("sim")
    assert first != second
    assert first.platform != second.platform
    assert first.identity == second.identity


def test_options_are_those_of_the_simulated_platform() -> None:
    device = open_device("sim", execution="none", seed=3, strict=True)
    platform = device.native.platform  # type: ignore[attr-defined]
    assert (platform.execution, platform.seed, platform.strict) == ("none", 3, True)
    with pytest.raises(ValueError, match="execution"):
        open_device("sim", execution="half")


def test_options_are_none_of_real_devices() -> None:
    with pytest.raises(TypeError, match="execution"):
        open_device("pocl", execution="none")


@pytest.mark.parametrize(
    "name", ["simulated", "sim:", "SIM", "pocl:0", "real:", "cpu", "sim:no-such-profile", ":", "pocl "]
)
def test_another_name_is_refused_with_a_list_of_what_there_is(name: str, no_binding: None) -> None:
    told = refused(name)
    assert repr(name) in told
    for known in ("sim:generic", "sim:adreno-750", "sim:mali-g710"):
        assert known in told


@pytest.mark.parametrize("name", ["pocl", "real", "real:NVIDIA", "real:0:0"])
def test_without_a_binding_the_message_says_what_to_install(name: str, no_binding: None) -> None:
    told = refused(name)
    assert "pip install pyopencl" in told
    assert "\n" not in told


def test_every_simulated_device_listed_can_be_opened(no_binding: None) -> None:
    names = list_devices()
    assert {"sim:generic", "sim:adreno-750", "sim:mali-g710"} <= set(names)
    for name in names:
        assert open_device(name).is_simulated


def test_descriptions_are_json_and_name_what_can_be_opened(no_binding: None) -> None:
    rows = json.loads(json.dumps(describe_devices()))
    assert [row["name"] for row in rows] == list_devices()
    for row in rows:
        device = open_device(row["name"])
        assert row["device"] == device.name
        assert row["simulated"] is True
        assert row["works"] is True
        assert row["fault"] is None
        assert row["kind"] in ("gpu", "cpu", "accelerator")
        assert row["max_work_group_size"] == device.limits.max_work_group_size
