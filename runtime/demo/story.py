"""The demo from beginning to end: who plays, the acts in order, and what came of it."""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import as_file, files
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.text import Text

from runtime.cl.discovery import open_device
from runtime.cl.interface import CLError
from runtime.demo import acts
from runtime.demo.stage import Stage
from runtime.figures import Figure
from runtime.shell import working

SECONDS_LIMIT = 60.0

ACTS = (
    ("The forgotten edge", acts.forgotten),
    ("The same numbers", acts.same_numbers),
    ("5,000 runs", acts.soak),
    ("A session comes and goes", acts.session),
    ("The second first time", acts.precompiled),
)

NEXT = (
    ("clsim devices", "boards that the simulator can be"),
    ("clsim compile FILE.cl", "what a compiler would say to your kernels"),
    ("clrt profile MODEL --device pocl", "where a network's time goes"),
    ("clrt soak MODEL --keep-events", "the third act, on your model"),
)


def tell(console: Console, *, whole: bool = False) -> list[Figure]:
    """Plays all acts on a console; the figures of what was shown.

    `whole` takes the whole network in the last act, and longer than a minute.
    """
    started = time.perf_counter()
    stage = Stage(console)
    pocl, fault = _find_pocl()
    title = " \u00b7 what OpenCL programs do, and what they forget"
    stage.console.print(Text.assemble(("clsim", "bold cyan"), title, (_version(), "dim")))
    stage.lines(f"on stage: the simulator, and {f'PoCL ({pocl})' if pocl else 'no PoCL'}", "dim")
    if fault is not None:
        stage.leave_out("what needs PoCL", fault)
    data = files("runtime.demo") / "data"
    with (
        as_file(data / "light_squeezenet.oclm") as model,
        as_file(data / "light_squeezenet.logits.npy") as logits,
        tempfile.TemporaryDirectory(prefix="clsim-demo-", ignore_cleanup_errors=True) as folder,
        ExitStack() as children,
    ):
        props = acts.Props(Path(folder), model, np.load(logits), pocl, whole)
        if pocl is not None:
            acts.begin(props, children)
        for number, (title, act) in enumerate(ACTS, 1):
            with stage.act(number, title):
                act(stage, props)
    limit = None if whole else SECONDS_LIMIT
    stage.figures.append(Figure("demo_seconds", time.perf_counter() - started, "s", limit))
    _curtain(stage)
    return stage.figures


def _find_pocl() -> tuple[str | None, str | None]:
    """The name of PoCL's device, or why there is none."""
    if find_spec("pyopencl") is None:
        return None, "pyopencl is not installed (pip install 'clsim[pocl]')."
    try:
        with working("looking for PoCL"):
            return open_device(acts.POCL).name, None
    except CLError as error:
        reason = error.reason.split("; there are:")[0]
        return None, f"{reason}."


def _version() -> str:
    try:
        return f"  {version('clsim')}"
    except PackageNotFoundError:  # run from a checkout that is not installed
        return ""


def _curtain(stage: Stage) -> None:
    """The last words: how it went, what was left out, and what to do next."""
    failed = [figure for figure in stage.figures if not figure.passes]
    promised = sum(figure.limit is not None for figure in stage.figures)
    stage.console.print()
    stage.heading(Text("and so?", "bold"))
    for figure in failed:
        limit = f"{figure.rule} {figure.limit:g}"
        value = f"{figure.value:.3g}" if isinstance(figure.value, float) else figure.value
        stage.say(f"{figure.name}: {value} {figure.unit}, should be {limit}", "red")
    told = f"{promised - len(failed)} of {promised} promises kept, in {stage.figures[-1].value:.0f} s."
    if stage.left_out:
        told += f" Left out: {', '.join(stage.left_out)}."
    stage.say(told, "bold red" if failed else "bold green")
    stage.console.print()
    for line, what in NEXT:
        stage.console.print(Text.assemble("  ", (f"{line:<34}", "bold"), (what, "dim")))
