"""The ledger: counts, bytes and places, bounded whatever the run's length (rule 12)."""

from __future__ import annotations

import gc
import inspect
import tracemalloc
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from host import ADD, Host, launch, write

import clsim
from clsim import api
from clsim import spec as cl
from clsim.ledger import Point, SiteTable, Timeline


def kept_events(host: Host, launches: int, queue=None):
    queue = queue or host.queue()
    bound = api.bind_ndrange(queue, host.kernel(ADD, host.ints(0), np.int32(1)), (1,))
    events = []
    for n in range(launches):
        events.append(bound.enqueue(None, True))
        if n % 40 == 39:
            api.clFinish(queue)
    return events


def test_kept_events_take_the_profiles_bytes_and_grow_linearly():
    host = Host("adreno-750", execution="none")
    events = kept_events(host, 4000)
    ledger = host.platform.ledger
    size = host.platform.profile.retention.event
    assert ledger.live("event") == ledger.peak("event") == ledger.total("event") == 4000
    assert ledger.bytes("event") == 4000 * size
    points = [
        (point.total_events, point.live_events) for point in ledger.timeline.points if point.live_events
    ]
    assert all(point.event_bytes == point.live_events * size for point in ledger.timeline.points)
    assert [live for _, live in points] == sorted(live for _, live in points)
    for event in events:
        api.clReleaseEvent(event)
    assert ledger.live("event") == ledger.bytes("event") == 0
    assert ledger.peak("event") == 4000
    assert ledger.peak_bytes("event") == 4000 * size


def test_an_event_of_a_profiling_queue_takes_the_profiled_bytes():
    host = Host("adreno-750")
    queue = host.profiling_queue()
    write(queue, host.ints(0), np.zeros(1, np.int32), want_event=True)
    assert host.platform.ledger.bytes("event") == host.platform.profile.retention.profiled_event


def test_launches_without_events_keep_none():
    host = Host(execution="none")
    queue = host.queue()
    kernel = host.kernel(ADD, host.ints(0), np.int32(1))
    for _ in range(500):
        launch(queue, kernel, 1)
    ledger = host.platform.ledger
    assert ledger.total("event") == 0
    assert ledger.launches == {"add": 500}
    assert ledger.commands == {cl.CL_COMMAND_NDRANGE_KERNEL: 500}
    assert not queue.pending


def test_events_are_told_apart_by_place_queue_and_command_type():
    host = Host()
    first, second = host.queue(), host.queue()
    buffer = host.ints(0)
    data = bytes(4)
    kept = [api.clEnqueueWriteBuffer(first, buffer, False, 0, 4, data, None, True) for _ in range(3)]
    line = inspect.currentframe().f_lineno - 1
    kept += [api.clEnqueueMarkerWithWaitList(second, None, True) for _ in range(2)]
    ledger = host.platform.ledger
    assert ledger.live_by("event", lambda a: a.queue) == {first.number: 3, second.number: 2}
    assert ledger.live_by("event", lambda a: a.detail) == {
        cl.CL_COMMAND_WRITE_BUFFER: 3,
        cl.CL_COMMAND_MARKER: 2,
    }
    account = ledger.by_site("event")[0]
    assert account.live == 3
    assert account.site.file == __file__
    assert account.site.line == line
    assert ledger.by_site("event")[1].site.line == line + 2
    assert len(kept) == 5


def test_the_ledger_stays_small_over_many_sessions():
    host = Host(execution="none")
    for _ in range(300):
        queue = host.profiling_queue()
        event = write(queue, host.ints(0), np.zeros(1, np.int32), want_event=True)
        api.clFinish(queue)
        api.clReleaseEvent(event)
        api.clReleaseCommandQueue(queue)
    ledger = host.platform.ledger
    assert ledger.total("event") == ledger.total("queue") == 300
    assert ledger.account_count < 20
    assert len(ledger.timeline.points) < ledger.timeline.capacity


def test_a_timeline_keeps_a_bounded_number_of_evenly_spread_points():
    timeline = Timeline(capacity=64)
    for change in range(100_000):
        if change >= timeline.next_change:
            timeline.add(Point(change, change, 0, change, 0, 0))
    changes = [point.change for point in timeline.points]
    assert 32 <= len(changes) <= 64
    gaps = {after - before for before, after in pairwise(changes)}
    assert gaps == {timeline.stride}


def test_one_place_is_one_site_and_two_calls_on_one_line_are_too():
    table = SiteTable()

    def caller():
        return table.here(), table.here()

    a, b = caller()
    c, _ = caller()
    assert a is b is c
    assert a.function.endswith("caller")
    assert a.file == __file__


def test_frames_of_the_simulator_the_runtime_and_the_binding_are_passed_over():
    home = Path(clsim.__file__).parents[1]
    table = SiteTable()
    for file, passed in (
        (home / "clsim" / "api" / "queue.py", True),
        (home / "runtime" / "graph.py", True),
        (home / "runtime" / "demo" / "program.py", False),
        (Path("/usr/lib/python3/dist-packages/pyopencl/__init__.py"), True),
        (Path("/home/someone/runtime/graph.py"), False),
    ):
        space = {"table": table}
        exec(compile("def call():\n    return table.here()", str(file), "exec"), space)
        assert (space["call"]().file == __file__) == passed


def test_a_ledger_snapshot_compares_before_and_after():
    host = Host()
    before = host.platform.ledger.snapshot()
    buffer = host.buffer(128)
    assert host.platform.ledger.snapshot()["buffer"] == before.get("buffer", 0) + 1
    assert host.platform.ledger.bytes("buffer") == 128
    api.clReleaseMemObject(buffer)
    assert host.platform.ledger.bytes("buffer") == 0


@pytest.mark.parametrize("keep", [False, True])
def test_memory_of_the_process_is_flat_but_for_kept_events(keep):
    host = Host(execution="none")
    queue = host.queue()
    buffer = host.ints(0)
    kernels = [host.kernel(ADD, buffer, np.int32(n)) for n in range(5)]
    bound = [api.bind_ndrange(queue, kernel, (1,)) for kernel in kernels]
    kept = []

    def runs(count):
        for _ in range(count):
            write(queue, buffer, np.zeros(1, np.int32))
            for launch_bound in bound:
                if keep:
                    kept.append(launch_bound.enqueue(None, True))
                else:
                    launch_bound()
            api.clFinish(queue)

    # The timeline fills up first; after that it replaces points.
    runs(600)
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        runs(1000)
        gc.collect()
        growth = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert host.platform.ledger.live("event") == (8000 if keep else 0)
    if keep:
        assert 5000 * 150 < growth < 5000 * 1000
    else:
        assert growth < 20_000
