"""Launches of the pyopencl implementation: the bound ones, and what their errors say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pyopencl as cl

from runtime.cl import interface
from runtime.cl._pyopencl_base import WeakMembers, translated, wait_list
from runtime.cl._pyopencl_events import Event
from runtime.cl._pyopencl_program import Kernel
from runtime.cl.codes import ErrorCode
from runtime.cl.interface import CLError, KernelArgument

if TYPE_CHECKING:
    from runtime.cl._pyopencl_queue import Queue

LAUNCH = "clEnqueueNDRangeKernel"

enqueue_native: Callable[..., Any] = cl.enqueue_nd_range_kernel


class PreparedLaunch:
    """What the bindings of one launch share: kernel object, arguments and sizes, by count."""

    __slots__ = ("__weakref__", "args", "bindings", "global_size", "kernel", "local_size", "offset", "users")

    def __init__(
        self,
        kernel: Kernel,
        args: tuple[KernelArgument, ...],
        global_size: tuple[int, ...],
        local_size: tuple[int, ...] | None,
        offset: tuple[int, ...] | None,
    ) -> None:
        self.kernel = kernel
        self.args = args
        self.global_size = global_size
        self.local_size = local_size
        self.offset = offset
        self.users = 0
        self.bindings: WeakMembers[Binding] = WeakMembers()
        for life in kernel.arguments.buffers:
            life.add_user(self)

    def argument_released(self, size: int) -> None:
        for binding in self.bindings.alive():
            binding.invalidate(
                ErrorCode.CL_INVALID_KERNEL_ARGS,
                f"a buffer of {size} bytes, an argument of kernel {self.kernel.name}, was released",
            )

    def drop(self) -> None:
        self.users -= 1
        if not self.users and not self.kernel.released:
            self.kernel.release()
            self.args = ()


class Binding(interface.Binding):
    """`interface.Binding`: pyopencl's own call with its arguments in place.

    That a buffer or the queue was released is not looked up in each call: their `release` replaces
    `_launch` by one that raises.
    """

    __slots__ = ("__weakref__", "_launch", "_prepared", "_queue", "_released")

    def __init__(self, prepared: PreparedLaunch, queue: Queue) -> None:
        self._prepared = prepared
        self._queue = queue
        self._released = False
        self._launch: Callable[..., Any] = partial(
            enqueue_native,
            queue.live(LAUNCH),
            prepared.kernel.live(LAUNCH),
            prepared.global_size,
            prepared.local_size,
            prepared.offset,
        )
        prepared.users += 1
        prepared.bindings.add(self)
        queue.add_binding(self)

    @property
    def kernel_name(self) -> str:
        return self._prepared.kernel.name

    @property
    def global_size(self) -> tuple[int, ...]:
        return self._prepared.global_size

    @property
    def local_size(self) -> tuple[int, ...] | None:
        return self._prepared.local_size

    def __call__(self) -> None:
        try:
            self._launch()
        except cl.Error as error:
            raise self._failure(error) from None

    def enqueue(self, wait_for: Iterable[interface.Event] = (), want_event: bool = True) -> Event | None:
        try:
            raw = self._launch(wait_list(wait_for, LAUNCH) if wait_for else None)
        except cl.Error as error:
            raise self._failure(error) from None
        return Event(raw) if want_event else None

    def on(self, queue: interface.Queue) -> Binding:
        from runtime.cl._pyopencl_queue import Queue  # which imports this file

        self._valid()
        if not isinstance(queue, Queue):
            raise TypeError(f"{queue!r} is no queue of this implementation")
        return Binding(self._prepared, queue)

    def release(self) -> None:
        if self._released:
            raise CLError(ErrorCode.CL_INVALID_KERNEL, "clReleaseKernel", "this binding was released")
        self._released = True
        self.invalidate(ErrorCode.CL_INVALID_KERNEL, "this binding was released")
        self._prepared.drop()

    def invalidate(self, code: ErrorCode, reason: str) -> None:
        """Makes every later call raise `code`, and lets go of the handles."""

        def refuse(*_: object) -> None:
            raise CLError(code, LAUNCH, reason)

        self._launch = refuse

    def _valid(self) -> None:
        if self._released:
            raise CLError(ErrorCode.CL_INVALID_KERNEL, LAUNCH, "this binding was released")
        self._prepared.kernel.check_arguments(self._queue.device, LAUNCH)

    def _failure(self, error: cl.Error) -> CLError:
        prepared = self._prepared
        return launch_failure(
            error, prepared.kernel, prepared.global_size, prepared.local_size, prepared.offset
        )


def launch_failure(
    error: cl.Error,
    kernel: Kernel,
    global_size: Sequence[int],
    local_size: Sequence[int] | None,
    offset: Sequence[int] | None,
) -> CLError:
    reason = f"kernel {kernel.name}, global size {global_size}, local size {local_size}, offset {offset}"
    failure = translated(error, LAUNCH, reason)
    if failure.code == ErrorCode.CL_INVALID_VALUE:
        # Only pyopencl says so: the sizes differ in length, which the C interface cannot express.
        failure.code = int(ErrorCode.CL_INVALID_WORK_DIMENSION)
    return failure


def checked_sizes(
    global_size: Sequence[int],
    local_size: Sequence[int] | None,
    offset: Sequence[int] | None,
    kernel: Kernel,
    device: interface.Device,
) -> tuple[tuple[int, ...], tuple[int, ...] | None, tuple[int, ...] | None]:
    """Sizes of a launch as tuples; raises what the standard says of them where that can be told here."""

    def fail(code: ErrorCode, reason: str) -> None:
        raise CLError(code, LAUNCH, f"kernel {kernel.name}: {reason}")

    sizes = tuple(global_size)
    local = None if local_size is None else tuple(local_size)
    start = None if offset is None else tuple(offset)
    if not 1 <= len(sizes) <= 3:
        fail(ErrorCode.CL_INVALID_WORK_DIMENSION, f"the global size {sizes} has not 1 to 3 dimensions")
    for other, what in ((local, "local size"), (start, "offset")):
        if other is not None and len(other) != len(sizes):
            fail(ErrorCode.CL_INVALID_WORK_DIMENSION, f"the {what} {other} is not as long as {sizes}")
    if any(size < 0 for size in sizes):
        fail(ErrorCode.CL_INVALID_GLOBAL_WORK_SIZE, f"the global size {sizes} has a negative number")
    if start is not None and any(value < 0 for value in start):
        fail(ErrorCode.CL_INVALID_GLOBAL_OFFSET, f"the offset {start} has a negative number")
    if local is not None:
        limits = device.limits
        group = 1
        for size in local:
            group *= size
        if group > limits.max_work_group_size:
            fail(
                ErrorCode.CL_INVALID_WORK_GROUP_SIZE,
                f"the local size {local} has {group} work-items, over the limit {limits.max_work_group_size}",
            )
        for size, limit in zip(local, limits.max_work_item_sizes, strict=False):
            if size > limit:
                fail(ErrorCode.CL_INVALID_WORK_ITEM_SIZE, f"the local size {local} is over the limit {limit}")
        if any(size < 1 for size in local):
            fail(ErrorCode.CL_INVALID_WORK_GROUP_SIZE, f"the local size {local} has a size below 1")
    return sizes, local, start
