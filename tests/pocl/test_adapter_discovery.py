"""Real devices by name, and what is said of one that does not work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from runtime.cl import _real_devices
from runtime.cl.codes import ErrorCode
from runtime.cl.discovery import describe_devices, list_devices, open_device
from runtime.cl.interface import CLError, Device

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def untried(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """No device was tried yet; the commands of trials from here on."""
    started: list[Any] = []
    run = subprocess.run

    def watched(command: Any, **options: Any) -> Any:
        started.append(command)
        return run(command, **options)

    monkeypatch.setattr(_real_devices, "_tried", {})
    monkeypatch.setattr(_real_devices.subprocess, "run", watched)
    return started


def in_a_process(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_pocl_is_found_by_every_name_it_has(device: Device) -> None:
    assert not device.is_simulated
    assert device.platform.name == "Portable Computing Language"
    assert open_device("real:portable computing") == device
    numbered = [name for name in list_devices() if name.startswith("real:") and open_device(name) == device]
    assert len(numbered) == 1


def test_a_text_that_no_device_has_is_refused_with_those_there_are() -> None:
    with pytest.raises(CLError) as caught:
        open_device("real:no such maker")
    assert caught.value.code == ErrorCode.CL_DEVICE_NOT_FOUND
    assert "real:0:0" in str(caught.value)
    assert "Portable Computing Language" in str(caught.value)


@pytest.mark.parametrize("name", ["real:99:0", "real:0:99"])
def test_numbers_that_no_device_has_are_refused(name: str) -> None:
    with pytest.raises(CLError) as caught:
        open_device(name)
    assert caught.value.code == ErrorCode.CL_DEVICE_NOT_FOUND


def test_a_device_is_tried_once_in_a_process(untried: list[Any]) -> None:
    for _ in range(3):
        open_device("pocl")
    assert len(untried) == 1


def test_the_trial_can_be_left_out(untried: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLRT_PROBE", "0")
    open_device("pocl")
    assert untried == []


def test_descriptions_tell_whether_a_device_works() -> None:
    rows = json.loads(json.dumps(describe_devices()))
    assert [row["name"] for row in rows] == list_devices()
    row = next(row for row in rows if row["platform"] == "Portable Computing Language")
    assert (row["simulated"], row["works"], row["fault"], row["kind"]) == (False, True, None, "cpu")
    untried = describe_devices(trial=False)
    assert [row["works"] for row in untried if not row["simulated"]] == [None]


def test_without_a_linker_the_message_says_what_is_missing_and_the_program_lives(tmp_path: Path) -> None:
    """PyPI's PoCL ends the process at the first launch where there is no `ld`."""
    (tmp_path / "bin").mkdir()
    code = (
        "from runtime.cl.discovery import describe_devices, open_device\n"
        "try: open_device('pocl')\n"
        "except Exception as error: print(error)\n"
        "row = [row for row in describe_devices() if not row['simulated']][0]\n"
        "print(row['works'], bool(row['fault']))\n"
    )
    done = in_a_process(code, PATH=str(tmp_path / "bin"), POCL_CACHE_DIR=str(tmp_path / "cache"))
    assert done.returncode == 0, done.stderr
    told, row = done.stdout.splitlines()
    assert "CL_DEVICE_NOT_AVAILABLE" in told
    assert "SIGABRT" in told
    assert "needs the linker `ld`" in told
    assert "CLRT_PROBE=0" in told
    assert row == "False True"


def test_a_device_that_fails_its_trial_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, device: Device
) -> None:
    devices = _real_devices.real_devices()
    assert devices
    broken = _real_devices.RealDevice(7, 7, device)
    monkeypatch.setattr(_real_devices, "_tried", {(7, 7): "it is broken"})
    monkeypatch.setattr(_real_devices, "real_devices", lambda: [broken, *devices])
    assert open_device("real") == device
    monkeypatch.setattr(_real_devices, "real_devices", lambda: [broken])
    with pytest.raises(CLError, match="it is broken") as caught:
        open_device("real")
    assert caught.value.code == ErrorCode.CL_DEVICE_NOT_AVAILABLE


def test_pocl_is_the_one_that_came_with_pyopencl_unless_the_environment_names_one() -> None:
    code = (
        "from runtime.cl import _real_devices\n"
        "from runtime.cl.discovery import open_device\n"
        "print(_real_devices._came_with_pyopencl(open_device('pocl').platform))\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "OCL_ICD_VENDORS"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.stdout.split() == ["True"], done.stderr
