"""`clsim devices` and `clsim compile`, as a user runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from clsim import cli

KERNEL = """\
__kernel void add(__global const float *a, __global float *b, int n) {
    int i = get_global_id(0);
    if (i < n) b[i] = a[i] + BIAS;
}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "add.cl"
    file.write_text(KERNEL)
    return file


def test_compile_prints_the_signatures_of_a_file_that_compiles(
    source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["compile", str(source), "-D", "BIAS=2"]) == 0
    out = capsys.readouterr().out
    assert "kernel add(" in out
    assert "a  // reads" in out
    assert "b  // writes" in out


def test_compile_shows_line_column_and_caret_of_an_error(
    source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["compile", str(source)]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert ":3:30: error: use of undeclared identifier 'BIAS'" in lines[0]
    assert lines[2].index("^") == lines[1].index("BIAS")


def test_compile_finds_headers_beside_the_file_and_in_the_directories_of_I(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "near.h").write_text("#define NEAR 1\n")
    (tmp_path / "inc dir").mkdir()
    (tmp_path / "inc dir" / "far.h").write_text("#define FAR 2\n")
    file = tmp_path / "k.cl"
    file.write_text(
        '#include "near.h"\n#include <far.h>\n__kernel void k(__global int *x) { *x = NEAR + FAR; }\n'
    )
    assert cli.main(["compile", str(file), "-I", str(tmp_path / "inc dir")]) == 0
    assert "kernel k(" in capsys.readouterr().out
    assert cli.main(["compile", str(file)]) == 1
    assert f"{file.as_posix()}:2:10: error: 'far.h' file not found" in capsys.readouterr().err


def test_compile_is_for_the_device_it_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "d.cl"
    file.write_text("__kernel void d(__global double *x) { *x = 1.0; }\n")
    assert cli.main(["compile", str(file), "--device", "generic"]) == 0
    assert cli.main(["compile", str(file), "--device", "adreno-750"]) == 1
    assert "double" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [["compile", "no/such/file.cl"], ["compile", "FILE", "-Qx"], ["compile", "FILE", "--device", "nothing"]],
)
def test_bad_input_ends_with_code_2_and_one_line(
    source: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([str(source) if word == "FILE" else word for word in arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1


def test_devices_as_json_names_every_profile(tmp_path: Path) -> None:
    file = tmp_path / "devices.json"
    assert cli.main(["devices", "--json", str(file)]) == 0
    names = {row["name"] for row in json.loads(file.read_text())}
    assert {"sim:generic", "sim:adreno-750", "sim:mali-g710"} <= names


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8"])
def test_the_tables_can_be_printed_on_any_pipe(encoding: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "clsim", "devices"],
        env={**os.environ, "PYTHONIOENCODING": encoding},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode(encoding)
    assert "sim:adreno-750" in done.stdout.decode(encoding)
