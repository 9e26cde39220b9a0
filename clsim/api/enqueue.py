"""Launching kernels (section 5.10): the checks of an index space, the launch, launches bound in advance."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from clsim.api.entry import entry, inject, live, same_context, wait_list
from clsim.api.submit import submit
from clsim.api.transfer import check_alignment
from clsim.checks import lifetime, mapped, order, threads
from clsim.engine.command import Command
from clsim.objects import CommandQueue, Device, Event, Kernel
from clsim.objects.kernel import UNSET
from clsim.objects.launch import Captured, Plan, capture, run_launch
from clsim.objects.program import Build
from clsim.spec import (
    CL_COMMAND_NDRANGE_KERNEL,
    CL_COMMAND_TASK,
    CL_INVALID_GLOBAL_OFFSET,
    CL_INVALID_GLOBAL_WORK_SIZE,
    CL_INVALID_KERNEL,
    CL_INVALID_KERNEL_ARGS,
    CL_INVALID_PROGRAM_EXECUTABLE,
    CL_INVALID_VALUE,
    CL_INVALID_WORK_DIMENSION,
    CL_INVALID_WORK_GROUP_SIZE,
    CL_INVALID_WORK_ITEM_SIZE,
    CL_OUT_OF_RESOURCES,
    CLError,
)
from clsim.vm import Kernel as MachineKernel
from clsim.vm import NotSupported, prepare
from clsim.vm.launch import NDRange

_NDRANGE = "clEnqueueNDRangeKernel"
_MOST_PLANS = 256

Sizes = Sequence[int] | None


@entry(live("queue", CommandQueue), live("kernel", Kernel), same_context("queue", "kernel"), wait_list())
def clEnqueueNDRangeKernel(
    queue: CommandQueue,
    kernel: Kernel,
    work_dim: int,
    global_work_offset: Sizes,
    global_work_size: Sizes,
    local_work_size: Sizes = None,
    event_wait_list: Sequence[Event] | None = None,
    want_event: bool = False,
) -> Event | None:
    """Launches a kernel with its arguments as they are now.

    Checks in this order: CL_INVALID_COMMAND_QUEUE, CL_INVALID_KERNEL, CL_INVALID_CONTEXT,
    CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_PROGRAM_EXECUTABLE, CL_INVALID_WORK_DIMENSION,
    CL_INVALID_GLOBAL_WORK_SIZE, CL_INVALID_GLOBAL_OFFSET, CL_INVALID_WORK_ITEM_SIZE,
    CL_INVALID_WORK_GROUP_SIZE, CL_OUT_OF_RESOURCES for what the machine cannot run, CL_INVALID_KERNEL_ARGS,
    CL_MISALIGNED_SUB_BUFFER_OFFSET, CL_OUT_OF_RESOURCES over the device's local memory.
    """
    plan = plan_of(
        _NDRANGE, queue.device, kernel, work_dim, global_work_offset, global_work_size, local_work_size
    )
    captured = captured_for(_NDRANGE, queue, kernel, plan)
    return _launch(queue, kernel, plan, captured, CL_COMMAND_NDRANGE_KERNEL, event_wait_list, want_event)


@entry(live("queue", CommandQueue), live("kernel", Kernel), same_context("queue", "kernel"), wait_list())
def clEnqueueTask(
    queue: CommandQueue,
    kernel: Kernel,
    event_wait_list: Sequence[Event] | None = None,
    want_event: bool = False,
) -> Event | None:
    """A launch of one work-item. Raises what clEnqueueNDRangeKernel raises."""
    plan = plan_of("clEnqueueTask", queue.device, kernel, 1, None, (1,), (1,))
    captured = captured_for("clEnqueueTask", queue, kernel, plan)
    return _launch(queue, kernel, plan, captured, CL_COMMAND_TASK, event_wait_list, want_event)


@entry(live("queue", CommandQueue), live("kernel", Kernel), same_context("queue", "kernel"))
def clGetKernelSuggestedLocalWorkSize(
    queue: CommandQueue, kernel: Kernel, work_dim: int, global_work_offset: Sizes, global_work_size: Sizes
) -> tuple[int, ...]:
    """The local size that a launch without one gets. Raises what the launch raises for its index space."""
    routine = "clGetKernelSuggestedLocalWorkSize"
    plan = plan_of(routine, queue.device, kernel, work_dim, global_work_offset, global_work_size, None)
    return plan.ndrange.local_size


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
                _instant(queue, self._name, self._plan, self._captured, CL_COMMAND_NDRANGE_KERNEL)
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
                    _NDRANGE,
                    queue.device,
                    self.kernel,
                    len(space.global_size),
                    space.offset,
                    space.global_size,
                    space.local_size,
                )
            _check_captured(_NDRANGE, queue, self.kernel, plan, self._captured)
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
            inject(platform, _NDRANGE)
        engine.now_ns += engine.costs.call_ns
        try:
            if not self._held:
                raise CLError(CL_INVALID_KERNEL, _NDRANGE, f"the bound launch of '{self._name}' was released")
            if self._epoch != platform.epoch:
                _check_objects(queue, self.kernel)
                _check_captured(_NDRANGE, queue, self.kernel, self._plan, self._captured)
                if not any(storage.mappings for storage in self._captured.storages):
                    # While something is mapped every launch looks again.
                    self._epoch = platform.epoch
            if event_wait_list:
                _WAIT_LIST.test(_NDRANGE, event_wait_list, queue)
            return _launch(
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
    _QUEUE.test(_NDRANGE, queue)
    _KERNEL.test(_NDRANGE, kernel)
    same_context("queue", "kernel").test(_NDRANGE, queue, kernel)


@entry(live("queue", CommandQueue), live("kernel", Kernel), same_context("queue", "kernel"), name=_NDRANGE)
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
        _NDRANGE, queue.device, kernel, work_dim, global_work_offset, global_work_size, local_work_size
    )
    captured = captured_for(_NDRANGE, queue, kernel, plan)
    return BoundLaunch(queue, kernel, plan, captured)


def _instant(queue: CommandQueue, name: str, plan: Plan, captured: Captured, command_type: int) -> None:
    """A launch without effects that nobody can watch, on an idle queue.

    Nothing can tell it from one that went through the graph of commands, so none is made.
    """
    queue.platform.engine.instant(queue, plan.device_ns, captured.storages)
    ledger = queue.platform.ledger
    ledger.launches[name] = ledger.launches.get(name, 0) + 1
    ledger.commands[command_type] = ledger.commands.get(command_type, 0) + 1


def _launch(
    queue: CommandQueue,
    kernel: Kernel,
    plan: Plan,
    captured: Captured,
    command_type: int,
    event_wait_list: Sequence[Event] | None,
    want_event: bool,
    bound: bool = False,
) -> Event | None:
    platform = queue.platform
    if not bound:
        threads.launched(kernel)
    mapped_any = False
    for storage in captured.storages:
        if storage.mappings:
            mapped_any = True
    if (
        plan.machine is None
        and not want_event
        and not event_wait_list
        and not queue.pending
        and not mapped_any
        and platform.engine.eager
    ):
        _instant(queue, kernel.name, plan, captured, command_type)
        return None
    site = platform.site()
    command = Command(
        queue,
        command_type,
        site,
        holds=captured.holds,
        storages=captured.storages,
        device_ns=plan.device_ns,
        name=kernel.name,
    )
    if plan.machine is not None:
        command.run = lambda: run_launch(command, kernel, plan, captured)
    if mapped_any:
        for index, buffer in captured.buffers:
            parameter = kernel.parameters[index]
            what = f"argument {index} ('{parameter.name}') of kernel '{kernel.name}'"
            mapped.check(buffer, 0, buffer.size, parameter.may_read, parameter.may_write, what, site)
    if platform.engine.order is not None and 0 not in plan.ndrange.global_size:
        command.uses = order.of_kernel(kernel, captured)
    launches = platform.ledger.launches
    launches[kernel.name] = launches.get(kernel.name, 0) + 1
    return submit(_NDRANGE, queue, command, event_wait_list, want_event)


# ---------------------------------------------------------------- arguments


def captured_for(routine: str, queue: CommandQueue, kernel: Kernel, plan: Plan) -> Captured:
    """The kernel's arguments, checked for a launch on the queue's device."""
    known = kernel.captured
    epoch = kernel.platform.epoch
    if known is not None and known[0] == kernel.version and known[1] == epoch and known[2] is plan:
        return known[3]
    for index, value in enumerate(kernel.arguments):
        if value is UNSET:
            parameter = kernel.parameters[index]
            raise CLError(
                CL_INVALID_KERNEL_ARGS,
                routine,
                f"argument {index} ('{parameter.name}') of '{kernel.name}' was not set",
            )
    captured = capture(kernel)
    _check_captured(routine, queue, kernel, plan, captured)
    kernel.captured = (kernel.version, epoch, plan, captured)
    return captured


def _check_captured(
    routine: str, queue: CommandQueue, kernel: Kernel, plan: Plan, captured: Captured
) -> None:
    for index, buffer in captured.buffers:
        if buffer.references <= 0:
            name = kernel.parameters[index].name
            raise CLError(
                CL_INVALID_KERNEL_ARGS, routine, lifetime.dead_argument(kernel, index, name, buffer)
            )
        if buffer.origin:
            check_alignment(routine, queue, buffer)
    used = plan.local_bytes + captured.local_bytes
    if used > plan.device.local_memory:
        raise CLError(
            CL_OUT_OF_RESOURCES,
            routine,
            f"'{kernel.name}' wants {used} bytes of local memory, the device has {plan.device.local_memory}",
        )


# ---------------------------------------------------------------- index spaces


def plan_of(
    routine: str,
    device: Device,
    kernel: Kernel,
    work_dim: int,
    offset: Sizes,
    global_size: Sizes,
    local_size: Sizes,
) -> Plan:
    """The checked index space of a launch; the last few hundred of a kernel are remembered."""
    key = (
        device.number,
        work_dim,
        None if offset is None else tuple(offset),
        None if global_size is None else tuple(global_size),
        None if local_size is None else tuple(local_size),
    )
    plan = kernel.plans.get(key)
    if plan is None:
        plan = _check_plan(routine, device, kernel, work_dim, offset, global_size, local_size)
        if len(kernel.plans) >= _MOST_PLANS:
            del kernel.plans[next(iter(kernel.plans))]
        kernel.plans[key] = plan
    return plan


def _check_plan(
    routine: str,
    device: Device,
    kernel: Kernel,
    work_dim: int,
    offset: Sizes,
    global_size: Sizes,
    local_size: Sizes,
) -> Plan:
    build = kernel.program.builds.get(device)
    if build is None or kernel.name not in build.kernels:
        raise CLError(
            CL_INVALID_PROGRAM_EXECUTABLE, routine, f"'{kernel.name}' was not built for {device.label}"
        )
    if not 1 <= work_dim <= len(device.max_items):
        raise CLError(
            CL_INVALID_WORK_DIMENSION,
            routine,
            f"{work_dim} dimensions; 1 to {len(device.max_items)} are possible",
        )
    sizes = _global_size(routine, device, work_dim, global_size)
    starts = _offset(routine, work_dim, offset, sizes)
    function = build.kernels[kernel.name]
    required = function.attributes.required_work_group_size
    if local_size is None:
        groups = _choose_local(device, sizes, required)
        if required is not None:
            groups = _local_size(routine, device, build, kernel, work_dim, required[:work_dim], sizes)
    else:
        groups = _local_size(routine, device, build, kernel, work_dim, local_size, sizes)
    total = 1
    for size in sizes:
        total *= size
    platform = device.platform
    costs = platform.engine.costs
    assert build.module is not None
    return Plan(
        device,
        NDRange(sizes, groups, starts),
        costs.kernel(total, function.operations, function.bytes_moved) if total else 0,
        function.local_bytes,
        build.module,
        _machine(routine, build, kernel) if total and platform.execution == "normal" else None,
    )


def _lengths(routine: str, name: str, work_dim: int, values: Sequence[int]) -> tuple[int, ...]:
    """`work_dim` numbers that a size_t can hold."""
    if len(values) < work_dim:
        raise CLError(
            CL_INVALID_VALUE, routine, f"{name} has {len(values)} numbers for {work_dim} dimensions"
        )
    try:
        return tuple(operator.index(value) for value in values[:work_dim])
    except TypeError:
        raise CLError(
            CL_INVALID_VALUE, routine, f"{name} {values!r:.60} has more than whole numbers"
        ) from None


def _global_size(routine: str, device: Device, work_dim: int, values: Sizes) -> tuple[int, ...]:
    may_be_empty = device.version >= (2, 1)
    if values is None:
        if may_be_empty:
            return (0,) * work_dim
        raise CLError(CL_INVALID_GLOBAL_WORK_SIZE, routine, "the global size is NULL")
    sizes = _lengths(routine, "the global size", work_dim, values)
    if min(sizes) < 0 or max(sizes) >= 1 << 64:
        raise CLError(CL_INVALID_GLOBAL_WORK_SIZE, routine, f"global size {sizes} does not fit a size_t")
    if 0 in sizes and not may_be_empty:
        raise CLError(
            CL_INVALID_GLOBAL_WORK_SIZE,
            routine,
            f"global size {sizes} has a 0, which needs a device of version 2.1",
        )
    return sizes


def _offset(routine: str, work_dim: int, values: Sizes, sizes: tuple[int, ...]) -> tuple[int, ...]:
    if values is None:
        return (0,) * work_dim
    starts = _lengths(routine, "the offset", work_dim, values)
    for start, size in zip(starts, sizes, strict=True):
        if start < 0 or start + size >= 1 << 64:
            raise CLError(
                CL_INVALID_GLOBAL_OFFSET, routine, f"offset {start} plus size {size} does not fit a size_t"
            )
    return starts


def _local_size(
    routine: str,
    device: Device,
    build: Build,
    kernel: Kernel,
    work_dim: int,
    values: Sequence[int],
    sizes: tuple[int, ...],
) -> tuple[int, ...]:
    groups = _lengths(routine, "the local size", work_dim, values)
    required = build.kernels[kernel.name].attributes.required_work_group_size
    if required is not None and groups != tuple(required[:work_dim]):
        raise CLError(
            CL_INVALID_WORK_GROUP_SIZE,
            routine,
            f"local size {groups}; '{kernel.name}' requires {tuple(required[:work_dim])}",
        )
    total = 1
    for size in groups:
        total *= size
    if min(groups) < 1:
        raise CLError(CL_INVALID_WORK_GROUP_SIZE, routine, f"local size {groups} is empty")
    for axis, size in enumerate(groups):
        if size > device.max_items[axis]:
            raise CLError(
                CL_INVALID_WORK_ITEM_SIZE,
                routine,
                f"local size {groups} is over {device.max_items} of {device.label} in dimension {axis}",
            )
    if total > device.max_group:
        raise CLError(
            CL_INVALID_WORK_GROUP_SIZE,
            routine,
            f"local size {groups} is {total} work-items, the limit is {device.max_group} on {device.name}",
        )
    if not build.nonuniform and any(size % group for size, group in zip(sizes, groups, strict=True)):
        raise CLError(
            CL_INVALID_WORK_GROUP_SIZE,
            routine,
            f"local size {groups} does not divide the global size {sizes}",
        )
    return groups


_PREFERRED_GROUP = 64


def _choose_local(
    device: Device, sizes: tuple[int, ...], required: tuple[int, int, int] | None
) -> tuple[int, ...]:
    """The local size where the program leaves it open: per dimension the largest divisor that still fits.

    A group has at most 64 work-items, as GPUs choose it for a simple kernel; the first dimension first.
    """
    if required is not None:
        return tuple(required[: len(sizes)])
    left = min(_PREFERRED_GROUP, device.max_group)
    groups = []
    for axis, size in enumerate(sizes):
        best = 1
        for candidate in range(min(left, size, device.max_items[axis]), 1, -1):
            if size % candidate == 0:
                best = candidate
                break
        groups.append(best)
        left //= best
    return tuple(groups)


def _machine(routine: str, build: Build, kernel: Kernel) -> MachineKernel:
    machine = build.prepared.get(kernel.name)
    if machine is None:
        assert build.module is not None
        try:
            machine = prepare(build.module, kernel.name)
        except NotSupported as error:
            platform = kernel.platform
            platform.findings.add(
                "not-simulated",
                "warning",
                str(error),
                objects=(kernel.label,),
                sites=(("launched", platform.site()),),
                advice="the kernel is valid OpenCL C that clsim does not run",
            )
            raise CLError(CL_OUT_OF_RESOURCES, routine, str(error)) from None
        build.prepared[kernel.name] = machine
    return machine
