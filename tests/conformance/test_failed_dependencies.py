"""Commands whose wait list failed: they do not run, and fail as well (section 5.11)."""

from __future__ import annotations

from clkit import (
    Gate,
    asked,
    eventually,
    fails,
    int32,
    int_buffer,
    ints,
    kernel,
    read_ints,
    release,
    settled_counts,
)

from runtime.cl.codes import ErrorCode
from runtime.cl.interface import Context, Device, Queue, Status

FAILED = ErrorCode.CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST


def test_a_command_fails_with_what_it_waits_for(context: Context, queue: Queue, gate: Gate) -> None:
    event = asked(queue.enqueue_marker([gate.event], want_event=True))
    queue.flush()
    gate.open(-5)
    eventually(lambda: event.status <= 0, "the end of the command")
    assert event.status < 0
    event.release()


def test_waiting_for_a_failed_command_raises(context: Context, queue: Queue, gate: Gate) -> None:
    event = asked(queue.enqueue_marker([gate.event], want_event=True))
    queue.flush()
    gate.open(-5)
    with fails(FAILED):
        event.wait()
    with fails(FAILED):
        context.wait_for_events([event])
    event.release()


def test_a_failed_kernel_does_not_run(context: Context, queue: Queue, device: Device, gate: Gate) -> None:
    data = int_buffer(context, [1] * 8)
    store = kernel(context, "store", data, int32(2))
    event = asked(queue.enqueue_kernel(store, (8,), wait_for=[gate.event], want_event=True))
    queue.flush()
    gate.open(-5)
    with fails(FAILED):
        event.wait()
    with context.create_queue(device) as other:
        assert read_ints(other, data) == [1] * 8
    event.release()


def test_a_failed_transfer_moves_nothing(context: Context, queue: Queue, device: Device, gate: Gate) -> None:
    data = int_buffer(context, [1] * 8)
    into = ints([7] * 8)
    events = [
        asked(
            queue.enqueue_write(data, ints([2] * 8), blocking=False, wait_for=[gate.event], want_event=True)
        ),
        asked(queue.enqueue_read(data, into, blocking=False, wait_for=[gate.event], want_event=True)),
    ]
    queue.flush()
    gate.open(-5)
    for event in events:
        with fails(FAILED):
            event.wait()
    with context.create_queue(device) as other:
        assert read_ints(other, data) == [1] * 8
    assert list(into) == [7] * 8
    release(*events)


def test_failure_goes_down_a_chain(context: Context, queue: Queue, gate: Gate) -> None:
    events = [asked(queue.enqueue_marker([gate.event], want_event=True))]
    for _ in range(4):
        events.append(asked(queue.enqueue_marker(events[-1:], want_event=True)))
    queue.flush()
    gate.open(-5)
    eventually(lambda: events[-1].status <= 0, "the end of the chain")
    assert all(event.status < 0 for event in events)
    release(*events)


def test_failure_goes_from_queue_to_queue(context: Context, device: Device, gate: Gate) -> None:
    with context.create_queue(device) as first, context.create_queue(device) as second:
        head = asked(first.enqueue_marker([gate.event], want_event=True))
        first.flush()
        tail = asked(second.enqueue_marker([head], want_event=True))
        second.flush()
        gate.open(-5)
        with fails(FAILED):
            tail.wait()
        assert head.status < 0
        release(head, tail)


def test_one_failed_event_of_a_list_is_enough(context: Context, queue: Queue, gate: Gate) -> None:
    with context.create_user_event() as good:
        event = asked(queue.enqueue_marker([good, gate.event], want_event=True))
        queue.flush()
        good.set_status(Status.COMPLETE)
        gate.open(-5)
        with fails(FAILED):
            event.wait()
        event.release()


def test_a_blocking_read_raises_where_its_list_fails(context: Context, queue: Queue, gate: Gate) -> None:
    data = int_buffer(context, [1] * 8)
    thread = gate.open_later(0.05, status=-5)
    with fails(FAILED):
        queue.enqueue_read(data, bytearray(32), wait_for=[gate.event])
    thread.join()


def test_the_callback_of_a_failed_command_comes_once_with_its_code(
    context: Context, queue: Queue, gate: Gate
) -> None:
    event = asked(queue.enqueue_marker([gate.event], want_event=True))
    called: list[int] = []
    event.on_status(Status.COMPLETE, called.append)
    queue.flush()
    gate.open(-5)
    with fails(FAILED):
        event.wait()
    eventually(lambda: called or event.status > 0, "the callback")
    assert called == [event.status]
    event.release()


def test_the_callback_of_a_failed_user_event_comes_once_with_its_code(context: Context) -> None:
    called: list[int] = []
    with context.create_user_event() as event:
        event.on_status(Status.COMPLETE, called.append)
        event.set_status(-5)
        eventually(lambda: called or event.status > 0, "the callback")
        assert called == [-5]


def test_a_command_enqueued_after_the_failure_fails_too(context: Context, device: Device) -> None:
    with context.create_user_event() as failed, context.create_queue(device) as queue:
        failed.set_status(-5)
        event = asked(queue.enqueue_marker([failed], want_event=True))
        queue.flush()
        eventually(lambda: event.status <= 0, "the end of the command")
        assert event.status < 0
        event.release()


def test_what_waits_for_nothing_that_failed_still_runs(
    context: Context, out_of_order_queue: Queue, gate: Gate
) -> None:
    queue = out_of_order_queue
    data = int_buffer(context, [0] * 8)
    failed = asked(queue.enqueue_marker([gate.event], want_event=True))
    gate.open(-5)
    ran = asked(queue.enqueue_kernel(kernel(context, "store", data, int32(6)), (8,), want_event=True))
    ran.wait()
    eventually(lambda: failed.status <= 0, "the end of the failed command")
    assert read_ints(queue, data) == [6] * 8
    release(failed, ran)


def test_failed_commands_leave_no_reference(context: Context, queue: Queue) -> None:
    data = int_buffer(context, [1] * 8)
    store = kernel(context, "store", data, int32(2))

    def fail(times: int) -> None:
        for _ in range(times):
            with context.create_user_event() as cause:
                event = asked(queue.enqueue_kernel(store, (8,), wait_for=[cause], want_event=True))
                queue.flush()
                cause.set_status(-5)
                eventually(lambda: event.status < 0, "the failure")  # noqa: B023 - called at once
                event.release()

    fail(1)
    before = settled_counts(context, data, store)
    fail(10)
    assert settled_counts(context, data, store) == before
