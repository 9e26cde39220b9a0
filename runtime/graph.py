"""The graph executor: a model file on a device.

    with Graph(Artifact.load("squeezenet.oclm"), device) as graph:
        graph.set_input("data", image)
        graph.run()
        scores = graph.get_output(0)

Everything that does not change from run to run is done once: memory is planned and allocated, parameters
are copied, launches are bound to kernels and arguments. A run is a loop over bound launches; outside of a
profiling session it holds no event at all.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

import numpy.typing as npt

from runtime._closing import Closing
from runtime.artifact import Artifact, Endpoint
from runtime.cl.interface import Binding, Device, Event
from runtime.module import Module
from runtime.plan import MemoryPlan
from runtime.profiling import ProfilingSession
from runtime.tensor import Array, DeviceTensor
from runtime.timing import Benchmark, Profile
from runtime.workspace import LaunchSink, QueueHandle, Workspace

_log = logging.getLogger(__name__)

_NEVER = -1  # no generation of a queue: no launch is bound


class Graph(Closing):
    """A model on one device. Safe for several threads: runs follow one another."""

    def __init__(self, artifact: Artifact, on: Device | Workspace, *, keep_events: bool = False) -> None:
        """On a device, in a workspace of the graph's own, or on the first device of a given workspace.

        `keep_events` keeps the event of every launch until `close`, as a runtime does that holds them in
        case somebody asks for times: a fault, here to be looked at. Raises ArtifactError where the model
        is over a limit of the device, CLError where memory cannot be had.
        """
        self.artifact = artifact
        self._owns_workspace = not isinstance(on, Workspace)
        self.workspace = on if isinstance(on, Workspace) else Workspace(on)
        self.queue: QueueHandle = self.workspace.queue()
        self.module = Module.from_artifact(artifact, self.workspace)
        self._bindings: list[Binding] = []
        self._calls: list[Callable[[], None]] = []
        self._bound_for = _NEVER
        self._kept_events: list[Event] | None = [] if keep_events else None
        self._has_run = False
        self._closed = False
        try:
            self._plan = MemoryPlan(artifact, self.queue)
        except BaseException:
            self._close_owners()
            raise

    @property
    def inputs(self) -> tuple[Endpoint, ...]:
        """Name, shape and dtype of each input."""
        return self.artifact.inputs

    @property
    def outputs(self) -> tuple[Endpoint, ...]:
        """Name, shape and dtype of each output."""
        return self.artifact.outputs

    @property
    def launches(self) -> int:
        """Kernel launches of one run."""
        return len(self._plan.launches)

    @property
    def kept_events(self) -> int:
        """Events that `keep_events` has kept so far; else 0."""
        return len(self._kept_events or ())

    def set_input(self, which: str | int, value: npt.ArrayLike) -> None:
        """Copies an input to the device; what was not set is zero.

        Raises ValueError for an unknown name or another shape, IndexError for an index out of range,
        TypeError for an element type that would change its values.
        """
        endpoint = _endpoint("input", self.inputs, which)
        try:
            self._tensor(endpoint).write(self.queue, value)
        except (ValueError, TypeError) as error:
            raise type(error)(f"input {endpoint.name}: {error}") from None

    def run(self) -> None:
        """Launches every kernel of the model, without waiting for them. The first run builds programs.

        Raises BuildError where a kernel's source does not compile, CLError where a launch fails.
        """
        queue = self.queue
        with queue.lock:
            if self._bound_for != queue.generation:
                self._bind()
            if queue.sink is None and self._kept_events is None:
                for launch in self._calls:
                    launch()
            else:
                self._run_with_events(queue.sink)
            queue.flush()
        self._has_run = True

    def synchronize(self) -> None:
        """Waits until everything launched is done."""
        self.queue.finish()

    def get_output(self, which: str | int = 0, out: Array | None = None) -> Array:
        """Waits for the runs so far and copies an output: to `out`, or to a new array.

        Raises as `set_input` does, and ValueError where `out` is not contiguous.
        """
        endpoint = _endpoint("output", self.outputs, which)
        try:
            return self._tensor(endpoint).read(self.queue, out)
        except (ValueError, TypeError) as error:
            raise type(error)(f"output {endpoint.name}: {error}") from None

    def profile(self, runs: int = 1) -> Profile:
        """Runs in a profiling session: device time, share and launches of each kernel.

        Raises ValueError for less than one run, CLError where the device gives no profiling queue.
        """
        if runs < 1:
            raise ValueError(f"runs is {runs}, but must be 1 or more")
        with ProfilingSession(self.queue, max_records=0) as session:
            for _ in range(runs):
                self.run()
        return Profile.from_session(session, runs)

    def benchmark(self, *, repeat: int = 5, number: int = 1, min_repeat_ms: float = 0.0) -> Benchmark:
        """Wall time of a run: `repeat` times, the mean over `number` runs, after one run to warm up.

        Where a repeat takes less than `min_repeat_ms`, `number` grows for it and those after it until it
        does not, as in TVM's time evaluator. Raises ValueError for numbers below 1 or a negative time.
        """
        if repeat < 1 or number < 1 or min_repeat_ms < 0:
            raise ValueError(
                f"repeat {repeat} and number {number} must be 1 or more, "
                f"min_repeat_ms {min_repeat_ms} not negative"
            )
        self._time_runs(1)
        results: list[float] = []
        while len(results) < repeat:
            seconds = self._time_runs(number)
            if seconds * 1e3 < min_repeat_ms:
                # By what was measured, but by no less than a factor that makes even a clock that stands
                # still end, and by no more than one that cannot overshoot for long.
                wanted = number * min_repeat_ms / (seconds * 1e3) if seconds > 0 else 0.0
                number = int(min(max(wanted + 1, number * 1.618 + 1), number * 10))
                continue
            results.append(seconds / number)
        return Benchmark(tuple(results), number)

    def precompile(self) -> bytes:
        """The module's programs as bytes for `set_precompiled_programs`, read when they are worth most.

        That is after a run: some devices compile a kernel for its work-group size at its first launch.
        Where this graph has not run yet it runs once, with the inputs as they are.
        """
        if not self._has_run:
            self.run()
        self.synchronize()
        return self.module.get_precompiled_programs()

    @property
    def supports_precompiled_programs(self) -> bool:
        """As `Module.supports_precompiled_programs`."""
        return self.module.supports_precompiled_programs

    def get_precompiled_programs(self) -> bytes:
        """As `Module.get_precompiled_programs`; before the first run they are worth less than after."""
        if not self._has_run:
            _log.warning(
                "programs are read before the first run: devices that compile at the first launch will do "
                "it again; precompile() reads them at the right moment"
            )
        return self.module.get_precompiled_programs()

    def set_precompiled_programs(self, data: bytes) -> None:
        """As `Module.set_precompiled_programs`; before the first run, which installs the kernels."""
        self.module.set_precompiled_programs(data)

    @property
    def precompiled_programs_changed(self) -> bool:
        """As `Module.precompiled_programs_changed`."""
        return self.module.precompiled_programs_changed

    def close(self) -> None:
        """Waits for the device and releases everything; a workspace that was given stays open."""
        with self.queue.lock:
            if self._closed:
                return
            self._closed = True
            try:
                self.synchronize()
            finally:
                self._bound_for = _NEVER
                self._calls = []
                _release(self._bindings)
                _release(self._kept_events or [])
                self._plan.release()
                self._close_owners()

    def __repr__(self) -> str:
        return f"<Graph {self.artifact.name}: {self.launches} launches on {self.queue.device.name}>"

    def _tensor(self, endpoint: Endpoint) -> DeviceTensor:
        if self._closed:
            raise RuntimeError(f"the graph {self.artifact.name} is closed")
        return self._plan.tensors[endpoint.tensor]

    def _bind(self) -> None:
        """Binds all launches to the queue in force; after a session they only move to the new queue."""
        if self._closed:
            raise RuntimeError(f"the graph {self.artifact.name} is closed")
        queue = self.queue.queue
        bindings: list[Binding] = []
        try:
            if self._bindings:
                for binding in self._bindings:
                    bindings.append(binding.on(queue))
            else:
                for launch in self._plan.launches:
                    bindings.append(
                        self.module.bind(
                            launch.kernel, launch.arguments, launch.global_size, launch.local_size
                        )
                    )
        except BaseException:
            _release(bindings)
            raise
        _release(self._bindings)
        self._bindings = bindings
        self._calls = [binding.__call__ for binding in bindings]
        self._bound_for = self.queue.generation

    def _run_with_events(self, sink: LaunchSink | None) -> None:
        for binding in self._bindings:
            event = binding.enqueue(want_event=True)
            assert event is not None, "an event was asked for"
            if self._kept_events is not None:
                self._kept_events.append(event.retain() if sink is not None else event)
            if sink is not None:
                sink.add(binding.kernel_name, event)

    def _time_runs(self, number: int) -> float:
        self.synchronize()
        start = time.perf_counter()
        for _ in range(number):
            self.run()
        self.synchronize()
        return time.perf_counter() - start

    def _close_owners(self) -> None:
        self.module.close()
        if self._owns_workspace:
            self.workspace.close()


def _endpoint(kind: str, endpoints: Sequence[Endpoint], which: str | int) -> Endpoint:
    if isinstance(which, str):
        for endpoint in endpoints:
            if endpoint.name == which:
                return endpoint
        names = ", ".join(endpoint.name for endpoint in endpoints)
        raise ValueError(f"the model has no {kind} {which!r}; it has: {names}")
    if not 0 <= which < len(endpoints):
        raise IndexError(f"{kind} {which} is out of range; the model has {len(endpoints)}")
    return endpoints[which]


def _release(held: Sequence[Binding | Event]) -> None:
    for one in held:
        one.release()
