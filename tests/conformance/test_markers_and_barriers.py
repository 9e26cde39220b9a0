"""Markers and barriers (section 5.12).

While a command waits for a user event that is not set, a program releases nothing but events (section 5.11):
buffers and kernels are made before such a command, and kept until the gate is open.
"""

from __future__ import annotations

from clkit import Gate, asked, eventually, int32, int_buffer, kernel, read_ints, release

from runtime.cl.interface import Context, Device, Queue, Status


def test_a_marker_completes_after_all_that_came_before(context: Context, queue: Queue, gate: Gate) -> None:
    data = int_buffer(context, [0] * 8)
    store = kernel(context, "store", data, int32(1))
    held = asked(queue.enqueue_kernel(store, (8,), wait_for=[gate.event], want_event=True))
    marker = asked(queue.enqueue_marker(want_event=True))
    queue.flush()
    assert marker.status > Status.COMPLETE
    gate.open()
    marker.wait()
    assert held.status == Status.COMPLETE
    release(held, marker)


def test_out_of_order_a_marker_completes_after_all_that_came_before(
    context: Context, out_of_order_queue: Queue, gate: Gate
) -> None:
    queue = out_of_order_queue
    data, other = int_buffer(context, [0] * 8), int_buffer(context, [0])
    store = kernel(context, "store", data, int32(1))
    held = asked(queue.enqueue_kernel(store, (8,), wait_for=[gate.event], want_event=True))
    free = asked(queue.enqueue_fill(other, bytes(4), want_event=True))
    marker = asked(queue.enqueue_marker(want_event=True))
    queue.flush()
    free.wait()
    gate.check_closed()
    assert marker.status > Status.COMPLETE
    gate.open()
    marker.wait()
    assert held.status == Status.COMPLETE
    release(held, free, marker)


def test_out_of_order_a_marker_with_a_list_waits_for_no_other(
    context: Context, out_of_order_queue: Queue, gate: Gate
) -> None:
    queue = out_of_order_queue
    data = int_buffer(context, [0])
    held = asked(queue.enqueue_marker([gate.event], want_event=True))
    free = asked(queue.enqueue_fill(data, bytes(4), want_event=True))
    marker = asked(queue.enqueue_marker([free], want_event=True))
    queue.flush()
    marker.wait()
    gate.check_closed()
    assert held.status > Status.COMPLETE
    gate.open()
    held.wait()
    release(held, free, marker)


def test_out_of_order_later_commands_do_not_wait_for_a_marker(
    context: Context, out_of_order_queue: Queue, gate: Gate
) -> None:
    queue = out_of_order_queue
    data = int_buffer(context, [0])
    marker = asked(queue.enqueue_marker([gate.event], want_event=True))
    later = asked(queue.enqueue_fill(data, bytes(4), want_event=True))
    queue.flush()
    later.wait()
    gate.check_closed()
    assert marker.status > Status.COMPLETE
    gate.open()
    marker.wait()
    release(marker, later)


def test_out_of_order_later_commands_wait_for_a_barrier(
    context: Context, out_of_order_queue: Queue, gate: Gate
) -> None:
    queue = out_of_order_queue
    data = int_buffer(context, [1] * 8)
    add = kernel(context, "add", data, int32(1))
    barrier = asked(queue.enqueue_barrier([gate.event], want_event=True))
    later = asked(queue.enqueue_kernel(add, (8,), want_event=True))
    queue.flush()
    for _ in range(10):
        assert later.status > Status.RUNNING
    gate.open()
    later.wait()
    assert barrier.status == Status.COMPLETE
    queue.finish()
    assert read_ints(queue, data) == [2] * 8
    release(barrier, later)


def test_out_of_order_a_barrier_separates_what_comes_before_and_after(
    context: Context, out_of_order_queue: Queue
) -> None:
    queue = out_of_order_queue
    data = int_buffer(context, [1] * 256)
    scale = kernel(context, "scale", data, int32(2), int32(0))
    add = kernel(context, "add", data, int32(1))
    for _ in range(5):
        queue.enqueue_kernel(scale, (256,))
        queue.enqueue_barrier()
        queue.enqueue_kernel(add, (256,))
        queue.enqueue_barrier()
    queue.finish()
    assert read_ints(queue, data) == [2**6 - 1] * 256


def test_a_marker_of_an_empty_queue_completes(queue: Queue) -> None:
    with asked(queue.enqueue_marker(want_event=True)) as marker:
        marker.wait()
        assert marker.status == Status.COMPLETE


def test_a_barrier_of_an_empty_queue_completes(queue: Queue) -> None:
    with asked(queue.enqueue_barrier(want_event=True)) as barrier:
        barrier.wait()
        assert barrier.status == Status.COMPLETE


def test_markers_around_a_kernel_have_times_around_its_own(context: Context, profiling_queue: Queue) -> None:
    queue, data = profiling_queue, int_buffer(context, range(64))
    before = asked(queue.enqueue_marker(want_event=True))
    ran = asked(queue.enqueue_kernel(kernel(context, "add", data, int32(1)), (64,), want_event=True))
    after = asked(queue.enqueue_marker(want_event=True))
    after.wait()
    assert before.profile.ended_ns <= ran.profile.started_ns
    assert ran.profile.ended_ns <= after.profile.ended_ns
    release(before, ran, after)


def test_a_marker_waits_for_an_event_of_another_queue(context: Context, device: Device, gate: Gate) -> None:
    with context.create_queue(device) as first, context.create_queue(device, profiling=True) as second:
        held = asked(first.enqueue_marker([gate.event], want_event=True))
        first.flush()
        marker = asked(second.enqueue_marker([held], want_event=True))
        second.flush()
        assert marker.status > Status.COMPLETE
        gate.open()
        marker.wait()
        assert held.status == Status.COMPLETE
        release(held, marker)


def test_a_callback_of_a_marker_may_complete_a_user_event(context: Context, queue: Queue) -> None:
    with context.create_user_event() as ready, context.create_user_event() as told:
        ready.set_status(Status.COMPLETE)
        marker = asked(queue.enqueue_marker([ready], want_event=True))
        marker.on_status(Status.COMPLETE, lambda _: told.set_status(Status.COMPLETE))
        queue.flush()
        eventually(lambda: marker.status == Status.COMPLETE, "the marker")
        eventually(lambda: told.status == Status.COMPLETE or queue.finish(), "the callback")
        told.wait()
        marker.release()
