"""User events: completed by the host (section 5.11)."""

from __future__ import annotations

import threading
import time

import pytest
from clkit import Gate, asked, eventually, fails, int32, int_buffer, kernel, read_ints, release

from runtime.cl.codes import CommandType, ErrorCode
from runtime.cl.interface import Context, Queue, Status


def test_a_user_event_begins_submitted_and_ends_as_the_host_says(context: Context) -> None:
    with context.create_user_event() as event:
        assert event.status == Status.SUBMITTED
        assert event.command == CommandType.USER
        assert event.queue is None
        event.set_status(Status.COMPLETE)
        assert event.status == Status.COMPLETE
        event.wait()


@pytest.mark.parametrize("code", [-1, -5, -14, -1000])
def test_a_user_event_can_fail_with_any_negative_code(context: Context, code: int) -> None:
    with context.create_user_event() as event:
        event.set_status(code)
        assert event.status == code
        with fails(ErrorCode.CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST):
            event.wait()


def test_the_status_is_set_once(context: Context) -> None:
    for first in (Status.COMPLETE, -5):
        with context.create_user_event() as event:
            event.set_status(first)
            for second in (Status.COMPLETE, -7):
                with fails(ErrorCode.CL_INVALID_OPERATION):
                    event.set_status(second)
            assert event.status == first


def test_only_complete_and_codes_of_failure_can_be_set(context: Context) -> None:
    with context.create_user_event() as event:
        for status in (Status.RUNNING, Status.SUBMITTED, Status.QUEUED, 17):
            with fails(ErrorCode.CL_INVALID_VALUE):
                event.set_status(status)
        assert event.status == Status.SUBMITTED
        event.set_status(Status.COMPLETE)


def test_another_thread_ends_the_wait(context: Context, gate: Gate) -> None:
    thread = gate.open_later(0.05)
    start = time.monotonic()
    gate.event.wait()
    assert time.monotonic() - start < 5
    assert gate.event.status == Status.COMPLETE
    thread.join()


def test_another_thread_lets_the_queue_finish(context: Context, queue: Queue, gate: Gate) -> None:
    data = int_buffer(context, [0] * 8)
    store = kernel(context, "store", data, int32(4))
    event = asked(queue.enqueue_kernel(store, (8,), wait_for=[gate.event], want_event=True))
    queue.flush()
    thread = gate.open_later(0.05)
    queue.finish()
    assert event.status == Status.COMPLETE
    thread.join()
    assert read_ints(queue, data) == [4] * 8
    event.release()


def test_another_thread_lets_a_blocking_read_return(context: Context, queue: Queue, gate: Gate) -> None:
    data = int_buffer(context, [0] * 8)
    store = kernel(context, "store", data, int32(4))
    queue.enqueue_kernel(store, (8,), wait_for=[gate.event])
    thread = gate.open_later(0.05)
    assert read_ints(queue, data) == [4] * 8
    thread.join()


def test_several_threads_wait_for_one_user_event(context: Context, gate: Gate) -> None:
    seen: list[int] = []

    def wait() -> None:
        gate.event.wait()
        seen.append(gate.event.status)

    threads = [threading.Thread(target=wait) for _ in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.05)
    assert not seen
    gate.open()
    for thread in threads:
        thread.join()
    assert seen == [Status.COMPLETE] * 4


def test_commands_of_several_queues_wait_for_one_user_event(
    context: Context, queue: Queue, profiling_queue: Queue, gate: Gate
) -> None:
    first, second = int_buffer(context, [0] * 8), int_buffer(context, [0] * 8)
    events = [
        asked(
            queue.enqueue_kernel(
                kernel(context, "store", first, int32(1)), (8,), wait_for=[gate.event], want_event=True
            )
        ),
        asked(profiling_queue.enqueue_fill(second, int32(2), wait_for=[gate.event], want_event=True)),
    ]
    queue.flush()
    profiling_queue.flush()
    assert all(event.status > Status.RUNNING for event in events)
    gate.open()
    context.wait_for_events(events)
    assert read_ints(queue, first) + read_ints(profiling_queue, second) == [1] * 8 + [2] * 8
    release(*events)


def test_a_callback_of_a_user_event_comes_when_it_is_set(context: Context, queue: Queue) -> None:
    called: list[int] = []
    with context.create_user_event() as event:
        event.on_status(Status.COMPLETE, called.append)
        assert not called
        event.set_status(Status.COMPLETE)
        eventually(lambda: called or queue.finish(), "the callback")
        assert called == [Status.COMPLETE]


def test_a_second_wrapper_can_set_the_status(context: Context) -> None:
    first = context.create_user_event()
    second = first.retain()
    assert second.handle == first.handle
    first.release()
    assert second.status == Status.SUBMITTED
    second.set_status(Status.COMPLETE)
    assert second.status == Status.COMPLETE
    second.release()


def test_a_released_user_event_is_refused(context: Context) -> None:
    event = context.create_user_event()
    event.set_status(Status.COMPLETE)
    event.release()
    calls = (
        lambda: event.set_status(Status.COMPLETE),
        lambda: event.status,
        lambda: event.command,
        lambda: event.queue,
        event.wait,
        event.retain,
        event.release,
    )
    for call in calls:
        with fails(ErrorCode.CL_INVALID_EVENT):
            call()
