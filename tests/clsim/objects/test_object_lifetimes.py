"""The two counts of every object (rule 4), one table for all types."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from host import ADD, Host, code_of, launch, read, set_args, status, write

from clsim import api
from clsim import spec as cl
from clsim.spec import CLError


class Kind(NamedTuple):
    """How to make an object of a type, and the calls on it."""

    name: str
    make: Callable[[Host], Any]
    retain: Callable[[Any], None]
    release: Callable[[Any], None]
    info: Callable[[Any, int], Any]
    count_query: int
    code: int


def a_program(host: Host) -> Any:
    return api.clCreateProgramWithSource(host.context, ADD)


def a_sub_buffer(host: Host) -> Any:
    buffer = host.buffer(1024)
    sub = api.clCreateSubBuffer(buffer, 0, cl.CL_BUFFER_CREATE_TYPE_REGION, (128, 64))
    api.clReleaseMemObject(buffer)
    return sub


def an_event(host: Host) -> Any:
    queue = host.queue()
    event = api.clEnqueueMarkerWithWaitList(queue, None, True)
    api.clReleaseCommandQueue(queue)
    return event


MEMORY = (api.clRetainMemObject, api.clReleaseMemObject, api.clGetMemObjectInfo, cl.CL_MEM_REFERENCE_COUNT)
EVENT = (api.clRetainEvent, api.clReleaseEvent, api.clGetEventInfo, cl.CL_EVENT_REFERENCE_COUNT)

KINDS = [
    Kind(
        "queue",
        Host.queue,
        api.clRetainCommandQueue,
        api.clReleaseCommandQueue,
        api.clGetCommandQueueInfo,
        cl.CL_QUEUE_REFERENCE_COUNT,
        cl.CL_INVALID_COMMAND_QUEUE,
    ),
    Kind("buffer", lambda host: host.buffer(64), *MEMORY, cl.CL_INVALID_MEM_OBJECT),
    Kind("buffer", a_sub_buffer, *MEMORY, cl.CL_INVALID_MEM_OBJECT),
    Kind(
        "program",
        a_program,
        api.clRetainProgram,
        api.clReleaseProgram,
        api.clGetProgramInfo,
        cl.CL_PROGRAM_REFERENCE_COUNT,
        cl.CL_INVALID_PROGRAM,
    ),
    Kind(
        "kernel",
        lambda host: host.kernel(ADD),
        api.clRetainKernel,
        api.clReleaseKernel,
        api.clGetKernelInfo,
        cl.CL_KERNEL_REFERENCE_COUNT,
        cl.CL_INVALID_KERNEL,
    ),
    Kind("event", an_event, *EVENT, cl.CL_INVALID_EVENT),
    Kind("event", lambda host: api.clCreateUserEvent(host.context), *EVENT, cl.CL_INVALID_EVENT),
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_an_object_lives_until_it_was_released_as_often_as_made_and_retained(kind):
    host = Host()
    item = kind.make(host)
    assert kind.info(item, kind.count_query) == 1
    kind.retain(item)
    assert kind.info(item, kind.count_query) == 2
    kind.release(item)
    assert kind.info(item, kind.count_query) == 1
    assert host.platform.ledger.live(kind.name) >= 1
    kind.release(item)
    assert host.platform.ledger.live(kind.name) == 0
    assert not list(host.platform.findings)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_use_after_the_last_release_has_the_types_code_and_names_both_places(kind):
    host = Host()
    item = kind.make(host)
    kind.release(item)
    for use in (kind.retain, kind.release, lambda x: kind.info(x, kind.count_query)):
        with pytest.raises(CLError) as error:
            use(item)
        assert code_of(error) == kind.code
        assert "test_object_lifetimes.py" in error.value.reason
    kinds = {finding.kind for finding in host.platform.findings}
    assert kinds == {"use-after-release", "double-release"}
    for finding in host.platform.findings:
        labels = [place.label for place in finding.sites]
        assert labels == ["created", "released", "used again"]
        assert all(place.line > 0 for place in finding.sites)
    assert host.platform.ledger.live(kind.name) == 0


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_null_and_another_type_are_refused_with_the_types_code(kind):
    host = Host()
    for wrong in (None, host.context, 17, "buffer"):
        with pytest.raises(CLError) as error:
            kind.retain(wrong)
        assert code_of(error) == kind.code


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_context_lives_as_long_as_anything_in_it(kind):
    host = Host()
    item = kind.make(host)
    api.clReleaseContext(host.context)
    assert host.platform.ledger.live("context") == 1
    with pytest.raises(CLError) as error:
        api.clCreateUserEvent(host.context)
    assert code_of(error) == cl.CL_INVALID_CONTEXT
    kind.release(item)
    assert host.platform.ledger.live("context") == 0
    with pytest.raises(CLError) as error:
        api.clReleaseContext(host.context)
    assert code_of(error) == cl.CL_INVALID_CONTEXT


def test_contexts_before_children_in_every_order_all_releases_succeed():
    host = Host()
    queue = host.queue()
    buffers = [host.buffer(64) for _ in range(3)]
    program = host.program(ADD)
    kernel = api.clCreateKernel(program, "add")
    api.clReleaseContext(host.context)
    api.clReleaseProgram(program)
    for buffer in buffers:
        api.clReleaseMemObject(buffer)
    api.clReleaseCommandQueue(queue)
    assert host.platform.ledger.live("program") == 1
    api.clReleaseKernel(kernel)
    assert not any(host.platform.ledger.snapshot().values())
    assert not list(host.platform.findings)


def test_an_event_pins_its_queue_and_nothing_else_of_a_finished_command():
    host = Host()
    queue = host.queue()
    buffer = host.ints(1)
    event = write(queue, buffer, np.zeros(1, np.int32), want_event=True)
    api.clFinish(queue)
    api.clReleaseCommandQueue(queue)
    api.clReleaseMemObject(buffer)
    live = host.platform.ledger.snapshot(["event", "queue", "buffer"])
    assert live == {"event": 1, "queue": 1, "buffer": 0}
    assert status(event) == cl.CL_COMPLETE
    api.clReleaseEvent(event)
    assert host.platform.ledger.live("queue") == 0


def test_an_event_released_before_its_command_ran_ends_with_it():
    host = Host()
    queue = host.queue()
    event = write(queue, host.ints(1), np.zeros(1, np.int32), want_event=True)
    api.clReleaseEvent(event)
    assert host.platform.ledger.live("event") == 1
    api.clFinish(queue)
    assert host.platform.ledger.live("event") == 0


# ---------------------------------------------------------------- memory


def test_memory_that_is_only_a_kernels_argument_ends_when_it_is_released():
    host = Host()
    buffer = host.ints(1)
    kernel = host.kernel(ADD, buffer, np.int32(1))
    ended: list[str] = []
    api.clSetMemObjectDestructorCallback(buffer, lambda: ended.append("buffer"))
    api.clReleaseMemObject(buffer)
    assert ended == ["buffer"]
    assert host.platform.ledger.bytes("buffer") == 0
    queue = host.queue()
    with pytest.raises(CLError) as error:
        launch(queue, kernel, 1)
    assert code_of(error) == cl.CL_INVALID_KERNEL_ARGS
    (finding,) = host.platform.findings.of("use-after-release")
    assert buffer.label in finding.message


def test_memory_of_a_launch_lives_until_the_launch_is_complete(any_schedule):
    host = Host(schedule=any_schedule)
    queue = host.queue()
    buffer = host.ints(1)
    kernel = host.kernel(ADD, buffer, np.int32(1))
    other = host.ints(0)
    ended: list[int] = []
    api.clSetMemObjectDestructorCallback(buffer, lambda: ended.append(1))
    launch(queue, kernel, 1)
    api.clEnqueueCopyBuffer(queue, buffer, other, 0, 0, 4)
    api.clReleaseMemObject(buffer)
    assert ended == []
    assert host.platform.ledger.live("buffer") == 2
    assert read(queue, other) == [2]
    assert ended == [1]
    assert host.platform.ledger.live("buffer") == 1


def test_memory_released_before_the_user_event_its_command_waits_for_is_kept_and_reported():
    host = Host()
    queue = host.queue()
    user = api.clCreateUserEvent(host.context)
    buffer, other = host.ints(1), host.ints(0)
    kernel = host.kernel(ADD, buffer, np.int32(1))
    api.clEnqueueNDRangeKernel(queue, kernel, 1, None, (1,), None, [user])
    api.clEnqueueCopyBuffer(queue, buffer, other, 0, 0, 4)
    api.clReleaseMemObject(buffer)
    (finding,) = host.platform.findings.of("release-before-user-event")
    assert finding.severity == "warning"
    api.clSetUserEventStatus(user, cl.CL_COMPLETE)
    assert read(queue, other) == [2]
    assert host.platform.ledger.live("buffer") == 1


def test_a_sub_buffer_keeps_its_parents_memory():
    host = Host()
    parent = host.ints(*range(64))
    sub = api.clCreateSubBuffer(parent, 0, cl.CL_BUFFER_CREATE_TYPE_REGION, (128, 16))
    api.clReleaseMemObject(parent)
    assert host.platform.ledger.live("buffer") == 2
    assert read(host.queue(), sub) == [32, 33, 34, 35]
    api.clReleaseMemObject(sub)
    assert host.platform.ledger.live("buffer") == 0


def test_destructor_callbacks_come_in_reverse_order_when_the_object_ends():
    host = Host()
    buffer = host.buffer(16)
    order: list[int] = []
    for n in range(3):
        api.clSetMemObjectDestructorCallback(buffer, lambda n=n: order.append(n))
    api.clReleaseMemObject(buffer)
    assert order == [2, 1, 0]


def test_the_bytes_of_ended_memory_are_given_back_although_a_kernel_refers_to_it():
    host = Host()
    content = np.zeros(1 << 16, np.uint8)
    buffer = host.buffer(content)
    kernel = host.kernel(ADD, buffer, np.int32(1))
    data = weakref.ref(
        buffer.storage.data.base if buffer.storage.data.base is not None else buffer.storage.data
    )
    api.clReleaseMemObject(buffer)
    gc.collect()
    assert data() is None
    api.clReleaseKernel(kernel)


def test_host_memory_of_a_non_blocking_transfer_lives_until_it_is_complete_and_no_longer():
    host = Host()
    queue = host.queue()
    buffer = host.buffer(4096)
    events = []
    arrays = []
    for n in range(20):
        values = np.full(1024, n, np.int32)
        arrays.append(weakref.ref(values))
        events.append(write(queue, buffer, values, want_event=True))
        del values
    assert all(array() is not None for array in arrays)
    api.clFinish(queue)
    gc.collect()
    assert all(array() is None for array in arrays)
    assert host.platform.ledger.live("event") == 20
    assert read(queue, buffer)[:2] == [19, 19]


def test_what_a_wrapper_lost_is_released_and_reported_with_the_next_call():
    host = Host()
    buffer = host.buffer(64)
    host.platform.forget(buffer)
    assert host.platform.ledger.live("buffer") == 1
    host.buffer(4)
    assert host.platform.ledger.live("buffer") == 1
    (finding,) = host.platform.findings.of("forgotten")
    assert "buffer" in finding.message


# ---------------------------------------------------------------- kernels


def test_arguments_are_captured_when_the_launch_is_enqueued(any_schedule):
    host = Host(schedule=any_schedule)
    queue = host.queue()
    user = api.clCreateUserEvent(host.context)
    first, second = host.ints(0), host.ints(0)
    kernel = host.kernel(ADD, first, np.int32(1))
    launch(queue, kernel, 1, [user])
    set_args(kernel, second, np.int32(10))
    launch(queue, kernel, 1)
    api.clSetUserEventStatus(user, cl.CL_COMPLETE)
    api.clFinish(queue)
    assert read(queue, first) == [1]
    assert read(queue, second) == [10]


def test_a_kernel_keeps_its_program_and_a_launch_its_kernel():
    host = Host()
    queue = host.queue()
    user = api.clCreateUserEvent(host.context)
    buffer = host.ints(0)
    kernel = host.kernel(ADD, buffer, np.int32(1))
    assert host.platform.ledger.live("program") == 1
    launch(queue, kernel, 1, [user])
    api.clReleaseKernel(kernel)
    assert host.platform.ledger.live("kernel") == 1
    api.clSetUserEventStatus(user, cl.CL_COMPLETE)
    api.clFinish(queue)
    assert host.platform.ledger.live("kernel") == host.platform.ledger.live("program") == 0
    assert read(queue, buffer) == [1]
