"""Several host threads at once (appendix A.2): all but a kernel object may be shared."""

from __future__ import annotations

import threading
from collections.abc import Callable

from clkit import Gate, asked, built, int32, int_buffer, kernel, read_ints, release

from runtime.cl.interface import Context, Device, Event, Queue, Status


def run_in_threads(count: int, work: Callable[[int], None]) -> None:
    """Runs `work(0)` to `work(count - 1)` at once; raises what one of them raised."""
    failures: list[BaseException] = []
    start = threading.Barrier(count)

    def guarded(index: int) -> None:
        try:
            start.wait()
            work(index)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def test_threads_with_queues_and_kernels_of_their_own(context: Context, device: Device) -> None:
    program = built(context)
    data = [int_buffer(context, [0] * 16) for _ in range(4)]

    def work(index: int) -> None:
        with context.create_queue(device) as queue, program.kernel("add") as add:
            for turn in range(25):
                add.set_args(data[index], int32(index + turn))
                queue.enqueue_kernel(add, (16,))
            queue.finish()

    run_in_threads(4, work)
    with context.create_queue(device) as queue:
        for index, buffer in enumerate(data):
            assert read_ints(queue, buffer) == [25 * index + 300] * 16


def test_threads_that_share_a_queue(context: Context, queue: Queue) -> None:
    program = built(context)
    data = [int_buffer(context, [0] * 16) for _ in range(4)]

    def work(index: int) -> None:
        with program.kernel("add") as add:
            add.set_args(data[index], int32(1))
            for _ in range(25):
                queue.enqueue_kernel(add, (16,))
                queue.enqueue_write(data[index], bytes(4), offset=4 * index, blocking=False)
            queue.finish()

    run_in_threads(4, work)
    for index, buffer in enumerate(data):
        assert read_ints(queue, buffer) == [25 if place != index else 0 for place in range(16)]


def test_threads_that_share_a_kernel_behind_a_lock(context: Context, queue: Queue) -> None:
    add = kernel(context, "add")
    data = [int_buffer(context, [0] * 16) for _ in range(4)]
    lock = threading.Lock()

    def work(index: int) -> None:
        for _ in range(25):
            with lock:
                add.set_args(data[index], int32(index))
                queue.enqueue_kernel(add, (16,))

    run_in_threads(4, work)
    for index, buffer in enumerate(data):
        assert read_ints(queue, buffer) == [25 * index] * 16


def test_threads_that_call_bound_launches(context: Context, device: Device) -> None:
    add = kernel(context, "add")
    data = [int_buffer(context, [0] * 16) for _ in range(4)]

    def work(index: int) -> None:
        with context.create_queue(device) as queue:
            binding = queue.bind(add, [data[index], int32(1)], (16,))
            for _ in range(50):
                binding()
            queue.finish()
            binding.release()

    run_in_threads(4, work)
    with context.create_queue(device) as queue:
        for buffer in data:
            assert read_ints(queue, buffer) == [50] * 16


def test_threads_that_make_and_release_objects(context: Context, device: Device) -> None:
    def work(index: int) -> None:
        for turn in range(20):
            with context.create_queue(device) as queue, context.create_buffer(64) as data:
                queue.enqueue_fill(data, int32(index * 100 + turn))
                assert read_ints(queue, data) == [index * 100 + turn] * 16
                with asked(queue.enqueue_marker(want_event=True)) as event:
                    event.wait()

    run_in_threads(4, work)


def test_threads_that_build_programs(context: Context, device: Device) -> None:
    def work(index: int) -> None:
        source = f"kernel void give(global int *out) {{ out[0] = {index}; }}"
        with built(context, source) as program, program.kernel("give") as give:
            out = int_buffer(context, [-1])
            give.set_args(out)
            with context.create_queue(device) as queue:
                queue.enqueue_kernel(give, (1,))
                assert read_ints(queue, out) == [index]
            out.release()

    run_in_threads(4, work)


def test_threads_that_wait_for_each_others_events(context: Context, device: Device) -> None:
    count = 3
    data = int_buffer(context, [1])
    scale = [kernel(context, "scale", data, int32(2), int32(index)) for index in range(count)]
    turns: list[Event | None] = [None] * count
    ready = [threading.Event() for _ in range(count)]

    def work(index: int) -> None:
        with context.create_queue(device) as queue:
            before: list[Event] = []
            if index:
                assert ready[index - 1].wait(30)
                before = [asked(turns[index - 1])]
            turns[index] = queue.enqueue_kernel(scale[index], (1,), wait_for=before, want_event=True)
            queue.flush()
            ready[index].set()
            queue.finish()

    run_in_threads(count, work)
    with context.create_queue(device) as queue:
        assert read_ints(queue, data) == [((1 * 2 + 0) * 2 + 1) * 2 + 2]
    release(*(asked(event) for event in turns))


def test_a_thread_waits_while_another_one_works(context: Context, device: Device, gate: Gate) -> None:
    first, second = context.create_queue(device), context.create_queue(device)
    data = int_buffer(context, [0] * 8)
    add = kernel(context, "add", data, int32(1))
    held = asked(first.enqueue_marker([gate.event], want_event=True))
    first.flush()
    waiter = threading.Thread(target=held.wait)
    waiter.start()
    for _ in range(20):
        second.enqueue_kernel(add, (8,))
    assert read_ints(second, data) == [20] * 8
    assert waiter.is_alive()
    gate.open()
    waiter.join(30)
    assert not waiter.is_alive()
    assert held.status == Status.COMPLETE
    release(held, first, second)


def test_many_threads_retain_and_release_one_object(context: Context, queue: Queue) -> None:
    data = int_buffer(context, range(8))
    before = data.refcount

    def work(index: int) -> None:
        for _ in range(100):
            data.retain().release()

    run_in_threads(4, work)
    assert data.refcount == before
    assert read_ints(queue, data) == list(range(8))
