"""When commands run and what the host sees of it (rules 2, 5 and 6)."""

from __future__ import annotations

import itertools
import threading
import time

import numpy as np
import pytest
from host import ADD, Host, code_of, launch, read, status, times, write

from clsim import api
from clsim import spec as cl
from clsim.spec import CLError


def test_a_status_goes_from_queued_to_submitted_to_running_to_complete(any_schedule):
    host = Host(schedule=any_schedule)
    queue = host.queue()
    event = write(queue, host.buffer(64), np.zeros(16, np.int32), want_event=True)
    seen = [status(event)]
    api.clFlush(queue)
    seen += [status(event) for _ in range(40)]
    assert list(dict.fromkeys(seen)) == [cl.CL_QUEUED, cl.CL_SUBMITTED, cl.CL_RUNNING, cl.CL_COMPLETE]


def test_times_are_ordered_and_commands_of_an_in_order_queue_do_not_overlap(any_schedule):
    host = Host(schedule=any_schedule)
    queue = host.profiling_queue()
    buffer = host.ints(0, 0, 0, 0)
    kernel = host.kernel(ADD, buffer, np.int32(1))
    events = [launch(queue, kernel, 4, want_event=True) for _ in range(5)]
    api.clFinish(queue)
    spans = [times(event) for event in events]
    for queued, submit, start, end in spans:
        assert queued <= submit <= start < end
    for before, after in itertools.pairwise(spans):
        assert before[3] <= after[2]


def test_the_same_calls_give_the_same_times(any_schedule):
    def run() -> list[tuple[int, int, int, int]]:
        host = Host(schedule=any_schedule, seed=7)
        queue = host.queue(cl.CL_QUEUE_PROFILING_ENABLE | cl.CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
        buffer = host.ints(*range(64))
        events = [write(queue, buffer, np.zeros(n, np.int32), want_event=True) for n in (1, 64, 5, 9)]
        api.clFinish(queue)
        return [times(event) for event in events]

    assert run() == run()


def test_a_random_schedule_depends_on_its_seed_alone():
    def order(seed: int) -> list[int]:
        host = Host(schedule="random", seed=seed)
        queue = host.queue(cl.CL_QUEUE_PROFILING_ENABLE | cl.CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
        buffer = host.buffer(64)
        events = [write(queue, buffer, np.zeros(4, np.int32), want_event=True) for _ in range(6)]
        api.clFinish(queue)
        return sorted(range(6), key=lambda i: times(events[i])[2])

    assert order(1) == order(1)
    assert len({tuple(order(seed)) for seed in range(10)}) > 1


def test_a_late_schedule_shows_a_host_that_reads_before_it_waits():
    seen = {}
    for schedule in ("fifo", "late"):
        host = Host(schedule=schedule)
        queue = host.queue()
        target = np.zeros(4, np.int32)
        buffer = host.ints(1, 2, 3, 4)
        event = api.clEnqueueReadBuffer(queue, buffer, False, 0, 16, target, None, True)
        api.clFlush(queue)
        seen[schedule] = target.tolist()
        api.clWaitForEvents([event])
        assert target.tolist() == [1, 2, 3, 4]
    assert seen == {"fifo": [1, 2, 3, 4], "late": [0, 0, 0, 0]}


def test_a_late_schedule_carries_out_a_command_once_its_completion_is_seen_by_a_poll():
    host = Host(schedule="late")
    queue = host.queue()
    target = np.zeros(4, np.int32)
    event = api.clEnqueueReadBuffer(queue, host.ints(1, 2, 3, 4), False, 0, 16, target, None, True)
    api.clFlush(queue)
    while status(event) != cl.CL_COMPLETE:
        assert target.tolist() == [0, 0, 0, 0]
    assert target.tolist() == [1, 2, 3, 4]


def test_an_in_order_queue_keeps_its_order_whatever_the_schedule(any_schedule):
    host = Host(schedule=any_schedule, seed=3)
    queue = host.queue()
    buffer = host.ints(1)
    double = host.kernel("kernel void k(global int *a) { a[0] *= 2; }", buffer)
    add = host.kernel(ADD, buffer, np.int32(3))
    for _ in range(4):
        launch(queue, double, 1)
        launch(queue, add, 1)
    # x -> 2x + 3, four times, from 1.
    assert read(queue, buffer) == [61]


def test_a_command_waits_for_its_wait_list_across_queues(any_schedule):
    host = Host(schedule=any_schedule)
    first, second = host.queue(), host.queue()
    buffer = host.ints(0, 0)
    written = write(first, buffer, np.array([5, 6], np.int32), want_event=True)
    api.clFlush(first)
    assert read(second, buffer, [written]) == [5, 6]
    assert not list(host.platform.findings)


def test_what_is_enqueued_on_an_out_of_order_queue_may_overtake_a_blocked_command():
    host = Host()
    queue = host.out_of_order_queue()
    user = api.clCreateUserEvent(host.context)
    buffer = host.ints(0)
    blocked = write(queue, buffer, np.array([1], np.int32), [user], True)
    free = write(queue, host.ints(0), np.array([2], np.int32), want_event=True)
    api.clFlush(queue)
    api.clWaitForEvents([free])
    assert status(free) == cl.CL_COMPLETE
    assert status(blocked) == cl.CL_SUBMITTED
    api.clSetUserEventStatus(user, cl.CL_COMPLETE)
    api.clFinish(queue)
    assert status(blocked) == cl.CL_COMPLETE


def test_waiting_behind_a_blocked_command_of_an_in_order_queue_is_named_a_deadlock():
    host = Host()
    queue = host.queue()
    user = api.clCreateUserEvent(host.context)
    write(queue, host.ints(0), np.array([1], np.int32), [user])
    behind = write(queue, host.ints(0), np.array([2], np.int32), want_event=True)
    with pytest.raises(CLError) as error:
        api.clWaitForEvents([behind])
    assert code_of(error) == cl.CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
    (finding,) = host.platform.findings.of("deadlock")
    assert user.label in finding.message
    assert behind.queue is not None
    assert behind.queue.label in finding.message


def test_a_wait_for_an_event_that_nobody_can_set_any_more_ends_in_an_error():
    host = Host()
    user = api.clCreateUserEvent(host.context)
    queue = host.queue()
    blocked = write(queue, host.ints(0), np.array([1], np.int32), [user], True)
    api.clReleaseEvent(user)
    stop = threading.Event()
    other = threading.Thread(target=stop.wait)
    other.start()
    try:
        with pytest.raises(CLError):
            api.clWaitForEvents([blocked])
    finally:
        stop.set()
        other.join()
    (finding,) = host.platform.findings.of("deadlock")
    assert "no reference" in finding.message


def test_a_user_event_set_on_another_thread_ends_a_wait_which_is_reported_stalled_once():
    host = Host()
    queue = host.queue()
    user = api.clCreateUserEvent(host.context)
    buffer = host.ints(0)
    write(queue, buffer, np.array([7], np.int32), [user])

    def later() -> None:
        time.sleep(0.05)
        api.clSetUserEventStatus(user, cl.CL_COMPLETE)

    thread = threading.Thread(target=later)
    thread.start()
    api.clFlush(queue)
    api.clFinish(queue)
    thread.join()
    assert read(queue, buffer) == [7]
    assert [finding.count for finding in host.platform.findings.of("stalled")] == [1]


def test_finish_waits_although_a_flush_came_just_before():
    host = Host()
    queue = host.queue()
    user = api.clCreateUserEvent(host.context)
    event = write(queue, host.ints(0), np.array([7], np.int32), [user], True)
    threading.Timer(0.05, lambda: api.clSetUserEventStatus(user, cl.CL_COMPLETE)).start()
    api.clFlush(queue)
    api.clFinish(queue)
    assert status(event) == cl.CL_COMPLETE


# ---------------------------------------------------------------- flushing


def test_a_wait_on_an_unflushed_event_of_another_queue_goes_on_with_a_warning_when_lenient():
    host = Host()
    first, second = host.queue(), host.queue()
    buffer = host.ints(0)
    written = write(first, buffer, np.array([4], np.int32), want_event=True)
    target = np.zeros(1, np.int32)
    done = api.clEnqueueReadBuffer(second, buffer, False, 0, 4, target, [written], True)
    api.clWaitForEvents([done])
    assert target[0] == 4
    (finding,) = host.platform.findings.of("missing-flush")
    assert finding.severity == "warning"
    assert first.label in finding.objects


def test_a_wait_on_an_unflushed_event_of_another_queue_is_an_error_when_strict():
    host = Host(strict=True)
    first, second = host.queue(), host.profiling_queue()
    written = write(first, host.ints(0), np.array([4], np.int32), want_event=True)
    marker = api.clEnqueueMarkerWithWaitList(second, [written], True)
    api.clFlush(second)
    with pytest.raises(CLError):
        api.clWaitForEvents([marker])
    (finding,) = host.platform.findings.of("missing-flush")
    assert finding.severity == "error"
    assert first.label in finding.message
    api.clFlush(first)
    api.clWaitForEvents([marker])


def test_nothing_of_an_unflushed_queue_runs_when_strict():
    host = Host(strict=True)
    queue = host.queue()
    target = np.zeros(1, np.int32)
    api.clEnqueueReadBuffer(queue, host.ints(9), False, 0, 4, target)
    api.clGetCommandQueueInfo(queue, cl.CL_QUEUE_PROPERTIES)
    assert target[0] == 0
    api.clFlush(queue)
    assert target[0] == 9


def test_polling_a_command_that_was_never_flushed_is_helped_and_reported_when_lenient():
    host = Host()
    event = write(host.queue(), host.ints(0), np.array([4], np.int32), want_event=True)
    seen = [status(event) for _ in range(40)]
    assert seen[0] == cl.CL_QUEUED
    assert seen[-1] == cl.CL_COMPLETE
    assert host.platform.findings.of("missing-flush")


def test_releasing_a_queue_flushes_it(any_schedule):
    host = Host(schedule=any_schedule, strict=True)
    first, second = host.queue(), host.queue()
    buffer = host.ints(1)
    add = host.kernel(ADD, buffer, np.int32(1))
    one = launch(first, add, 1, want_event=True)
    two = launch(second, add, 1, [one], True)
    api.clReleaseCommandQueue(first)
    api.clFlush(second)
    for _ in range(100):
        if status(two) == cl.CL_COMPLETE:
            break
    assert status(two) == cl.CL_COMPLETE
    with pytest.raises(CLError) as error:
        api.clFinish(first)
    assert code_of(error) == cl.CL_INVALID_COMMAND_QUEUE
    assert read(second, buffer) == [3]


def test_a_long_unflushed_queue_submits_by_itself_when_lenient():
    host = Host()
    queue = host.queue()
    event = write(queue, host.ints(0), np.array([1], np.int32), want_event=True)
    for _ in range(2000):
        write(queue, host.ints(0), np.array([1], np.int32))
    assert len(queue.pending) < 1000
    api.clFinish(queue)
    assert status(event) == cl.CL_COMPLETE


# ---------------------------------------------------------------- failure


def test_what_waits_for_a_failed_command_ends_with_an_error_and_never_runs(any_schedule):
    host = Host(schedule=any_schedule)
    queue = host.out_of_order_queue()
    user = api.clCreateUserEvent(host.context)
    buffer = host.ints(1)
    first = write(queue, buffer, np.array([2], np.int32), [user], True)
    second = write(queue, buffer, np.array([3], np.int32), [first], True)
    told: list[int] = []
    api.clSetEventCallback(second, cl.CL_COMPLETE, told.append)
    api.clFlush(queue)
    api.clSetUserEventStatus(user, -5)
    with pytest.raises(CLError) as error:
        api.clWaitForEvents([first, second])
    assert code_of(error) == cl.CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
    assert status(user) == -5
    assert status(first) == status(second) == cl.CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
    assert told == [cl.CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST]
    api.clReleaseMemObject(buffer)
    assert host.platform.ledger.live("buffer") == 0


def test_a_blocking_command_whose_wait_list_failed_raises():
    host = Host()
    queue = host.queue()
    user = api.clCreateUserEvent(host.context)
    api.clSetUserEventStatus(user, -1)
    with pytest.raises(CLError) as error:
        read(queue, host.ints(1), [user])
    assert code_of(error) == cl.CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST


@pytest.mark.parametrize(("quirk", "result"), [("continue", [9]), ("fail", [1])])
def test_what_an_in_order_queue_does_behind_a_failure_is_the_profiles(
    quirk, result, profile_with, any_schedule
):
    host = Host(profile_with(in_order_failure=quirk), schedule=any_schedule)
    queue = host.queue()
    user = api.clCreateUserEvent(host.context)
    buffer = host.ints(1)
    write(queue, buffer, np.array([5], np.int32), [user])
    write(queue, buffer, np.array([9], np.int32))
    api.clFlush(queue)
    api.clSetUserEventStatus(user, -1)
    api.clFinish(queue)
    assert read(host.queue(), buffer) == result


# ---------------------------------------------------------------- markers and barriers


def test_a_marker_without_a_wait_list_completes_after_all_before_it():
    host = Host(schedule="random", seed=5)
    queue = host.queue(cl.CL_QUEUE_PROFILING_ENABLE | cl.CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
    events = [write(queue, host.buffer(4 * n), np.zeros(n, np.int32), want_event=True) for n in (900, 1, 30)]
    marker = api.clEnqueueMarkerWithWaitList(queue, None, True)
    api.clFinish(queue)
    assert times(marker)[3] >= max(times(event)[3] for event in events)


def test_a_marker_with_a_wait_list_waits_for_that_alone():
    host = Host()
    queue = host.out_of_order_queue()
    user = api.clCreateUserEvent(host.context)
    write(queue, host.ints(0), np.zeros(1, np.int32), [user])
    done = write(queue, host.ints(0), np.zeros(1, np.int32), want_event=True)
    marker = api.clEnqueueMarkerWithWaitList(queue, [done], True)
    api.clWaitForEvents([marker])
    assert status(marker) == cl.CL_COMPLETE
    api.clSetUserEventStatus(user, 0)


def test_commands_behind_a_barrier_do_not_start_before_it(any_schedule):
    host = Host(schedule=any_schedule, seed=11)
    queue = host.out_of_order_queue()
    user = api.clCreateUserEvent(host.context)
    api.clEnqueueBarrierWithWaitList(queue, [user])
    behind = write(queue, host.ints(0), np.zeros(1, np.int32), want_event=True)
    api.clFlush(queue)
    assert [status(behind) for _ in range(20)] == [cl.CL_SUBMITTED] * 20
    api.clSetUserEventStatus(user, 0)
    api.clWaitForEvents([behind])


def test_a_barrier_orders_an_out_of_order_queue_in_time():
    host = Host(schedule="random", seed=2)
    queue = host.queue(cl.CL_QUEUE_PROFILING_ENABLE | cl.CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
    before = [write(queue, host.buffer(400), np.zeros(100, np.int32), want_event=True) for _ in range(3)]
    api.clEnqueueBarrierWithWaitList(queue)
    after = [write(queue, host.buffer(400), np.zeros(100, np.int32), want_event=True) for _ in range(3)]
    api.clFinish(queue)
    assert max(times(event)[3] for event in before) <= min(times(event)[2] for event in after)


def test_markers_stand_between_the_commands_around_them_in_time():
    host = Host()
    queue = host.profiling_queue()
    buffer = host.ints(1)
    first = api.clEnqueueMarkerWithWaitList(queue, None, True)
    kernel = launch(queue, host.kernel(ADD, buffer, np.int32(1)), 1, want_event=True)
    second = api.clEnqueueMarkerWithWaitList(queue, None, True)
    api.clWaitForEvents([second])
    assert times(first)[3] <= times(kernel)[2] < times(kernel)[3] <= times(second)[3]


# ---------------------------------------------------------------- callbacks


def test_callbacks_come_once_each_with_the_status_they_were_registered_for(any_schedule):
    host = Host(schedule=any_schedule)
    queue = host.queue()
    event = write(queue, host.ints(0), np.zeros(1, np.int32), want_event=True)
    told: list[int] = []
    for wanted in (cl.CL_COMPLETE, cl.CL_RUNNING, cl.CL_SUBMITTED):
        api.clSetEventCallback(event, wanted, told.append)
    assert told == []
    api.clFinish(queue)
    assert sorted(told) == [cl.CL_COMPLETE, cl.CL_RUNNING, cl.CL_SUBMITTED]
    api.clSetEventCallback(event, cl.CL_COMPLETE, told.append)
    assert told[-1] == cl.CL_COMPLETE
    assert len(told) == 4


def test_callbacks_of_a_user_event_that_fails_get_its_code():
    host = Host()
    user = api.clCreateUserEvent(host.context)
    told: list[int] = []
    api.clSetEventCallback(user, cl.CL_COMPLETE, told.append)
    api.clSetUserEventStatus(user, -5)
    assert told == [-5]


def test_a_callback_is_delivered_while_the_host_blocks_and_may_set_a_user_event():
    host = Host()
    queue = host.queue()
    first, second = api.clCreateUserEvent(host.context), api.clCreateUserEvent(host.context)
    api.clSetUserEventStatus(first, cl.CL_COMPLETE)
    marker = api.clEnqueueMarkerWithWaitList(queue, [first], True)
    api.clSetEventCallback(marker, cl.CL_COMPLETE, lambda _: api.clSetUserEventStatus(second, cl.CL_COMPLETE))
    api.clFlush(queue)
    api.clWaitForEvents([second])
    assert not list(host.platform.findings)


def test_waiting_for_what_an_unflushed_callback_would_set_is_diagnosed():
    host = Host(strict=True)
    queue = host.queue()
    user = api.clCreateUserEvent(host.context)
    marker = api.clEnqueueMarkerWithWaitList(queue, None, True)
    api.clSetEventCallback(marker, cl.CL_COMPLETE, lambda _: api.clSetUserEventStatus(user, cl.CL_COMPLETE))
    with pytest.raises(CLError):
        api.clWaitForEvents([user])
    (finding,) = host.platform.findings.of("missing-flush")
    assert queue.label in finding.objects


def test_a_callback_never_runs_inside_another():
    host = Host()
    queue = host.queue()
    depth: list[int] = [0]
    deepest: list[int] = [0]
    left: list[int] = [5]

    def again(_: int) -> None:
        depth[0] += 1
        deepest[0] = max(deepest[0], depth[0])
        if left[0]:
            left[0] -= 1
            event = api.clEnqueueMarkerWithWaitList(queue, None, True)
            api.clSetEventCallback(event, cl.CL_COMPLETE, again)
            api.clFlush(queue)
            api.clReleaseEvent(event)
        depth[0] -= 1

    again(0)
    for _ in range(10):
        api.clFinish(queue)
    assert left == [0]
    assert deepest == [1]
    assert host.platform.ledger.live("event") == 0


def test_a_callback_that_blocks_or_raises_is_reported():
    host = Host()
    queue = host.queue()

    def blocks(_: int) -> None:
        write(queue, host.ints(0), np.zeros(1, np.int32), blocking=True)
        raise ValueError("lost")

    event = api.clEnqueueMarkerWithWaitList(queue, None, True)
    api.clSetEventCallback(event, cl.CL_COMPLETE, blocks)
    api.clWaitForEvents([event])
    assert host.platform.findings.of("blocking-in-callback")
    assert "lost" in host.platform.findings.of("callback-raised")[0].message
