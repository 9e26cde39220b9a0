"""A scripted implementation of the CL interface's calls, for faults that no real device shows on demand.

It runs no kernel: it counts live objects, keeps a log of calls, hands out the times it was told to, and
fails where it was told to. What a device does right is tested on the simulator and on PoCL.
"""

from __future__ import annotations

import dataclasses
from collections import Counter

from runtime.cl.codes import ErrorCode, Status
from runtime.cl.interface import CLError, DeviceIdentity, Limits, ProfilingTimes

IDENTITY = DeviceIdentity("fake", "OpenCL 3.0", "fake device", "nobody", "OpenCL 3.0", "1.0")
LIMITS = Limits(
    max_compute_units=1,
    max_work_item_dimensions=3,
    max_work_item_sizes=(1024, 1024, 64),
    max_work_group_size=1024,
    max_mem_alloc_size=1 << 30,
    global_mem_size=1 << 32,
    local_mem_size=1 << 15,
    max_constant_buffer_size=1 << 16,
    max_parameter_size=1024,
    mem_base_addr_align_bits=1024,
    address_bits=64,
    profiling_timer_resolution_ns=1,
    image_support=False,
)


class Cl:
    """What all fake objects of one device share: the log, the live objects, and what is to go wrong."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.live: Counter[str] = Counter()
        self.most_live: Counter[str] = Counter()
        self.fail: dict[str, list[int]] = {}  # call -> codes of the next calls, 0 for none
        self.times: list[ProfilingTimes | int] = []  # of the next launches; an int fails the launch so
        self.clock = 1000
        self.lazy_compiler = False  # a kernel is in a binary only if it was created
        self.compiled: list[str] = []

    def call(self, name: str) -> None:
        self.log.append(name)
        codes = self.fail.get(name)
        code = codes.pop(0) if codes else 0
        if code:
            raise CLError(code, name, "as the test wants")

    def next_times(self) -> ProfilingTimes | int:
        if self.times:
            return self.times.pop(0)
        self.clock += 100
        return ProfilingTimes(self.clock, self.clock + 1, self.clock + 2, self.clock + 12)


class FakeObject:
    kind = "object"
    dead = ErrorCode.CL_INVALID_VALUE

    def __init__(self, cl: Cl) -> None:
        self.cl = cl
        self.released = False
        cl.live[self.kind] += 1
        cl.most_live[self.kind] = max(cl.most_live[self.kind], cl.live[self.kind])

    def release(self) -> None:
        self.check()
        self.released = True
        self.cl.live[self.kind] -= 1

    def check(self) -> None:
        if self.released:
            raise CLError(self.dead, f"use of a {self.kind}", "released")


class FakePlatform:
    def __init__(self, cl: Cl) -> None:
        self.cl = cl

    def create_context(self, devices):
        self.cl.call("create_context")
        return FakeContext(self.cl, devices)


class FakeDevice:
    name = "fake device"
    is_simulated = False

    def __init__(self, cl: Cl | None = None, driver: str = "1.0", limits: Limits = LIMITS) -> None:
        self.cl = cl or Cl()
        self.platform = FakePlatform(self.cl)
        self.identity = dataclasses.replace(IDENTITY, driver_version=driver)
        self.limits = limits


class FakeContext(FakeObject):
    kind = "context"

    def __init__(self, cl: Cl, devices) -> None:
        super().__init__(cl)
        self.devices = tuple(devices)

    def create_queue(self, device, *, profiling=False, out_of_order=False):
        self.cl.call("create profiling queue" if profiling else "create queue")
        return FakeQueue(self.cl, profiling)

    def create_buffer(self, size, flags=1, host=None):
        self.cl.call("create buffer")
        return FakeBuffer(self.cl, size)

    def program_from_source(self, source):
        return FakeProgram(self.cl, source=source)

    def program_from_binaries(self, binaries):
        self.cl.call("program from binaries")
        ((_, binary),) = binaries.items()
        return FakeProgram(self.cl, binary=binary)


class FakeBuffer(FakeObject):
    kind = "buffer"

    def __init__(self, cl: Cl, size: int) -> None:
        super().__init__(cl)
        self.size = size


class FakeQueue(FakeObject):
    kind = "queue"
    dead = ErrorCode.CL_INVALID_COMMAND_QUEUE

    def __init__(self, cl: Cl, profiling: bool) -> None:
        super().__init__(cl)
        self.profiling = profiling

    def enqueue_kernel(
        self, kernel, global_size, local_size=None, offset=None, wait_for=(), want_event=False
    ):
        self.check()
        self.cl.call(f"launch {kernel.name}")
        return FakeEvent(self.cl, self.profiling) if want_event else None

    def enqueue_fill(self, *args, **options):
        self.check()

    def flush(self):
        self.check()
        self.cl.call("flush")

    def finish(self):
        self.check()
        self.cl.call("finish")

    def release(self):
        self.cl.call("release queue")
        super().release()


class FakeEvent(FakeObject):
    kind = "event"
    dead = ErrorCode.CL_INVALID_EVENT

    def __init__(self, cl: Cl, profiling: bool, times: ProfilingTimes | int | None = None) -> None:
        super().__init__(cl)
        self.profiling = profiling
        self.times = cl.next_times() if times is None else times

    def retain(self):
        return FakeEvent(self.cl, self.profiling, self.times)

    @property
    def status(self) -> int:
        self.check()
        return self.times if isinstance(self.times, int) else Status.COMPLETE

    def wait(self) -> None:
        self.check()
        self.cl.call("wait")
        if self.status < 0:
            raise CLError(ErrorCode.CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, "clWaitForEvents")

    @property
    def profile(self) -> ProfilingTimes:
        self.check()
        if not self.profiling or isinstance(self.times, int):
            raise CLError(ErrorCode.CL_PROFILING_INFO_NOT_AVAILABLE, "clGetEventProfilingInfo")
        return self.times


class FakeProgram(FakeObject):
    """Its source is the names of its kernels; so is its binary, after `binary of `."""

    kind = "program"

    def __init__(self, cl: Cl, source: str = "", binary: bytes = b"") -> None:
        super().__init__(cl)
        self.source = source
        self.kernel_names = tuple((source or binary.decode().removeprefix("binary of ")).split())
        self.in_binary = set() if cl.lazy_compiler else set(self.kernel_names)
        self.from_source = bool(source)

    def build(self, options="", devices=None):
        self.cl.call("build source" if self.from_source else "build binary")
        if self.from_source:
            self.cl.compiled.extend(self.kernel_names)

    def kernel(self, name):
        self.check()
        if name not in self.kernel_names:
            raise CLError(ErrorCode.CL_INVALID_KERNEL_NAME, "clCreateKernel", name)
        self.in_binary.add(name)
        return FakeKernel(self.cl, name)

    @property
    def binaries(self):
        self.cl.call("read binaries")
        kernels = " ".join(name for name in self.kernel_names if name in self.in_binary)
        return AnyDevice(f"binary of {kernels}".encode() if kernels else b"")


class AnyDevice:
    """A mapping that has one value for every device."""

    def __init__(self, value: bytes) -> None:
        self.value = value

    def get(self, device, default=None):
        return self.value


class FakeKernel(FakeObject):
    kind = "kernel"
    dead = ErrorCode.CL_INVALID_KERNEL

    def __init__(self, cl: Cl, name: str) -> None:
        super().__init__(cl)
        self.name = name

    def set_args(self, *args):
        self.check()
