"""What the command lines share: output that any pipe takes, errors of one line, exit codes for scripts."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn, TextIO

import typer
import typer.main
from rich.console import Console

if TYPE_CHECKING:
    from rich.progress import Progress

EXIT_FAILED = 1
"""A check failed, or the device did."""

EXIT_USAGE = 2
"""The command line, a file or a name was not right; nothing was run."""

EXIT_INTERRUPTED = 130
"""Ctrl-C."""

EXIT_PIPE_CLOSED = 141
"""Whoever read the output went away."""

EXIT_CODES = (
    "Exit codes: 0 all is well; 1 a check failed, or the device did; 2 the command line, a file or a name "
    "was not right; 130 interrupted; 141 the reader of the output went away."
)

WIDTH = 80
"""Columns to fill where the output is no terminal."""

# One character for one, so that columns stay where they are.
_PLAIN = {
    "\u2026": ".", "\u00d7": "x", "\u2212": "-", "\u2013": "-", "\u2014": "-", "\u00b7": "-", "\u2022": "*",
    "\u2192": ">", "\u2190": "<", "\u2191": "^", "\u2193": "v", "\u2265": ">", "\u2264": "<", "\u2248": "~",
    "\u2713": "+", "\u2717": "x", "\u00b5": "u", "\u03bc": "u", "\u2018": "'", "\u2019": "'",
    "\u201c": '"', "\u201d": '"', "\u25b6": ">", "\u25cf": "*",
}  # fmt: skip


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    bad = error.object[error.start : error.end]
    return "".join(_PLAIN.get(character, _plain_drawing(character)) for character in bad), error.end


def _plain_drawing(character: str) -> str:
    if "\u2500" <= character <= "\u257f":  # box drawing
        return {"\u2502": "|", "\u2503": "|", "\u2551": "|"}.get(character, "-")
    if "\u2580" <= character <= "\u259f" or "\u2800" <= character <= "\u28ff":  # blocks, braille
        return "#"
    return "?"


codecs.register_error("plain", _plain)


class Problem(Exception):
    """Something that the user can put right; the message says what, in one line."""


class _QuietConsole(Console):
    """A console whose reader may go away."""

    def on_broken_pipe(self) -> None:
        _pipe_closed()


def console(*, stderr: bool = False) -> Console:
    """A console on a standard stream. Without a terminal it is 80 columns wide, or COLUMNS."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or os.environ.get("COLUMNS", "").isdigit() else WIDTH
    return _QuietConsole(stderr=stderr, width=width, highlight=False, emoji=False)


def report_console(json_target: str | None) -> Console:
    """Where a command tells people its results: standard error if standard output is to hold JSON."""
    return console(stderr=json_target == "-")


def progress() -> Progress:
    """A progress bar on standard error that shows on a terminal only, and leaves no trace."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    screen = console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        console=screen,
        transient=True,
        disable=not screen.is_terminal,
    )


@contextmanager
def working(text: str) -> Iterator[None]:
    """Says on a terminal's standard error what takes so long; leaves no trace."""
    screen = console(stderr=True)
    if screen.is_terminal:
        with screen.status(text, spinner="line"):
            yield
    else:
        yield


def run_app(app: typer.Typer, program: str, args: Sequence[str] | None = None) -> int:
    """Runs a command line and gives its exit code; what the user can put right is told in one line."""
    _accept_any_text(sys.stdout)
    _accept_any_text(sys.stderr)
    command = typer.main.get_command(app)
    arguments = list(sys.argv[1:] if args is None else args) or ["--help"]
    try:
        result = command.main(args=arguments, prog_name=program, standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        _pipe_closed()
    except SystemExit as end:  # as typer answers a closed pipe
        if isinstance(end.__context__, BrokenPipeError):
            _pipe_closed()
        raise
    except (KeyboardInterrupt, typer.Abort):
        result = EXIT_INTERRUPTED
    except Exception as error:
        told = _explain(error, program)
        if told is None:
            raise
        message, result = told
        try:
            print(message, file=sys.stderr)
        except BrokenPipeError:
            _pipe_closed()
    if result == EXIT_INTERRUPTED:
        print("Interrupted.", file=sys.stderr)
    return result if isinstance(result, int) else 0


def _accept_any_text(stream: TextIO) -> None:
    """Makes a stream show what its encoding lacks by the nearest plain character instead of failing."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="plain")


def _explain(error: Exception, program: str) -> tuple[str, int] | None:
    """The message and exit code of an error that is no fault of ours; None for one that is."""
    # Of the command line. By its shape, since typer took click in between its versions.
    format_message = getattr(error, "format_message", None)
    if format_message is not None and hasattr(error, "exit_code"):
        context = getattr(error, "ctx", None)
        path = program if context is None else context.command_path
        message = _one_line(format_message()).rstrip(".")
        return f"{path}: {message}. Try '{path} --help'.", EXIT_USAGE

    from runtime.artifact import ArtifactError
    from runtime.cl.interface import BuildError, CLError

    if isinstance(error, BuildError):
        return f"{program}: {error}", EXIT_FAILED
    if isinstance(error, CLError):
        return f"{program}: {_one_line(error)}", EXIT_FAILED
    if isinstance(error, OSError) and error.filename is not None:
        return f"{program}: {error.filename}: {error.strerror}", EXIT_USAGE
    if isinstance(error, Problem | ArtifactError | OSError):
        return f"{program}: {_one_line(error)}", EXIT_USAGE
    return None


def _one_line(error: object) -> str:
    return " ".join(str(error).split())


def _pipe_closed() -> NoReturn:
    """Ends without a word, also from the interpreter's last flush."""
    null = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            os.dup2(null, stream.fileno())
        except (OSError, ValueError):
            continue  # a stream of a test, which has no descriptor
    raise SystemExit(EXIT_PIPE_CLOSED)
