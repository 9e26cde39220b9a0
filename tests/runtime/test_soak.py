"""Many runs of the small model: nothing grows, unless events are kept."""

from __future__ import annotations

import sys

import pytest

from runtime.cl.discovery import open_device
from runtime.process_memory import private_bytes
from runtime.soak import soak
from tests.runtime.small_artifact import small_artifact

LAUNCHES = 2


@pytest.fixture
def idle():
    """A simulated device that computes nothing."""
    return open_device("sim", execution="none")


def test_no_event_lives_and_memory_stays_flat(idle):
    result = soak(small_artifact(), idle, runs=6000)
    assert (result.runs, result.launches) == (6000, 6000 * LAUNCHES)
    assert (result.live_events_end, result.live_events_peak, result.event_bytes_end) == (0, 0, 0)
    assert result.warm_up_runs == 500
    assert result.rss_growth_bytes is not None
    assert result.rss_growth_bytes < 500_000


def test_sessions_leave_no_event_either(idle):
    result = soak(small_artifact(), idle, runs=2000, profile_every=100)
    assert result.sessions == 20
    assert result.session_launches == 20 * LAUNCHES
    assert result.live_events_end == 0
    assert result.live_events_peak == LAUNCHES
    assert result.rss_growth_bytes is not None
    assert result.rss_growth_bytes < 500_000


def test_kept_events_grow_by_the_launches_of_each_run(idle):
    result = soak(small_artifact(), idle, runs=1000, keep_events=True, samples=10)
    each = idle.native.platform.event_bytes(False)
    assert result.live_events_end == 1000 * LAUNCHES
    assert result.event_bytes_end == 1000 * LAUNCHES * each
    assert [(s.run, s.live_events, s.event_bytes) for s in result.samples] == [
        (run, run * LAUNCHES, run * LAUNCHES * each) for run in range(100, 1001, 100)
    ]
    assert idle.native.platform.ledger.live("event") == 0, "closing the graph ends the fault"


def test_progress_is_told_at_each_sample(idle):
    told = []
    result = soak(
        small_artifact(), idle, runs=25, samples=10, progress=lambda run, runs: told.append((run, runs))
    )
    assert [run for run, _ in told] == [sample.run for sample in result.samples]
    assert told[-1] == (25, 25)
    assert 10 <= len(told) <= 14


def test_a_device_that_does_not_tell_has_no_event_counts(device):
    if device.is_simulated:
        pytest.skip("a simulated device tells its events")
    result = soak(small_artifact(), device, runs=20, profile_every=10)
    assert (result.live_events_end, result.live_events_peak, result.event_bytes_end) == (None, None, None)
    assert result.session_launches == 2 * LAUNCHES


@pytest.mark.parametrize("wrong", [{"runs": 0}, {"samples": 0}, {"profile_every": -1}])
def test_numbers_that_mean_nothing_are_refused(idle, wrong):
    with pytest.raises(ValueError, match="must be 1 or more"):
        soak(small_artifact(), idle, **wrong)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it needs psutil, which is no dependency")
def test_private_memory_grows_with_what_is_allocated():
    before = private_bytes()
    block = b"\1" * 50_000_000
    after = private_bytes()
    assert before is not None
    assert after is not None
    assert 49_000_000 < after - before < 60_000_000
    assert len(block) == 50_000_000
