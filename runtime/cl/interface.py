"""The abstract CL interface: OpenCL's objects as a runtime wants to use them.

Two implementations speak it: `runtime.cl.simulated` and `runtime.cl.pyopencl_device`. A program written
against this file runs unchanged on either. What it promises:

- **One reference a wrapper.** Every object here owns exactly one reference of the implementation's object.
  `release()` gives it up now; `retain()` returns a second wrapper with a reference of its own, for another
  holder. Using a released wrapper raises `CLError` with the code of its type. Leaving a `with` block
  releases. What was forgotten is released when it is collected (the simulator reports it). Only the
  wrappers that `Queue.context`, `Event.queue` and `Kernel.program` give are *borrowed*: they own nothing
  and cannot be released; `retain()` one to keep it.
- **No event unless asked.** An `enqueue_*` method returns an `Event` with `want_event=True`, else None, and
  then nothing is kept: neither here nor by the implementation.
- **One error type.** `CLError(code, routine, reason)`, with the same codes from every implementation.
  Where a call has several faults, any code whose condition holds may come.
- **Host memory** is anything with the buffer protocol, C-contiguous; BufferError where it is not, or where
  it is to be written and cannot. A transfer that does not block keeps it alive until the command is
  complete. Objects of another implementation, and None among events, are a TypeError.
- **Sizes are bytes, times are nanoseconds** of the device's clock.

Threads: every method may be called from several threads at once, except on a `Kernel` (and on a `Binding`
whose arguments are being changed), where `set_args` and a launch must not overlap (OpenCL appendix A.2).

Sections named in docstrings are those of the OpenCL API specification 3.0.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, TypeAlias

from runtime.cl.codes import (
    BuildStatus,
    CommandType,
    DeviceType,
    MapFlags,
    MemFlags,
    Status,
    error_name,
)

if TYPE_CHECKING:
    from typing_extensions import Buffer as HostMemory
    from typing_extensions import Self

__all__ = [
    "Binding",
    "Buffer",
    "BuildError",
    "BuildStatus",
    "CLError",
    "CLObject",
    "CommandType",
    "Context",
    "Device",
    "DeviceIdentity",
    "DeviceType",
    "Event",
    "Kernel",
    "KernelArgument",
    "Limits",
    "LocalMemory",
    "MapFlags",
    "MappedMemory",
    "MemFlags",
    "Platform",
    "ProfilingTimes",
    "Program",
    "Queue",
    "Status",
    "UserEvent",
    "WorkGroupInfo",
]


class CLError(Exception):
    """An OpenCL call failed: `code` (and its `name`), the `routine` of the standard, and the `reason`."""

    def __init__(self, code: int, routine: str, reason: str = "") -> None:
        super().__init__(code, routine, reason)
        self.code = code
        self.routine = routine
        self.reason = reason

    @property
    def name(self) -> str:
        """The code's name in the standard, such as `CL_INVALID_VALUE`."""
        return error_name(self.code)

    def __str__(self) -> str:
        return f"{self.routine}: {self.name}" + (f": {self.reason}" if self.reason else "")


class BuildError(CLError):
    """A build, compilation or link failed. `log` is the compiler's output, with the source's lines."""

    def __init__(self, code: int, routine: str, reason: str, log: str) -> None:
        super().__init__(code, routine, reason)
        self.args = (code, routine, reason, log)
        self.log = log

    def __str__(self) -> str:
        return super().__str__() + (f"\n{self.log}" if self.log else "")


@dataclass(frozen=True)
class Limits:
    """Limits of a device, named as the standard's queries (section 4.2, table of device queries)."""

    max_compute_units: int
    max_work_item_dimensions: int
    max_work_item_sizes: tuple[int, ...]
    max_work_group_size: int
    max_mem_alloc_size: int
    global_mem_size: int
    local_mem_size: int
    max_constant_buffer_size: int
    max_parameter_size: int
    mem_base_addr_align_bits: int
    address_bits: int
    profiling_timer_resolution_ns: int
    image_support: bool


@dataclass(frozen=True)
class DeviceIdentity:
    """What a program binary belongs to. Two devices with equal identities can share binaries."""

    platform_name: str
    platform_version: str
    device_name: str
    device_vendor: str
    device_version: str
    driver_version: str


@dataclass(frozen=True)
class ProfilingTimes:
    """Times of one command in nanoseconds of the device's clock (section 5.14)."""

    queued_ns: int
    submitted_ns: int
    started_ns: int
    ended_ns: int

    @property
    def duration_ns(self) -> int:
        """How long the command ran."""
        return self.ended_ns - self.started_ns


@dataclass(frozen=True)
class LocalMemory:
    """A kernel argument: `size_bytes` of local memory a work-group."""

    size_bytes: int


@dataclass(frozen=True)
class WorkGroupInfo:
    """What a kernel needs on a device (`clGetKernelWorkGroupInfo`, section 5.9.4)."""

    work_group_size: int
    compile_work_group_size: tuple[int, int, int]
    local_mem_size: int
    preferred_multiple: int
    private_mem_size: int


class CLObject(ABC):
    """What every reference-counted object has."""

    __slots__ = ("__weakref__",)

    @property
    @abstractmethod
    def native(self) -> object:
        """The implementation's own object. What is done with it is the caller's risk."""

    @property
    @abstractmethod
    def handle(self) -> int:
        """A number that two wrappers of one object share, and no other live object of its kind has."""

    @property
    @abstractmethod
    def refcount(self) -> int:
        """The implementation's reference count, stale as soon as it is read.

        Absolute values differ between implementations (some count what they hold themselves); compare
        the difference around one `retain` or `release`.
        """

    @abstractmethod
    def retain(self) -> Self:
        """A second wrapper of this object that owns one more reference."""

    @abstractmethod
    def release(self) -> None:
        """Gives up this wrapper's reference now. A second call raises the code of the object's type."""

    @property
    @abstractmethod
    def released(self) -> bool:
        """Whether `release` was called on this wrapper."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.released:
            self.release()


class Platform(ABC):
    """An implementation of OpenCL (section 4.1). Platforms and devices are not reference-counted here."""

    __slots__ = ()

    @property
    @abstractmethod
    def native(self) -> object: ...

    @property
    @abstractmethod
    def name(self) -> str: ...

    @property
    @abstractmethod
    def vendor(self) -> str: ...

    @property
    @abstractmethod
    def version(self) -> str: ...

    @property
    @abstractmethod
    def extensions(self) -> frozenset[str]: ...

    @abstractmethod
    def devices(self, kind: DeviceType = DeviceType.ALL) -> tuple[Device, ...]:
        """Devices of a kind; an empty tuple where there is none."""

    @abstractmethod
    def create_context(self, devices: Sequence[Device]) -> Context:
        """A context over devices of this platform (section 4.4).

        Raises CL_INVALID_VALUE for no device, CL_INVALID_DEVICE for one of another platform.
        """


class Device(ABC):
    """A device of a platform (section 4.2). Equal when it is the same device."""

    __slots__ = ()

    @property
    @abstractmethod
    def native(self) -> object: ...

    @property
    @abstractmethod
    def platform(self) -> Platform: ...

    @property
    @abstractmethod
    def kind(self) -> DeviceType: ...

    @property
    @abstractmethod
    def name(self) -> str: ...

    @property
    @abstractmethod
    def vendor(self) -> str: ...

    @property
    @abstractmethod
    def version(self) -> tuple[int, int]:
        """The device's OpenCL version as (major, minor)."""

    @property
    @abstractmethod
    def extensions(self) -> frozenset[str]: ...

    @property
    @abstractmethod
    def limits(self) -> Limits: ...

    @property
    @abstractmethod
    def identity(self) -> DeviceIdentity: ...

    @property
    @abstractmethod
    def is_simulated(self) -> bool:
        """Whether this is a simulated device (whose ledger `native` leads to)."""


class Context(CLObject):
    """A context (section 4.4): makes every other object and lives as long as any of them."""

    __slots__ = ()

    @property
    @abstractmethod
    def devices(self) -> tuple[Device, ...]: ...

    @abstractmethod
    def create_queue(self, device: Device, *, profiling: bool = False, out_of_order: bool = False) -> Queue:
        """A command queue (section 5.1).

        Raises CL_INVALID_DEVICE for a device outside the context, CL_INVALID_QUEUE_PROPERTIES for a
        property that the device does not offer.
        """

    @abstractmethod
    def create_buffer(
        self, size: int, flags: MemFlags = MemFlags.READ_WRITE, host: HostMemory | None = None
    ) -> Buffer:
        """A buffer of `size` bytes (section 5.2.1).

        With USE_HOST_PTR or COPY_HOST_PTR `host` must hold at least `size` bytes; with USE_HOST_PTR it is
        kept alive as long as the buffer, and as the commands that use it. Raises CL_INVALID_BUFFER_SIZE for
        size 0 or over `max_mem_alloc_size`, CL_INVALID_HOST_PTR where flags and `host` disagree,
        CL_INVALID_VALUE for flags that exclude each other.
        """

    @abstractmethod
    def program_from_source(self, source: str) -> Program:
        """A program of OpenCL C source, not built yet (section 5.8.1)."""

    @abstractmethod
    def program_from_binaries(self, binaries: Mapping[Device, bytes]) -> Program:
        """A program of binaries, one a device, not built yet (section 5.8.1).

        Raises CL_INVALID_BINARY where an implementation sees at once that a binary is not for its
        device; others only tell at `build`. CL_INVALID_VALUE for no or an empty binary.
        """

    @abstractmethod
    def create_user_event(self) -> UserEvent:
        """An event that the host completes (section 5.11). Its status is SUBMITTED."""

    @abstractmethod
    def wait_for_events(self, events: Sequence[Event]) -> None:
        """Blocks until all are complete (`clWaitForEvents`); flushes their queues.

        Raises CL_INVALID_VALUE for none, CL_INVALID_EVENT for a released one,
        CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST where one failed.
        """


class Queue(CLObject):
    """A command queue (section 5.1)."""

    __slots__ = ()

    @property
    @abstractmethod
    def context(self) -> Context:
        """The context, borrowed."""

    @property
    @abstractmethod
    def device(self) -> Device: ...

    @property
    @abstractmethod
    def profiling(self) -> bool: ...

    @property
    @abstractmethod
    def out_of_order(self) -> bool: ...

    @abstractmethod
    def bind(
        self,
        kernel: Kernel,
        args: Sequence[KernelArgument],
        global_size: Sequence[int],
        local_size: Sequence[int] | None = None,
        offset: Sequence[int] | None = None,
    ) -> Binding:
        """A launch prepared once and repeated often: kernel, arguments and sizes are checked here.

        The binding has a kernel object of its own (`kernel` itself is neither changed nor kept) and holds
        its arguments. Raises what `Kernel.set_args` and `enqueue_kernel` raise.
        """

    @abstractmethod
    def enqueue_kernel(
        self,
        kernel: Kernel,
        global_size: Sequence[int],
        local_size: Sequence[int] | None = None,
        offset: Sequence[int] | None = None,
        wait_for: Iterable[Event] = (),
        want_event: bool = False,
    ) -> Event | None:
        """Launches a kernel over an index space of 1 to 3 dimensions (section 5.10).

        Arguments are captured now: setting them anew afterwards does not change this launch. Raises
        CL_INVALID_KERNEL_ARGS for an argument not set, CL_INVALID_WORK_DIMENSION, CL_INVALID_WORK_GROUP_SIZE,
        CL_INVALID_WORK_ITEM_SIZE, CL_INVALID_GLOBAL_WORK_SIZE, CL_INVALID_EVENT_WAIT_LIST.
        """

    @abstractmethod
    def enqueue_write(
        self,
        buffer: Buffer,
        data: HostMemory,
        *,
        offset: int = 0,
        blocking: bool = True,
        wait_for: Iterable[Event] = (),
        want_event: bool = False,
    ) -> Event | None:
        """Copies all of `data` into the buffer from byte `offset` on (section 5.2.2).

        Raises CL_INVALID_VALUE outside the buffer.
        """

    @abstractmethod
    def enqueue_read(
        self,
        buffer: Buffer,
        into: HostMemory,
        *,
        offset: int = 0,
        blocking: bool = True,
        wait_for: Iterable[Event] = (),
        want_event: bool = False,
    ) -> Event | None:
        """Fills all of `into` (writable) from the buffer from byte `offset` on (section 5.2.2)."""

    @abstractmethod
    def enqueue_copy(
        self,
        source: Buffer,
        target: Buffer,
        size: int | None = None,
        *,
        source_offset: int = 0,
        target_offset: int = 0,
        wait_for: Iterable[Event] = (),
        want_event: bool = False,
    ) -> Event | None:
        """Copies between buffers (section 5.2.2); `size` None is the rest of the source.

        Raises CL_MEM_COPY_OVERLAP where both are one buffer and the ranges overlap.
        """

    @abstractmethod
    def enqueue_fill(
        self,
        buffer: Buffer,
        pattern: bytes,
        *,
        offset: int = 0,
        size: int | None = None,
        wait_for: Iterable[Event] = (),
        want_event: bool = False,
    ) -> Event | None:
        """Repeats `pattern` (1, 2, 4, ... 128 bytes) over `size` bytes, both multiples of its length."""

    @abstractmethod
    def enqueue_map(
        self,
        buffer: Buffer,
        flags: MapFlags,
        *,
        offset: int = 0,
        size: int | None = None,
        blocking: bool = True,
        wait_for: Iterable[Event] = (),
    ) -> MappedMemory:
        """Maps bytes of a buffer into host memory (section 5.4)."""

    @abstractmethod
    def enqueue_marker(self, wait_for: Iterable[Event] = (), want_event: bool = False) -> Event | None:
        """A command that completes after `wait_for`, or after all earlier commands of the queue."""

    @abstractmethod
    def enqueue_barrier(self, wait_for: Iterable[Event] = (), want_event: bool = False) -> Event | None:
        """A marker that later commands of the queue wait for."""

    @abstractmethod
    def flush(self) -> None:
        """Submits what is queued to the device."""

    @abstractmethod
    def finish(self) -> None:
        """Blocks until every command of the queue is complete."""


class Binding(ABC):
    """A prepared launch, made by `Queue.bind`. Calling it enqueues it with no event kept.

    Once one of its arguments was released, or its queue was, a call raises CLError.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def kernel_name(self) -> str: ...

    @property
    @abstractmethod
    def global_size(self) -> tuple[int, ...]: ...

    @property
    @abstractmethod
    def local_size(self) -> tuple[int, ...] | None: ...

    @abstractmethod
    def __call__(self) -> None:
        """Enqueues the launch; costs what the implementation's own call costs."""

    @abstractmethod
    def enqueue(self, wait_for: Iterable[Event] = (), want_event: bool = True) -> Event | None:
        """Enqueues the launch with a wait list, an event, or both."""

    @abstractmethod
    def on(self, queue: Queue) -> Binding:
        """The same launch on another queue of the same context; shares kernel object and arguments."""

    @abstractmethod
    def release(self) -> None:
        """Gives up the kernel object (shared with those from `on`, by count) and the arguments."""


class Event(CLObject):
    """An event (section 5.11): the status and, on a profiling queue, the times of one command."""

    __slots__ = ()

    @property
    @abstractmethod
    def status(self) -> int:
        """A `Status`, or a negative error code where the command failed."""

    @property
    @abstractmethod
    def command(self) -> CommandType: ...

    @property
    @abstractmethod
    def queue(self) -> Queue | None:
        """The queue of the command, borrowed; None for a user event."""

    @abstractmethod
    def wait(self) -> None:
        """Blocks until complete; raises as `Context.wait_for_events` does."""

    @property
    @abstractmethod
    def profile(self) -> ProfilingTimes:
        """The times of the command.

        Raises CL_PROFILING_INFO_NOT_AVAILABLE unless the command is complete and its queue was created
        with `profiling`, and always for user events.
        """

    @abstractmethod
    def on_status(self, status: Status, callback: Callable[[int], None]) -> None:
        """Calls `callback(status)` once the command reaches `status` (SUBMITTED, RUNNING, COMPLETE).

        For COMPLETE a failed command gives its negative code. At which moment and on which thread is the
        implementation's choice; the callback must not block and must not raise.
        """


class UserEvent(Event):
    """An event that the host completes."""

    __slots__ = ()

    @abstractmethod
    def set_status(self, status: int) -> None:
        """COMPLETE, or a negative code to fail what waits for it; once only.

        Raises CL_INVALID_VALUE for another status, CL_INVALID_OPERATION for a second call.
        """


class Buffer(CLObject):
    """A buffer or sub-buffer (sections 5.2.1, 5.2.3)."""

    __slots__ = ()

    @property
    @abstractmethod
    def size(self) -> int:
        """Size in bytes."""

    @property
    @abstractmethod
    def flags(self) -> MemFlags: ...

    @abstractmethod
    def sub_buffer(self, origin: int, size: int, flags: MemFlags | None = None) -> Buffer:
        """A view of `size` bytes from byte `origin` on; without flags it inherits the buffer's.

        Raises CL_MISALIGNED_SUB_BUFFER_OFFSET unless `origin` is a multiple of
        `mem_base_addr_align_bits / 8`, CL_INVALID_VALUE out of range, CL_INVALID_BUFFER_SIZE for size 0,
        CL_INVALID_MEM_OBJECT on a sub-buffer.
        """


class MappedMemory(ABC):
    """Bytes of a buffer mapped into host memory by `Queue.enqueue_map`."""

    __slots__ = ()

    @property
    @abstractmethod
    def view(self) -> memoryview:
        """The mapped bytes, read-only where mapped for reading alone.

        Valid from the map command's completion until `unmap`.
        """

    @abstractmethod
    def wait(self) -> None:
        """Blocks until the map command is complete."""

    @abstractmethod
    def unmap(self, wait_for: Iterable[Event] = (), want_event: bool = False) -> Event | None:
        """Gives the bytes back to the device; a second call raises CL_INVALID_VALUE."""


class Program(CLObject):
    """A program (section 5.8)."""

    __slots__ = ()

    @abstractmethod
    def build(self, options: str = "", devices: Sequence[Device] | None = None) -> None:
        """Compiles and links for `devices` (None: all the program has).

        Raises `BuildError` (CL_BUILD_PROGRAM_FAILURE) with the log, CL_INVALID_BUILD_OPTIONS,
        CL_INVALID_BINARY where a binary is not for the device, CL_INVALID_OPERATION while kernels exist.
        """

    @abstractmethod
    def build_status(self, device: Device) -> BuildStatus: ...

    @abstractmethod
    def build_log(self, device: Device) -> str: ...

    @property
    @abstractmethod
    def devices(self) -> tuple[Device, ...]: ...

    @property
    @abstractmethod
    def source(self) -> str:
        """The source text; empty for a program from binaries."""

    @property
    @abstractmethod
    def kernel_names(self) -> tuple[str, ...]:
        """Names of the kernels, sorted. Raises CL_INVALID_PROGRAM_EXECUTABLE before a build."""

    @property
    @abstractmethod
    def binaries(self) -> dict[Device, bytes]:
        """The binary of each device the program is built for; devices without one are left out."""

    @abstractmethod
    def kernel(self, name: str) -> Kernel:
        """A kernel object (section 5.9.1).

        Raises CL_INVALID_KERNEL_NAME, CL_INVALID_PROGRAM_EXECUTABLE before a build.
        """


class Kernel(CLObject):
    """A kernel object (section 5.9): not to be shared between threads without a lock."""

    __slots__ = ()

    @property
    @abstractmethod
    def name(self) -> str: ...

    @property
    @abstractmethod
    def argument_count(self) -> int: ...

    @property
    @abstractmethod
    def program(self) -> Program:
        """The program, borrowed."""

    @abstractmethod
    def set_args(self, *args: KernelArgument) -> None:
        """Sets all arguments.

        Each is a `Buffer`, a `LocalMemory`, bytes (or a NumPy scalar or array, or a ctypes value) of the
        parameter's size, or None for a null buffer. A plain Python number is packed by the parameter's
        declared type; where the implementation cannot tell it, CL_INVALID_ARG_VALUE. The kernel does not
        keep a buffer alive. Raises CL_INVALID_KERNEL_ARGS for a wrong number of arguments,
        CL_INVALID_ARG_SIZE, CL_INVALID_MEM_OBJECT.
        """

    @abstractmethod
    def work_group_info(self, device: Device) -> WorkGroupInfo: ...


KernelArgument: TypeAlias = "Buffer | LocalMemory | HostMemory | int | float | None"
