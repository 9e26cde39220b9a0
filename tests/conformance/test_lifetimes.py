"""Lifetimes: a table of what is counted, and the same questions to each row."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable
from typing import Any

import pytest
from clkit import (
    KERNELS,
    asked,
    built,
    eventually,
    fails,
    int32,
    int_buffer,
    kernel,
    read_ints,
    release,
    settled_counts,
)

from runtime.cl.codes import ErrorCode
from runtime.cl.interface import CLObject, Context, Device, Queue, Status

Maker = Callable[[Context, Queue], CLObject]


def finished_marker(context: Context, queue: Queue) -> CLObject:
    event = asked(queue.enqueue_marker(want_event=True))
    queue.finish()
    return event


def completed_user_event(context: Context, queue: Queue) -> CLObject:
    event = context.create_user_event()
    event.set_status(Status.COMPLETE)
    return event


COUNTED: dict[str, tuple[Maker, ErrorCode, Callable[[Any], object]]] = {
    # type: how to make one, the code that means a released one, and something to ask of a live one
    "context": (
        lambda context, queue: queue.device.platform.create_context([queue.device]),
        ErrorCode.CL_INVALID_CONTEXT,
        lambda item: item.devices,
    ),
    "queue": (
        lambda context, queue: context.create_queue(queue.device),
        ErrorCode.CL_INVALID_COMMAND_QUEUE,
        lambda item: item.finish(),
    ),
    "buffer": (
        lambda context, queue: context.create_buffer(64),
        ErrorCode.CL_INVALID_MEM_OBJECT,
        lambda item: item.flags,
    ),
    "sub-buffer": (
        lambda context, queue: context.create_buffer(64).sub_buffer(0, 32),
        ErrorCode.CL_INVALID_MEM_OBJECT,
        lambda item: item.flags,
    ),
    "program": (
        lambda context, queue: context.program_from_source(KERNELS),
        ErrorCode.CL_INVALID_PROGRAM,
        lambda item: item.source,
    ),
    "kernel": (
        lambda context, queue: kernel(context, "add"),
        ErrorCode.CL_INVALID_KERNEL,
        lambda item: item.program,
    ),
    "event": (finished_marker, ErrorCode.CL_INVALID_EVENT, lambda item: item.status),
    "user event": (completed_user_event, ErrorCode.CL_INVALID_EVENT, lambda item: item.status),
}

TYPES = pytest.mark.parametrize("kind", COUNTED)


def make(kind: str, context: Context, queue: Queue) -> CLObject:
    return COUNTED[kind][0](context, queue)


@TYPES
def test_retaining_and_releasing_change_the_count_by_one(context: Context, queue: Queue, kind: str) -> None:
    item = make(kind, context, queue)
    before = item.refcount
    assert before >= 1
    second = item.retain()
    assert item.refcount == second.refcount == before + 1
    third = second.retain()
    assert item.refcount == before + 2
    second.release()
    assert item.refcount == third.refcount == before + 1
    third.release()
    assert item.refcount == before
    item.release()


@TYPES
def test_a_second_wrapper_leads_to_the_same_object(context: Context, queue: Queue, kind: str) -> None:
    item = make(kind, context, queue)
    second = item.retain()
    assert second is not item
    assert second.handle == item.handle
    assert second.native is not None
    item.release()
    COUNTED[kind][2](second)
    second.release()


@TYPES
def test_the_object_lives_until_its_last_reference_is_given_up(
    context: Context, queue: Queue, kind: str
) -> None:
    _, code, ask = COUNTED[kind]
    item = make(kind, context, queue)
    second = item.retain()
    item.release()
    assert item.released
    assert not second.released
    ask(second)
    with fails(code):
        ask(item)
    second.release()
    with fails(code):
        ask(second)


@TYPES
def test_releasing_twice_is_refused(context: Context, queue: Queue, kind: str) -> None:
    code = COUNTED[kind][1]
    item = make(kind, context, queue)
    item.release()
    with fails(code):
        item.release()
    with fails(code):
        item.retain()
    with fails(code):
        _ = item.refcount


@TYPES
def test_one_wrapper_cannot_give_up_anothers_reference(context: Context, queue: Queue, kind: str) -> None:
    _, code, ask = COUNTED[kind]
    item = make(kind, context, queue)
    second = item.retain()
    item.release()
    with fails(code):
        item.release()
    ask(second)
    second.release()


@TYPES
def test_leaving_a_block_releases(context: Context, queue: Queue, kind: str) -> None:
    with make(kind, context, queue) as item:
        assert not item.released
    assert item.released
    with make(kind, context, queue) as item:
        item.release()
    assert item.released


@TYPES
def test_what_was_forgotten_is_released_when_it_is_collected(
    context: Context, queue: Queue, kind: str
) -> None:
    item = make(kind, context, queue)
    before = item.refcount
    forgotten = item.retain()
    assert item.refcount == before + 1
    del forgotten
    gc.collect()
    queue.flush()
    assert item.refcount == before
    item.release()


@TYPES
def test_wrappers_tell_what_they_are(context: Context, queue: Queue, kind: str) -> None:
    item = make(kind, context, queue)
    word = "buffer" if kind == "sub-buffer" else kind
    assert word in repr(item)
    item.release()
    assert "released" in repr(item)


@TYPES
def test_making_and_releasing_many_leaves_no_reference(context: Context, queue: Queue, kind: str) -> None:
    def make_many(times: int) -> list[int]:
        for _ in range(times):
            make(kind, context, queue).release()
        gc.collect()
        queue.finish()
        return settled_counts(context, queue)

    before = make_many(2)
    assert make_many(25) == before


def test_what_a_context_made_holds_it(device: Device) -> None:
    orders = list(itertools.permutations(range(5)))[::11]
    assert len(orders) > 5
    for order in orders:
        context = device.platform.create_context([device])
        program, queue = built(context), context.create_queue(device)
        children: list[CLObject] = [
            queue,
            context.create_buffer(64),
            program,
            program.kernel("add"),
            completed_user_event(context, queue),
        ]
        context.release()
        for index in order:
            children[index].release()
        for child in children:
            assert child.released


def test_work_goes_on_after_the_context_was_released(device: Device) -> None:
    context = device.platform.create_context([device])
    queue, data = context.create_queue(device), int_buffer(context, [1] * 8)
    add = kernel(context, "add", data, int32(1))
    context.release()
    queue.enqueue_kernel(add, (8,))
    assert read_ints(queue, data) == [2] * 8
    release(add, data, queue)


def test_a_context_released_once_too_often_is_refused(device: Device) -> None:
    for _ in range(2):
        context = device.platform.create_context([device])
        context.create_buffer(16).release()
        context.release()
        with fails(ErrorCode.CL_INVALID_CONTEXT):
            context.release()
        calls = (
            lambda: context.create_buffer(16),  # noqa: B023 - called at once
            lambda: context.create_queue(device),  # noqa: B023
            lambda: context.create_user_event(),  # noqa: B023
            lambda: context.program_from_source(KERNELS),  # noqa: B023
        )
        for call in calls:
            with fails(ErrorCode.CL_INVALID_CONTEXT):
                call()


def test_what_an_object_leads_to_is_borrowed_from_it(context: Context, queue: Queue) -> None:
    event = asked(queue.enqueue_marker(want_event=True))
    add = kernel(context, "add")
    home = event.queue
    assert home is not None
    for borrowed, handle in ((queue.context, context.handle), (home, queue.handle), (add.program, None)):
        assert handle is None or borrowed.handle == handle
        with pytest.raises(Exception, match="borrowed"):
            borrowed.release()
        assert not borrowed.released
    queue.finish()
    with queue.context.retain() as kept:
        assert kept.handle == context.handle
    event.release()


def test_a_user_event_that_nobody_set_is_counted_and_released_as_any(device: Device) -> None:
    context = device.platform.create_context([device])
    queue, event = context.create_queue(device), context.create_user_event()
    before = event.refcount
    second = event.retain()
    assert event.refcount == second.refcount == before + 1
    event.release()
    assert second.refcount == before
    assert second.status == Status.SUBMITTED
    second.release()
    for item in (event, second):
        with fails(ErrorCode.CL_INVALID_EVENT):
            _ = item.status
    release(queue, context)


def test_a_user_event_may_be_released_by_who_waits_no_more(context: Context, queue: Queue) -> None:
    event = context.create_user_event()
    waiting = asked(queue.enqueue_marker([event], want_event=True))
    queue.flush()
    event.set_status(Status.COMPLETE)
    event.release()
    waiting.wait()
    waiting.release()


def test_a_queue_released_with_work_in_it_ends_by_itself(context: Context, device: Device) -> None:
    data = int_buffer(context, [0] * 8)
    add = kernel(context, "add", data, int32(1))
    for _ in range(5):
        queue = context.create_queue(device)
        for _ in range(10):
            queue.enqueue_kernel(add, (8,))
        last = asked(queue.enqueue_marker(want_event=True))
        queue.release()
        eventually(lambda: last.status <= 0, "the end of the work")  # noqa: B023 - called at once
        last.release()
    with context.create_queue(device) as reader:
        assert read_ints(reader, data) == [50] * 8
