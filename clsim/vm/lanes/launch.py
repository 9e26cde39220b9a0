"""Launches of the lockstep tier: binds arguments and runs chunk after chunk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clsim.clc.types import Pointer, Space, Vector
from clsim.vm.dtypes import unpack
from clsim.vm.findings import Findings
from clsim.vm.lanes.code import Writer
from clsim.vm.lanes.run import LANES, Chunk, Memory
from clsim.vm.launch import BufferArgument, LaunchReport, LocalArgument, NDRange, ScalarArgument

if TYPE_CHECKING:
    from clsim.clc import ir
    from clsim.vm.launch import Argument

_ALIGN = 128


class LaneProgram:
    """Generated code of a kernel for the lockstep tier; raises `Unsupported` where there is none."""

    def __init__(self, module: ir.Module, kernel: ir.Function) -> None:
        writer = Writer(module, kernel)
        self.kernel = kernel
        self.code = writer.write()
        self.source = writer.source
        self.memories = writer.local_memories
        self.constants = {
            m: Memory(_bytes(m.initial or b"", m.size), m.size, 0, read_only=True)
            for m in writer.local_memories
            if m.space is not Space.LOCAL
        }

    def runs(self, ndrange: NDRange) -> bool:
        """Whether the tier runs an index space: all its work-groups must be of one size."""
        return all(n % m == 0 for n, m in zip(ndrange.global_size, ndrange.local_size, strict=True))

    def launch(self, arguments: Sequence[Argument], ndrange: NDRange, loop_limit: int) -> LaunchReport:
        findings = Findings(self.kernel.name)
        groups = 1
        for n, m in zip(ndrange.global_size, ndrange.local_size, strict=True):
            groups *= n // m
        lanes = 1
        for m in ndrange.local_size:
            lanes *= m
        step = min(max(1, LANES // lanes), groups)
        fixed: list[Any] = [self._bind(k, a) for k, a in enumerate(arguments)]
        with np.errstate(all="ignore"):
            for first in range(0, groups, step):
                count = min(step, groups - first)
                chunk = Chunk(ndrange, first, count, findings, loop_limit)
                values = [
                    _per_group(a.size, count) if isinstance(a, LocalArgument) else fixed[k]
                    for k, a in enumerate(arguments)
                ]
                own = [self.constants.get(m) or _per_group(m.size, count) for m in self.memories]
                self.code(chunk, values, own)
        return LaunchReport(findings.result())

    def _bind(self, k: int, argument: Argument) -> Any:
        type_ = self.kernel.parameters[k].var.type
        if isinstance(argument, BufferArgument):
            region = argument.region
            if region is None:
                return Memory(np.zeros(0, np.uint8), 0, 0, is_null=True)
            return Memory(
                region.data, region.data.size, 0, read_only=region.read_only, write_only=region.write_only
            )
        if isinstance(argument, LocalArgument):
            return None
        assert isinstance(argument, ScalarArgument)
        if isinstance(type_, Pointer):
            return Memory(np.zeros(0, np.uint8), 0, 0, is_null=True)
        values = unpack(type_, argument.data)
        return values if isinstance(type_, Vector) else values[0]


def _bytes(initial: bytes, size: int) -> Any:
    data = np.zeros(-(-size // _ALIGN) * _ALIGN, np.uint8)
    data[: len(initial)] = np.frombuffer(initial, np.uint8)
    return data


def _per_group(size: int, groups: int) -> Memory:
    """Local memory: a copy a work-group, each a whole number of lines apart."""
    stride = -(-size // _ALIGN) * _ALIGN
    return Memory(np.zeros(groups * stride, np.uint8), size, stride)
