"""Command queues and bound launches of the pyopencl implementation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

import pyopencl as cl

from runtime.cl import interface
from runtime.cl._pyopencl_base import Owned, WeakMembers, calling, wait_list
from runtime.cl._pyopencl_events import LIVE_QUEUES, PENDING_TRANSFERS, Event, plain_event
from runtime.cl._pyopencl_launch import (
    LAUNCH,
    Binding,
    PreparedLaunch,
    checked_sizes,
    enqueue_native,
    launch_failure,
)
from runtime.cl._pyopencl_memory import Buffer, MappedMemory
from runtime.cl._pyopencl_program import Kernel
from runtime.cl._wrapper import at_least, host_view
from runtime.cl.codes import ErrorCode, MapFlags
from runtime.cl.interface import KernelArgument

if TYPE_CHECKING:
    from typing_extensions import Buffer as HostMemory

    from runtime.cl.pyopencl_device import Context, Device

_PROFILING = cl.command_queue_properties.PROFILING_ENABLE
_OUT_OF_ORDER = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE

_enqueue_write: Callable[..., Any] = cl._cl._enqueue_write_buffer
_enqueue_read: Callable[..., Any] = cl._cl._enqueue_read_buffer
_enqueue_map: Callable[..., Any] = cl.enqueue_map_buffer


class Queue(Owned, interface.Queue):
    """`interface.Queue` over a pyopencl queue."""

    __slots__ = ("_bindings", "_context", "_device", "_out_of_order", "_profiling")

    _kind = "queue"
    _invalid = ErrorCode.CL_INVALID_COMMAND_QUEUE
    _count_query = cl.command_queue_info.REFERENCE_COUNT
    _count_routine = "clGetCommandQueueInfo"

    def __init__(self, raw: Any, device: Device, *, borrowed: bool = False) -> None:
        super().__init__(raw, borrowed=borrowed)
        self._device = device
        self._context: Context | None = None
        properties = cast(int, raw.get_info(cl.command_queue_info.PROPERTIES))
        self._profiling = bool(properties & _PROFILING)
        self._out_of_order = bool(properties & _OUT_OF_ORDER)
        self._bindings: WeakMembers[Binding] = WeakMembers()
        LIVE_QUEUES.add(self)

    @classmethod
    def borrow(cls, raw: Any) -> Queue:
        """A wrapper of an event's queue, for the event to give out."""
        from runtime.cl.pyopencl_device import Device

        return cls(raw, Device(raw.get_info(cl.command_queue_info.DEVICE)), borrowed=True)

    def retain(self) -> Queue:
        with calling("clRetainCommandQueue"):
            raw = cl.CommandQueue.from_int_ptr(self.live("clRetainCommandQueue").int_ptr, True)
        return Queue(raw, self._device)

    def release(self) -> None:
        self.check_release()
        for binding in self._bindings.alive():
            binding.invalidate(ErrorCode.CL_INVALID_COMMAND_QUEUE, "the queue of this binding was released")
        PENDING_TRANSFERS.reap()
        LIVE_QUEUES.discard(self)
        super().release()
        self._context = None

    @property
    def context(self) -> interface.Context:
        from runtime.cl.pyopencl_device import Context

        with calling("clGetCommandQueueInfo"):
            if self._context is None:
                self._context = Context(
                    self.live("clGetCommandQueueInfo").get_info(cl.command_queue_info.CONTEXT),
                    borrowed=True,
                )
        return self._context

    @property
    def device(self) -> interface.Device:
        return self._device

    @property
    def profiling(self) -> bool:
        return self._profiling

    @property
    def out_of_order(self) -> bool:
        return self._out_of_order

    def bind(
        self,
        kernel: interface.Kernel,
        args: Sequence[KernelArgument],
        global_size: Sequence[int],
        local_size: Sequence[int] | None = None,
        offset: Sequence[int] | None = None,
    ) -> Binding:
        self.live(LAUNCH)
        own = _kernel(kernel).program.kernel(kernel.name)
        try:
            own.set_args(*args)
            own.check_arguments(self._device, LAUNCH)
            sizes = checked_sizes(global_size, local_size, offset, own, self._device)
            core = PreparedLaunch(own, tuple(args), *sizes)
        except BaseException:
            own.release()
            raise
        return Binding(core, self)

    def add_binding(self, binding: Binding) -> None:
        """`binding` is made invalid when this wrapper is released."""
        self._bindings.add(binding)

    def enqueue_kernel(
        self,
        kernel: interface.Kernel,
        global_size: Sequence[int],
        local_size: Sequence[int] | None = None,
        offset: Sequence[int] | None = None,
        wait_for: Iterable[interface.Event] = (),
        want_event: bool = False,
    ) -> Event | None:
        own = _kernel(kernel)
        own.check_arguments(self._device, LAUNCH)
        try:
            raw = enqueue_native(
                self.live(LAUNCH),
                own.live(LAUNCH),
                global_size,
                local_size,
                offset,
                wait_list(wait_for, LAUNCH) if wait_for else None,
            )
        except cl.Error as error:
            raise launch_failure(error, own, global_size, local_size, offset) from None
        except (TypeError, RuntimeError):
            checked_sizes(global_size, local_size, offset, own, self._device)
            raise
        return Event(raw) if want_event else None

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
        view = host_view(data, "clEnqueueWriteBuffer")
        return self._transfer(
            _enqueue_write, "clEnqueueWriteBuffer", buffer, view, offset, blocking, wait_for, want_event
        )

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
        view = host_view(into, "clEnqueueReadBuffer", writable=True)
        return self._transfer(
            _enqueue_read, "clEnqueueReadBuffer", buffer, view, offset, blocking, wait_for, want_event
        )

    def _transfer(
        self,
        enqueue: Callable[..., Any],
        routine: str,
        buffer: interface.Buffer,
        view: memoryview,
        offset: int,
        blocking: bool,
        wait_for: Iterable[interface.Event],
        want_event: bool,
    ) -> Event | None:
        at_least(offset, 0, "the offset", routine, ErrorCode.CL_INVALID_VALUE)
        own = _buffer(buffer)
        with calling(routine, lambda: f"bytes {offset} to {offset + view.nbytes} of {own.size}"):
            raw = enqueue(
                self.live(routine),
                own.live(routine),
                view,
                offset,
                wait_list(wait_for, routine),
                blocking,
            )
        event = Event(plain_event(raw)) if want_event else None
        if not blocking:
            PENDING_TRANSFERS.keep(raw)
        else:
            # Some implementations return as if all were well where an event of the wait list failed, and
            # the bytes are whatever they were; waiting once more tells.
            with calling(routine, lambda: "an event in the wait list failed, and so did the transfer"):
                raw.wait()
        return event

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
        count = source.size - source_offset if size is None else size
        for value, what in (
            (count, "size"),
            (source_offset, "source offset"),
            (target_offset, "target offset"),
        ):
            at_least(value, 0, f"the {what}", routine, ErrorCode.CL_INVALID_VALUE)

        def reason() -> str:
            return (
                f"bytes {source_offset} to {source_offset + count} of {source.size} "
                f"to bytes {target_offset} to {target_offset + count} of {target.size}"
            )

        with calling(routine, reason):
            raw = cl._cl._enqueue_copy_buffer(
                self.live(routine),
                _buffer(source).live(routine),
                _buffer(target).live(routine),
                count,
                source_offset,
                target_offset,
                wait_list(wait_for, routine),
            )
        return Event(raw) if want_event else None

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
        count = buffer.size - offset if size is None else size
        at_least(offset, 0, "the offset", routine, ErrorCode.CL_INVALID_VALUE)
        at_least(count, 0, "the size", routine, ErrorCode.CL_INVALID_VALUE)

        def reason() -> str:
            return f"{len(pattern)} bytes over bytes {offset} to {offset + count} of {buffer.size}"

        with calling(routine, reason):
            raw = cl._cl._enqueue_fill_buffer(
                self.live(routine),
                _buffer(buffer).live(routine),
                pattern,
                offset,
                count,
                wait_list(wait_for, routine),
            )
        return Event(raw) if want_event else None

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
        count = buffer.size - offset if size is None else size
        at_least(offset, 0, "the offset", routine, ErrorCode.CL_INVALID_VALUE)
        at_least(count, 0, "the size", routine, ErrorCode.CL_INVALID_VALUE)
        # pyopencl's map keeps the queue's object; one of its own leaves this queue free to be released.
        queue = self.retain()
        with calling(routine, lambda: f"bytes {offset} to {offset + count} of {buffer.size}"):
            array, event = _enqueue_map(
                queue.live(routine),
                _buffer(buffer).live(routine),
                int(flags),
                offset,
                (count,),
                "B",
                wait_for=wait_list(wait_for, routine),
                is_blocking=blocking,
            )
        return MappedMemory(array, event, queue, flags)

    def enqueue_marker(
        self, wait_for: Iterable[interface.Event] = (), want_event: bool = False
    ) -> Event | None:
        routine = "clEnqueueMarkerWithWaitList"
        with calling(routine):
            raw = cl._cl._enqueue_marker_with_wait_list(self.live(routine), wait_list(wait_for, routine))
        return Event(raw) if want_event else None

    def enqueue_barrier(
        self, wait_for: Iterable[interface.Event] = (), want_event: bool = False
    ) -> Event | None:
        routine = "clEnqueueBarrierWithWaitList"
        with calling(routine):
            raw = cl._cl._enqueue_barrier_with_wait_list(self.live(routine), wait_list(wait_for, routine))
        return Event(raw) if want_event else None

    def flush(self) -> None:
        with calling("clFlush"):
            self.live("clFlush").flush()

    def finish(self) -> None:
        with calling("clFinish"):
            self.live("clFinish").finish()
        PENDING_TRANSFERS.reap()


def _kernel(kernel: interface.Kernel) -> Kernel:
    if not isinstance(kernel, Kernel):
        raise TypeError(f"{kernel!r} is no kernel of this implementation")
    return kernel


def _buffer(buffer: interface.Buffer) -> Buffer:
    if not isinstance(buffer, Buffer):
        raise TypeError(f"{buffer!r} is no buffer of this implementation")
    return buffer
