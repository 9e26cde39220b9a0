"""The five acts of `clsim demo`. Each shows something for real, and leaves figures that were measured."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from clsim.report import findings_text
from runtime.artifact import Artifact
from runtime.cl.discovery import open_device
from runtime.cl.interface import Device
from runtime.commands import soaking
from runtime.commands.files import Array, relative_error
from runtime.commands.running import profile_table
from runtime.demo import first_use, forgotten_edge, soak_once
from runtime.demo.children import Child, LeftOut, run_child
from runtime.demo.first_use import FirstUse
from runtime.demo.stage import INDENT, Stage
from runtime.figures import Figure
from runtime.graph import Graph
from runtime.shell import is_ascii_only, working
from runtime.soak import SoakResult

POCL = "pocl"

ERROR_LIMIT = 1e-5
"""Largest difference from TVM's own build, in parts of the largest output."""

SIM_RUN_LIMIT_S = 10.0
SOAK_RUNS = 5000

PART_STEPS = 10
"""Steps of squeezenet that the last act takes: two of its modules. PoCL needs a minute to read all programs,
since it compiles each of them once more when it is asked for it."""

SPEEDUP_LIMIT = 30.0
"""How much faster first use from pre-compiled programs must be on PoCL."""


@dataclass
class Props:
    """What the acts hand on to each other."""

    folder: Path
    """For files of this performance."""
    model: Path
    expected: Array
    pocl: str | None
    """The name of PoCL's device; None where it does not work."""
    whole: bool = False
    """Whether the last act takes the whole network, which takes PoCL a minute, or the beginning of it."""
    source_child: Child | None = None
    """First use of the model on PoCL from source."""
    programs_child: Child | None = None
    """First use from source of what the last act takes; it goes on to read the programs."""
    from_source: FirstUse | None = None
    """What it measured."""

    @property
    def programs(self) -> Path:
        """Where first use from source leaves its programs."""
        return self.folder / "programs"

    @property
    def output(self) -> Path:
        """Where it leaves what it computed."""
        return self.folder / "output.npy"


def begin(props: Props, children: ExitStack) -> None:
    """Starts what takes longest, before the first act: two processes, since PoCL compiles on one core each.

    `children` ends them. Raises LeftOut where no process can be had.
    """
    saved = props.programs if props.whole else None
    source = first_use.start(props.model, POCL, save_programs=saved, output=props.output)
    props.source_child = props.programs_child = children.enter_context(source)
    if not props.whole:
        part = first_use.start(props.model, POCL, steps=PART_STEPS, save_programs=props.programs)
        props.programs_child = children.enter_context(part)


def forgotten(stage: Stage, props: Props) -> None:
    """A program whose results look right, and what is wrong with it."""
    stage.say(
        "A program as many are shipped. One queue loads an image and lights it up, another paints the sky "
        "and puts the image before it. It asks for events and keeps them; one is missing in a wait list."
    )
    stage.console.print()
    answers = []
    if props.pocl is not None:
        with working("the program on PoCL"):
            answers.append(run_child(["-m", "runtime.demo.forgotten_edge", POCL], may_fail=True).strip())
        stage.command("python -m runtime.demo.forgotten_edge pocl", answers[-1])
    device: Any = open_device("sim", order_checks=True)  # any: `native` leads to clsim's own objects
    with working("the program on clsim"):
        answers.append(forgotten_edge.told(forgotten_edge.show_frames(device)))
    stage.command("python -m runtime.demo.forgotten_edge sim", answers[-1])
    stage.console.print()
    if set(answers) == {forgotten_edge.told(True)}:
        stage.say("All is well, as far as the results can tell. What clsim saw of the same run:")
    else:
        stage.say("This time the fault showed, as it does now and then. What clsim saw of its run:")
    platform = device.native.platform
    races = platform.findings.of("race")
    # Where the package is installed is long and beside the point.
    stage.report(re.sub(r"\S*forgotten_edge\.py", "forgotten_edge.py", findings_text(races, colour=True)))
    kept = [account for account in platform.ledger.by_site("event") if account.live]
    live, size = platform.ledger.live("event"), platform.ledger.bytes("event")
    forgotten_edge.events.clear()
    lines = sorted(account.site.line for account in kept)
    named = [f"line {site.line}" for race in races for site in race.sites]
    stage.verdict(
        Figure("forgotten_edge_races", len(races), "", 1, "exactly"),
        f"clsim names both ends of the missing edge: {' and '.join(named) or 'none'}.",
    )
    stage.verdict(
        Figure("forgotten_edge_live_events", live, "", 3 * forgotten_edge.FRAMES, "exactly"),
        f"It counts {live} events that nobody released, from lines {', '.join(map(str, lines))}: "
        f"{size:,} bytes on this device, and both queues with their context, which events keep alive.",
    )


def same_numbers(stage: Stage, props: Props) -> None:
    """A network on the simulator and on PoCL, and their difference."""
    artifact = Artifact.load(props.model)
    stage.say(
        f"{artifact.name}, compiled by Apache TVM to {len(artifact.kernel_names)} OpenCL kernels and "
        f"{artifact.launch_count} launches a run, against TVM's own build for the host's processor."
    )
    fault: LeftOut | None = None
    with working(f"{artifact.name} on the simulator and on PoCL"):
        device = open_device("sim")
        output, first_s, run_s = _run_twice(artifact, device)
        if props.source_child is not None:
            try:
                props.from_source = first_use.read(props.source_child)
            except LeftOut as reason:
                fault = reason

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("device", "first use", "a run", "off by"):
        table.add_column(heading, justify="left" if heading == "device" else "right")
    error = relative_error(output, props.expected)
    told = Figure("squeezenet_relative_error_sim", error, "", ERROR_LIMIT)
    words = "The simulator is off by {:.1e} of the largest output; the limit is {:.0e}."
    stage.figures.append(Figure("squeezenet_run_seconds_sim", run_s, "s", SIM_RUN_LIMIT_S))
    table.add_row(device.name, f"{first_s:.1f} s", f"{run_s:.1f} s", f"{error:.1e}")
    real = props.from_source
    if real is not None:
        other = np.load(props.output)
        error = relative_error(other, props.expected)
        table.add_row(
            f"PoCL on {real.device}", f"{real.first_use_s:.1f} s", f"{real.run_s:.2f} s", f"{error:.1e}"
        )
        stage.figures += [told, Figure("squeezenet_relative_error_pocl", error, "", ERROR_LIMIT)]
        told = Figure("squeezenet_sim_against_pocl", relative_error(output, other), "", ERROR_LIMIT)
        words = "The two differ by {:.1e} of the largest output; the limit is {:.0e}."
    stage.show(table)
    stage.verdict(told, words.format(told.value, ERROR_LIMIT))
    if fault is not None:
        raise fault


def soak(stage: Stage, props: Props) -> None:
    """5,000 runs, with the events of all launches kept, and with none."""
    stage.say(
        f"{SOAK_RUNS:,} runs on a device that keeps books and computes nothing; once by a runtime that keeps "
        "the event of every launch in case somebody asks for times, once by one that asks for none."
    )
    with working(f"{SOAK_RUNS:,} runs, twice"), ThreadPoolExecutor(2) as pool:
        both = [
            pool.submit(soak_once.in_a_child, props.model, SOAK_RUNS, keep_events=keep)
            for keep in (True, False)
        ]
        kept, released = (one.result() for one in both)
    stage.show(_soak_charts(stage, {"events kept": kept, "events released": released}))
    events, size = kept.live_events_end or 0, kept.event_bytes_end or 0
    stage.verdict(
        Figure("soak_kept_live_events_end", events, "", kept.launches, "exactly"),
        f"Kept: {events:,} events alive, one a launch. On a device that takes {size // max(events, 1)} bytes "
        f"for each they hold {size / 1e6:.0f} MB.",
    )
    stage.verdict(
        Figure("soak_live_events_end", released.live_events_end, "", 0),
        f"Released: {released.live_events_end} events alive, and the process grew by "
        f"{(released.rss_growth_bytes or 0) / 1e3:,.0f} kB after the first {released.warm_up_runs} runs.",
    )
    stage.figures += [
        Figure(f"soak_{figure.name}", figure.value, figure.unit, figure.limit, figure.rule)
        for figure in soaking.judge(released, keep_events=False, computed=False, event_bytes=None)
        if figure.name in ("rss_growth_bytes", "seconds")
    ]
    stage.say(soaking.REPORTED, "dim")


def session(stage: Stage, props: Props) -> None:
    """A profiling session comes and goes between normal runs."""
    stage.say(
        "OpenCL gives times only of a queue that was created for it. A session replaces the queue, times "
        "every launch, turns the events into numbers, releases them, and puts a normal queue back."
    )
    used = props.from_source
    where = "PoCL"
    if used is None:
        where = "the simulator, which models an Adreno 750 and computes nothing"
        with working("a profiling session on the simulator"):
            device = open_device("sim:adreno-750", execution="none")
            with Graph(Artifact.load(props.model), device) as graph:
                used = first_use.measure(graph)
    stage.console.print()
    took = [
        f"{used.run_s * 1e3:.0f} ms",
        f"{used.profile.launches} launches timed",
        f"{used.run_after_s * 1e3:.0f} ms",
    ]
    if used.live_events is not None:  # then nothing was computed, and the times say nothing
        took[0] = took[2] = f"{used.launches} launches, {used.live_events} events alive"
    for moment, profiling, told in zip(("run", "session", "run"), used.profiling, took, strict=True):
        queue = "profiling queue" if profiling else "normal queue"
        stage.lines(f"{moment:<9}{queue:<17}{told}", "bold" if profiling else "")
    stage.show(profile_table(used.profile, top=5))
    stage.verdict(
        Figure("session_launches_without_times", used.launches - used.profile.launches, "", 0),
        f"{used.profile.launches} of {used.launches} launches were timed, on {where}.",
    )
    came_and_went = used.profiling == (False, True, False)
    stage.verdict(
        Figure("session_leaves_a_normal_queue", float(came_and_went), "", 1.0, rule="at least"),
        "The queue took times in the session, and neither before nor after it.",
    )


def precompiled(stage: Stage, props: Props) -> None:
    """First use from source and from pre-compiled programs."""
    if props.programs_child is None:
        raise LeftOut("it compares first use on PoCL from source with first use from programs.")
    stage.say(
        "First use is building every program and the first run. PoCL compiles a kernel at its first launch, "
        "so programs are worth most when they are read after a run: that is when `precompile` reads them."
    )
    with working("first use on PoCL from source, and reading its programs"):
        whole = props.from_source if props.whole else None
        source = first_use.read(props.programs_child) if whole is None else whole
        reading_s = float(props.programs_child.rest())
    with (
        working("first use on PoCL from pre-compiled programs"),
        first_use.start(
            props.model, POCL, steps=None if props.whole else PART_STEPS, programs=props.programs
        ) as child,
    ):
        ready = first_use.read(child)
    speedup = source.first_use_s / ready.first_use_s
    stage.console.print()
    what = "The whole network" if props.whole else f"The first {PART_STEPS} steps of the network"
    stage.say(f"{what}, {source.kernels} programs:")
    longest = 46
    for name, seconds in (("from source", source.first_use_s), ("pre-compiled", ready.first_use_s)):
        bar = "\u2588" * max(1, round(longest * seconds / source.first_use_s))
        stage.console.print(Text.assemble(f"  {name:<14}", (bar, "cyan"), f" {seconds:.2f} s"))
    stage.console.print()
    size = props.programs.stat().st_size
    stage.figures += [
        Figure("first_use_from_source_seconds", source.first_use_s, "s"),
        Figure("first_use_precompiled_seconds", ready.first_use_s, "s"),
        Figure("reading_programs_seconds", reading_s, "s"),
        Figure("precompiled_bytes", size, "bytes"),
    ]
    stage.verdict(
        Figure("first_use_speedup", speedup, "times", SPEEDUP_LIMIT, rule="at least"),
        f"{speedup:.0f} times faster from {size / 1e6:.1f} MB of programs (limit {SPEEDUP_LIMIT:.0f}); "
        "PoCL's cache was empty both times.",
    )
    stage.say(
        f"Reading them took {reading_s:.0f} s, once: for that PoCL compiles each for any work-group.", "dim"
    )


def _soak_charts(stage: Stage, soaks: dict[str, SoakResult]) -> Table:
    """Memory over the runs (live events where the system does not tell of memory), side by side."""
    curves = {name: soaking.curves(found)[0] for name, found in soaks.items()}
    y_end = max(max(series.y) for series, _ in curves.values())
    width = (stage.width - INDENT - 2) // 2
    charts = Table.grid(padding=(0, 2))
    charts.add_row(
        *(
            soaking.draw(
                series._replace(name=f"{name}: {series.name}"),
                unit,
                is_ascii_only(stage.console),
                width,
                y_end,
            )
            for name, (series, unit) in curves.items()
        )
    )
    return charts


def _run_twice(artifact: Artifact, device: Device) -> tuple[Array, float, float]:
    """The first output, seconds of the first use, and seconds of a run after it."""
    with Graph(artifact, device) as graph:
        first_use.set_example_inputs(graph)
        seconds = first_use.timed_run(graph), first_use.timed_run(graph)
        return graph.get_output(0), *seconds
