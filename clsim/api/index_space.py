"""Index spaces: which a device can run a kernel over, and the local size where a program leaves it open.

The checks stand in the order in which they are made (section 5.10).
"""

from __future__ import annotations

import operator
from collections.abc import Sequence

from clsim.objects import Device, Kernel
from clsim.objects.launch import Plan
from clsim.objects.program import Build
from clsim.spec import (
    CL_INVALID_GLOBAL_OFFSET,
    CL_INVALID_GLOBAL_WORK_SIZE,
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

_MOST_PLANS = 256
_PREFERRED_GROUP = 64

Sizes = Sequence[int] | None


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
