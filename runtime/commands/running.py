"""`clrt run`, `clrt profile` and `clrt precompile`: a model on a device."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from runtime.artifact import Artifact, Endpoint
from runtime.cl.discovery import open_device
from runtime.commands.files import Array, by_endpoint, read_array, relative_error, save_array
from runtime.figures import Figure
from runtime.graph import Graph
from runtime.shell import Problem, working
from runtime.timing import Profile


def run(
    screen: Console,
    model: Path,
    device: str,
    *,
    inputs: Sequence[str],
    outputs: Sequence[str],
    expected: Sequence[str],
    tolerance: float,
    precompiled: Path | None,
) -> list[Figure]:
    """Runs a model once, saves and compares its outputs, and shows them."""
    artifact = Artifact.load(model)
    values = read_inputs(artifact, inputs)
    targets = by_endpoint("output", artifact.outputs, outputs)
    references = {
        name: read_array(path) for name, path in by_endpoint("output", artifact.outputs, expected).items()
    }
    _check_shapes(artifact.outputs, references)
    programs = None if precompiled is None else precompiled.read_bytes()
    with Graph(artifact, open_device(device)) as graph:
        place = graph.queue.device.name
        if programs is not None:
            graph.set_precompiled_programs(programs)
        set_inputs(graph, values)
        with working(f"building {artifact.name} and running it on {place}"):
            seconds = run_once(graph)
        results = {endpoint.name: graph.get_output(endpoint.name) for endpoint in graph.outputs}

    for name, path in targets.items():
        save_array(path, results[name])
    _say(screen, artifact, f" on {place}: programs and first run took {seconds:.2f} s")
    screen.print(_outputs_table(results))
    figures = [Figure("first_run_seconds", seconds, "s")]
    for name, reference in references.items():
        figure = Figure(f"relative_error_{name}", relative_error(results[name], reference), "", tolerance)
        figures.append(figure)
        verdict = ("as expected", "green") if figure.passes else ("not as expected", "red")
        error = f": relative error {figure.value:.2g}, limit {tolerance:g}"
        screen.print(Text.assemble(f"{name} ", verdict, error), soft_wrap=True)
    return figures


def profile(screen: Console, model: Path, device: str, *, runs: int, top: int | None) -> list[Figure]:
    """Times the kernels of a model in a profiling session and shows them, the longest first."""
    artifact = Artifact.load(model)
    with Graph(artifact, open_device(device)) as graph:
        place = graph.queue.device.name
        set_inputs(graph, read_inputs(artifact, ()))
        with working(f"building {artifact.name} and running it once on {place}"):
            run_once(graph)
        with working(f"timing {runs} runs on {place}"):
            found = graph.profile(runs)
    _say(screen, artifact, f" on {place}: {_count(runs, 'run')} in a profiling session")
    screen.print(profile_table(found, top))
    return [
        Figure("device_ns_a_run", found.total_ns / runs, "ns"),
        Figure("launches_a_run", (found.launches + found.dropped) / runs, ""),
        Figure("launches_without_times", found.dropped, "", 0),
        *(Figure(f"kernel_ns_{row.kernel}", row.total_ns / runs, "ns") for row in found.rows),
    ]


def precompile(screen: Console, model: Path, device: str, output: Path) -> list[Figure]:
    """Writes a model's programs for a device, and shows what they save at first use."""
    artifact = Artifact.load(model)
    opened = open_device(device)
    with Graph(artifact, opened) as graph:
        set_inputs(graph, read_inputs(artifact, ()))
        with working(f"building {artifact.name} and running it once on {opened.name}"):
            run_once(graph)
            programs = graph.precompile()
    output.write_bytes(programs)
    count = _count(len(artifact.kernel_names), "program")
    _say(screen, artifact, f" for {opened.name}: {count}, {len(programs):,} bytes in {output}")
    return [Figure("precompiled_bytes", len(programs), "bytes")]


def run_once(graph: Graph) -> float:
    """Runs and waits; the seconds it took, programs built at a first run included."""
    start = time.perf_counter()
    graph.run()
    graph.synchronize()
    return time.perf_counter() - start


def read_inputs(artifact: Artifact, given: Sequence[str]) -> dict[str, Array]:
    """A value for each input: from files, else the model's example."""
    files = by_endpoint("input", artifact.inputs, given)
    return artifact.example_inputs() | {name: read_array(path) for name, path in files.items()}


def set_inputs(graph: Graph, values: Mapping[str, Array]) -> None:
    for name, value in values.items():
        try:
            graph.set_input(name, value)
        except (ValueError, TypeError) as error:
            raise Problem(str(error)) from None


def profile_table(found: Profile, top: int | None = None) -> Table:
    """Kernels with time, share and launches; `top` shows the longest and sums up the rest."""
    table = Table("kernel", box=None, pad_edge=False, header_style="bold")
    for heading in ("time", "share", "", "launches"):
        table.add_column(heading, justify="left" if heading == "" else "right", no_wrap=True)
    rows = found.rows if top is None else found.rows[:top]
    longest = max((row.share for row in rows), default=0.0)
    for row in rows:
        bar = "\u2588" * max(1, round(12 * row.share / longest)) if longest else ""
        table.add_row(
            Text(row.kernel),
            _time(row.total_ns / found.runs),
            f"{row.share:.1%}",
            Text(bar, "cyan"),
            f"{row.launches // found.runs}",
        )
    rest = found.rows[len(rows) :]
    if rest:
        rest_ns = sum(row.total_ns for row in rest)
        table.add_row(
            _count(len(rest), "other"),
            _time(rest_ns / found.runs),
            f"{rest_ns / found.total_ns:.1%}" if found.total_ns else "",
            "",
            f"{sum(row.launches for row in rest) // found.runs}",
            style="dim",
        )
    table.add_row("a run", _time(found.total_ns / found.runs), "", "", f"{found.launches // found.runs}")
    if found.dropped:
        table.caption = f"{_count(found.dropped, 'launch', 'es')} had no usable times"
    return table


def _say(screen: Console, artifact: Artifact, what: str) -> None:
    screen.print(Text.assemble((artifact.name, "bold"), what), soft_wrap=True)


def _outputs_table(results: Mapping[str, Array]) -> Table:
    table = Table("output", "shape", "type", box=None, pad_edge=False, header_style="bold")
    for heading in ("least", "mean", "greatest"):
        table.add_column(heading, justify="right")
    for name, value in results.items():
        shape = "x".join(map(str, value.shape)) or "scalar"
        numbers = value.astype(np.float64)
        table.add_row(
            Text(name), shape, str(value.dtype), *(f"{f(numbers):.6g}" for f in (np.min, np.mean, np.max))
        )
    return table


def _check_shapes(endpoints: Sequence[Endpoint], references: Mapping[str, Array]) -> None:
    for endpoint in endpoints:
        reference = references.get(endpoint.name)
        if reference is not None and reference.shape != endpoint.shape:
            raise Problem(
                f"output {endpoint.name} has shape {endpoint.shape}, but what is expected of it has "
                f"{reference.shape}"
            )


def _time(nanoseconds: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if nanoseconds >= size:
            value = nanoseconds / size
            return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f} {unit}"
    return f"{nanoseconds:.0f} ns"


def _count(number: int, what: str, plural: str = "s") -> str:
    return f"{number:,} {what}{'' if number == 1 else plural}"
