"""What the command lines share: output that any pipe takes, errors of one line, exit codes for scripts."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

import typer
import typer.main
from rich.console import Console

from clsim.report import make_tolerant

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


def is_ascii_only(screen: Console) -> bool:
    """Whether drawings must do with ASCII."""
    return not screen.encoding.lower().startswith("utf")


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
    make_tolerant(sys.stdout)
    make_tolerant(sys.stderr)
    command = typer.main.get_command(app)
    arguments = list(sys.argv[1:] if args is None else args)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _teller(program)
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
        if _was_interrupted(error):
            result = EXIT_INTERRUPTED
        else:
            result = _tell(error, program)
    if result == EXIT_INTERRUPTED:
        print("Interrupted.", file=sys.stderr)
    return result if isinstance(result, int) else 0


def _was_interrupted(error: BaseException) -> bool:
    """Whether it came up while Ctrl-C was dealt with, as what closes half-done work may raise."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__context__
    return cause is not None


def _tell(error: Exception, program: str) -> int:
    """Tells an error that is no fault of ours, and gives its exit code; raises it again if it is one."""
    told = _explain(error, program)
    if told is None:
        raise error
    message, code = told
    try:
        print(message, file=sys.stderr)
    except BrokenPipeError:
        _pipe_closed()
    return code


def _teller(program: str) -> Callable[..., None]:
    """Tells a warning in one line; where in the code it was given is nothing to a user."""

    def tell(message: Warning | str, *_: object) -> None:
        print(f"{program}: warning: {_one_line(message)}", file=sys.stderr)

    return tell


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
    from runtime.cl.codes import ErrorCode
    from runtime.cl.interface import BuildError, CLError

    if isinstance(error, BuildError):
        return f"{program}: {error}", EXIT_FAILED
    if isinstance(error, CLError):
        unknown = error.code == ErrorCode.CL_DEVICE_NOT_FOUND
        return f"{program}: {_one_line(error)}", EXIT_USAGE if unknown else EXIT_FAILED
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
