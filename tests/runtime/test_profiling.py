"""Profiling sessions on a scripted device; on real ones, see the conformance suite."""

from __future__ import annotations

import pytest

from runtime import profiling
from runtime.cl.codes import ErrorCode
from runtime.cl.interface import CLError, ProfilingTimes
from runtime.profiling import LaunchRecord, ProfilingSession
from runtime.workspace import QueueHandle, Workspace
from tests.runtime.fake_cl import Cl, FakeDevice, FakeKernel

DURATION_NS = 10  # of a launch that the test says nothing of


@pytest.fixture
def cl() -> Cl:
    return Cl()


@pytest.fixture
def handle(cl: Cl):
    with Workspace(FakeDevice(cl)) as workspace:
        yield workspace.queue()


@pytest.fixture
def launch(cl: Cl, handle: QueueHandle):
    def enqueue(name: str = "k", **options):
        return handle.enqueue_kernel(FakeKernel(cl, name), (1,), **options)

    return enqueue


def test_outside_of_a_session_a_launch_has_no_event(cl, handle, launch):
    for _ in range(100):
        launch()
    assert cl.most_live["event"] == 0
    assert not handle.profiling


def test_a_session_times_what_is_launched_in_it_and_leaves_nothing_behind(cl, handle, launch):
    launch()
    with ProfilingSession(handle) as session:
        assert handle.profiling
        launch("a")
        launch("b")
        launch("a")
    launch()
    assert session.launches == 3
    assert session.total_ns == 3 * DURATION_NS
    assert {name: k.launches for name, k in session.kernels.items()} == {"a": 2, "b": 1}
    assert cl.live["event"] == 0
    assert not handle.profiling
    assert cl.live["queue"] == 1


def test_records_hold_all_four_times_of_each_launch_in_order(cl, handle, launch):
    cl.times = [ProfilingTimes(1, 2, 3, 7), ProfilingTimes(10, 20, 30, 31)]
    with ProfilingSession(handle) as session:
        launch("a")
        launch("b")
    assert list(session.records) == [LaunchRecord("a", 1, 2, 3, 7), LaunchRecord("b", 10, 20, 30, 31)]
    assert [record.duration_ns for record in session.records] == [4, 1]


def test_shortest_and_longest_launch_of_a_kernel_are_kept(cl, handle, launch):
    cl.times = [ProfilingTimes(0, 0, 10, 10 + d) for d in (30, 20, 50)]
    with ProfilingSession(handle) as session:
        for _ in range(3):
            launch()
    kernel = session.kernels["k"]
    assert (kernel.shortest_ns, kernel.longest_ns, kernel.total_ns) == (20, 50, 100)


def test_a_session_around_no_launch_gives_0_and_ends(handle):
    with ProfilingSession(handle) as session:
        pass
    assert (session.launches, session.total_ns, list(session.records)) == (0, 0, [])


def test_five_inner_sessions_see_their_own_launch_and_the_outer_sees_all(cl, handle, launch):
    cl.times = [ProfilingTimes(0, 0, 0, d) for d in (1, 2, 3, 4, 5)]
    inner_ns = []
    with ProfilingSession(handle) as outer:
        for _ in range(5):
            with ProfilingSession(handle) as inner:
                launch()
            inner_ns.append(inner.total_ns)
            assert handle.profiling, "the outer session goes on"
    assert inner_ns == [1, 2, 3, 4, 5]
    assert outer.launches == 5
    assert outer.total_ns == 15
    assert cl.live["event"] == 0
    assert cl.log.count("create profiling queue") == 1


def test_sessions_may_end_in_another_order_than_they_began(handle, launch):
    first, second = ProfilingSession(handle), ProfilingSession(handle)
    first.start()
    launch()
    second.start()
    launch()
    first.stop()
    launch()
    assert handle.profiling
    second.stop()
    assert (first.launches, second.launches) == (2, 2)
    assert not handle.profiling


def test_one_session_started_and_stopped_ten_times_counts_each_time_anew(cl, handle, launch):
    session = ProfilingSession(handle)
    for _ in range(10):
        session.start()
        for _ in range(3):
            launch()
        session.stop()
        assert session.launches == 3
        assert session.total_ns == 3 * DURATION_NS
    assert cl.live["event"] == 0


def test_starting_twice_and_stopping_what_is_not_started_are_refused(handle):
    session = ProfilingSession(handle)
    with pytest.raises(RuntimeError, match="not started"):
        session.stop()
    with session, pytest.raises(RuntimeError, match="already started"):
        session.start()


def test_the_queue_is_a_normal_one_again_after_the_body_raised(cl, handle, launch):
    session = ProfilingSession(handle)

    def body() -> None:
        with session:
            launch()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        body()
    assert session.launches == 1, "what was launched before is not lost"
    assert not handle.profiling
    assert cl.live["event"] == 0


def test_the_bodys_error_is_raised_although_the_device_fails_too(cl, handle):
    def body() -> None:
        with ProfilingSession(handle):
            cl.fail["finish"] = [ErrorCode.CL_OUT_OF_RESOURCES]
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        body()
    assert not handle.profiling


def test_a_device_that_fails_at_the_end_is_told_and_nothing_stays_alive(cl, handle, launch):
    session = ProfilingSession(handle).__enter__()
    launch()
    cl.fail["finish"] = [ErrorCode.CL_OUT_OF_RESOURCES]
    with pytest.raises(CLError, match="CL_OUT_OF_RESOURCES"):
        session.stop()
    assert not handle.profiling
    assert cl.live["event"] == 0


def test_a_device_without_profiling_queues_opens_no_session(cl, handle, launch):
    cl.fail["create profiling queue"] = [ErrorCode.CL_INVALID_QUEUE_PROPERTIES]
    session = ProfilingSession(handle)
    with pytest.raises(CLError):
        session.start()
    launch()
    assert cl.most_live["event"] == 0
    with session:
        launch()
    assert session.launches == 1, "a second try, which the device grants, starts from nothing"


def test_a_launch_that_cannot_be_enqueued_loses_nothing(cl, handle, launch):
    with ProfilingSession(handle) as session:
        launch()
        launch()
        cl.fail["launch k"] = [ErrorCode.CL_MEM_OBJECT_ALLOCATION_FAILURE]
        with pytest.raises(CLError, match="CL_MEM_OBJECT_ALLOCATION_FAILURE"):
            launch()
        launch()
    assert session.launches == 3
    assert session.dropped == 0
    assert cl.live["event"] == 0


def test_a_long_session_holds_a_bounded_number_of_events(cl, handle, launch):
    count = 20 * profiling.MAX_EVENTS_IN_FLIGHT
    with ProfilingSession(handle) as session:
        for _ in range(count):
            launch()
    assert session.launches == count
    assert session.total_ns == count * DURATION_NS
    assert cl.most_live["event"] <= profiling.MAX_EVENTS_IN_FLIGHT
    assert cl.live["event"] == 0


def test_beyond_its_records_a_session_only_adds_up(handle, launch):
    with ProfilingSession(handle, max_records=5) as session:
        for _ in range(12):
            launch()
    assert len(list(session.records)) == 5
    assert session.launches == 12


@pytest.mark.parametrize(
    "times",
    [
        pytest.param(ProfilingTimes(1, 2, 9, 4), id="ended before it started"),
        pytest.param(ProfilingTimes(5, 2, 9, 12), id="submitted before it was queued"),
        pytest.param(ProfilingTimes(1, 9, 5, 12), id="started before it was submitted"),
        pytest.param(ProfilingTimes(1, 2, 3, 2**64 - 5), id="a difference below zero, unsigned"),
        pytest.param(ErrorCode.CL_OUT_OF_RESOURCES.value, id="the launch failed"),
    ],
)
def test_a_launch_without_usable_times_is_dropped_and_counted(cl, handle, launch, times):
    good = ProfilingTimes(0, 0, 0, 7)
    cl.times = [good, times, good]
    with ProfilingSession(handle) as session:
        for _ in range(3):
            launch()
    assert session.launches == 2
    assert session.total_ns == 14
    assert session.dropped == 1
    assert cl.live["event"] == 0


def test_a_holder_who_wants_the_event_of_a_timed_launch_gets_one_of_his_own(cl, handle, launch):
    with ProfilingSession(handle) as session:
        event = launch(want_event=True)
    assert session.launches == 1
    assert cl.live["event"] == 1
    assert event.profile.duration_ns == DURATION_NS
    event.release()
    assert cl.live["event"] == 0
