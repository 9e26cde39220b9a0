"""Runs a kernel work-item by work-item: the NDRange loop of the scalar tier."""

from __future__ import annotations

import itertools
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clsim.clc import ir
from clsim.clc.types import Pointer, Space, Vector
from clsim.vm.accesses import Recorder
from clsim.vm.dtypes import unpack
from clsim.vm.findings import Findings
from clsim.vm.launch import BufferArgument, LaunchReport, LocalArgument, NDRange, ScalarArgument
from clsim.vm.printf import Printer
from clsim.vm.scalar_ops import ScalarMemory
from clsim.vm.segments import Segment, null_segment

if TYPE_CHECKING:
    from clsim.vm.launch import Argument
    from clsim.vm.scalar import ScalarProgram


class Item:
    """One work-item's place, and the answers to the work-item functions (section 6.15.1)."""

    __slots__ = ("_ranges", "_where", "findings", "loop_limit", "order")

    def __init__(self, ranges: _Ranges, findings: Findings, loop_limit: int) -> None:
        self._ranges = ranges
        self._where: tuple[tuple[int, int, int], ...] = ()
        self.findings = findings
        self.loop_limit = loop_limit
        self.order = 0

    def place(self, group: tuple[int, ...], local: tuple[int, ...], order: int) -> None:
        """`_where` holds (group, local id, local size) a dimension."""
        sizes = self._ranges.local_sizes(group)
        self._where = tuple(zip(group, local, sizes, strict=True))
        self.order = order

    def global_id(self) -> tuple[int, ...]:
        r = self._ranges
        return tuple(o + g * n + i for (g, i, _), n, o in zip(self._where, r.local, r.offset, strict=True))

    def hit_limit(self, loc: ir.Loc) -> None:
        self.findings.add("loop-limit", loc, "", 0, 0, 0, self.global_id())

    def get_work_dim(self) -> int:
        return len(self._ranges.size)

    def get_global_size(self, d: int) -> int:
        return self._ranges.size[d] if 0 <= d < len(self._ranges.size) else 1

    def get_global_offset(self, d: int) -> int:
        return self._ranges.offset[d] if 0 <= d < len(self._ranges.size) else 0

    def get_global_id(self, d: int) -> int:
        return self.global_id()[d] if 0 <= d < len(self._where) else 0

    def get_local_id(self, d: int) -> int:
        return self._where[d][1] if 0 <= d < len(self._where) else 0

    def get_group_id(self, d: int) -> int:
        return self._where[d][0] if 0 <= d < len(self._where) else 0

    def get_local_size(self, d: int) -> int:
        return self._where[d][2] if 0 <= d < len(self._where) else 1

    def get_enqueued_local_size(self, d: int) -> int:
        return self._ranges.local[d] if 0 <= d < len(self._where) else 1

    def get_num_groups(self, d: int) -> int:
        return self._ranges.groups[d] if 0 <= d < len(self._where) else 1

    def get_local_linear_id(self) -> int:
        result = 0
        for _, local, size in reversed(self._where):
            result = result * size + local
        return result

    def get_global_linear_id(self) -> int:
        result = 0
        for d in reversed(range(len(self._where))):
            result = result * self._ranges.size[d] + self.get_global_id(d) - self._ranges.offset[d]
        return result


class _Ranges:
    def __init__(self, ndrange: NDRange) -> None:
        self.size, self.local, self.offset = ndrange.global_size, ndrange.local_size, ndrange.offset
        self.groups = tuple(-(-n // m) for n, m in zip(self.size, self.local, strict=True))

    def local_sizes(self, group: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(min(m, n - g * m) for n, m, g in zip(self.size, self.local, group, strict=True))


class ScalarLaunch:
    """One launch of a kernel on the scalar tier."""

    def __init__(
        self,
        program: ScalarProgram,
        arguments: Sequence[Argument],
        ndrange: NDRange,
        loop_limit: int,
        recording: bool = False,
    ) -> None:
        self.program = program
        self.arguments = arguments
        self.findings = Findings(program.kernel.name)
        self.printer = Printer()
        self.recorder = Recorder() if recording else None
        self.memory = ScalarMemory(self.findings, self.printer, self.recorder)
        self.ranges = _Ranges(ndrange)
        self.loop_limit = loop_limit
        self.shared: dict[ir.Memory, Any] = {
            m: self.memory.new_object(m.size, m.name, m.space, m.initial) for m in program.module.constants
        }
        self._fixed = [self._bind(k) for k in range(len(arguments))]

    def run(self) -> LaunchReport:
        with np.errstate(all="ignore"):
            for number, group in enumerate(itertools.product(*(range(n) for n in self.ranges.groups[::-1]))):
                self._group(group[::-1], number)
        accesses = None if self.recorder is None else self.recorder.result()
        return LaunchReport(self.findings.result(), self.printer.text(), accesses)

    def _bind(self, k: int) -> Any:
        """An argument that is the same for all work-items; None for local memory and records."""
        parameter, argument = self.program.kernel.parameters[k], self.arguments[k]
        type_, name = parameter.var.type, parameter.var.name
        if isinstance(argument, BufferArgument):
            if argument.region is None:
                return null_segment(name, k), 0
            segment = Segment.of_region(argument.region, parameter.space, k)
            segment.label = name
            self.memory.table.add(segment)
            return segment, 0
        if isinstance(argument, LocalArgument) or parameter.record is not None:
            return None
        assert isinstance(argument, ScalarArgument)
        if isinstance(type_, Pointer):
            return self.memory.pointer(int.from_bytes(argument.data, "little"))
        values = unpack(type_, argument.data)
        return values if isinstance(type_, Vector) else values[0]

    def _group(self, group: tuple[int, ...], number: int) -> None:
        kernel, memory = self.program.kernel, self.memory
        shared = dict(self.shared)
        own: list[Any] = []
        for function in self.program.module.functions.values():
            for m in function.memories:
                if m.space is Space.LOCAL:
                    shared[m] = memory.new_object(m.size, m.name, m.space)
                    own.append(shared[m])
        values = list(self._fixed)
        for k, argument in enumerate(self.arguments):
            if isinstance(argument, LocalArgument):
                values[k] = memory.new_object(argument.size, kernel.parameters[k].var.name, Space.LOCAL)
                own.append(values[k])
        sizes = self.ranges.local_sizes(group)
        waiting: list[tuple[Item, Generator[ir.Loc, None, None]]] = []
        for at, local in enumerate(itertools.product(*(range(n) for n in sizes[::-1]))):
            item = Item(self.ranges, self.findings, self.loop_limit)
            item.place(group, local[::-1], (number << 20) + at)
            mine = list(values)
            for k, argument in enumerate(self.arguments):
                if kernel.parameters[k].record is not None:
                    assert isinstance(argument, ScalarArgument)
                    name = kernel.parameters[k].var.name
                    mine[k] = memory.new_object(len(argument.data), name, Space.PRIVATE, argument.data)
                    own.append(mine[k])
            memory.item_id = item.global_id()
            started = self.program.run(memory, item, shared, *mine)
            if self.program.has_barrier:
                waiting.append((item, started))
        self._advance(waiting)
        for pointer in own:
            memory.forget(pointer)

    def _advance(self, waiting: list[tuple[Item, Generator[ir.Loc, None, None]]]) -> None:
        """Run the work-items of a group from barrier to barrier until all have returned."""
        while waiting:
            stopped: dict[ir.Loc, tuple[int, ...]] = {}
            still: list[tuple[Item, Generator[ir.Loc, None, None]]] = []
            returned: tuple[int, ...] | None = None
            for item, running in waiting:
                self.memory.item_id = item.global_id()
                loc = next(running, None)
                if loc is None:
                    returned = returned or self.memory.item_id
                else:
                    stopped.setdefault(loc, self.memory.item_id)
                    still.append((item, running))
            if stopped and (returned is not None or len(stopped) > 1):
                loc, first = next(iter(stopped.items()))
                self.findings.add("divergent-barrier", loc, "", 0, 0, 0, first, len(still))
            waiting = still
