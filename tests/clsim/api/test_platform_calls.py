"""Platforms, devices, contexts and queues; and what is refused because it is not there."""

from __future__ import annotations

import pytest
from host import ADD, Host, code_of, launch, read, set_args

import clsim
from clsim import api
from clsim import spec as cl
from clsim.spec import CLError


def refused(code, call, *arguments):
    with pytest.raises(CLError) as error:
        call(*arguments)
    assert code_of(error) == code


# ---------------------------------------------------------------- platforms and devices


def test_installed_platforms_are_listed_until_they_are_taken_off():
    platform = clsim.open("generic")
    before = api.clGetPlatformIDs()
    api.install(platform)
    api.install(platform)
    assert api.clGetPlatformIDs() == (*before, platform)
    api.uninstall(platform)
    assert api.clGetPlatformIDs() == before


def test_a_platform_tells_what_its_profile_says():
    platform = clsim.open("mali-g710", devices=2)
    assert api.clGetPlatformInfo(platform, cl.CL_PLATFORM_NAME) == "ARM Platform"
    assert "clsim" in api.clGetPlatformInfo(platform, cl.CL_PLATFORM_VERSION)
    first, second = api.clGetDeviceIDs(platform)
    assert first is not second
    assert api.clGetDeviceInfo(first, cl.CL_DEVICE_PLATFORM) is platform
    assert api.clGetDeviceInfo(first, cl.CL_DEVICE_NAME) == "Mali-G710 r0p0"
    assert api.clGetDeviceInfo(first, cl.CL_DEVICE_MAX_COMPUTE_UNITS) == 7
    assert api.clGetDeviceInfo(first, cl.CL_DEVICE_TYPE) == cl.CL_DEVICE_TYPE_GPU
    api.clRetainDevice(first)
    api.clReleaseDevice(first)
    refused(cl.CL_INVALID_VALUE, api.clGetDeviceInfo, first, 1)
    refused(cl.CL_INVALID_VALUE, api.clGetPlatformInfo, platform, 1)
    refused(cl.CL_INVALID_DEVICE, api.clGetDeviceInfo, None, cl.CL_DEVICE_NAME)
    refused(cl.CL_INVALID_PLATFORM, api.clGetDeviceIDs, None)
    refused(cl.CL_INVALID_PLATFORM, api.clGetDeviceIDs, first)


def test_devices_are_found_by_type():
    platform = clsim.open("generic")
    for kind in (cl.CL_DEVICE_TYPE_ALL, cl.CL_DEVICE_TYPE_GPU, cl.CL_DEVICE_TYPE_DEFAULT):
        assert list(api.clGetDeviceIDs(platform, kind)) == list(platform.devices)
    refused(cl.CL_DEVICE_NOT_FOUND, api.clGetDeviceIDs, platform, cl.CL_DEVICE_TYPE_CPU)
    refused(cl.CL_INVALID_DEVICE_TYPE, api.clGetDeviceIDs, platform, 1 << 20)
    refused(cl.CL_INVALID_DEVICE_TYPE, api.clGetDeviceIDs, platform, 0)


@pytest.mark.parametrize(
    "options",
    [
        {"devices": 0},
        {"execution": "some"},
        {"schedule": "soon"},
        {"claims": "none"},
    ],
)
def test_a_platform_that_cannot_be_is_refused_with_what_could(options):
    with pytest.raises(ValueError, match=next(iter(options)).rstrip("s")):
        clsim.open("generic", **options)


# ---------------------------------------------------------------- contexts


def test_contexts_that_cannot_be_are_refused():
    first, second = clsim.open("generic"), clsim.open("generic")
    device = first.devices[0]
    create = api.clCreateContext
    refused(cl.CL_INVALID_VALUE, create, None, [])
    refused(cl.CL_INVALID_DEVICE, create, None, [None])
    refused(cl.CL_INVALID_DEVICE, create, None, [device, second.devices[0]])
    refused(cl.CL_INVALID_PROPERTY, create, [0x9999, 1], [device])
    refused(cl.CL_INVALID_PROPERTY, create, [cl.CL_CONTEXT_PLATFORM], [device])
    twice = [cl.CL_CONTEXT_PLATFORM, first] * 2
    refused(cl.CL_INVALID_PROPERTY, create, twice, [device])
    refused(cl.CL_INVALID_PLATFORM, create, [cl.CL_CONTEXT_PLATFORM, second], [device])
    assert first.ledger.total("context") == 0
    context = create([cl.CL_CONTEXT_PLATFORM, first, 0], [device, device])
    assert api.clGetContextInfo(context, cl.CL_CONTEXT_NUM_DEVICES) == 1
    assert api.clGetContextInfo(context, cl.CL_CONTEXT_DEVICES) == [device]
    assert api.clCreateContextFromType(None, first).devices == (device,)


def test_a_vendors_property_is_known_to_devices_with_its_extension_alone(profile_with):
    hint = [cl.CL_CONTEXT_PERF_HINT_QCOM, cl.CL_PERF_HINT_HIGH_QCOM]
    base = profile_with()
    knows = type(base).model_validate(
        {**base.model_dump(), "extensions": (*base.extensions, "cl_qcom_perf_hint")}
    )
    api.clCreateContext(hint, clsim.Platform(knows).devices)
    refused(cl.CL_INVALID_PROPERTY, api.clCreateContext, hint, clsim.Platform(base).devices)


def test_a_context_tells_of_its_end():
    host = Host()
    ended = []
    api.clSetContextDestructorCallback(host.context, lambda: ended.append(1))
    queue = host.queue()
    api.clReleaseContext(host.context)
    assert ended == []
    api.clReleaseCommandQueue(queue)
    assert ended == [1]


# ---------------------------------------------------------------- queues


def test_queues_keep_the_properties_they_were_made_with():
    host = Host()
    both = cl.CL_QUEUE_PROFILING_ENABLE | cl.CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE
    plain = host.queue(both)
    assert api.clGetCommandQueueInfo(plain, cl.CL_QUEUE_PROPERTIES) == both
    assert api.clGetCommandQueueInfo(plain, cl.CL_QUEUE_PROPERTIES_ARRAY) == []
    assert api.clGetCommandQueueInfo(plain, cl.CL_QUEUE_DEVICE) is host.device
    array = [cl.CL_QUEUE_PROPERTIES, cl.CL_QUEUE_PROFILING_ENABLE, 0]
    queue = api.clCreateCommandQueueWithProperties(host.context, host.device, array)
    assert queue.profiling
    assert api.clGetCommandQueueInfo(queue, cl.CL_QUEUE_PROPERTIES_ARRAY) == array
    refused(cl.CL_INVALID_COMMAND_QUEUE, api.clGetCommandQueueInfo, queue, cl.CL_QUEUE_SIZE)


def test_queues_that_cannot_be_are_refused(profile_with):
    host = Host(profile_with(info={"CL_DEVICE_QUEUE_PROPERTIES": cl.CL_QUEUE_PROFILING_ENABLE}))
    other = clsim.open("generic").devices[0]
    old, new = api.clCreateCommandQueue, api.clCreateCommandQueueWithProperties
    refused(cl.CL_INVALID_CONTEXT, old, None, host.device, 0)
    refused(cl.CL_INVALID_DEVICE, old, host.context, None, 0)
    refused(cl.CL_INVALID_DEVICE, old, host.context, other, 0)
    refused(cl.CL_INVALID_VALUE, old, host.context, host.device, 1 << 10)
    out_of_order = cl.CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE
    refused(cl.CL_INVALID_QUEUE_PROPERTIES, old, host.context, host.device, out_of_order)
    refused(cl.CL_INVALID_VALUE, new, host.context, host.device, [0x1234, 1, 0])
    refused(cl.CL_INVALID_VALUE, new, host.context, host.device, [cl.CL_QUEUE_PROPERTIES])
    device_queue = [cl.CL_QUEUE_PROPERTIES, cl.CL_QUEUE_ON_DEVICE | out_of_order, 0]
    refused(cl.CL_INVALID_QUEUE_PROPERTIES, new, host.context, host.device, device_queue)
    assert host.platform.ledger.total("queue") == 0


# ---------------------------------------------------------------- versions and refusals


def test_entry_points_that_came_later_are_refused_by_an_older_device(profile_with):
    host = Host(profile_with(version="1.2"))
    kernel = host.kernel(ADD)
    for call, arguments in (
        (api.clCreateCommandQueueWithProperties, (host.context, host.device)),
        (api.clCreateBufferWithProperties, (host.context, None, 0, 4)),
        (api.clCloneKernel, (kernel,)),
        (api.clGetHostTimer, (host.device,)),
        (api.clSetContextDestructorCallback, (host.context, print)),
    ):
        refused(cl.CL_INVALID_OPERATION, call, *arguments)
    assert host.queue()


def test_a_cloned_kernel_begins_with_the_same_arguments_and_goes_its_own_way():
    host = Host()
    queue = host.queue()
    first, second = host.ints(0), host.ints(0)
    kernel = host.kernel(ADD, first, b"\x05\0\0\0")
    clone = api.clCloneKernel(kernel)
    set_args(clone, second)
    launch(queue, clone, 1)
    assert (read(queue, first), read(queue, second)) == ([0], [5])


def test_the_timers_are_the_virtual_clock():
    host = Host()
    device, start = api.clGetDeviceAndHostTimer(host.device)
    assert device == start
    queue = host.profiling_queue()
    event = api.clEnqueueMarkerWithWaitList(queue, None, True)
    api.clWaitForEvents([event])
    end = api.clGetEventProfilingInfo(event, cl.CL_PROFILING_COMMAND_END)
    assert start < end <= api.clGetHostTimer(host.device)


def test_the_suggested_local_size_is_the_one_a_launch_gets(profile_with):
    host = Host(profile_with(version="3.1"))
    kernel = host.kernel("kernel void k(global int *a) { a[0] = get_local_size(0); }", host.ints(0))
    queue = host.queue()
    suggested = api.clGetKernelSuggestedLocalWorkSize(queue, kernel, 1, None, (96,))
    launch(queue, kernel, 96)
    assert read(queue, kernel.arguments[0]) == list(suggested)


def test_features_that_are_not_simulated_are_refused_and_reported_where_claimed(profile_with):
    for info, count in (({}, 0), ({"CL_DEVICE_SVM_CAPABILITIES": 1}, 1)):
        host = Host(profile_with(info=info))
        refused(cl.CL_INVALID_OPERATION, api.clCreateSampler, host.context, False, 0, 0)
        refused(cl.CL_INVALID_OPERATION, api.clSetKernelArgSVMPointer, host.kernel(ADD), 0, 0)
        refused(cl.CL_INVALID_OPERATION, api.clCreateProgramWithIL, host.context, b"")
        refused(cl.CL_DEVICE_PARTITION_FAILED, api.clCreateSubDevices, host.device, [])
        assert len(host.platform.findings.of("not-simulated")) == count
