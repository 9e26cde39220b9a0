"""A small OpenCL program for tests: a platform with one context, and short ways to what tests do most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import clsim
from clsim import api
from clsim import spec as cl
from clsim.objects import Buffer, CommandQueue, Device, Event, Kernel, Platform, Program
from clsim.spec import CLError

ADD = "kernel void add(global int *a, int n) { a[get_global_id(0)] += n; }"


class Host:
    """`Host(**options)` takes the options of `clsim.Platform`; `profile` is "generic" unless given."""

    def __init__(self, profile: Any = "generic", devices: int = 1, **options: Any) -> None:
        self.platform: Platform = clsim.Platform(profile, devices, **options)
        self.devices: Sequence[Device] = self.platform.devices
        self.device = self.devices[0]
        self.context = api.clCreateContext(None, self.devices)

    def queue(self, properties: int = 0, device: Device | None = None) -> CommandQueue:
        return api.clCreateCommandQueue(self.context, device or self.device, properties)

    def profiling_queue(self) -> CommandQueue:
        return self.queue(cl.CL_QUEUE_PROFILING_ENABLE)

    def out_of_order_queue(self) -> CommandQueue:
        return self.queue(cl.CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)

    def buffer(self, content: int | NDArray[Any], flags: int = cl.CL_MEM_READ_WRITE) -> Buffer:
        """A buffer of so many bytes, or with this content."""
        if isinstance(content, int):
            return api.clCreateBuffer(self.context, flags, content)
        return api.clCreateBuffer(self.context, flags | cl.CL_MEM_COPY_HOST_PTR, content.nbytes, content)

    def ints(self, *values: int) -> Buffer:
        return self.buffer(np.array(values, np.int32))

    def program(self, source: str, options: str = "") -> Program:
        program = api.clCreateProgramWithSource(self.context, source)
        api.clBuildProgram(program, None, options)
        return program

    def kernel(self, source: str, *arguments: Any, options: str = "", name: str = "") -> Kernel:
        """A kernel of a new program (its first, unless named) with its arguments set."""
        program = self.program(source, options)
        kernel = api.clCreateKernel(program, name or program.kernel_names[0])
        api.clReleaseProgram(program)
        set_args(kernel, *arguments)
        return kernel


def set_args(kernel: Kernel, *arguments: Any) -> None:
    """Sets arguments: buffers, None, NumPy scalars, or ("local", bytes)."""
    for index, value in enumerate(arguments):
        if isinstance(value, tuple):
            api.clSetKernelArg(kernel, index, value[1], None)
        else:
            api.clSetKernelArg(kernel, index, None, value)


def launch(
    queue: CommandQueue, kernel: Kernel, size: int, wait_for: Sequence[Event] = (), want_event: bool = False
) -> Any:
    return api.clEnqueueNDRangeKernel(queue, kernel, 1, None, (size,), None, wait_for, want_event)


def write(
    queue: CommandQueue,
    buffer: Buffer,
    values: NDArray[Any],
    wait_for: Sequence[Event] = (),
    want_event: bool = False,
    blocking: bool = False,
) -> Any:
    return api.clEnqueueWriteBuffer(queue, buffer, blocking, 0, values.nbytes, values, wait_for, want_event)


def read(queue: CommandQueue, buffer: Buffer, wait_for: Sequence[Event] = ()) -> list[int]:
    """All of a buffer as ints, by a blocking read."""
    values = np.zeros(buffer.size // 4, np.int32)
    api.clEnqueueReadBuffer(queue, buffer, True, 0, values.nbytes, values, wait_for)
    return values.tolist()


def status(event: Event) -> int:
    value: int = api.clGetEventInfo(event, cl.CL_EVENT_COMMAND_EXECUTION_STATUS)
    return value


def times(event: Event) -> tuple[int, int, int, int]:
    """QUEUED, SUBMIT, START and END."""
    queued, submit, start, end = (
        api.clGetEventProfilingInfo(event, query)
        for query in (
            cl.CL_PROFILING_COMMAND_QUEUED,
            cl.CL_PROFILING_COMMAND_SUBMIT,
            cl.CL_PROFILING_COMMAND_START,
            cl.CL_PROFILING_COMMAND_END,
        )
    )
    return queued, submit, start, end


def code_of(error: Any) -> int:
    """The code in what `pytest.raises(CLError)` caught."""
    assert isinstance(error.value, CLError)
    return error.value.code
