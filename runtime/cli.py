"""`clrt`: compiled networks on simulated and real OpenCL devices, from the command line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from runtime import shell
from runtime.figures import Figure
from runtime.figures import reserve as reserve_figures
from runtime.figures import write as write_figures

app = typer.Typer(
    help="Runs, profiles and checks compiled networks on simulated and real OpenCL devices.",
    epilog=shell.EXIT_CODES,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file (.oclm) of `clrt import`.")]
DeviceName = Annotated[
    str,
    typer.Option(
        "--device",
        "-d",
        envvar="CLRT_DEVICE",
        metavar="D",
        help="sim, sim:PROFILE (sim:adreno-750), pocl, real, real:NAME or real:PLATFORM:DEVICE.",
    ),
]
Json = Annotated[
    str | None,
    typer.Option(
        "--json", metavar="FILE", help="Where to write the figures as rows of JSON; - is standard output."
    ),
]


class Execution(str, Enum):
    """Whether a simulated device runs kernels' bodies."""

    normal = "normal"
    none = "none"


@app.command(epilog=shell.EXIT_CODES)
def run(
    model: Model,
    device: DeviceName = "sim",
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            "-i",
            metavar="[NAME=]X.npy",
            help="Values of an input, by name where there are several; else seeded noise.",
        ),
    ] = None,
    outputs: Annotated[
        list[str] | None,
        typer.Option("--output", "-o", metavar="[NAME=]Y.npy", help="Where to save an output."),
    ] = None,
    expected: Annotated[
        list[str] | None,
        typer.Option(metavar="[NAME=]Z.npy", help="What an output should be; exit code 1 if it is not."),
    ] = None,
    tolerance: Annotated[
        float, typer.Option(min=0.0, help="Largest relative error against --expected.")
    ] = 1e-5,
    precompiled: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Programs that `clrt precompile` wrote.")
    ] = None,
    json: Json = None,
) -> None:
    """Runs a model once and shows its outputs."""
    from runtime.commands import running

    figures = running.run(
        _screen(json),
        model,
        device,
        inputs=inputs or [],
        outputs=outputs or [],
        expected=expected or [],
        tolerance=tolerance,
        precompiled=precompiled,
    )
    _finish(figures, json)


@app.command(epilog=shell.EXIT_CODES)
def profile(
    model: Model,
    device: DeviceName = "sim",
    runs: Annotated[int, typer.Option(min=1, help="Runs to time, after one to warm up.")] = 1,
    top: Annotated[int | None, typer.Option(min=1, help="How many kernels to show; else all.")] = None,
    json: Json = None,
) -> None:
    """Times a model's kernels: a table of time, share and launches."""
    from runtime.commands import running

    _finish(running.profile(_screen(json), model, device, runs=runs, top=top), json)


@app.command(epilog=shell.EXIT_CODES)
def soak(
    model: Model,
    device: DeviceName = "sim",
    runs: Annotated[int, typer.Option(min=1, help="How many runs.")] = 5000,
    profile_every: Annotated[
        int, typer.Option(min=0, metavar="N", help="A profiling session every N runs; 0 for none.")
    ] = 0,
    execution: Annotated[
        Execution, typer.Option(help="none: a simulated device accounts for all and computes nothing.")
    ] = Execution.normal,
    keep_events: Annotated[
        bool, typer.Option("--keep-events", help="Keep one event a launch: the fault to look at.")
    ] = False,
    json: Json = None,
) -> None:
    """Draws memory and live events over many runs.

    The figures' limits: no event lives at the end, memory grows by less than 2 MB between run 500 and the
    last, and 5,000 runs without execution take less than 10 s.
    """
    from runtime.commands import soaking

    figures = soaking.soak(
        _screen(json),
        model,
        device,
        runs=runs,
        profile_every=profile_every,
        execution=execution.value,
        keep_events=keep_events,
    )
    _finish(figures, json)


@app.command(epilog=shell.EXIT_CODES)
def precompile(
    model: Model,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write them.")],
    device: DeviceName = "sim",
    json: Json = None,
) -> None:
    """Writes a model's compiled programs to a file.

    They serve `clrt run --precompiled` on the same device and driver.
    """
    from runtime.commands import running

    _finish(running.precompile(_screen(json), model, device, output), json)


@app.command("import", epilog=shell.EXIT_CODES)
def import_(
    network: Annotated[Path, typer.Argument(metavar="NET.onnx", help="The network, with fixed shapes.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="The model file to write.")],
    random_seed: Annotated[
        int | None,
        typer.Option(metavar="N", help="Replace the parameters by random ones, made anew at every load."),
    ] = None,
    json: Json = None,
) -> None:
    """Compiles an ONNX network to a model file.

    Needs Apache TVM: pip install "clsim[tvm]".
    """
    from runtime.commands import importing

    figures = importing.import_network(_screen(json), network, output, random_seed=random_seed)
    _finish(figures, json)


@app.command(epilog=shell.EXIT_CODES)
def devices(
    device: Annotated[
        str | None,
        typer.Option("--device", "-d", metavar="D", help="Only this one; exit code 2 if it is not usable."),
    ] = None,
    json: Annotated[
        str | None,
        typer.Option("--json", metavar="FILE", help="Where to write them as JSON; - is standard output."),
    ] = None,
) -> None:
    """Lists simulated and real devices.

    By the names that --device takes.
    """
    from runtime.commands import listing

    listing.devices(_screen(json), device, json)


def _screen(json: str | None) -> Console:
    """Where to tell people; raises OSError where the figures could not be written afterwards."""
    reserve_figures(json)
    return shell.report_console(json)


def _finish(figures: Sequence[Figure], json: str | None) -> None:
    """Writes the figures where they are wanted; exit code 1 if one is over its limit."""
    if json is not None:
        write_figures(figures, json)
    if not all(figure.passes for figure in figures):
        raise typer.Exit(shell.EXIT_FAILED)


def main() -> int:
    """The command `clrt`; gives its exit code."""
    return shell.run_app(app, "clrt", sys.argv[1:] or ["--help"])
