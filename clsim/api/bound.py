"""Launches prepared once and repeated often."""

from __future__ import annotations

from collections.abc import Sequence

from clsim.api.enqueue import NDRANGE, captured_for, check_captured, enqueue_launch, instant_launch
from clsim.api.entry import entry, inject, live, same_context, wait_list
from clsim.api.index_space import Sizes, plan_of
from clsim.objects import CommandQueue, Event, Kernel
from clsim.objects.launch import Captured, Plan
from clsim.spec import CL_COMMAND_NDRANGE_KERNEL, CL_INVALID_KERNEL, CLError


@entry(live("queue", CommandQueue), live("kernel", Kernel), same_context("queue", "kernel"), name=NDRANGE)
def bind_ndrange(
    queue: CommandQueue,
    kernel: Kernel,
    global_work_size: Sizes,
    local_work_size: Sizes = None,
    global_work_offset: Sizes = None,
) -> BoundLaunch:
    """Checks a launch with the kernel's present arguments and prepares it. Raises what the launch raises."""
    work_dim = len(global_work_size or ())
    plan = plan_of(
        NDRANGE, queue.device, kernel, work_dim, global_work_offset, global_work_size, local_work_size
    )
    captured = captured_for(NDRANGE, queue, kernel, plan)
    return BoundLaunch(queue, kernel, plan, captured)


class BoundLaunch:
    """A launch whose kernel, arguments and sizes were checked once. Calling it enqueues it, with no event.

    It holds its kernel and its memory arguments until `release`. Once one of its arguments, its kernel or
    the queue has been released by the client, calls raise what the plain launch would.
    """

    __slots__ = (
        "_captured",
        "_epoch",
        "_held",
        "_instant",
        "_name",
        "_plan",
        "kernel",
        "queue",
    )

    def __init__(self, queue: CommandQueue, kernel: Kernel, plan: Plan, captured: Captured) -> None:
        self.queue = queue
        self.kernel = kernel
        self._plan = plan
        self._captured = captured
        self._epoch = queue.platform.epoch
        self._held = True
        self._name = kernel.name
        self._instant = plan.machine is None
        for item in captured.holds:
            item.hold()
        queue.hold()

    def __call__(self) -> None:
        """Enqueues the launch."""
        queue = self.queue
        platform = queue.platform
        engine = platform.engine
        with engine.lock:
            if (
                self._instant
                and not queue.pending
                and self._epoch == platform.epoch
                and engine.eager
                and not platform.faults
            ):
                engine.now_ns += engine.costs.call_ns
                instant_launch(queue, self._name, self._plan, self._captured, CL_COMMAND_NDRANGE_KERNEL)
                if engine.due or engine.forgotten:
                    engine.settle()
                return
            self._enqueue(None, False)

    def enqueue(
        self, event_wait_list: Sequence[Event] | None = None, want_event: bool = True
    ) -> Event | None:
        """Enqueues the launch with a wait list, an event, or both."""
        with self.queue.platform.engine.lock:
            return self._enqueue(event_wait_list, want_event)

    def on(self, queue: CommandQueue) -> BoundLaunch:
        """The same launch on another queue of the same context."""
        engine = queue.platform.engine
        with engine.lock:
            _check_objects(queue, self.kernel)
            plan = self._plan
            if queue.device is not plan.device:
                space = plan.ndrange
                plan = plan_of(
                    NDRANGE,
                    queue.device,
                    self.kernel,
                    len(space.global_size),
                    space.offset,
                    space.global_size,
                    space.local_size,
                )
            check_captured(NDRANGE, queue, self.kernel, plan, self._captured)
            return BoundLaunch(queue, self.kernel, plan, self._captured)

    def release(self) -> None:
        """Lets go of the kernel and the arguments; once."""
        with self.queue.platform.engine.lock:
            if self._held:
                self._held = False
                _let_go(self.queue, self._captured)
                self.queue.platform.engine.settle()

    def __del__(self) -> None:
        # A collector may strike while this very thread holds the lock: the next call lets go.
        if getattr(self, "_held", False):
            queue, captured = self.queue, self._captured
            queue.platform.engine.forgotten.append(lambda: _let_go(queue, captured))

    def _enqueue(self, event_wait_list: Sequence[Event] | None, want_event: bool) -> Event | None:
        queue = self.queue
        platform = queue.platform
        engine = platform.engine
        if platform.faults:
            inject(platform, NDRANGE)
        engine.now_ns += engine.costs.call_ns
        try:
            if not self._held:
                raise CLError(CL_INVALID_KERNEL, NDRANGE, f"the bound launch of '{self._name}' was released")
            if self._epoch != platform.epoch:
                _check_objects(queue, self.kernel)
                check_captured(NDRANGE, queue, self.kernel, self._plan, self._captured)
                if not any(storage.mappings for storage in self._captured.storages):
                    # While something is mapped every launch looks again.
                    self._epoch = platform.epoch
            if event_wait_list:
                _WAIT_LIST.test(NDRANGE, event_wait_list, queue)
            return enqueue_launch(
                queue,
                self.kernel,
                self._plan,
                self._captured,
                CL_COMMAND_NDRANGE_KERNEL,
                event_wait_list,
                want_event,
                bound=True,
            )
        finally:
            if engine.due or engine.forgotten:
                engine.settle()


def _let_go(queue: CommandQueue, captured: Captured) -> None:
    for item in captured.holds:
        item.drop()
    queue.drop()


_WAIT_LIST = wait_list()
_QUEUE = live("queue", CommandQueue)
_KERNEL = live("kernel", Kernel)


def _check_objects(queue: CommandQueue, kernel: Kernel) -> None:
    _QUEUE.test(NDRANGE, queue)
    _KERNEL.test(NDRANGE, kernel)
    same_context("queue", "kernel").test(NDRANGE, queue, kernel)
