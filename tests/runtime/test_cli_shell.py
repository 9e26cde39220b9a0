"""Command lines end well: plain text on any pipe, one line for an error, an exit code that tells."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from runtime import shell

PREAMBLE = """
import sys, typer
from runtime import shell
app = typer.Typer(pretty_exceptions_enable=False)
"""


def run_app(body: str, *args: str, encoding: str = "utf-8") -> subprocess.CompletedProcess[bytes]:
    """Runs a one-command app whose body is given, as a process of its own."""
    indented = textwrap.indent(textwrap.dedent(body), "    ")
    command = f"@app.command()\ndef it(number: int = 0) -> None:\n{indented}\n"
    script = PREAMBLE + command + "sys.exit(shell.run_app(app, 'it', sys.argv[1:] or ['--number', '0']))\n"
    return subprocess.run(
        [sys.executable, "-c", script, *args],
        env=os.environ | {"PYTHONIOENCODING": encoding},
        capture_output=True,
        check=False,
        timeout=60,
    )


def test_success_is_0() -> None:
    assert run_app("print('fine')").returncode == 0


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8", "utf-16"])
def test_any_text_goes_through_any_pipe_and_keeps_its_columns(encoding: str) -> None:
    text = "73\u00d7 \u2265 30\u00d7 \u2588\u2588\u2592 \u2502\u2500\u2502 \u2026 \u4e16 \U0001f600"

    done = run_app(f"print({text!r}); shell.console().print({text!r})", encoding=encoding)

    assert done.returncode == 0, done.stderr
    lines = done.stdout.decode(encoding).splitlines()
    assert [len(line) for line in lines] == [len(text)] * 2
    assert ("73\u00d7" if encoding != "ascii" else "73x") in lines[0]


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ("raise shell.Problem('the file\\nis odd')", 2, "it: the file is odd"),
        ("open('/no/such/file')", 2, "it: /no/such/file: No such file or directory"),
        (
            "from runtime.artifact import ArtifactError\nraise ArtifactError('truncated', 'a.oclm')",
            2,
            "it: a.oclm: truncated",
        ),
        (
            "from runtime.cl.interface import CLError\nraise CLError(-30, 'clFinish', 'no')",
            1,
            "it: clFinish: CL_INVALID_VALUE: no",
        ),
        ("raise KeyboardInterrupt", 130, "Interrupted."),
        ("raise typer.Abort", 130, "Interrupted."),
        ("try:\n    raise KeyboardInterrupt\nfinally:\n    [].pop()", 130, "Interrupted."),
        ("raise typer.Exit(1)", 1, ""),
    ],
)
def test_errors_are_told_in_one_line_with_an_exit_code(body: str, code: int, message: str) -> None:
    done = run_app(body)

    assert done.returncode == code
    assert done.stderr.decode().strip() == message


@pytest.mark.parametrize("args", [("--nonsense",), ("--number", "x"), ("surplus",)])
def test_a_wrong_command_line_is_told_in_one_line(args: tuple[str, ...]) -> None:
    done = run_app("print('ran')", *args)

    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.decode().count("\n") == 1
    assert "Try 'it --help'" in done.stderr.decode()


def test_a_failed_build_shows_the_compilers_log() -> None:
    done = run_app(
        "from runtime.cl.interface import BuildError\n"
        "raise BuildError(-11, 'clBuildProgram', 'one error', '1:5: error: no such type')"
    )

    assert done.returncode == 1
    assert "1:5: error: no such type" in done.stderr.decode()


def test_a_fault_of_our_own_keeps_its_traceback() -> None:
    done = run_app("raise ZeroDivisionError")

    assert done.returncode == 1
    assert "Traceback" in done.stderr.decode()


@pytest.mark.skipif(os.name != "posix", reason="pipes that close while they are written to are POSIX's")
@pytest.mark.parametrize("printing", ["print('line')", "shell.console().print('line')"])
def test_a_reader_that_goes_away_ends_the_command_without_a_word(printing: str, tmp_path: Path) -> None:
    script = (
        f"{PREAMBLE}@app.command()\ndef it() -> None:\n    for _ in range(100000): {printing}\n"
        "sys.exit(shell.run_app(app, 'it', ['--'])) "
    )
    with (tmp_path / "stderr").open("wb+") as stderr:
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=stderr)
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        code = process.wait(timeout=60)
        stderr.seek(0)
        assert stderr.read() == b""
    assert code == shell.EXIT_PIPE_CLOSED
