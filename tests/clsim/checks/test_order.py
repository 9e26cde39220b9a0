"""The order check: commands on the same bytes with nothing between them."""

from __future__ import annotations

import threading
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from host import ADD, Host, launch, read, status, write

from clsim import api
from clsim import spec as cl
from clsim.api import index_space
from clsim.checks.order import Span, overlap
from clsim.vm.launch import Access

COPY = """
kernel void copy(global const int *from, global int *to) { to[get_global_id(0)] = from[get_global_id(0)]; }
"""
ONES = np.ones(4, np.int32)


def checked(**options):
    return Host(order_checks=True, **options)


def races(host):
    return host.platform.findings.of("race")


def test_a_forgotten_edge_between_two_queues_names_both_lines_and_the_edge(any_schedule):
    host = checked(schedule=any_schedule)
    loads, runs = host.queue(), host.queue()
    source, target = host.ints(0, 0, 0, 0), host.ints(0, 0, 0, 0)
    kernel = host.kernel(COPY, source, target)
    written = api.clEnqueueWriteBuffer(loads, source, False, 0, 16, ONES, None, True)  # first line
    api.clEnqueueNDRangeKernel(runs, kernel, 1, None, (4,))  # second line
    for queue in (loads, runs):
        api.clFinish(queue)
    (finding,) = races(host)
    text = Path(finding.sites[0].file).read_text().splitlines()
    assert [text[place.line - 1].split("# ")[-1] for place in finding.sites] == ["first line", "second line"]
    assert "wait list" in finding.advice
    assert "write" in finding.message
    assert "kernel 'copy'" in finding.message
    assert source.label in finding.objects
    api.clReleaseEvent(written)


def test_with_the_edge_in_place_there_is_nothing_to_say(any_schedule):
    host = checked(schedule=any_schedule)
    loads, runs = host.queue(), host.queue()
    source, target = host.ints(0, 0, 0, 0), host.ints(0, 0, 0, 0)
    written = write(loads, source, ONES, want_event=True)
    api.clFlush(loads)
    launch(runs, host.kernel(COPY, source, target), 4, [written])
    assert read(runs, target) == [1, 1, 1, 1]
    assert not list(host.platform.findings)


def test_commands_of_an_in_order_queue_are_ordered(any_schedule):
    host = checked(schedule=any_schedule)
    queue = host.queue()
    buffer = host.ints(0, 0, 0, 0)
    kernel = host.kernel(ADD, buffer, np.int32(1))
    for _ in range(10):
        launch(queue, kernel, 4)
        write(queue, buffer, ONES)
    api.clFinish(queue)
    assert not races(host)


def test_commands_of_an_out_of_order_queue_are_not(any_schedule):
    host = checked(schedule=any_schedule)
    queue = host.out_of_order_queue()
    buffer = host.ints(0, 0, 0, 0)
    write(queue, buffer, ONES)
    write(queue, buffer, ONES)
    api.clFinish(queue)
    (finding,) = races(host)
    assert finding.severity == "error"


@pytest.mark.parametrize("kind", ["barrier", "marker", "finish", "wait", "poll", "blocking", "callback"])
def test_what_orders_two_commands_of_an_out_of_order_queue(kind, any_schedule):
    host = checked(schedule=any_schedule)
    queue = host.out_of_order_queue()
    buffer = host.ints(0, 0, 0, 0)
    event = write(queue, buffer, ONES, want_event=True, blocking=kind == "blocking")
    waits = []
    if kind == "barrier":
        api.clEnqueueBarrierWithWaitList(queue)
    elif kind == "marker":
        waits = [api.clEnqueueMarkerWithWaitList(queue, None, True)]
    elif kind == "finish":
        api.clFinish(queue)
    elif kind == "wait":
        api.clWaitForEvents([event])
    elif kind == "poll":
        api.clFlush(queue)
        while status(event) != cl.CL_COMPLETE:
            pass
    elif kind == "callback":
        api.clSetEventCallback(event, cl.CL_COMPLETE, lambda _: write(queue, buffer, ONES))
        api.clWaitForEvents([event])
        api.clFinish(queue)
        assert not races(host)
        return
    write(queue, buffer, ONES, waits)
    api.clFinish(queue)
    assert not races(host)


def test_a_barrier_with_a_wait_list_orders_only_what_it_waits_for():
    host = checked()
    queue = host.out_of_order_queue()
    a, b = host.ints(0), host.ints(0)
    one = np.ones(1, np.int32)
    first = write(queue, a, one, want_event=True)
    write(queue, b, one)
    api.clEnqueueBarrierWithWaitList(queue, [first])
    write(queue, a, one)
    api.clFinish(queue)
    assert not races(host)
    first = write(queue, a, one, want_event=True)
    write(queue, b, one)
    api.clEnqueueBarrierWithWaitList(queue, [first])
    write(queue, b, one)
    api.clFinish(queue)
    (finding,) = races(host)
    assert b.label in finding.objects


def test_order_goes_through_other_queues_and_commands(any_schedule):
    host = checked(schedule=any_schedule, seed=4)
    queues = [host.queue(), host.out_of_order_queue(), host.queue()]
    buffer, other = host.ints(0, 0, 0, 0), host.ints(0, 0, 0, 0)
    first = write(queues[0], buffer, ONES, want_event=True)
    second = write(queues[1], other, ONES, [first], True)
    third = api.clEnqueueMarkerWithWaitList(queues[2], [second], True)
    write(queues[1], buffer, ONES, [third])
    for queue in queues:
        api.clFlush(queue)
    for queue in queues:
        api.clFinish(queue)
    assert not races(host)


def test_the_host_orders_what_it_enqueues_after_a_wait_on_any_thread():
    host = checked()
    first, second = host.queue(), host.queue()
    buffer = host.ints(0, 0, 0, 0)
    event = write(first, buffer, ONES, want_event=True)
    thread = threading.Thread(target=api.clWaitForEvents, args=([event],))
    thread.start()
    thread.join()
    write(second, buffer, ONES)
    api.clFinish(second)
    assert not races(host)


def test_what_was_enqueued_before_the_wait_is_not_ordered_by_it():
    host = checked()
    first, second = host.queue(), host.queue()
    buffer = host.ints(0, 0, 0, 0)
    event = write(first, buffer, ONES, want_event=True)
    user = api.clCreateUserEvent(host.context)
    gate = api.clEnqueueMarkerWithWaitList(second, [user], True)
    write(second, buffer, ONES)
    api.clWaitForEvents([event])
    # The gate opens after the wait: the host itself puts the second write behind the first.
    api.clSetUserEventStatus(user, cl.CL_COMPLETE)
    api.clFinish(second)
    assert not races(host)
    other = checked()
    first, second = other.queue(), other.queue()
    buffer = other.ints(0, 0, 0, 0)
    event = write(first, buffer, ONES, want_event=True)
    write(second, buffer, ONES)
    api.clWaitForEvents([event])
    api.clFinish(second)
    assert len(races(other)) == 1
    api.clReleaseEvent(gate)


def test_two_readers_are_no_race_and_ranges_that_do_not_meet_are_none():
    host = checked()
    queue = host.out_of_order_queue()
    buffer = host.ints(0, 0, 0, 0)
    room = np.zeros(4, np.int32)
    for _ in range(2):
        api.clEnqueueReadBuffer(queue, buffer, False, 0, 16, room)
    api.clFinish(queue)
    for offset in (0, 4, 8, 12):
        api.clEnqueueWriteBuffer(queue, buffer, False, offset, 4, ONES)
    api.clFinish(queue)
    assert not races(host)
    api.clEnqueueWriteBuffer(queue, buffer, False, 0, 8, ONES)
    api.clEnqueueReadBuffer(queue, buffer, False, 4, 8, room)
    api.clFinish(queue)
    (finding,) = races(host)
    assert "(4 to 8 of" in finding.message


def test_sub_buffers_of_one_buffer_share_its_bytes():
    host = checked()
    queue = host.out_of_order_queue()
    buffer = host.ints(*range(64))
    region = cl.CL_BUFFER_CREATE_TYPE_REGION
    low, high = (api.clCreateSubBuffer(buffer, 0, region, (origin, 128)) for origin in (0, 128))
    write(queue, low, ONES)
    write(queue, high, ONES)
    api.clFinish(queue)
    assert not races(host)
    write(queue, high, ONES)
    api.clEnqueueWriteBuffer(queue, buffer, False, 132, 4, ONES)
    api.clFinish(queue)
    assert len(races(host)) == 1


def test_an_overlap_of_kernels_that_do_not_run_is_only_possible():
    host = checked(execution="none")
    queue = host.out_of_order_queue()
    buffer = host.ints(0, 0, 0, 0)
    kernel = host.kernel(ADD, buffer, np.int32(1))
    launch(queue, kernel, 2)
    launch(queue, kernel, 2)
    api.clFinish(queue)
    (finding,) = races(host)
    assert finding.severity == "possible"


def test_what_a_kernel_only_reads_is_known_without_const():
    host = checked()
    queue = host.out_of_order_queue()
    shared = host.ints(1, 2, 3, 4)
    source = COPY.replace("const ", "")
    launch(queue, host.kernel(source, shared, host.ints(0, 0, 0, 0)), 4)
    launch(queue, host.kernel(source, shared, host.ints(0, 0, 0, 0)), 4)
    api.clFinish(queue)
    assert not races(host)


@pytest.mark.parametrize(("second_start", "races_found"), [(4, 0), (0, 1)])
def test_exact_sets_of_the_machine_settle_what_arguments_leave_open(monkeypatch, second_start, races_found):
    """Two kernels write every other int: one the even and one the odd, or both the even."""
    host = checked()
    queue = host.out_of_order_queue()
    buffer = host.ints(*[0] * 8)
    source = "kernel void k(global int *a, int first) { a[2 * get_global_id(0) + first] = 1; }"
    even = host.kernel(source, buffer, np.int32(0))
    odd = host.kernel(source, buffer, np.int32(second_start // 4))
    machine = type(index_space.prepare(even.program.builds[host.device].module, "k"))
    run = machine.launch
    starts = iter([0, second_start])

    def with_sets(self, *arguments, record_accesses=False):
        assert record_accesses
        report = run(self, *arguments)
        report.accesses = [Access(0, True, next(starts), 4, 8, 4, True)]
        return report

    monkeypatch.setattr(machine, "launch", with_sets)
    launch(queue, even, 4)
    launch(queue, odd, 4)
    api.clFinish(queue)
    assert [finding.severity for finding in races(host)] == ["error"] * races_found


def test_a_command_that_failed_touched_nothing():
    host = checked()
    queue = host.out_of_order_queue()
    buffer = host.ints(0, 0, 0, 0)
    user = api.clCreateUserEvent(host.context)
    write(queue, buffer, ONES, [user])
    write(queue, buffer, ONES)
    api.clFlush(queue)
    api.clSetUserEventStatus(user, -1)
    api.clFinish(queue)
    assert not races(host)


def test_the_check_keeps_little_however_long_the_run():
    host = checked()
    queue = host.out_of_order_queue()
    buffer = host.ints(0, 0, 0, 0)
    kernel = host.kernel(ADD, buffer, np.int32(1))
    event = None
    for step in range(2000):
        after = launch(queue, kernel, 4, [event] if event else (), True)
        if event is not None:
            api.clReleaseEvent(event)
        event = after
        if step % 100 == 99:
            other = host.queue()
            write(other, host.ints(0), np.ones(1, np.int32), blocking=True)
            api.clReleaseCommandQueue(other)
    order = host.platform.engine.order
    assert len(buffer.storage.records) < 10
    assert len(order.host_clock) < 10
    assert len(queue.chains) < 10
    assert not races(host)


@pytest.mark.parametrize("seed", range(20))
def test_random_programs_agree_with_reachability_worked_out_by_hand(seed):
    """Commands on three queues with random wait lists: exactly the pairs with no path between them race."""
    chooser = np.random.default_rng(seed)
    host = checked(schedule="random", seed=seed)
    queues = [host.queue(), host.out_of_order_queue(), host.out_of_order_queue()]
    buffers = [host.ints(0), host.ints(0)]
    one = np.ones(1, np.int32)
    reach: list[set[int]] = []
    touched: list[int] = []
    events = []
    last: dict[int, int] = {}
    for n in range(12):
        which = int(chooser.integers(3))
        target = int(chooser.integers(2))
        waits = sorted({int(w) for w in chooser.integers(0, n, 2)}) if n and chooser.random() < 0.7 else []
        before = set(waits)
        if which == 0 and 0 in last:
            before.add(last[0])
        past = set(before)
        for earlier in before:
            past |= reach[earlier]
        reach.append(past)
        touched.append(target)
        last[which] = n
        # One line a command, so that findings are not folded into one another.
        code = "\n" * n + "event = write(queue, buffer, False, 0, 4, one, waits, True)"
        space = {
            "write": api.clEnqueueWriteBuffer,
            "queue": queues[which],
            "buffer": buffers[target],
            "one": one,
            "waits": [events[w] for w in waits],
        }
        exec(compile(code, "random program", "exec"), space)
        events.append(space["event"])
    for queue in queues:
        api.clFlush(queue)
    for queue in queues:
        api.clFinish(queue)
    expected = {(a, b) for b in range(12) for a in range(b) if touched[a] == touched[b] and a not in reach[b]}
    found = {(f.sites[0].line - 1, f.sites[1].line - 1) for f in races(host)}
    # A pair may go unnamed only where a third command stands in for one of them.
    assert found <= expected
    assert bool(found) == bool(expected)


def test_spans_overlap_as_their_bytes_do():
    def bytes_of(span: Span) -> set[int]:
        return {span.start + k * span.stride + n for k in range(span.pieces) for n in range(span.size)}

    spans = [
        Span(start, size, stride, pieces)
        for start, size, stride, pieces in product((0, 1, 5), (1, 2, 4), (1, 3, 8), (1, 2, 5))
    ]
    for a, b in product(spans, spans):
        assert overlap(a, b) == (bool(bytes_of(a) & bytes_of(b)), True), (a, b)
