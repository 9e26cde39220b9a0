"""Whole programs, made at random: results do not depend on the schedule, and nothing is left behind."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest
from host import Host, read, set_args

from clsim import api
from clsim import spec as cl
from clsim.spec import CLError

MIX = """
kernel void mix(global int *to, global const int *from, int n) {
    int i = get_global_id(0);
    to[i] = to[i] * 3 + from[i] + n;
}
"""
SIZE = 8


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("strict", [False, True])
def test_a_program_with_all_its_edges_gives_the_same_on_every_schedule(seed, strict):
    """The expected values come from running the same steps one after the other in NumPy."""
    results = []
    for schedule in ("fifo", "late", "random"):
        host = Host(schedule=schedule, seed=seed, strict=strict, order_checks=True)
        results.append(run(host, seed))
        assert not [str(f) for f in host.platform.findings]
    expected = model(seed)
    assert results == [expected] * 3


def steps(seed):
    """Steps of a program: (what, target, source, number, queue)."""
    chooser = np.random.default_rng(seed)
    for _ in range(30):
        what = chooser.choice(["mix", "write", "copy", "fill", "map", "marker", "finish", "sync"])
        to, source = (int(n) for n in chooser.permutation(4)[:2])
        yield str(what), to, source, int(chooser.integers(100)), int(chooser.integers(3))


def model(seed):
    memory = [np.full(SIZE, n, np.int32) for n in range(4)]
    for what, to, source, number, _ in steps(seed):
        if what == "mix":
            memory[to] = memory[to] * 3 + memory[source] + np.int32(number)
        elif what in ("write", "fill"):
            memory[to] = np.full(SIZE, number, np.int32)
        elif what == "copy":
            memory[to] = memory[source].copy()
        elif what == "map":
            memory[to][0] = number
    return [values.tolist() for values in memory]


def run(host, seed):
    queues = [host.queue(), host.out_of_order_queue(), host.profiling_queue()]
    buffers = [host.buffer(np.full(SIZE, n, np.int32)) for n in range(4)]
    kernel = host.kernel(MIX)
    # The event of the last command on each buffer: everything on it waits for that.
    last = [None] * 4
    for what, to, source, number, which in steps(seed):
        queue = queues[which]
        waits = [event for event in dict.fromkeys((last[to], last[source])) if event is not None]
        for event in waits:
            api.clFlush(event.queue)
        event = None
        if what == "mix":
            set_args(kernel, buffers[to], buffers[source], np.int32(number))
            event = api.clEnqueueNDRangeKernel(queue, kernel, 1, None, (SIZE,), None, waits, True)
        elif what == "write":
            values = np.full(SIZE, number, np.int32)
            event = api.clEnqueueWriteBuffer(queue, buffers[to], False, 0, 4 * SIZE, values, waits, True)
        elif what == "copy":
            event = api.clEnqueueCopyBuffer(queue, buffers[source], buffers[to], 0, 0, 4 * SIZE, waits, True)
        elif what == "fill":
            pattern = np.array([number], np.int32)
            event = api.clEnqueueFillBuffer(queue, buffers[to], pattern, None, 0, 4 * SIZE, waits, True)
        elif what == "map":
            mapping, mapped = api.clEnqueueMapBuffer(
                queue, buffers[to], True, cl.CL_MAP_WRITE | cl.CL_MAP_READ, 0, 4, waits, True
            )
            np.frombuffer(mapping.view, np.int32)[0] = number
            event = api.clEnqueueUnmapMemObject(queue, buffers[to], mapping, [mapped], True)
        elif what == "marker" and last[to] is not None:
            event = api.clEnqueueMarkerWithWaitList(queue, waits, True)
        elif what == "finish":
            api.clFinish(queue)
        if event is not None:
            last[to] = last[source] = event
            # Reads of the source come before its next write too, since that waits for `last`.
    for queue in queues:
        api.clFlush(queue)
    for queue in queues:
        api.clFinish(queue)
    return [read(queues[0], buffer) for buffer in buffers]


def test_many_threads_on_one_platform_leave_nothing_behind():
    host = Host(schedule="random", order_checks=True)
    program = host.program(MIX)
    errors = []

    def work(number):
        try:
            for turn in range(15):
                queue = host.queue() if (number + turn) % 2 else host.out_of_order_queue()
                user = api.clCreateUserEvent(host.context)
                a, b = host.buffer(np.zeros(SIZE, np.int32)), host.buffer(np.ones(SIZE, np.int32))
                kernel = api.clCreateKernel(program, "mix")
                set_args(kernel, a, b, np.int32(number))
                done = api.clEnqueueNDRangeKernel(queue, kernel, 1, None, (SIZE,), None, [user], True)
                seen = []
                api.clSetEventCallback(done, cl.CL_COMPLETE, seen.append)
                api.clFlush(queue)
                api.clSetUserEventStatus(user, cl.CL_COMPLETE)
                values = np.zeros(SIZE, np.int32)
                api.clEnqueueReadBuffer(queue, a, True, 0, 4 * SIZE, values, [done])
                assert values.tolist() == [1 + number] * SIZE
                for release, item in (
                    (api.clReleaseEvent, user),
                    (api.clReleaseEvent, done),
                    (api.clReleaseKernel, kernel),
                    (api.clReleaseMemObject, a),
                    (api.clReleaseMemObject, b),
                    (api.clReleaseCommandQueue, queue),
                ):
                    release(item)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    # Callbacks and memory that were due later by the clock have come by now.
    api.clFinish(host.queue())
    host.platform.engine.advance_to(host.platform.engine.now_ns + 10**9)
    api.clGetContextInfo(host.context, cl.CL_CONTEXT_NUM_DEVICES)
    assert host.platform.ledger.snapshot(["event", "buffer", "kernel"]) == {
        "event": 0,
        "buffer": 0,
        "kernel": 0,
    }
    assert not [str(f) for f in host.platform.findings]


def test_threads_that_hand_user_events_to_one_another_all_end():
    host = Host()
    count = 5
    users = [api.clCreateUserEvent(host.context) for _ in range(count + 1)]
    order = []

    def link(n):
        queue = host.queue()
        event = api.clEnqueueMarkerWithWaitList(queue, [users[n]], True)
        api.clWaitForEvents([event])
        order.append(n)
        api.clSetUserEventStatus(users[n + 1], cl.CL_COMPLETE)

    threads = [threading.Thread(target=link, args=(n,)) for n in reversed(range(count))]
    for thread in threads:
        thread.start()
    api.clSetUserEventStatus(users[0], cl.CL_COMPLETE)
    api.clWaitForEvents([users[count]])
    for thread in threads:
        thread.join()
    assert order == list(range(count))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_the_whole_state_and_a_life_of_its_own():
    host = Host()
    queue = host.queue()
    buffer = host.ints(1, 2, 3)
    pending = api.clEnqueueWriteBuffer(queue, buffer, False, 0, 4, np.array([9], np.int32), None, True)
    stop = threading.Event()

    def busy():
        own = host.queue()
        while not stop.is_set():
            read(own, host.ints(0))

    thread = threading.Thread(target=busy)
    thread.start()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if read(queue, buffer) == [9, 2, 3] else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    stop.set()
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 0
    assert api.clGetEventInfo(pending, cl.CL_EVENT_COMMAND_EXECUTION_STATUS) == cl.CL_QUEUED


def test_an_error_inside_the_simulator_is_told_as_such_and_the_platform_lives_on(monkeypatch):
    from clsim.spec import SimulatorError

    host = Host()
    queue = host.queue()
    buffer = host.ints(1)
    kernel = host.kernel(MIX, buffer, buffer, np.int32(0))
    api.clEnqueueNDRangeKernel(queue, kernel, 1, None, (1,))
    api.clFinish(queue)
    prepared = next(iter(kernel.program.builds.values())).prepared["mix"]
    monkeypatch.setattr(type(prepared), "launch", lambda *_, **__: 1 // 0)
    with pytest.raises(SimulatorError, match="kernel 'mix'"):
        api.clEnqueueNDRangeKernel(queue, kernel, 1, None, (1,))
    monkeypatch.undo()
    api.clEnqueueNDRangeKernel(queue, kernel, 1, None, (1,))
    # 1 -> 1 * 3 + 1 -> 4 * 3 + 4, the failed launch in between left out.
    assert read(queue, buffer) == [16]


def test_what_is_no_number_of_bytes_is_an_invalid_value():
    host = Host()
    with pytest.raises(CLError) as error:
        api.clEnqueueReadBuffer(host.queue(), host.buffer(8), True, 1.5, 4, bytearray(4))
    assert error.value.code == cl.CL_INVALID_VALUE
