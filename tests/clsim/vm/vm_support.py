"""Runs kernels from source on both tiers of the machine, which must agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clsim.clc import ir
from clsim.clc.compiler import compile_source
from clsim.clc.target import Target
from clsim.vm import (
    Argument,
    BufferArgument,
    Kernel,
    LaunchReport,
    LocalArgument,
    NDRange,
    Region,
    ScalarArgument,
    prepare,
)

TARGET = Target(
    c_version=(2, 0),
    extensions=frozenset(
        (
            "cl_khr_fp64",
            "cl_khr_fp16",
            "cl_khr_int64_base_atomics",
            "cl_khr_int64_extended_atomics",
        )
    ),
)


def compile_module(source: str, options: str = "") -> ir.Module:
    compilation = compile_source(source, options, target=TARGET)
    assert compilation.module is not None, compilation.log
    return compilation.module


class Local:
    """A `__local` pointer argument of so many bytes."""

    def __init__(self, size: int) -> None:
        self.size = size


class ReadOnly:
    """A buffer that the kernel may not write."""

    def __init__(self, array: Any) -> None:
        self.array = array


def bind(values: Sequence[Any]) -> list[Argument]:
    """Arrays become buffers, None a NULL pointer, NumPy scalars and bytes values passed by copy."""
    arguments: list[Argument] = []
    for k, value in enumerate(values):
        if value is None:
            arguments.append(BufferArgument(None))
        elif isinstance(value, Local):
            arguments.append(LocalArgument(value.size))
        elif isinstance(value, bytes):
            arguments.append(ScalarArgument(value))
        elif isinstance(value, np.generic):
            arguments.append(ScalarArgument(value.tobytes()))
        else:
            array = value.array if isinstance(value, ReadOnly) else value
            data = array.reshape(-1).view(np.uint8)
            region = Region(data, (k + 1) << 20, f"b{k}", read_only=isinstance(value, ReadOnly))
            arguments.append(BufferArgument(region))
    return arguments


def ndrange(global_size: Any, local_size: Any = None, offset: Any = None) -> NDRange:
    sizes = (global_size,) if isinstance(global_size, int) else tuple(global_size)
    local = sizes if local_size is None else local_size
    local = (local,) if isinstance(local, int) else tuple(local)
    start = (0,) * len(sizes) if offset is None else offset
    start = (start,) if isinstance(start, int) else tuple(start)
    return NDRange(sizes, local, start)


def copied(value: Any) -> Any:
    if isinstance(value, ReadOnly):
        return ReadOnly(value.array.copy())
    return value.copy() if isinstance(value, np.ndarray) else value


def array_of(value: Any) -> Any:
    return value.array if isinstance(value, ReadOnly) else value


def same(a: Any, b: Any) -> bool:
    return bool(np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))


def launch(kernel: Kernel, values: Sequence[Any], where: NDRange, **options: Any) -> LaunchReport:
    """On the tier that the machine chooses; arrays are changed in place."""
    return kernel.launch(bind(values), where, **options)


def run_both(
    source: str,
    values: Sequence[Any],
    global_size: Any,
    local_size: Any = None,
    *,
    offset: Any = None,
    options: str = "",
    name: str = "k",
    check_faults: bool = True,
) -> LaunchReport:
    """Run on lockstep, changing `values` in place, and on the scalar tier; both must leave the same."""
    module = compile_module(source, options)
    kernel = prepare(module, name)
    where = ndrange(global_size, local_size, offset)
    other = [copied(v) for v in values]
    report = launch(kernel, values, where)
    expected = kernel.launch_scalar(bind(other), where)
    for k, (a, b) in enumerate(zip(values, other, strict=True)):
        x, y = array_of(a), array_of(b)
        if isinstance(x, np.ndarray):
            assert same(x, y), f"argument {k}: lockstep {x}, scalar {y}"
    assert report.printed == expected.printed
    if check_faults:
        assert sorted(map(repr, report.faults)) == sorted(map(repr, expected.faults))
    return report
