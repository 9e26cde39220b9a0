"""First use of a model on a device, in a process of its own: nothing is loaded, built or cached yet.

    python -m runtime.demo.first_use MODEL DEVICE [--steps N] [--programs FILE] [--save-programs FILE]
                                     [--output FILE]

Prints what it measured as one line of JSON; then, with --save-programs, reads the programs and prints how
many seconds that took. The acts that need a real device read it from here, so that a driver that takes its
process down leaves the story standing.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from runtime.artifact import Artifact
from runtime.cl.discovery import open_device
from runtime.cl.interface import Device
from runtime.demo.children import Child
from runtime.demo.part import beginning
from runtime.graph import Graph
from runtime.profiling import ProfilingSession
from runtime.timing import KernelRow, Profile


@dataclass(frozen=True)
class FirstUse:
    """What a first use was like, and the runs after it: one, a profiling session with one, another one."""

    device: str
    first_use_s: float
    """Building all programs, and the first run."""
    run_s: float
    run_after_s: float
    profiling: tuple[bool, bool, bool]
    """Whether the queue took times before, in and after the session."""
    profile: Profile
    kernels: int
    launches: int
    """Kernel launches of a run."""
    live_events: int | None
    """Events alive after the last run; None where the device cannot tell."""


def measure(graph: Graph) -> FirstUse:
    """Uses a model for the first time, then again before, in and after a profiling session."""
    first_use_s = timed_run(graph)
    before = graph.queue.profiling
    run_s = timed_run(graph)
    with ProfilingSession(graph.queue) as session:
        during = graph.queue.profiling
        graph.run()
    after = graph.queue.profiling
    run_after_s = timed_run(graph)
    device = graph.queue.device
    return FirstUse(
        device.name,
        first_use_s,
        run_s,
        run_after_s,
        (before, during, after),
        Profile.from_session(session, 1),
        len(graph.module.kernel_names),
        graph.launches,
        live_events(device),
    )


def start(
    model: Path,
    device: str,
    *,
    steps: int | None = None,
    programs: Path | None = None,
    save_programs: Path | None = None,
    output: Path | None = None,
) -> Child:
    """`measure` in a process of its own, on empty caches; its first line is for `read`.

    `steps` takes the beginning of the network for all of it. Raises LeftOut where no process can be had.
    """
    options = {"steps": steps, "programs": programs, "save-programs": save_programs, "output": output}
    given = [(f"--{name}", str(value)) for name, value in options.items() if value is not None]
    return Child(["-m", "runtime.demo.first_use", str(model), device, *chain.from_iterable(given)])


def read(child: Child) -> FirstUse:
    """What a child measured, once it has. Raises LeftOut where it fails."""
    values = json.loads(child.line())
    profile = values.pop("profile")
    rows = tuple(KernelRow(**row) for row in profile.pop("rows"))
    profiling = tuple(values.pop("profiling"))
    return FirstUse(profile=Profile(rows=rows, **profile), profiling=profiling, **values)


def set_example_inputs(graph: Graph) -> None:
    for name, value in graph.artifact.example_inputs().items():
        graph.set_input(name, value)


def timed_run(graph: Graph) -> float:
    """Seconds of one run, waited for."""
    start = time.perf_counter()
    graph.run()
    graph.synchronize()
    return time.perf_counter() - start


def live_events(device: Device) -> int | None:
    """Events alive on a simulated device; None for a real one, which does not tell."""
    if not device.is_simulated:
        return None
    native: Any = device.native
    return int(native.platform.ledger.live("event"))


def _main() -> None:
    parser = argparse.ArgumentParser(description="use a model for the first time and measure it")
    parser.add_argument("model", type=Path)
    parser.add_argument("device")
    parser.add_argument("--steps", type=int, help="take this many steps of the model for all of it")
    parser.add_argument("--programs", type=Path, help="pre-compiled programs to use")
    parser.add_argument("--save-programs", type=Path, help="where to write the programs after the first run")
    parser.add_argument("--output", type=Path, help="where to save the first output")
    options = parser.parse_args()
    artifact = Artifact.load(options.model)
    if options.steps is not None:
        artifact = beginning(artifact, options.steps)
    with Graph(artifact, open_device(options.device)) as graph:
        if options.programs is not None:
            graph.set_precompiled_programs(options.programs.read_bytes())
        set_example_inputs(graph)
        measured = measure(graph)
        if options.output is not None:
            np.save(options.output, graph.get_output(0))
        print(json.dumps(asdict(measured)), flush=True)
        if options.save_programs is not None:
            begin = time.perf_counter()
            options.save_programs.write_bytes(graph.precompile())
            print(time.perf_counter() - begin)


if __name__ == "__main__":
    _main()
