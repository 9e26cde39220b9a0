"""Command queues and bound launches of the simulated implementation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from clsim import api, spec
from clsim.api.kernel import another_kernel
from runtime.cl import interface
from runtime.cl._simulated_base import Calls, Simulated, calling, translated, wait_list
from runtime.cl._simulated_objects import Buffer, Event, MappedMemory
from runtime.cl._simulated_program import Kernel
from runtime.cl._wrapper import host_view
from runtime.cl.codes import ErrorCode, MapFlags
from runtime.cl.interface import CLError, KernelArgument

if TYPE_CHECKING:
    from typing_extensions import Buffer as HostMemory

LAUNCH = "clEnqueueNDRangeKernel"


class Queue(Simulated, interface.Queue):
    """`interface.Queue` over a clsim queue."""

    __slots__ = ()

    _kind = "queue"
    _invalid = ErrorCode.CL_INVALID_COMMAND_QUEUE
    _calls = Calls(
        api.clRetainCommandQueue,
        api.clReleaseCommandQueue,
        api.clGetCommandQueueInfo,
        spec.CL_QUEUE_REFERENCE_COUNT,
    )

    def retain(self) -> Queue:
        return Queue(self.add_reference())

    @property
    def context(self) -> interface.Context:
        from runtime.cl.simulated import Context

        return Context(self.info(spec.CL_QUEUE_CONTEXT), borrowed=True)

    @property
    def device(self) -> interface.Device:
        from runtime.cl.simulated import Device

        return Device(self._raw.device)

    @property
    def profiling(self) -> bool:
        return cast(bool, self._raw.profiling)

    @property
    def out_of_order(self) -> bool:
        return not self._raw.in_order

    def bind(
        self,
        kernel: interface.Kernel,
        args: Sequence[KernelArgument],
        global_size: Sequence[int],
        local_size: Sequence[int] | None = None,
        offset: Sequence[int] | None = None,
    ) -> Binding:
        _ = self.refcount  # refuses a released queue before a kernel is made
        raw = _native(kernel, Kernel, LAUNCH)
        _check_dimensions(raw.name, global_size, local_size, offset)
        with calling():
            own = Kernel(another_kernel(raw))
        try:
            own.set_args(*args)
            with calling():
                launch = api.bind_ndrange(
                    self.live(LAUNCH), own.live(LAUNCH), tuple(global_size), local_size, offset
                )
        except BaseException:
            own.release()
            raise
        sizes = tuple(global_size), None if local_size is None else tuple(local_size)
        return Binding(launch, _SharedKernel(own, tuple(args)), *sizes)

    def enqueue_kernel(
        self,
        kernel: interface.Kernel,
        global_size: Sequence[int],
        local_size: Sequence[int] | None = None,
        offset: Sequence[int] | None = None,
        wait_for: Iterable[interface.Event] = (),
        want_event: bool = False,
    ) -> Event | None:
        raw = _native(kernel, Kernel, LAUNCH)
        _check_dimensions(raw.name, global_size, local_size, offset)
        try:
            event = api.clEnqueueNDRangeKernel(
                self.live(LAUNCH),
                raw,
                len(global_size),
                offset,
                global_size,
                local_size,
                _waits(wait_for, LAUNCH) if wait_for else None,
                want_event,
            )
        except spec.CLError as error:
            raise translated(error) from None
        return Event(event) if want_event else None

    def enqueue_write(
        self,
        buffer: interface.Buffer,
        data: HostMemory,
        *,
        offset: int = 0,
        blocking: bool = True,
        wait_for: Iterable[interface.Event] = (),
        want_event: bool = False,
    ) -> Event | None:
        routine = "clEnqueueWriteBuffer"
        view = host_view(data, routine)
        with calling():
            event = api.clEnqueueWriteBuffer(
                self.live(routine),
                _native(buffer, Buffer, routine),
                blocking,
                offset,
                view.nbytes,
                view,
                _waits(wait_for, routine),
                want_event,
            )
        return Event(event) if want_event else None

    def enqueue_read(
        self,
        buffer: interface.Buffer,
        into: HostMemory,
        *,
        offset: int = 0,
        blocking: bool = True,
        wait_for: Iterable[interface.Event] = (),
        want_event: bool = False,
    ) -> Event | None:
        routine = "clEnqueueReadBuffer"
        view = host_view(into, routine, writable=True)
        with calling():
            event = api.clEnqueueReadBuffer(
                self.live(routine),
                _native(buffer, Buffer, routine),
                blocking,
                offset,
                view.nbytes,
                view,
                _waits(wait_for, routine),
                want_event,
            )
        return Event(event) if want_event else None

    def enqueue_copy(
        self,
        source: interface.Buffer,
        target: interface.Buffer,
        size: int | None = None,
        *,
        source_offset: int = 0,
        target_offset: int = 0,
        wait_for: Iterable[interface.Event] = (),
        want_event: bool = False,
    ) -> Event | None:
        routine = "clEnqueueCopyBuffer"
        with calling():
            event = api.clEnqueueCopyBuffer(
                self.live(routine),
                _native(source, Buffer, routine),
                _native(target, Buffer, routine),
                source_offset,
                target_offset,
                source.size - source_offset if size is None else size,
                _waits(wait_for, routine),
                want_event,
            )
        return Event(event) if want_event else None

    def enqueue_fill(
        self,
        buffer: interface.Buffer,
        pattern: bytes,
        *,
        offset: int = 0,
        size: int | None = None,
        wait_for: Iterable[interface.Event] = (),
        want_event: bool = False,
    ) -> Event | None:
        routine = "clEnqueueFillBuffer"
        with calling():
            event = api.clEnqueueFillBuffer(
                self.live(routine),
                _native(buffer, Buffer, routine),
                pattern,
                None,
                offset,
                buffer.size - offset if size is None else size,
                _waits(wait_for, routine),
                want_event,
            )
        return Event(event) if want_event else None

    def enqueue_map(
        self,
        buffer: interface.Buffer,
        flags: MapFlags,
        *,
        offset: int = 0,
        size: int | None = None,
        blocking: bool = True,
        wait_for: Iterable[interface.Event] = (),
    ) -> MappedMemory:
        routine = "clEnqueueMapBuffer"
        with calling():
            mapping, event = api.clEnqueueMapBuffer(
                self.live(routine),
                _native(buffer, Buffer, routine),
                blocking,
                int(flags),
                offset,
                buffer.size - offset if size is None else size,
                _waits(wait_for, routine),
                True,
            )
        return MappedMemory(mapping, event, self.retain(), flags)

    def enqueue_marker(
        self, wait_for: Iterable[interface.Event] = (), want_event: bool = False
    ) -> Event | None:
        routine = "clEnqueueMarkerWithWaitList"
        with calling():
            event = api.clEnqueueMarkerWithWaitList(self.live(routine), _waits(wait_for, routine), want_event)
        return Event(event) if want_event else None

    def enqueue_barrier(
        self, wait_for: Iterable[interface.Event] = (), want_event: bool = False
    ) -> Event | None:
        routine = "clEnqueueBarrierWithWaitList"
        with calling():
            event = api.clEnqueueBarrierWithWaitList(
                self.live(routine), _waits(wait_for, routine), want_event
            )
        return Event(event) if want_event else None

    def flush(self) -> None:
        with calling():
            api.clFlush(self.live("clFlush"))

    def finish(self) -> None:
        with calling():
            api.clFinish(self.live("clFinish"))


class _SharedKernel:
    """The kernel object of a binding and of those made from it by `on`, by count."""

    __slots__ = ("args", "kernel", "users")

    def __init__(self, kernel: Kernel, args: tuple[KernelArgument, ...]) -> None:
        self.kernel = kernel
        self.args = args
        self.users = 0

    def drop(self) -> None:
        self.users -= 1
        if not self.users:
            self.kernel.release()
            self.args = ()


class Binding(interface.Binding):
    """`interface.Binding` over clsim's bound launch, which makes its own checks."""

    __slots__ = ("_bound", "_global_size", "_launch", "_local_size", "_shared")

    def __init__(
        self,
        bound: api.BoundLaunch,
        shared: _SharedKernel,
        global_size: tuple[int, ...],
        local_size: tuple[int, ...] | None,
    ) -> None:
        self._bound: api.BoundLaunch | None = bound
        self._launch = bound.__call__  # found once: looking it up is a good part of a launch's cost
        self._shared = shared
        self._global_size = global_size
        self._local_size = local_size
        shared.users += 1

    @property
    def kernel_name(self) -> str:
        return self._shared.kernel.name

    @property
    def global_size(self) -> tuple[int, ...]:
        return self._global_size

    @property
    def local_size(self) -> tuple[int, ...] | None:
        return self._local_size

    def __call__(self) -> None:
        try:
            self._launch()
        except spec.CLError as error:
            raise translated(error) from None

    def enqueue(self, wait_for: Iterable[interface.Event] = (), want_event: bool = True) -> Event | None:
        with calling():
            event = self._live().enqueue(_waits(wait_for, LAUNCH), want_event)
        return Event(event) if want_event else None

    def on(self, queue: interface.Queue) -> Binding:
        with calling():
            bound = self._live().on(_native(queue, Queue, LAUNCH))
        return Binding(bound, self._shared, self._global_size, self._local_size)

    def release(self) -> None:
        bound = self._live()
        self._bound = None
        self._launch = _refuse
        bound.release()
        self._shared.drop()

    def _live(self) -> api.BoundLaunch:
        if self._bound is None:
            _refuse()
        return cast(api.BoundLaunch, self._bound)


def _refuse() -> None:
    raise CLError(ErrorCode.CL_INVALID_KERNEL, LAUNCH, "this binding was released")


def _native(wrapper: object, kind: type[Simulated], routine: str) -> Any:
    if not isinstance(wrapper, kind):
        raise TypeError(f"{wrapper!r} is no {kind._kind} of this implementation")
    return wrapper.live(routine)


def _waits(events: Iterable[interface.Event], routine: str) -> list[Any]:
    return wait_list(events, routine, ErrorCode.CL_INVALID_EVENT_WAIT_LIST)


def _check_dimensions(
    name: str, global_size: Sequence[int], local_size: Sequence[int] | None, offset: Sequence[int] | None
) -> None:
    """Refuses sizes of different lengths, which the standard's calls cannot express."""
    for values, what in ((local_size, "local size"), (offset, "offset")):
        if values is not None and len(values) != len(global_size):
            reason = f"kernel {name}: the {what} {values} is not as long as the global size {global_size}"
            raise CLError(ErrorCode.CL_INVALID_WORK_DIMENSION, LAUNCH, reason)
