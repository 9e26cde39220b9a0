"""Events: status, wait, callbacks and times, and how long all that can be asked (sections 5.11 and 5.14)."""

from __future__ import annotations

import itertools

import pytest
from clkit import (
    Gate,
    asked,
    eventually,
    fails,
    int32,
    int_buffer,
    kernel,
    read_ints,
    release,
    settled_counts,
)

from runtime.cl.codes import CommandType, ErrorCode
from runtime.cl.interface import Context, Device, Event, MapFlags, Queue, Status

NOT_AVAILABLE = ErrorCode.CL_PROFILING_INFO_NOT_AVAILABLE


def test_an_event_tells_its_command_and_its_queue(context: Context, queue: Queue) -> None:
    data, other = int_buffer(context, range(8)), int_buffer(context, range(8))
    add = kernel(context, "add", data, int32(1))
    commands = (
        (CommandType.NDRANGE_KERNEL, queue.enqueue_kernel(add, (8,), want_event=True)),
        (CommandType.WRITE_BUFFER, queue.enqueue_write(data, bytes(32), want_event=True)),
        (CommandType.READ_BUFFER, queue.enqueue_read(data, bytearray(32), want_event=True)),
        (CommandType.COPY_BUFFER, queue.enqueue_copy(data, other, want_event=True)),
        (CommandType.FILL_BUFFER, queue.enqueue_fill(data, bytes(4), want_event=True)),
        (CommandType.MARKER, queue.enqueue_marker(want_event=True)),
        (CommandType.BARRIER, queue.enqueue_barrier(want_event=True)),
        (CommandType.UNMAP_MEM_OBJECT, queue.enqueue_map(data, MapFlags.READ).unmap(want_event=True)),
    )
    for expected, event in commands:
        event = asked(event)
        assert event.command == expected
        home = event.queue
        assert home is not None
        assert home.handle == queue.handle
        release(event)
    queue.finish()


def test_no_command_gives_an_event_that_was_not_asked_for(context: Context, queue: Queue) -> None:
    data, other = int_buffer(context, range(8)), int_buffer(context, range(8))
    add = kernel(context, "add", data, int32(1))
    binding = queue.bind(add, [data, int32(1)], (8,))
    for event in (
        queue.enqueue_kernel(add, (8,)),
        queue.enqueue_write(data, bytes(32)),
        queue.enqueue_write(data, bytes(32), blocking=False),
        queue.enqueue_read(data, bytearray(32)),
        queue.enqueue_read(data, bytearray(32), blocking=False),
        queue.enqueue_copy(data, other),
        queue.enqueue_fill(data, bytes(4)),
        queue.enqueue_marker(),
        queue.enqueue_barrier(),
        queue.enqueue_map(data, MapFlags.READ).unmap(),
        binding.enqueue(want_event=False),
    ):
        assert event is None
    queue.finish()
    binding.release()


def test_a_thousand_commands_without_events_leave_no_reference(context: Context, queue: Queue) -> None:
    data = int_buffer(context, [0] * 8)
    add = kernel(context, "add", data, int32(1))
    binding = queue.bind(add, [data, int32(1)], (8,))

    def work(times: int) -> None:
        for _ in range(times):
            queue.enqueue_kernel(add, (8,))
            binding()
            queue.enqueue_fill(data, int32(0), size=4)
            queue.enqueue_marker()
        queue.finish()

    work(1)
    before = settled_counts(context, queue, data, add)
    work(250)
    assert settled_counts(context, queue, data, add) == before
    binding.release()


def test_the_status_is_complete_after_a_wait(context: Context, queue: Queue) -> None:
    data = int_buffer(context, range(8))
    event = asked(queue.enqueue_kernel(kernel(context, "add", data, int32(1)), (8,), want_event=True))
    event.wait()
    assert event.status == Status.COMPLETE
    event.wait()
    event.release()


def test_the_status_is_complete_after_the_queue_was_finished(context: Context, queue: Queue) -> None:
    data = int_buffer(context, range(8))
    event = asked(queue.enqueue_kernel(kernel(context, "add", data, int32(1)), (8,), want_event=True))
    queue.flush()
    queue.finish()
    assert event.status == Status.COMPLETE
    event.release()


def test_a_command_behind_a_gate_is_queued_or_submitted(context: Context, queue: Queue, gate: Gate) -> None:
    event = asked(queue.enqueue_marker([gate.event], want_event=True))
    queue.flush()
    assert event.status in (Status.QUEUED, Status.SUBMITTED)
    gate.open()
    event.wait()
    assert event.status == Status.COMPLETE
    event.release()


def test_the_status_never_goes_back(context: Context, queue: Queue, gate: Gate) -> None:
    data = int_buffer(context, range(256))
    add = kernel(context, "add", data, int32(1))
    event = asked(queue.enqueue_kernel(add, (256,), wait_for=[gate.event], want_event=True))
    queue.flush()
    seen = [event.status]
    gate.open()

    def look() -> bool:
        seen.append(event.status)
        return seen[-1] <= Status.COMPLETE

    eventually(look, "completion")
    assert seen == sorted(seen, reverse=True)
    assert seen[-1] == Status.COMPLETE
    event.release()


def test_a_callback_comes_once_with_the_status_it_was_registered_for(
    context: Context, queue: Queue, gate: Gate
) -> None:
    event = asked(queue.enqueue_marker([gate.event], want_event=True))
    called: list[tuple[Status, int]] = []
    for status in (Status.SUBMITTED, Status.RUNNING, Status.COMPLETE):
        event.on_status(status, lambda now, status=status: called.append((status, now)))  # type: ignore[misc]
    queue.flush()
    gate.open()
    event.wait()
    queue.finish()
    eventually(lambda: len(called) == 3 or event.status > 0, "three callbacks")
    eventually(lambda: len(called) >= 3, "three callbacks")
    assert sorted(called) == [(s, s) for s in (Status.COMPLETE, Status.RUNNING, Status.SUBMITTED)]
    event.release()


def test_a_callback_of_a_complete_command_still_comes(context: Context, queue: Queue) -> None:
    event = asked(queue.enqueue_marker(want_event=True))
    event.wait()
    called: list[int] = []
    event.on_status(Status.COMPLETE, called.append)
    eventually(lambda: called or event.status, "the callback")
    assert called == [Status.COMPLETE]
    event.release()


def test_a_callback_is_not_called_before_its_time(context: Context, queue: Queue, gate: Gate) -> None:
    event = asked(queue.enqueue_marker([gate.event], want_event=True))
    called: list[int] = []
    event.on_status(Status.COMPLETE, called.append)
    queue.flush()
    for _ in range(20):
        assert event.status > Status.COMPLETE
        assert not called
    gate.open()
    event.wait()
    eventually(lambda: called or event.status, "the callback")
    event.release()


def test_a_callback_may_release_its_event(context: Context, queue: Queue, gate: Gate) -> None:
    event = asked(queue.enqueue_marker([gate.event], want_event=True))
    event.on_status(Status.COMPLETE, lambda _: event.release())
    gate.open()
    queue.finish()
    eventually(lambda: event.released or queue.flush(), "the callback")


def test_there_is_no_callback_for_queued(queue: Queue) -> None:
    event = asked(queue.enqueue_marker(want_event=True))
    with fails(ErrorCode.CL_INVALID_VALUE):
        event.on_status(Status.QUEUED, print)
    event.wait()
    event.release()


def test_times_are_in_the_order_of_a_commands_life(context: Context, profiling_queue: Queue) -> None:
    data = int_buffer(context, range(64))
    add = kernel(context, "add", data, int32(1))
    event = asked(profiling_queue.enqueue_kernel(add, (64,), want_event=True))
    event.wait()
    times = event.profile
    assert 0 < times.queued_ns <= times.submitted_ns <= times.started_ns <= times.ended_ns
    assert times.duration_ns == times.ended_ns - times.started_ns
    event.release()


def test_times_stay_what_they_are(context: Context, profiling_queue: Queue) -> None:
    data = int_buffer(context, range(64))
    add = kernel(context, "add", data, int32(1))
    event = asked(profiling_queue.enqueue_kernel(add, (64,), want_event=True))
    event.wait()
    times = event.profile
    for _ in range(10):
        profiling_queue.enqueue_kernel(add, (64,))
    profiling_queue.finish()
    assert event.profile == times
    event.release()


def test_a_later_kernel_of_an_in_order_queue_starts_after_the_earlier_one_ended(
    context: Context, profiling_queue: Queue
) -> None:
    data = int_buffer(context, range(64))
    add = kernel(context, "add", data, int32(1))
    events = [asked(profiling_queue.enqueue_kernel(add, (64,), want_event=True)) for _ in range(8)]
    profiling_queue.finish()
    times = [event.profile for event in events]
    for earlier, later in itertools.pairwise(times):
        assert earlier.queued_ns <= later.queued_ns
        assert earlier.ended_ns <= later.started_ns
    release(*events)


@pytest.mark.parametrize("command", ["kernel", "write", "read", "copy", "fill"])
def test_every_command_of_a_profiling_queue_has_times(
    context: Context, profiling_queue: Queue, command: str
) -> None:
    queue, data, other = profiling_queue, int_buffer(context, range(8)), int_buffer(context, range(8))
    event = {
        "kernel": lambda: queue.enqueue_kernel(kernel(context, "add", data, int32(1)), (8,), want_event=True),
        "write": lambda: queue.enqueue_write(data, bytes(32), blocking=False, want_event=True),
        "read": lambda: queue.enqueue_read(data, bytearray(32), blocking=False, want_event=True),
        "copy": lambda: queue.enqueue_copy(data, other, want_event=True),
        "fill": lambda: queue.enqueue_fill(data, bytes(4), want_event=True),
    }[command]()
    with asked(event) as done:
        done.wait()
        assert done.profile.queued_ns <= done.profile.ended_ns


def test_there_are_no_times_before_completion(context: Context, profiling_queue: Queue, gate: Gate) -> None:
    event = asked(profiling_queue.enqueue_marker([gate.event], want_event=True))
    profiling_queue.flush()
    with fails(NOT_AVAILABLE):
        _ = event.profile
    gate.open()
    event.wait()
    event.release()


def test_a_queue_without_profiling_takes_no_times(context: Context, queue: Queue) -> None:
    data = int_buffer(context, range(8))
    event = asked(queue.enqueue_kernel(kernel(context, "add", data, int32(1)), (8,), want_event=True))
    event.wait()
    with fails(NOT_AVAILABLE):
        _ = event.profile
    event.release()


def test_a_user_event_has_no_times(context: Context, queue: Queue) -> None:
    event = context.create_user_event()
    with fails(NOT_AVAILABLE):
        _ = event.profile
    event.set_status(Status.COMPLETE)
    with fails(NOT_AVAILABLE):
        _ = event.profile
    event.release()


def test_work_is_done_though_its_event_was_released_before_it_began(
    context: Context, queue: Queue, gate: Gate
) -> None:
    data = int_buffer(context, [0] * 8)
    store = kernel(context, "store", data, int32(5))
    asked(queue.enqueue_kernel(store, (8,), wait_for=[gate.event], want_event=True)).release()
    queue.flush()
    gate.open()
    assert read_ints(queue, data) == [5] * 8


def test_an_event_outlives_its_queue_and_its_context(device: Device) -> None:
    context = device.platform.create_context([device])
    queue = context.create_queue(device, profiling=True)
    data = int_buffer(context, range(8))
    add = kernel(context, "add", data, int32(1))
    event = asked(queue.enqueue_kernel(add, (8,), want_event=True))
    queue.finish()
    release(add, data, queue, context)
    assert event.status == Status.COMPLETE
    assert event.command == CommandType.NDRANGE_KERNEL
    assert event.profile.queued_ns <= event.profile.ended_ns
    event.wait()
    event.release()


def test_an_unfinished_event_outlives_its_queue(context: Context, device: Device, gate: Gate) -> None:
    queue = context.create_queue(device)
    event = asked(queue.enqueue_marker([gate.event], want_event=True))
    queue.release()
    gate.open()
    event.wait()
    assert event.status == Status.COMPLETE
    event.release()


def test_a_second_wrapper_keeps_the_event(queue: Queue) -> None:
    event = asked(queue.enqueue_marker(want_event=True))
    event.wait()
    second = event.retain()
    assert second.handle == event.handle
    event.release()
    assert second.status == Status.COMPLETE
    second.release()


def test_a_released_event_is_refused(context: Context, queue: Queue) -> None:
    event = asked(queue.enqueue_marker(want_event=True))
    event.wait()
    event.release()
    assert event.released
    calls = (
        lambda: event.status,
        lambda: event.command,
        lambda: event.queue,
        lambda: event.profile,
        lambda: event.refcount,
        lambda: event.on_status(Status.COMPLETE, print),
        event.wait,
        event.retain,
        event.release,
        lambda: context.wait_for_events([event]),
    )
    for call in calls:
        with fails(ErrorCode.CL_INVALID_EVENT):
            call()


def test_leaving_the_block_releases_the_event(queue: Queue) -> None:
    with asked(queue.enqueue_marker(want_event=True)) as event:
        event.wait()
        assert not event.released
    assert event.released


def test_events_are_told_apart_by_their_handles(queue: Queue) -> None:
    events: list[Event] = [asked(queue.enqueue_marker(want_event=True)) for _ in range(5)]
    assert len({event.handle for event in events}) == 5
    queue.finish()
    release(*events)
