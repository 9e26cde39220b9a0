"""`clsim demo` from beginning to end, without PoCL and, where there is one, with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
HAVE_PYOPENCL = find_spec("pyopencl") is not None
NO_DRIVERS = {"OCL_ICD_VENDORS": os.devnull, "OPENCL_VENDOR_PATH": os.devnull}


def play(
    *args: str, encoding: str = "utf-8", seconds: int = 280, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Plays the demo as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "runtime.demo", *args],
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": encoding} | environment,
        capture_output=True,
        encoding=encoding,
        check=False,
        timeout=seconds,
    )


@pytest.fixture(scope="module")
def without_pocl(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, dict[str, Any]]]:
    """What the demo says where there is no real device, to a pipe that knows little, and its figures."""
    file = tmp_path_factory.mktemp("demo") / "demo.json"
    done = play("--json", str(file), encoding="cp1252", **NO_DRIVERS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return done.stdout, {row["name"]: row for row in json.loads(file.read_text())}


def test_without_pocl_it_says_what_it_left_out_and_why(without_pocl: tuple[str, Any]) -> None:
    said, _ = without_pocl
    words = " ".join(said.split())

    assert "Left out, what needs PoCL:" in words
    assert ("there is no PoCL" if HAVE_PYOPENCL else "pyopencl is not installed") in words
    assert "Left out, act 5:" in words


def test_every_act_is_played_in_80_columns(without_pocl: tuple[str, Any]) -> None:
    said, _ = without_pocl

    for number in range(1, 6):
        assert f"\n{number}  " in said
    assert max(map(len, said.splitlines())) <= 80


def test_the_first_act_names_both_lines(without_pocl: tuple[str, Any]) -> None:
    said, figures = without_pocl

    assert "enqueue_kernel(brighten" in said
    assert "enqueue_kernel(compose" in said
    assert figures["forgotten_edge_races"]["value"] == 1
    assert figures["forgotten_edge_live_events"]["value"] == 30


def test_its_figures_keep_what_was_promised(without_pocl: tuple[str, Any]) -> None:
    _, figures = without_pocl

    assert all(list(row) == ["name", "value", "unit", "limit", "pass"] for row in figures.values())
    assert figures["squeezenet_relative_error_sim"]["value"] <= 1e-5
    assert figures["soak_kept_live_events_end"]["value"] == 200_000
    assert figures["soak_live_events_end"]["value"] == 0
    assert figures["session_launches_without_times"]["value"] == 0
    assert figures["demo_seconds"]["limit"] == 60
    assert [
        name for name, row in figures.items() if not row["pass"] and row["unit"] not in ("s", "times")
    ] == []


def test_a_file_that_cannot_be_written_is_told_before_the_curtain_rises() -> None:
    done = play("--json", "/no/such/folder/demo.json", **NO_DRIVERS)

    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "/no/such/folder" in done.stderr
    assert done.stdout == ""


@pytest.mark.skipif(not HAVE_PYOPENCL, reason="needs pyopencl, to find that its PoCL fails")
def test_a_pocl_that_fails_is_left_out(tmp_path: Path) -> None:
    """PyPI's PoCL ends the process that builds a kernel where there is no linker."""
    cache = tmp_path / "cache"  # or what was compiled before would do without a linker
    cache.mkdir()
    done = play("--json", "-", PATH=str(tmp_path), POCL_CACHE_DIR=str(cache))

    assert done.returncode == 0, done.stderr
    assert "Left out, what needs PoCL:" in " ".join(done.stderr.split())
    assert json.loads(done.stdout)[-1]["name"] == "demo_seconds"


@pytest.mark.timeout(600)
def test_with_pocl_every_act_is_played_in_full(pytestconfig: pytest.Config) -> None:
    if pytestconfig.getoption("--device", default=None) != "pocl":
        pytest.skip("plays on PoCL for two minutes; run with --device pocl")
    done = play("--whole", "--json", "-", seconds=580)

    assert done.returncode == 0, done.stderr
    assert "Left out" not in done.stderr
    figures = {row["name"]: row for row in json.loads(done.stdout)}
    assert figures["squeezenet_relative_error_pocl"]["pass"]
    assert figures["squeezenet_sim_against_pocl"]["pass"]
    assert figures["session_leaves_a_normal_queue"]["pass"]
    assert figures["first_use_speedup"]["value"] >= 30


@pytest.mark.skipif(not list(distributions(name="clsim")), reason="clsim is not installed but a checkout")
def test_the_command_clsim_offers_it() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "clsim", "demo", "--help"], capture_output=True, check=False, timeout=60
    )

    assert done.returncode == 0, done.stderr
    assert b"Five acts" in done.stdout
