"""Many runs of a model with an eye on memory: does anything grow that should not?

A runtime that keeps one event a launch, in case somebody asks for times, climbs by hundreds of megabytes
over thousands of runs. `soak` shows that a graph does not, and with `keep_events` what it looks like.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from runtime.artifact import Artifact
from runtime.cl.interface import Device
from runtime.graph import Graph
from runtime.process_memory import private_bytes
from runtime.profiling import ProfilingSession

WARM_UP_RUNS = 500
"""Runs after which memory is first measured: caches and pools are filled by then."""


@dataclass(frozen=True)
class Sample:
    """The state after some runs. Events are None where the device does not tell."""

    run: int
    live_events: int | None
    event_bytes: int | None
    private_bytes: int | None


@dataclass(frozen=True)
class SoakResult:
    """What a soak found. `seconds` are those of all runs, building programs at the first one included."""

    runs: int
    launches: int
    seconds: float
    sessions: int
    session_launches: int
    """Launches timed in profiling sessions."""
    live_events_end: int | None
    """Live events after the last run; None where the device does not tell."""
    live_events_peak: int | None
    event_bytes_end: int | None
    """What those events take by the retention model of a simulated device."""
    rss_growth_bytes: int | None
    """Growth of the process's private memory since `warm_up_runs`; None where the system does not tell."""
    warm_up_runs: int
    samples: tuple[Sample, ...]


def soak(
    artifact: Artifact,
    device: Device,
    *,
    runs: int = 5000,
    profile_every: int = 0,
    keep_events: bool = False,
    samples: int = 100,
    progress: Callable[[int, int], None] | None = None,
) -> SoakResult:
    """Runs a model `runs` times, each waited for.

    Every `profile_every`-th run is made in a profiling session of its own (0: none). `progress` is called
    with the runs done and all runs, at each of about `samples` samples. Raises ValueError for numbers
    below what they can be.
    """
    if runs < 1 or profile_every < 0 or samples < 1:
        raise ValueError(
            f"runs {runs} and samples {samples} must be 1 or more, profile_every {profile_every} not negative"
        )
    warm_up_runs = min(WARM_UP_RUNS, max(1, runs // 10))
    stride = max(1, runs // samples)
    taken: list[Sample] = []
    sessions = session_launches = 0
    base: int | None = None
    with Graph(artifact, device, keep_events=keep_events) as graph:
        books = _Books(graph)
        for name, value in artifact.example_inputs().items():
            graph.set_input(name, value)
        start = time.perf_counter()
        for run in range(1, runs + 1):
            if profile_every and run % profile_every == 0:
                with ProfilingSession(graph.queue, max_records=0) as session:
                    graph.run()
                sessions += 1
                session_launches += session.launches
            else:
                graph.run()
                graph.synchronize()
            if run == warm_up_runs:
                base = _settled_private_bytes()
            if run % stride == 0 or run == runs:
                taken.append(books.sample(run))
                if progress is not None:
                    progress(run, runs)
        seconds = time.perf_counter() - start
        end = _settled_private_bytes()
        last = books.sample(runs)
        return SoakResult(
            runs=runs,
            launches=runs * graph.launches,
            seconds=seconds,
            sessions=sessions,
            session_launches=session_launches,
            live_events_end=last.live_events,
            live_events_peak=books.live_events_peak,
            event_bytes_end=last.event_bytes,
            rss_growth_bytes=None if base is None or end is None else end - base,
            warm_up_runs=warm_up_runs,
            samples=tuple(taken),
        )


class _Books:
    """Where the number of live events is known: a simulated device's ledger, or else only what is kept."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        device = graph.queue.device
        native: Any = device.native
        self._ledger: Any = native.platform.ledger if device.is_simulated else None

    def sample(self, run: int) -> Sample:
        if self._ledger is None:
            kept = self._graph.kept_events
            return Sample(run, kept or None, None, private_bytes())
        return Sample(run, self._ledger.live("event"), self._ledger.bytes("event"), private_bytes())

    @property
    def live_events_peak(self) -> int | None:
        return None if self._ledger is None else int(self._ledger.peak("event"))


def _settled_private_bytes() -> int | None:
    gc.collect()
    return private_bytes()
