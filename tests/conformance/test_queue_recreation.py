"""A queue is replaced by another one, as a profiling session does it: nothing is lost or left behind."""

from __future__ import annotations

from clkit import (
    Gate,
    asked,
    built,
    eventually,
    fails,
    int32,
    int_buffer,
    kernel,
    read_ints,
    settled_counts,
)

from runtime.cl.codes import CommandType, ErrorCode
from runtime.cl.interface import Context, Device, Queue


def test_an_event_of_the_old_queue_still_answers(context: Context, device: Device) -> None:
    old = context.create_queue(device, profiling=True)
    data = int_buffer(context, range(8))
    store = kernel(context, "store", data, int32(1))
    event = asked(old.enqueue_kernel(store, (8,), want_event=True))
    old.finish()
    times = event.profile
    old.release()
    new = context.create_queue(device)
    assert event.status == 0
    assert event.command == CommandType.NDRANGE_KERNEL
    assert event.profile == times
    event.wait()
    event.release()
    new.release()


def test_work_of_a_queue_that_was_released_without_a_flush_is_not_lost(
    context: Context, device: Device
) -> None:
    data = int_buffer(context, [0] * 8)
    old = context.create_queue(device)
    event = asked(old.enqueue_kernel(kernel(context, "store", data, int32(7)), (8,), want_event=True))
    old.release()
    eventually(lambda: event.status <= 0, "the work of the released queue")
    assert event.status == 0
    with context.create_queue(device) as new:
        assert read_ints(new, data) == [7] * 8


def test_work_waits_on_the_new_queue_for_events_of_the_released_one(context: Context, device: Device) -> None:
    data = int_buffer(context, [1] * 8)
    program = built(context)
    first, second = program.kernel("scale"), program.kernel("scale")
    first.set_args(data, int32(2), int32(1))
    second.set_args(data, int32(10), int32(5))
    old, new = context.create_queue(device), context.create_queue(device)
    event = asked(old.enqueue_kernel(first, (8,), want_event=True))
    old.release()
    new.enqueue_kernel(second, (8,), wait_for=[event])
    assert read_ints(new, data) == [(1 * 2 + 1) * 10 + 5] * 8
    event.release()
    new.release()


def test_gated_work_of_a_released_queue_is_done_once_the_gate_opens(
    context: Context, device: Device, gate: Gate
) -> None:
    data = int_buffer(context, [0] * 8)
    old = context.create_queue(device)
    store = kernel(context, "store", data, int32(3))
    event = asked(old.enqueue_kernel(store, (8,), wait_for=[gate.event], want_event=True))
    old.flush()
    old.release()
    assert event.status > 0
    gate.open()
    event.wait()
    with context.create_queue(device) as new:
        assert read_ints(new, data) == [3] * 8
    event.release()


def test_the_order_of_work_is_kept_over_many_recreations(context: Context, device: Device) -> None:
    data = int_buffer(context, [1] * 4)
    scale = kernel(context, "scale", data, int32(1), int32(0))
    queue = context.create_queue(device)
    expected = 1
    for turn in range(1, 13):
        for factor, amount in ((2, turn), (-1, 3)):
            scale.set_args(data, int32(factor), int32(amount))
            queue.enqueue_kernel(scale, (4,))
            expected = expected * factor + amount
        queue.finish()
        queue.release()
        queue = context.create_queue(device, profiling=bool(turn % 2))
    assert read_ints(queue, data) == [expected] * 4
    queue.release()


def test_each_queue_has_the_properties_it_was_created_with(context: Context, device: Device) -> None:
    for profiling in (False, True, False, True):
        with context.create_queue(device, profiling=profiling) as queue:
            assert queue.profiling is profiling
            assert queue.out_of_order is False
            assert queue.device == device
            assert queue.context.handle == context.handle


def test_recreation_leaves_no_reference_behind(context: Context, device: Device) -> None:
    data = int_buffer(context, [0] * 4)
    program = built(context)
    add = program.kernel("add")
    add.set_args(data, int32(1))

    def recreate(times: int) -> list[int]:
        for turn in range(times):
            with context.create_queue(device, profiling=bool(turn % 2)) as queue:
                for _ in range(5):
                    with asked(queue.enqueue_kernel(add, (4,), want_event=True)) as event:
                        event.wait()
                queue.finish()
        return settled_counts(context, data, add, program)

    before = recreate(2)  # an implementation may keep the latest queue until the next one has work
    assert recreate(20) == before
    with context.create_queue(device) as queue:
        assert read_ints(queue, data) == [110] * 4


def test_who_retained_the_old_queue_can_go_on_with_it(context: Context, device: Device, queue: Queue) -> None:
    data = int_buffer(context, [0] * 4)
    add = kernel(context, "add", data, int32(1))
    holder = queue.retain()
    assert holder.handle == queue.handle
    before = holder.refcount
    queue.release()
    assert holder.refcount == before - 1
    with context.create_queue(device, profiling=True) as new:
        new.enqueue_kernel(add, (4,))
        new.finish()
        holder.enqueue_kernel(add, (4,))
        holder.finish()
        assert read_ints(new, data) == [2] * 4
    holder.release()


def test_a_released_queue_is_refused(queue: Queue, context: Context) -> None:
    data = int_buffer(context, [0] * 4)
    add = kernel(context, "add", data, int32(1))
    queue.release()
    calls = (
        lambda: queue.enqueue_kernel(add, (4,)),
        lambda: queue.enqueue_write(data, bytes(16)),
        lambda: queue.enqueue_read(data, bytearray(16)),
        lambda: queue.enqueue_fill(data, bytes(4)),
        lambda: queue.enqueue_marker(),
        lambda: queue.enqueue_barrier(),
        lambda: queue.bind(add, [data, int32(1)], (4,)),
        queue.flush,
        queue.finish,
        queue.retain,
        queue.release,
        lambda: queue.refcount,
        lambda: queue.context,
    )
    for call in calls:
        with fails(ErrorCode.CL_INVALID_COMMAND_QUEUE):
            call()


def test_a_binding_moves_to_the_new_queue(context: Context, device: Device, queue: Queue) -> None:
    data = int_buffer(context, [0] * 4)
    add = kernel(context, "add")
    binding = queue.bind(add, [data, int32(1)], (4,))
    binding()
    queue.finish()
    new = context.create_queue(device, profiling=True)
    moved = binding.on(new)
    queue.release()
    with fails(ErrorCode.CL_INVALID_COMMAND_QUEUE):
        binding()
    moved()
    event = asked(moved.enqueue())
    event.wait()
    assert event.profile.duration_ns >= 0
    assert read_ints(new, data) == [3] * 4
    binding.release()
    moved()
    assert read_ints(new, data) == [4] * 4
    moved.release()
    new.release()
