"""Generated code of one variant of a kernel, with the tables that it refers to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clsim.clc import ir
from clsim.clc.recursion import deep_recursion
from clsim.vm.lockstep.access import Planner
from clsim.vm.lockstep.analyse import Analysis
from clsim.vm.lockstep.emit import Emitter
from clsim.vm.lockstep.lower_builtin import lower
from clsim.vm.lockstep.schedule import Schedule

if TYPE_CHECKING:
    from collections.abc import Callable

    from clsim.vm.lockstep.graph import Place, Seg
    from clsim.vm.lockstep.variant import Variant


@dataclass(frozen=True, slots=True)
class Replica:
    """A private or local object: each lane or group along `axes` has a copy, cut in granules."""

    seg: int
    axes: int
    granule: int


@dataclass(eq=False, slots=True)
class Code:
    """`run(chunk)` moves all lanes of a chunk through the kernel.

    `arrays` bounds how many values are alive at once.
    """

    run: Callable[[Any], None]
    source: str
    variant: Variant
    axes: tuple[str, ...]
    segs: list[Seg]
    granules: list[int]
    replicas: list[Replica]
    places: list[Place]
    locs: list[ir.Loc]
    arrays: int


def generate(module: ir.Module, kernel: ir.Function, variant: Variant) -> Code:
    """Make the code of a variant."""
    with deep_recursion():
        return _generate(module, kernel, variant)


def _generate(module: ir.Module, kernel: ir.Function, variant: Variant) -> Code:
    graph = lower(module, kernel, variant)
    analysis = Analysis(graph, variant)
    planner = Planner(analysis)
    emitter = Emitter(planner, Schedule(planner), variant)
    source = emitter.source()
    exec(compile(source, f"<kernel {kernel.name}>", "exec"), emitter.pool)
    replicas = [Replica(s.index, s.axes, s.granule) for s in graph.segs if s.kind in ("local", "private")]
    return Code(
        emitter.pool["run"],
        source,
        variant,
        variant.axes,
        graph.segs,
        [s.granule for s in graph.segs],
        replicas,
        graph.places,
        emitter.locs,
        emitter.arrays,
    )
