"""Runs generated code over an index space: binds arguments, cuts it into chunks, gathers the report."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clsim.clc import ir
from clsim.clc.types import Scalar, Space
from clsim.vm.accesses import Recorder
from clsim.vm.dtypes import unpack
from clsim.vm.findings import Findings
from clsim.vm.launch import BufferArgument, LaunchReport, LocalArgument, NDRange, ScalarArgument
from clsim.vm.lockstep.atomics import Livelock
from clsim.vm.lockstep.by_address import AddressedChunk
from clsim.vm.lockstep.variant import ARGUMENT_BITS, GROUP_LIMIT_BITS, Variant, bits_for
from clsim.vm.printf import Printer
from clsim.vm.segments import Segment, null_segment, window_address

if TYPE_CHECKING:
    from clsim.vm.launch import Argument
    from clsim.vm.lockstep.code import Code

_FEWEST_LANES, _MOST_LANES = 1 << 15, 1 << 18
"""Lanes that run at once, as far as whole work-groups allow. Fewer, and calls cost more than arithmetic."""

_RETRYING_LANES = 512
"""As many as may have to get through one address one by one, pass by pass."""

_MOST_LOST_TRIES = 1000

_CACHE_BYTES = 4 << 20
"""What the values of a chunk should take, so that they stay in cache."""

_CHUNK_BYTES = 48 << 20
"""What a chunk's private memory and values may take."""


@dataclass(slots=True)
class Part:
    """Work-groups of one size: `first` and `count` by dimension."""

    local: tuple[int, ...]
    first: tuple[int, ...]
    count: tuple[int, ...]


def parts_of(ndrange: NDRange) -> list[Part]:
    """The index space as boxes of equal work-groups; more than one where the sizes do not divide."""
    parts = [Part((), (), ())]
    for size, local in zip(ndrange.global_size, ndrange.local_size, strict=True):
        whole, rest = divmod(size, local)
        cuts = [(local, 0, whole)] if whole else []
        if rest:
            cuts.append((rest, whole, 1))
        parts = [
            Part((*p.local, cut[0]), (*p.first, cut[1]), (*p.count, cut[2])) for cut in cuts for p in parts
        ]
    return parts


def argument_bits(kernel: ir.Function, values: dict[int, tuple[Any, ...]]) -> tuple[int | None, ...]:
    """Bounds on integer arguments that the code is specialised on."""
    result: list[int | None] = []
    for k, parameter in enumerate(kernel.parameters):
        type_ = parameter.var.type
        if k in values and isinstance(type_, Scalar) and type_.is_integer and type_.size >= 4:
            result.append(bits_for(values[k][0], ARGUMENT_BITS))
        else:
            result.append(None)
    return tuple(result)


class LaunchState:
    """What all chunks of a launch share."""

    def __init__(
        self,
        kernel: ir.Function,
        arguments: Sequence[Argument],
        ndrange: NDRange,
        loop_limit: int,
        recording: bool,
    ) -> None:
        self.kernel = kernel
        self.given = arguments
        self.ndrange = ndrange
        self.loop_limit = loop_limit
        self.findings = Findings(kernel.name)
        self.printer = Printer()
        self.recorder = Recorder() if recording else None
        self.values: dict[int, tuple[Any, ...]] = {}
        self.arguments: dict[str, Any] = {}
        for k, argument in enumerate(arguments):
            if isinstance(argument, ScalarArgument) and kernel.parameters[k].record is None:
                type_ = kernel.parameters[k].var.type
                values = unpack(type_, argument.data)
                self.values[k] = values
                for c, value in enumerate(values):
                    self.arguments[f"A{k}_{c}"] = value
        self.parameters: dict[str, int] = {}
        self.code: Any = None
        self.retrying = False
        """Whether compare-and-swap loops are to be watched, and few lanes to run at once."""
        self._lost_tries = 0
        self.segments: list[Segment] = []
        self.data: list[Any] = []
        self.initial: dict[int, Any] = {}

    def snapshot(self) -> list[tuple[Any, Any]]:
        """The arguments that the kernel may write, with their bytes as they are."""
        return [
            (argument.region.data, argument.region.data.copy())
            for parameter, argument in zip(self.kernel.parameters, self.given, strict=True)
            if isinstance(argument, BufferArgument)
            and argument.region is not None
            and not argument.region.read_only
            and (parameter.may_write or self._is_aliased())
        ]

    @staticmethod
    def restore(before: list[tuple[Any, Any]]) -> None:
        for data, kept in before:
            data[...] = kept

    def count_tries(self, won: bool) -> None:
        """Give up where compare-and-swap loops go on but no lane gets through."""
        self._lost_tries = 0 if won else self._lost_tries + 1
        if self._lost_tries > _MOST_LOST_TRIES:
            raise Livelock

    def variant_of(self, part: Part) -> Variant:
        ends = zip(self.ndrange.global_size, self.ndrange.offset, strict=True)
        return Variant(
            local=part.local,
            enqueued=self.ndrange.local_size,
            many_groups=tuple(n > 1 for n in part.count),
            id_bits=tuple(bits_for(n + o, GROUP_LIMIT_BITS) or 63 for n, o in ends),
            argument_bits=argument_bits(self.kernel, self.values),
            zero_offset=not any(self.ndrange.offset),
            aliased=self._is_aliased(),
            recording=self.recorder is not None,
        )

    def _is_aliased(self) -> bool:
        """Whether two arguments share bytes."""
        spans = []
        for argument in self.given:
            if isinstance(argument, BufferArgument) and argument.region is not None:
                start = argument.region.data.__array_interface__["data"][0]
                spans.append((start, start + argument.region.data.size))
        spans.sort()
        return any(a[1] > b[0] for a, b in itertools.pairwise(spans))

    def bind(self, code: Code) -> None:
        """Give each memory object of the code its bytes."""
        self.code = code
        self.segments, self.data, self.initial = [], [], {}
        for seg in code.segs:
            segment = self._segment(seg)
            self.segments.append(segment)
            self.data.append(segment.data)
        r = self.ndrange
        for d in range(len(r.global_size)):
            self.parameters[f"size{d}"] = r.global_size[d]
            self.parameters[f"offset{d}"] = r.offset[d]
            self.parameters[f"groups{d}"] = -(-r.global_size[d] // r.local_size[d])

    def _segment(self, seg: Any) -> Segment:
        nothing = np.zeros(0, np.uint8)
        if seg.kind == "null":
            return null_segment()
        argument = self.given[seg.argument] if seg.argument >= 0 else None
        if isinstance(argument, BufferArgument):
            if argument.region is None:
                return null_segment(seg.label, seg.argument)
            segment = Segment.of_region(argument.region, seg.space, seg.argument)
            segment.label = seg.label
            return segment
        if isinstance(argument, ScalarArgument) and seg.kind == "arg":
            # A pointer given as bytes; only NULL makes sense without shared virtual memory.
            return null_segment(seg.label, seg.argument)
        if seg.kind == "const":
            data = np.zeros(seg.size, np.uint8)
            if seg.memory.initial:
                data[: len(seg.memory.initial)] = np.frombuffer(seg.memory.initial, np.uint8)
            return Segment(data, window_address(seg.index), seg.label, seg.space, read_only=True)
        segment = Segment(nothing, window_address(seg.index), seg.label, seg.space)
        segment.size = seg.size
        if isinstance(argument, LocalArgument):
            segment.size = argument.size
        elif isinstance(argument, ScalarArgument):
            segment.size = len(argument.data)
            self.initial[seg.index] = np.frombuffer(argument.data, np.uint8)
        return segment

    def run(self, code: Code, part: Part) -> None:
        self.bind(code)
        for dims, origin in self._chunks(code, part):
            code.run(AddressedChunk(self, dims, origin))

    def _chunks(self, code: Code, part: Part) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Boxes of work-groups, filled from the first dimension on."""
        lanes = 1
        for n in part.local:
            lanes *= n
        cached = _CACHE_BYTES // (4 * max(1, code.arrays))
        wanted = _RETRYING_LANES if self.retrying else min(max(cached, _FEWEST_LANES), _MOST_LANES)
        budget = min(wanted, _CHUNK_BYTES // max(1, self._bytes_per_lane(code)))
        room = max(1, budget // lanes)
        steps = []
        for n in part.count:
            step = min(n, room)
            room = max(1, room // step)
            # Equal chunks rather than a small last one.
            steps.append(-(-n // -(-n // step)))
        yield from self._boxes(code, part, steps, len(steps) - 1, ())

    def _boxes(
        self, code: Code, part: Part, steps: list[int], d: int, chosen: tuple[tuple[int, int], ...]
    ) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        if d < 0:
            count = {f"g{k}": n for k, (_, n) in enumerate(chosen)}
            sizes = {f"l{k}": n for k, n in enumerate(part.local)} | count
            yield tuple(sizes[name] for name in code.axes), tuple(first for first, _ in chosen)
            return
        for start in range(0, part.count[d], steps[d]):
            n = min(steps[d], part.count[d] - start)
            yield from self._boxes(code, part, steps, d - 1, ((part.first[d] + start, n), *chosen))

    def _bytes_per_lane(self, code: Code) -> int:
        total = 8 * code.arrays
        for replica in code.replicas:
            if self.segments[replica.seg].space is Space.PRIVATE:
                total += self.segments[replica.seg].size
        return total

    def report(self) -> LaunchReport:
        accesses = None if self.recorder is None else self.recorder.result()
        return LaunchReport(self.findings.result(), self.printer.text(), accesses)
