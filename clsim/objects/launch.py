"""A kernel over an index space: what is the same for every launch, and what one launch captures."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from clsim.checks import kernel_faults, order
from clsim.objects.kernel import Kernel, LocalSize, ParameterKind
from clsim.objects.memory import Buffer, Storage
from clsim.spec import CL_OUT_OF_RESOURCES
from clsim.vm.launch import BufferArgument, LocalArgument, NDRange, ScalarArgument

if TYPE_CHECKING:
    from clsim.clc.ir import Module
    from clsim.engine.command import Command
    from clsim.objects.device import Device
    from clsim.vm.kernel import Kernel as MachineKernel
    from clsim.vm.launch import Argument


class Plan(NamedTuple):
    """An index space on a device that passed all checks which do not depend on argument values.

    `machine` is None where nothing runs: an empty index space, or a platform with `execution="none"`.
    `local_bytes` is what the kernel's own local variables take.
    """

    device: Device
    ndrange: NDRange
    device_ns: int
    local_bytes: int
    module: Module
    machine: MachineKernel | None


class Captured(NamedTuple):
    """The arguments of one launch, taken when it is enqueued."""

    arguments: tuple[Argument, ...]
    buffers: tuple[tuple[int, Buffer], ...]
    """Memory arguments with their index."""
    holds: tuple[Kernel | Buffer, ...]
    storages: tuple[Storage, ...]
    local_bytes: int


def capture(kernel: Kernel) -> Captured:
    """Takes the argument values as they are. All are set."""
    arguments: list[Argument] = []
    buffers: list[tuple[int, Buffer]] = []
    local_bytes = 0
    for index, (parameter, value) in enumerate(zip(kernel.parameters, kernel.arguments, strict=True)):
        if isinstance(value, Buffer):
            buffers.append((index, value))
            arguments.append(BufferArgument(value.region))
        elif isinstance(value, LocalSize):
            local_bytes += value.size
            arguments.append(LocalArgument(value.size))
        elif parameter.kind is ParameterKind.BUFFER:
            arguments.append(BufferArgument(None))
        else:
            assert isinstance(value, bytes)
            arguments.append(ScalarArgument(value))
    distinct = tuple(dict.fromkeys(buffer for _, buffer in buffers))
    storages = tuple(dict.fromkeys(buffer.storage for buffer in distinct))
    return Captured(tuple(arguments), tuple(buffers), (kernel, *distinct), storages, local_bytes)


def run_launch(command: Command, kernel: Kernel, plan: Plan, captured: Captured) -> int:
    """The effect of a launch: runs the machine and passes on what it left behind. Without the lock."""
    platform = kernel.platform
    assert plan.machine is not None
    checked = platform.engine.order is not None
    report = plan.machine.launch(captured.arguments, plan.ndrange, record_accesses=checked)
    if report.printed:
        platform.output(report.printed)
    with platform.engine.lock:
        if report.accesses is not None:
            command.uses = order.as_seen(captured, report.accesses)
        if not report.faults:
            return 0
        kernel_faults.report(platform, plan.module, report.faults, command.site)
        if platform.profile.quirks.get("memory_fault") == "late_error" and any(
            fault.kind in kernel_faults.MEMORY_FAULTS for fault in report.faults
        ):
            kernel.context.faulty = True
            return CL_OUT_OF_RESOURCES
    return 0
