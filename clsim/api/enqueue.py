"""Launching kernels (section 5.10): the arguments are captured, the index space checked."""

from __future__ import annotations

from collections.abc import Sequence

from clsim.api.entry import entry, live, same_context, wait_list
from clsim.api.index_space import Sizes, plan_of
from clsim.api.submit import submit
from clsim.api.transfer import check_alignment
from clsim.checks import lifetime, mapped, order, threads
from clsim.engine.command import Command
from clsim.objects import CommandQueue, Event, Kernel
from clsim.objects.kernel import UNSET
from clsim.objects.launch import Captured, Plan, capture, run_launch
from clsim.spec import (
    CL_COMMAND_NDRANGE_KERNEL,
    CL_COMMAND_TASK,
    CL_INVALID_KERNEL_ARGS,
    CL_OUT_OF_RESOURCES,
    CLError,
)

NDRANGE = "clEnqueueNDRangeKernel"


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
        NDRANGE, queue.device, kernel, work_dim, global_work_offset, global_work_size, local_work_size
    )
    captured = captured_for(NDRANGE, queue, kernel, plan)
    return enqueue_launch(
        queue, kernel, plan, captured, CL_COMMAND_NDRANGE_KERNEL, event_wait_list, want_event
    )


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
    return enqueue_launch(queue, kernel, plan, captured, CL_COMMAND_TASK, event_wait_list, want_event)


@entry(live("queue", CommandQueue), live("kernel", Kernel), same_context("queue", "kernel"))
def clGetKernelSuggestedLocalWorkSize(
    queue: CommandQueue, kernel: Kernel, work_dim: int, global_work_offset: Sizes, global_work_size: Sizes
) -> tuple[int, ...]:
    """The local size that a launch without one gets. Raises what the launch raises for its index space."""
    routine = "clGetKernelSuggestedLocalWorkSize"
    plan = plan_of(routine, queue.device, kernel, work_dim, global_work_offset, global_work_size, None)
    return plan.ndrange.local_size


def instant_launch(queue: CommandQueue, name: str, plan: Plan, captured: Captured, command_type: int) -> None:
    """A launch without effects that nobody can watch, on an idle queue.

    Nothing can tell it from one that went through the graph of commands, so none is made.
    """
    queue.platform.engine.instant(queue, plan.device_ns, captured.storages)
    ledger = queue.platform.ledger
    ledger.launches[name] = ledger.launches.get(name, 0) + 1
    ledger.commands[command_type] = ledger.commands.get(command_type, 0) + 1


def enqueue_launch(
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
        instant_launch(queue, kernel.name, plan, captured, command_type)
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
    return submit(NDRANGE, queue, command, event_wait_list, want_event)


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
    check_captured(routine, queue, kernel, plan, captured)
    kernel.captured = (kernel.version, epoch, plan, captured)
    return captured


def check_captured(routine: str, queue: CommandQueue, kernel: Kernel, plan: Plan, captured: Captured) -> None:
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
