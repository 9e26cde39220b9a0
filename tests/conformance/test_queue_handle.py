"""The runtime's stable queue handle: profiling sessions come and go, and nobody who launches notices."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import pairwise

import pytest
from clkit import asked, fails, int32, int_buffer, kernel, settled_counts

from runtime.cl.codes import ErrorCode
from runtime.cl.interface import Buffer, Device, Status
from runtime.profiling import ProfilingSession
from runtime.workspace import QueueHandle, Workspace

SIZE = 8


@pytest.fixture
def workspace(device: Device) -> Iterator[Workspace]:
    with Workspace(device) as workspace:
        yield workspace


@pytest.fixture
def handle(workspace: Workspace) -> QueueHandle:
    return workspace.queue()


@pytest.fixture
def data(workspace: Workspace) -> Iterator[Buffer]:
    with int_buffer(workspace.context(), [0] * SIZE) as buffer:
        yield buffer


def numbers(handle: QueueHandle, buffer: Buffer) -> list[int]:
    target = bytearray(buffer.size)
    handle.enqueue_read(buffer, target)
    return list(memoryview(target).cast("i"))


def test_an_outside_holders_launches_are_right_before_in_and_after_a_session(
    handle: QueueHandle, data: Buffer
) -> None:
    outside = handle  # all that the holder keeps; it hears of no session
    scale = kernel(handle.context, "scale")

    def launch(factor: int, amount: int) -> None:
        scale.set_args(data, int32(factor), int32(amount))
        outside.enqueue_kernel(scale, (SIZE,))

    launch(1, 5)
    with ProfilingSession(handle) as session:
        launch(2, 1)
        launch(-3, 0)
    launch(1, 7)
    assert numbers(outside, data) == [-3 * (2 * 5 + 1) + 7] * SIZE
    assert session.launches == 2, "the holder's launches in the session are timed"
    assert session.kernels["scale"].launches == 2
    assert session.dropped == 0
    assert not handle.profiling
    scale.release()


def test_all_launches_of_a_thread_are_done_while_sessions_come_and_go(
    handle: QueueHandle, data: Buffer
) -> None:
    add = kernel(handle.context, "add", data, int32(1))
    launches, failures = 400, []

    def work() -> None:
        try:
            for _ in range(launches):
                handle.enqueue_kernel(add, (SIZE,))
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    timed = 0
    while thread.is_alive():
        with ProfilingSession(handle) as session:
            handle.flush()
        timed += session.launches
        assert session.dropped == 0
    thread.join()
    assert failures == []
    assert numbers(handle, data) == [launches] * SIZE
    assert timed <= launches
    add.release()


def test_sessions_nest_and_count_right(handle: QueueHandle, data: Buffer) -> None:
    add = kernel(handle.context, "add", data, int32(1))
    inner_ns = 0
    with ProfilingSession(handle) as outer:
        for _ in range(5):
            with ProfilingSession(handle) as inner:
                handle.enqueue_kernel(add, (SIZE,))
            assert inner.launches == 1
            inner_ns += inner.total_ns
        with ProfilingSession(handle) as empty:
            pass
    assert (empty.launches, empty.total_ns) == (0, 0)
    assert outer.launches == 5
    assert outer.total_ns == inner_ns
    assert numbers(handle, data) == [5] * SIZE
    add.release()


def test_times_are_in_order_and_launches_follow_one_another(handle: QueueHandle, data: Buffer) -> None:
    add = kernel(handle.context, "add", data, int32(1))
    with ProfilingSession(handle) as session:
        for _ in range(10):
            handle.enqueue_kernel(add, (SIZE,))
    records = list(session.records)
    assert len(records) == 10
    for record in records:
        assert record.queued_ns <= record.submitted_ns <= record.started_ns <= record.ended_ns
    for earlier, later in pairwise(records):
        assert earlier.ended_ns <= later.started_ns
    add.release()


def test_an_event_from_before_a_session_still_answers_after_it(handle: QueueHandle, data: Buffer) -> None:
    add = kernel(handle.context, "add", data, int32(1))
    event = asked(handle.enqueue_kernel(add, (SIZE,), want_event=True))
    with ProfilingSession(handle):
        handle.enqueue_kernel(add, (SIZE,), wait_for=[event])
    handle.enqueue_kernel(add, (SIZE,), wait_for=[event])
    assert numbers(handle, data) == [3] * SIZE
    assert event.status == Status.COMPLETE
    with fails(ErrorCode.CL_PROFILING_INFO_NOT_AVAILABLE):
        _ = event.profile
    event.release()
    add.release()


def test_an_event_that_a_holder_wanted_in_a_session_is_his_own(handle: QueueHandle, data: Buffer) -> None:
    add = kernel(handle.context, "add", data, int32(1))
    with ProfilingSession(handle) as session:
        event = asked(handle.enqueue_kernel(add, (SIZE,), want_event=True))
    assert event.profile.duration_ns == session.total_ns
    event.release()
    add.release()


def test_the_queue_is_normal_again_after_a_body_that_raised(handle: QueueHandle, data: Buffer) -> None:
    add = kernel(handle.context, "add", data, int32(1))
    session = ProfilingSession(handle)

    def body() -> None:
        with session:
            handle.enqueue_kernel(add, (SIZE,))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        body()
    assert session.launches == 1
    assert not handle.profiling
    handle.enqueue_kernel(add, (SIZE,))
    assert numbers(handle, data) == [2] * SIZE
    add.release()


def test_a_launch_that_is_refused_costs_a_session_nothing(handle: QueueHandle, data: Buffer) -> None:
    add = kernel(handle.context, "add", data, int32(1))
    unset = kernel(handle.context, "add")
    with ProfilingSession(handle) as session:
        handle.enqueue_kernel(add, (SIZE,))
        with fails(ErrorCode.CL_INVALID_KERNEL_ARGS):
            handle.enqueue_kernel(unset, (SIZE,))
        handle.enqueue_kernel(add, (SIZE,))
    assert session.launches == 2
    assert numbers(handle, data) == [2] * SIZE
    add.release()
    unset.release()


def test_a_binding_follows_once_it_is_moved(handle: QueueHandle, data: Buffer) -> None:
    add = kernel(handle.context, "add")
    with handle.in_force() as queue:
        binding = queue.bind(add, [data, int32(1)], (SIZE,))
    binding()
    generation = handle.generation
    with ProfilingSession(handle):
        assert handle.generation != generation, "this is how its maker sees that it must be moved"
        with fails(ErrorCode.CL_INVALID_COMMAND_QUEUE):
            binding()
        with handle.in_force() as queue:
            moved = binding.on(queue)
        binding.release()
        moved()
    with handle.in_force() as queue:
        last = moved.on(queue)
    moved.release()
    last()
    assert numbers(handle, data) == [3] * SIZE
    last.release()
    add.release()


def test_sessions_leave_no_reference_behind(workspace: Workspace, handle: QueueHandle, data: Buffer) -> None:
    add = kernel(handle.context, "add", data, int32(1))
    watched = (workspace.context(), data, add)

    def one_session() -> None:
        with ProfilingSession(handle):
            for _ in range(5):
                handle.enqueue_kernel(add, (SIZE,))
        handle.enqueue_kernel(add, (SIZE,))
        handle.finish()

    one_session()
    before = settled_counts(*watched)
    for _ in range(20):
        one_session()
    assert settled_counts(*watched) == before
    assert numbers(handle, data) == [21 * 6] * SIZE
    add.release()
