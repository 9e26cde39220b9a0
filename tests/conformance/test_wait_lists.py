"""Wait lists: what a command waits for (section 5.11, and every enqueue's own)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from clkit import Gate, asked, eventually, fails, int32, int_buffer, kernel, queue_pair, read_ints, release

from runtime.cl.codes import ErrorCode
from runtime.cl.interface import Context, Device, Event, MapFlags, Queue, Status


def test_a_command_of_another_queue_waits_for_the_event(context: Context, device: Device) -> None:
    data = int_buffer(context, [1] * 64)
    add, scale = kernel(context, "add", data, int32(4)), kernel(context, "scale", data, int32(10), int32(0))
    first, second = queue_pair(context, device)
    added = asked(first.enqueue_kernel(add, (64,), want_event=True))
    first.flush()
    scaled = asked(second.enqueue_kernel(scale, (64,), wait_for=[added], want_event=True))
    second.flush()
    assert read_ints(first, data, wait_for=[scaled]) == [50] * 64
    release(added, scaled, first, second)


def test_a_gate_holds_back_what_waits_for_it(context: Context, queue: Queue, gate: Gate) -> None:
    data = int_buffer(context, [0] * 8)
    store = kernel(context, "store", data, int32(1))
    event = asked(queue.enqueue_kernel(store, (8,), wait_for=[gate.event], want_event=True))
    queue.flush()
    for _ in range(5):
        assert event.status > Status.RUNNING
    gate.open()
    event.wait()
    assert read_ints(queue, data) == [1] * 8
    event.release()


def test_a_command_waits_for_all_of_its_list(context: Context, queue: Queue, gate: Gate) -> None:
    others = [context.create_user_event() for _ in range(5)]
    event = asked(queue.enqueue_marker([*others, gate.event], want_event=True))
    queue.flush()
    for other in others:
        assert event.status > Status.COMPLETE
        other.set_status(Status.COMPLETE)
    assert event.status > Status.COMPLETE
    gate.open()
    event.wait()
    release(event, *others)


def test_every_command_takes_a_wait_list(context: Context, queue: Queue) -> None:
    data, other = int_buffer(context, range(8)), int_buffer(context, range(8))
    add = kernel(context, "add", data, int32(1))
    binding = queue.bind(add, [data, int32(1)], (8,))
    with context.create_user_event() as ready:
        ready.set_status(Status.COMPLETE)
        waits = [ready]
        events = [
            queue.enqueue_kernel(add, (8,), wait_for=waits, want_event=True),
            binding.enqueue(waits),
            queue.enqueue_write(data, bytes(32), wait_for=waits, want_event=True),
            queue.enqueue_read(data, bytearray(32), wait_for=waits, want_event=True),
            queue.enqueue_copy(data, other, wait_for=waits, want_event=True),
            queue.enqueue_fill(data, bytes(4), wait_for=waits, want_event=True),
            queue.enqueue_map(data, MapFlags.READ, wait_for=waits).unmap(waits, want_event=True),
            queue.enqueue_marker(waits, want_event=True),
            queue.enqueue_barrier(waits, want_event=True),
        ]
        done = [asked(event) for event in events]
        context.wait_for_events(done)
        assert [event.status for event in done] == [Status.COMPLETE] * len(done)
        release(*done)
    binding.release()


def test_an_empty_list_waits_for_nothing(context: Context, queue: Queue) -> None:
    data = int_buffer(context, [0] * 8)
    add = kernel(context, "add", data, int32(1))
    empty: tuple[Iterable[Event], ...] = ((), [], iter(()))
    for nothing in empty:
        queue.enqueue_kernel(add, (8,), wait_for=nothing)
    assert read_ints(queue, data) == [3] * 8


def test_any_iterable_of_events_is_a_list(context: Context, queue: Queue) -> None:
    events = [asked(queue.enqueue_marker(want_event=True)) for _ in range(3)]
    last = asked(queue.enqueue_marker((event for event in events), want_event=True))
    last.wait()
    assert [event.status for event in events] == [Status.COMPLETE] * 3
    release(last, *events)


def test_a_list_may_name_an_event_twice(context: Context, queue: Queue) -> None:
    with asked(queue.enqueue_marker(want_event=True)) as event:
        queue.enqueue_marker([event, event])
        queue.finish()
        context.wait_for_events([event, event])


def test_a_list_may_be_long(context: Context, device: Device, queue: Queue) -> None:
    data = int_buffer(context, [0] * 8)
    add = kernel(context, "add", data, int32(1))
    events = [asked(queue.enqueue_kernel(add, (8,), want_event=True)) for _ in range(200)]
    queue.flush()
    with context.create_queue(device) as other:
        assert read_ints(other, data, wait_for=events) == [200] * 8
    release(*events)


def test_the_wait_list_can_be_forgotten_at_once(context: Context, device: Device, gate: Gate) -> None:
    data = int_buffer(context, [0] * 8)
    store, add = kernel(context, "store", data, int32(5)), kernel(context, "add", data, int32(1))
    first, second = queue_pair(context, device)
    stored = asked(first.enqueue_kernel(store, (8,), wait_for=[gate.event], want_event=True))
    first.flush()
    added = asked(second.enqueue_kernel(add, (8,), wait_for=[stored], want_event=True))
    second.flush()
    stored.release()
    gate.open()
    added.wait()
    assert read_ints(second, data) == [6] * 8
    release(added, first, second)


def test_none_in_a_list_is_a_type_error(context: Context, queue: Queue) -> None:
    event = asked(queue.enqueue_marker(want_event=True))
    data = int_buffer(context, [0] * 8)
    add = kernel(context, "add", data, int32(1))
    bad: list[list[Event]] = [[None], [event, None], ["event"]]  # type: ignore[list-item]
    for waits in bad:
        with pytest.raises(TypeError):
            queue.enqueue_marker(waits)
        with pytest.raises(TypeError):
            queue.enqueue_kernel(add, (8,), wait_for=waits)
        with pytest.raises(TypeError):
            queue.enqueue_read(data, bytearray(32), wait_for=waits)
        with pytest.raises(TypeError):
            context.wait_for_events(waits)
    assert read_ints(queue, data) == [0] * 8
    event.release()


def test_a_released_event_in_a_list_is_refused(context: Context, queue: Queue) -> None:
    data, other = int_buffer(context, [0] * 8), int_buffer(context, [0] * 8)
    add = kernel(context, "add", data, int32(1))
    event = asked(queue.enqueue_marker(want_event=True))
    event.wait()
    event.release()
    waits = [event]
    calls: tuple[Callable[[], object], ...] = (
        lambda: queue.enqueue_kernel(add, (8,), wait_for=waits),
        lambda: queue.enqueue_write(data, bytes(32), wait_for=waits),
        lambda: queue.enqueue_read(data, bytearray(32), wait_for=waits),
        lambda: queue.enqueue_copy(data, other, wait_for=waits),
        lambda: queue.enqueue_fill(data, bytes(4), wait_for=waits),
        lambda: queue.enqueue_marker(waits),
        lambda: queue.enqueue_barrier(waits),
    )
    for call in calls:
        with fails(ErrorCode.CL_INVALID_EVENT_WAIT_LIST):
            call()
    assert read_ints(queue, data) == [0] * 8


def test_an_event_of_another_context_is_refused(context: Context, device: Device, queue: Queue) -> None:
    with device.platform.create_context([device]) as stranger, stranger.create_user_event() as event:
        event.set_status(Status.COMPLETE)
        with fails(ErrorCode.CL_INVALID_CONTEXT):
            queue.enqueue_marker([event])


def test_waiting_for_no_event_is_refused(context: Context) -> None:
    with fails(ErrorCode.CL_INVALID_VALUE):
        context.wait_for_events([])


def test_waiting_for_events_of_two_contexts_is_refused(
    context: Context, device: Device, queue: Queue
) -> None:
    mine = asked(queue.enqueue_marker(want_event=True))
    with device.platform.create_context([device]) as stranger, stranger.create_user_event() as event:
        event.set_status(Status.COMPLETE)
        with fails(ErrorCode.CL_INVALID_CONTEXT):
            context.wait_for_events([mine, event])
    mine.release()


def test_waiting_for_a_released_event_among_others_is_refused(context: Context, queue: Queue) -> None:
    events = [asked(queue.enqueue_marker(want_event=True)) for _ in range(4)]
    queue.finish()
    events[2].release()
    with fails(ErrorCode.CL_INVALID_EVENT):
        context.wait_for_events(events)
    release(*events)


def test_a_host_waits_for_events_of_several_queues(context: Context, device: Device) -> None:
    first, second = queue_pair(context, device)
    data = int_buffer(context, [0] * 8)
    add = kernel(context, "add", data, int32(1))
    events = [
        asked(first.enqueue_kernel(add, (8,), want_event=True)),
        asked(second.enqueue_marker(want_event=True)),
    ]
    context.wait_for_events(events)
    assert [event.status for event in events] == [Status.COMPLETE] * 2
    release(*events, first, second)


def test_out_of_order_what_waits_for_nothing_passes_what_waits(
    context: Context, out_of_order_queue: Queue, gate: Gate
) -> None:
    queue = out_of_order_queue
    first, second = int_buffer(context, [0] * 8), int_buffer(context, [0] * 8)
    # Kept until the gate is open: before that nothing but events may be released (section 5.11).
    store_first = kernel(context, "store", first, int32(1))
    store_second = kernel(context, "store", second, int32(2))
    held = asked(queue.enqueue_kernel(store_first, (8,), wait_for=[gate.event], want_event=True))
    free = asked(queue.enqueue_kernel(store_second, (8,), want_event=True))
    queue.flush()
    free.wait()
    gate.check_closed()
    assert held.status > Status.RUNNING
    gate.open()
    held.wait()
    queue.finish()
    assert read_ints(queue, first) + read_ints(queue, second) == [1] * 8 + [2] * 8
    release(held, free)


def test_out_of_order_a_chain_of_events_is_a_chain_of_commands(
    context: Context, out_of_order_queue: Queue
) -> None:
    queue = out_of_order_queue
    data = int_buffer(context, [1] * 8)
    scale = kernel(context, "scale", data, int32(2), int32(1))
    events: list[Event] = []
    for _ in range(10):
        events.append(asked(queue.enqueue_kernel(scale, (8,), wait_for=events[-1:], want_event=True)))
    assert read_ints(queue, data, wait_for=events[-1:]) == [2**11 - 1] * 8
    release(*events)


def test_in_order_what_waits_for_nothing_still_waits_for_what_came_before(
    context: Context, queue: Queue, gate: Gate
) -> None:
    data = int_buffer(context, [0] * 8)
    store = kernel(context, "store", data, int32(1))
    held = asked(queue.enqueue_marker([gate.event], want_event=True))
    later = asked(queue.enqueue_kernel(store, (8,), want_event=True))
    queue.flush()
    for _ in range(5):
        assert later.status > Status.RUNNING
    gate.open()
    eventually(lambda: later.status == Status.COMPLETE, "the later command")
    assert held.status == Status.COMPLETE
    release(held, later)
