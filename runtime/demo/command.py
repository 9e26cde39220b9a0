"""The command `clsim demo`."""

from __future__ import annotations

from typing import Annotated

import typer

TIMES = ("s", "times")
"""Units of figures that a busy machine can spoil."""


def demo(
    json: Annotated[
        str | None,
        typer.Option("--json", metavar="FILE", help="Write the figures as JSON; - is standard output."),
    ] = None,
    whole: Annotated[
        bool, typer.Option("--whole", help="Take the whole network in the last act: a minute more.")
    ] = False,
) -> None:
    """Shows in under a minute what this is for.

    Five acts: a forgotten edge, a network on two devices, memory over 5,000 runs, a profiling session, and
    first use from pre-compiled programs. What needs PoCL is left out where it is not there, and said so.
    A time over its limit is told, and fails a row of the JSON, but not the command.
    """
    from runtime import figures, shell
    from runtime.demo.story import tell

    try:
        figures.reserve(json)
    except OSError as error:
        typer.echo(f"clsim demo: {json}: {error.strerror}", err=True)
        raise typer.Exit(shell.EXIT_USAGE) from None
    found = tell(shell.report_console(json), whole=whole)
    if json is not None:
        figures.write(found, json)
    if not all(figure.passes or figure.unit in TIMES for figure in found):
        raise typer.Exit(shell.EXIT_FAILED)
