"""The commands of `clrt` on a simulated device."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.runtime.small_artifact import expected_output, small_artifact

ROOT = Path(__file__).parents[2]
X = np.array([10.0, 20.0, 30.0, 40.0], np.float32)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "small.oclm"
    small_artifact().save(path)
    return path


def clrt(
    *args: str | Path, encoding: str = "utf-8", **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """Runs the command as a process of its own, from anywhere but the project's folder."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("CLRT_")}
    variables |= {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": encoding} | environment
    command = [sys.executable, "-m", "runtime", *map(str, args)]
    return subprocess.run(command, capture_output=True, check=False, timeout=120, env=variables)


def rows(done: subprocess.CompletedProcess[bytes]) -> dict[str, dict[str, Any]]:
    """The rows of JSON on standard output, by name; each has the five fields and nothing else."""
    found = json.loads(done.stdout)
    for row in found:
        assert list(row) == ["name", "value", "unit", "limit", "pass"]
        assert isinstance(row["pass"], bool)
    return {row["name"]: row for row in found}


def test_run_computes_what_the_model_says(model: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    done = clrt("run", model, "--input", tmp_path / "x.npy", "--output", tmp_path / "result")

    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "result"), expected_output(X))
    assert b"2x2" in done.stdout


def test_run_takes_inputs_and_outputs_by_name(model: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    done = clrt("run", model, "-i", f"x={tmp_path / 'x.npy'}", "-o", f"y={tmp_path / 'y.npy'}")

    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), expected_output(X))


@pytest.mark.parametrize(("off", "code"), [(0.0, 0), (1e-3, 1)])
def test_run_compares_with_what_is_expected(model: Path, tmp_path: Path, off: float, code: int) -> None:
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", expected_output(X) * np.float32(1 + off))

    done = clrt("run", model, "-i", tmp_path / "x.npy", "--expected", tmp_path / "y.npy", "--json", "-")

    assert done.returncode == code
    error = rows(done)["relative_error_y"]
    assert error["value"] == pytest.approx(off, abs=1e-6)
    assert (error["limit"], error["pass"]) == (1e-5, code == 0)


def test_programs_compiled_before_give_the_same_run(model: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    made = clrt("precompile", model, "-o", tmp_path / "programs")
    done = clrt(
        "run", model, "--precompiled", tmp_path / "programs", "-i", tmp_path / "x.npy", "-o", tmp_path / "y"
    )

    assert made.returncode == done.returncode == 0, done.stderr
    assert done.stderr == b"", "the programs were used without a warning"
    np.testing.assert_array_equal(np.load(tmp_path / "y"), expected_output(X))


def test_programs_of_another_device_are_a_warning_of_one_line(model: Path, tmp_path: Path) -> None:
    clrt("precompile", model, "-o", tmp_path / "programs", "--device", "sim:mali-g710")
    done = clrt("run", model, "--precompiled", tmp_path / "programs")

    assert done.returncode == 0
    assert done.stderr.decode().startswith("clrt: warning: ")
    assert done.stderr.count(b"\n") == 1


def test_profile_shows_every_kernel(model: Path) -> None:
    done = clrt("profile", model, "--runs", "3", "--json", "-")

    found = rows(done)
    assert found["launches_a_run"]["value"] == 2
    assert found["launches_without_times"]["value"] == 0
    kernels = [found["kernel_ns_add"]["value"], found["kernel_ns_add_some"]["value"]]
    assert sum(kernels) == pytest.approx(found["device_ns_a_run"]["value"])
    table = done.stderr.decode()
    assert "add_some" in table
    assert "100.0%" not in table


def test_profile_can_show_the_longest_kernels_only(model: Path) -> None:
    table = clrt("profile", model, "--top", "1").stdout.decode()

    assert "1 other " in table


def test_soak_is_flat_where_no_events_are_kept(model: Path) -> None:
    done = clrt(
        "soak", model, "--runs", "400", "--execution", "none", "--profile-every", "100", "--json", "-"
    )

    assert done.returncode == 0, done.stdout
    found = rows(done)
    assert found["live_events_end"] == {
        "name": "live_events_end",
        "value": 0,
        "unit": "",
        "limit": 0,
        "pass": True,
    }
    assert found["sessions"]["value"] == 4
    assert found["session_launches"]["value"] == 8
    assert found["live_events_peak"]["value"] == 2
    assert found["rss_growth_bytes"]["limit"] == 2_000_000
    assert found["seconds"]["limit"] == 10.0
    assert "memory of the process" in done.stderr.decode()


def test_soak_shows_the_fault_of_keeping_an_event_a_launch(model: Path) -> None:
    done = clrt("soak", model, "--runs", "300", "--execution", "none", "--keep-events", "--json", "-")

    assert done.returncode == 0, done.stdout
    found = rows(done)
    # Two launches a run, and 500 bytes an event, as profiles/generic.json says.
    assert found["live_events_end"]["value"] == found["live_events_end"]["limit"] == 600
    assert found["event_bytes_end"]["value"] == found["event_bytes_end"]["limit"] == 300_000
    assert found["growth_bend"]["value"] == 0
    assert found["tvm_reported_growth_bytes"]["value"] == 669_600_000
    assert "11180" in done.stderr.decode()


def test_devices_lists_the_profiles_by_the_names_that_device_takes() -> None:
    done = clrt("devices", "--json", "-")

    names = [row["name"] for row in json.loads(done.stdout)]
    assert {"sim:generic", "sim:adreno-750", "sim:mali-g710"} <= set(names)
    assert "sim:adreno-750" in done.stderr.decode()


def test_devices_tells_of_one_device() -> None:
    done = clrt("devices", "--device", "sim:adreno-750", "--json", "-")

    (row,) = json.loads(done.stdout)
    assert row["name"] == "sim:adreno-750"
    assert "E031.45.02.06" in done.stderr.decode()


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
@pytest.mark.parametrize(
    "args",
    [
        ("run",),
        ("profile",),
        ("soak", "--runs", "50"),
        ("soak", "--runs", "50", "--keep-events"),
    ],
    ids=lambda args: "-".join(args),
)
def test_every_report_goes_through_any_pipe(model: Path, args: tuple[str, ...], encoding: str) -> None:
    done = clrt(args[0], model, *args[1:], encoding=encoding)

    assert done.returncode == 0, done.stderr
    assert done.stdout.decode(encoding)
    for line in done.stdout.decode(encoding).splitlines():
        assert len(line) <= 80 or str(model) in line


BAD = [
    (("run", "MISSING"), 2, "No such file or directory"),
    (("run", "NOT_A_MODEL"), 2, "not_a_model"),
    (("run", "MODEL", "--device", "sim:nokia-3310"), 2, "adreno-750"),
    (("run", "MODEL", "--device", "toaster"), 2, "sim:PROFILE"),
    (("run", "MODEL", "--input", "MISSING"), 2, "No such file or directory"),
    (("run", "MODEL", "--input", "NOT_A_MODEL"), 2, "numpy"),
    (("run", "MODEL", "--input", "z=MISSING"), 2, "the model has no input 'z'; it has x"),
    (("run", "MODEL", "--input", "WRONG_SHAPE"), 2, "must have (4,)"),
    (("run", "MODEL", "--expected", "WRONG_SHAPE"), 2, "has shape (2, 2)"),
    (("run", "MODEL", "--tolerance", "-1"), 2, "--tolerance"),
    (("run", "MODEL", "--output", "/no/such/folder/y.npy"), 2, "No such file or directory"),
    (("run", "MODEL", "--json", "/no/such/folder/y.json"), 2, "No such file or directory"),
    (("run",), 2, "MODEL"),
    (("profile", "MODEL", "--runs", "0"), 2, "--runs"),
    (("soak", "MODEL", "--runs", "0"), 2, "--runs"),
    (("soak", "MODEL", "--execution", "some"), 2, "--execution"),
    (("soak", "MODEL", "--execution", "none", "--device", "real"), 2, "for simulated devices"),
    (("precompile", "MODEL"), 2, "--output"),
    (("import", "MISSING", "-o", "net.oclm"), 2, "no such file"),
    (("fly",), 2, "No such command"),
]


@pytest.mark.parametrize(("args", "code", "words"), BAD, ids=[" ".join(args) for args, _, _ in BAD])
def test_bad_input_is_told_in_one_line(
    model: Path, tmp_path: Path, args: tuple[str, ...], code: int, words: str
) -> None:
    not_a_model = tmp_path / "not_a_model"
    not_a_model.write_bytes(b"PK\x03\x04 and nothing more")
    wrong_shape = tmp_path / "wrong.npy"
    np.save(wrong_shape, np.zeros((3, 3), np.float32))
    stand_ins = {
        "MODEL": model,
        "MISSING": tmp_path / "missing",
        "z=MISSING": f"z={tmp_path / 'missing'}",
        "NOT_A_MODEL": not_a_model,
        "WRONG_SHAPE": wrong_shape,
    }

    done = clrt(*(stand_ins.get(arg, arg) for arg in args))

    told = done.stderr.decode()
    assert (done.returncode, told.count("\n")) == (code, 1), told
    assert words in told
    assert "Traceback" not in told


def test_help_tells_the_exit_codes() -> None:
    for args in ((), ("--help",), ("soak", "--help")):
        done = clrt(*args)
        assert done.returncode == 0
        assert "Exit codes: 0" in done.stdout.decode()


def test_without_the_extra_a_sentence_says_what_to_install(tmp_path: Path) -> None:
    script = tmp_path / "without.py"
    script.write_text(
        "import importlib.util, sys\n"
        "real = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *rest: None if name == 'typer' else real(name, *rest)\n"
        "from runtime.__main__ import main\n"
        "sys.exit(main())\n"
    )

    done = subprocess.run(
        [sys.executable, str(script)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == 2
    assert done.stderr.decode() == 'clrt needs typer and rich: pip install "clsim[cli]"\n'.replace(
        "\n", os.linesep
    )


@pytest.mark.skipif(os.name != "posix", reason="a process can only be interrupted like this on POSIX")
def test_an_interrupt_ends_a_long_command_without_a_traceback(model: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "runtime", "soak", str(model), "--runs", "100000000"],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Whoever started the tests in the background had interrupts ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)

    assert process.returncode == 130
    assert told.decode() in ("Interrupted.\n", "")  # nothing is told while modules are still imported
