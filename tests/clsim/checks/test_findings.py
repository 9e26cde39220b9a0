"""What kernels do wrong, what is left at the end, injected faults, and how findings are kept."""

from __future__ import annotations

import numpy as np
import pytest
from host import ADD, Host, code_of, launch, read, write

from clsim import api
from clsim import spec as cl
from clsim.checks import Findings, holders
from clsim.ledger import Site
from clsim.spec import CLError

BEYOND = "kernel void k(global int *a) {\n  a[get_global_id(0)] = 7;\n}"


def test_an_access_out_of_bounds_names_kernel_line_argument_index_and_work_item():
    host = Host()
    queue = host.queue()
    buffer, neighbour = host.ints(*[0] * 64), host.ints(*[5] * 64)
    api.clEnqueueNDRangeKernel(queue, host.kernel(BEYOND, buffer), 1, None, (66,))
    assert read(queue, buffer) == [7] * 64
    assert read(queue, neighbour) == [5] * 64
    (finding,) = host.platform.findings
    assert finding.kind == "out-of-bounds-write"
    assert finding.severity == "error"
    for part in ("kernel 'k'", "line 2", "'a'", "index 64", "(64,)", "a[get_global_id(0)] = 7;"):
        assert part in finding.message
    assert [place.label for place in finding.sites] == ["in the kernel", "enqueued"]
    assert finding.sites[0].line == 2
    assert finding.sites[1].file.endswith("test_findings.py")


def test_a_memory_fault_is_a_late_error_where_the_profile_says_so(profile_with):
    host = Host(profile_with(memory_fault="late_error"))
    queue = host.queue()
    event = api.clEnqueueNDRangeKernel(
        queue, host.kernel(BEYOND, host.ints(0)), 1, None, (2,), None, None, True
    )
    room = bytearray(4)
    other = host.ints(0)
    api.clEnqueueReadBuffer(queue, other, False, 0, 4, room)
    noop = host.kernel(ADD, other, np.int32(1))
    for call in (
        lambda: api.clFinish(queue),
        lambda: launch(queue, noop, 1),
        lambda: api.clEnqueueReadBuffer(queue, other, True, 0, 4, room),
    ):
        with pytest.raises(CLError) as error:
            call()
        assert code_of(error) == cl.CL_OUT_OF_RESOURCES
    with pytest.raises(CLError):
        api.clWaitForEvents([event])
    assert host.platform.findings.of("out-of-bounds-write")


def test_text_that_kernels_print_goes_to_the_platforms_output():
    host = Host()
    seen: list[str] = []
    host.platform.output = seen.append
    queue = host.queue()
    launch(queue, host.kernel('kernel void k() { printf("%d\\n", 42); }'), 1)
    api.clFinish(queue)
    assert "".join(seen) == "42\n"


# ---------------------------------------------------------------- leaks


def test_what_is_alive_at_the_end_is_reported_a_place():
    host = Host()
    queue = host.queue()
    kept = [write(queue, host.ints(0), np.zeros(1, np.int32), want_event=True) for _ in range(5)]
    api.clFinish(queue)
    host.platform.report_leaks()
    by_kind = {finding.objects[0]: finding for finding in host.platform.findings.of("leak")}
    assert "5 of 5 events" in by_kind["event"].message
    assert f"{5 * host.platform.event_bytes(False)} bytes" in by_kind["event"].message
    assert set(by_kind) == {"event", "buffer", "queue", "context"}
    assert len(kept) == 5


def test_what_was_submitted_and_released_is_no_leak(any_schedule):
    host = Host(schedule=any_schedule)
    queue, buffer = host.queue(), host.ints(0)
    kernel = host.kernel(ADD, buffer, np.int32(1))
    launch(queue, kernel, 1)
    for release, item in (
        (api.clReleaseKernel, kernel),
        (api.clReleaseMemObject, buffer),
        (api.clReleaseCommandQueue, queue),
        (api.clReleaseContext, host.context),
    ):
        release(item)
    host.platform.report_leaks()
    assert not list(host.platform.findings)


def test_what_keeps_an_object_alive_is_told():
    host = Host()
    queue, buffer = host.queue(), host.ints(0)
    user = api.clCreateUserEvent(host.context)
    kernel = host.kernel(ADD, buffer, np.int32(1))
    event = api.clEnqueueNDRangeKernel(queue, kernel, 1, None, (1,), None, [user], True)
    here = f"{event.birth.file}:{event.birth.line}"
    assert holders.of(kernel.program) == [kernel.label]
    assert holders.of(queue) == [
        "1 client reference",
        "1 event",
        f"the {event.command.label} enqueued at {here}",
    ]
    api.clReleaseMemObject(buffer)
    assert holders.of(buffer) == [f"the {event.command.label} enqueued at {here}"]
    api.clSetUserEventStatus(user, cl.CL_COMPLETE)
    api.clFinish(queue)
    api.clReleaseCommandQueue(queue)
    assert holders.of(buffer) == []
    assert holders.of(queue) == ["1 event"]
    host.platform.report_leaks()
    (finding,) = [f for f in host.platform.findings.of("leak") if f.objects == ("queue",)]
    assert "released, but held by 1 event" in finding.message


# ---------------------------------------------------------------- injection


def test_a_fault_is_injected_by_entry_point_and_ordinal():
    faults = {("clEnqueueNDRangeKernel", 3): cl.CL_MEM_OBJECT_ALLOCATION_FAILURE}
    for bound in (False, True):
        host = Host(faults=faults)
        queue = host.queue()
        buffer = host.ints(0)
        kernel = host.kernel(ADD, buffer, np.int32(1))
        # Binding counts as the first call: it checks what the launch checks.
        call = api.bind_ndrange(queue, kernel, (1,)) if bound else lambda: launch(queue, kernel, 1)  # noqa: B023
        codes = []
        for _ in range(4):
            try:
                call()
                codes.append(0)
            except CLError as error:
                codes.append(error.code)
        third = 2 - bound
        assert codes == [cl.CL_MEM_OBJECT_ALLOCATION_FAILURE if n == third else 0 for n in range(4)]
        assert read(queue, buffer) == [3]


def test_a_creation_that_fails_by_injection_leaves_nothing():
    host = Host(faults={("clCreateBuffer", 1): cl.CL_OUT_OF_HOST_MEMORY, ("clCreateContext", 2): -6})
    with pytest.raises(CLError) as error:
        host.buffer(4)
    assert code_of(error) == cl.CL_OUT_OF_HOST_MEMORY
    assert host.platform.ledger.total("buffer") == 0
    with pytest.raises(CLError):
        api.clCreateContext(None, host.devices)
    host.buffer(4)


# ---------------------------------------------------------------- keeping findings


def test_the_same_fault_at_the_same_place_is_one_finding_with_a_count():
    host = Host()
    buffer = host.buffer(4)
    api.clReleaseMemObject(buffer)
    for _ in range(100):
        with pytest.raises(CLError):
            api.clRetainMemObject(buffer)
    (finding,) = host.platform.findings
    assert finding.count == 100
    assert "(100 times)" in str(finding)


def test_findings_are_bounded_and_say_what_was_dropped():
    findings = Findings(limit=10)
    for n in range(25):
        findings.add("kind", "error", "text", sites=[("here", Site("f.py", n + 1, "f"))])
    assert len(list(findings)) == 10
    assert findings.dropped == 15
    findings.clear()
    assert not list(findings)
    assert findings.dropped == 0


def test_call_sites_can_be_off():
    host = Host(call_sites=False)
    buffer = host.buffer(4)
    api.clReleaseMemObject(buffer)
    with pytest.raises(CLError):
        api.clRetainMemObject(buffer)
    (finding,) = host.platform.findings
    assert {place.line for place in finding.sites} == {0}
