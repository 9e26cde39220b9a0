"""`clrt soak`: many runs of a model, and what memory does over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from clsim.report import Series, area_chart
from runtime.artifact import Artifact
from runtime.cl.discovery import open_device
from runtime.cl.interface import Device
from runtime.figures import Figure
from runtime.shell import Problem, is_ascii_only, progress
from runtime.soak import Sample, SoakResult
from runtime.soak import soak as measure

GROWTH_LIMIT_BYTES = 2_000_000
"""How much the process may grow between the warm-up and the last run."""

SECONDS_LIMIT = 10.0
RUNS_IN_LIMIT = 5000
"""This many runs without execution must end within the limit."""

BEND_LIMIT = 0.01
"""How far kept events may be off a straight line, in parts of the highest point."""

REPORTED_GROWTH_BYTES = 818_500_000 - 148_900_000
REPORTED = (
    "TVM's OpenCL runtime once kept an event a launch: valgrind saw 818.5 MB after 5,000 runs of another "
    "network, and 148.9 MB without them (apache/tvm pull request 11180): 669 MB more."
)


def soak(
    screen: Console,
    model: Path,
    device: str,
    *,
    runs: int,
    profile_every: int,
    execution: str,
    keep_events: bool,
) -> list[Figure]:
    """Runs a model over and over, draws memory and live events, and judges them."""
    if execution == "none" and not device.startswith("sim"):
        raise Problem(f"--execution none is for simulated devices; {device} computes whatever it is given")
    artifact = Artifact.load(model)
    options = {"execution": "none"} if execution == "none" else {}
    opened = open_device(device, **options)
    with progress() as bar:
        task = bar.add_task(f"{artifact.name} on {opened.name}", total=runs)
        found = measure(
            artifact,
            opened,
            runs=runs,
            profile_every=profile_every,
            keep_events=keep_events,
            progress=lambda done, _: bar.update(task, completed=done),
        )
    told = f" on {opened.name}: {runs:,} runs of {found.launches // runs} launches in {found.seconds:.1f} s"
    screen.print(Text.assemble((artifact.name, "bold"), told), soft_wrap=True)
    for series, unit in curves(found):
        screen.print()
        screen.print(draw(series, unit, is_ascii_only(screen)), soft_wrap=True)
    screen.print()
    figures = judge(
        found, keep_events=keep_events, computed=execution != "none", event_bytes=_event_bytes(opened)
    )
    screen.print(_table(figures))
    if keep_events:
        screen.print()
        screen.print(Text(REPORTED, "dim"))
    return figures


def curves(found: SoakResult) -> list[tuple[Series, str]]:
    """What there is to draw, each with its unit: memory of the process, and live events."""
    memory = Series("memory of the process", *_points(found.samples, lambda sample: sample.private_bytes))
    events = Series("live events", *_points(found.samples, lambda sample: sample.live_events))
    return [(series, unit) for series, unit in ((memory, "B"), (events, "")) if series.x]


def _points(samples: Sequence[Sample], value: Callable[[Sample], int | None]) -> tuple[list[int], list[int]]:
    """Runs and values of the samples that have one."""
    told = [(sample.run, value(sample)) for sample in samples]
    known = [(run, count) for run, count in told if count is not None]
    return [run for run, _ in known], [count for _, count in known]


def draw(series: Series, unit: str, ascii_only: bool, width: int = 78, y_end: float | None = None) -> Text:
    """A curve as an area, its blocks in colour; `y_end` where charts are to be compared."""
    height = 8 if any(series.y) else 2
    chart = area_chart(
        series, y_unit=unit, x_unit="runs", width=width, height=height, y_end=y_end, ascii_only=ascii_only
    )
    title, _, area = chart.partition("\n")
    drawn = Text(area)
    drawn.highlight_regex("[\u2581-\u2588]+", "cyan")
    return Text.assemble((title, "bold"), "\n", drawn)


def judge(found: SoakResult, *, keep_events: bool, computed: bool, event_bytes: int | None) -> list[Figure]:
    """The figures of a soak with their limits; what the device or the system does not tell has none.

    Where events are kept on purpose, the fault must show as it should: one event a launch, `event_bytes`
    each, on a straight line.
    """
    events, growth = found.live_events_end, found.rss_growth_bytes
    figures = [
        Figure("runs", found.runs),
        Figure("launches", found.launches),
        Figure("sessions", found.sessions),
        Figure("session_launches", found.session_launches),
        Figure("live_events_peak", found.live_events_peak),
    ]
    if keep_events:
        of_one_size = event_bytes is not None and not found.sessions
        wanted = event_bytes * found.launches if event_bytes is not None and of_one_size else None
        return [
            *figures,
            Figure("live_events_end", events, "", None if events is None else found.launches, "exactly"),
            Figure("event_bytes_end", found.event_bytes_end, "bytes", wanted, "exactly"),
            Figure("growth_bend", _bend(found.samples), "", None if events is None else BEND_LIMIT),
            Figure("rss_growth_bytes", growth, "bytes"),
            Figure("tvm_reported_growth_bytes", REPORTED_GROWTH_BYTES, "bytes"),
            Figure("seconds", found.seconds, "s"),
        ]
    in_time = not computed and found.runs <= RUNS_IN_LIMIT
    return [
        *figures,
        Figure("live_events_end", events, "", None if events is None else 0),
        Figure("event_bytes_end", found.event_bytes_end, "bytes", None if events is None else 0),
        Figure("rss_growth_bytes", growth, "bytes", None if growth is None else GROWTH_LIMIT_BYTES),
        Figure("seconds", found.seconds, "s", SECONDS_LIMIT if in_time else None),
    ]


def _bend(samples: Sequence[Sample]) -> float | None:
    """How far live events are off the line from 0 to the last sample, in parts of the last."""
    runs, events = _points(samples, lambda sample: sample.live_events)
    if not events or not events[-1]:
        return None
    slope = events[-1] / runs[-1]
    return max(abs(alive - slope * run) for run, alive in zip(runs, events, strict=True)) / events[-1]


def _event_bytes(device: Device) -> int | None:
    """What a live event of a normal queue takes by a simulated device's retention model."""
    if not device.is_simulated:
        return None
    native: Any = device.native
    return int(native.profile.retention.event_bytes(False))


def _table(figures: Sequence[Figure]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    for figure in figures:
        value = _amount(figure.value)
        limit = "" if figure.limit is None else f"{figure.rule} {_amount(figure.limit)}"
        mark = Text("\u2713", "green") if figure.passes else Text("\u2717", "bold red")
        if figure.limit is None:
            mark = Text()
        table.add_row(mark, figure.name, Text(value, justify="right"), figure.unit, Text(limit, "dim"))
    return table


def _amount(value: float | str | None) -> str:
    if value is None:
        return "not told"
    return f"{value:,.3g}" if isinstance(value, float) and abs(value) < 100 else f"{value:,}"
