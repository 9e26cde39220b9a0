"""Writes a kernel's Python function: blocks, branches, loops, and the lines at its start.

A branch or loop whose condition is uniform becomes Python's own. Where lanes differ, a branch runs under a
mask and its values are merged; a loop goes on while any lane does.
"""

from __future__ import annotations

from typing import Any

from clsim.clc import ir
from clsim.vm.lockstep.access import Plan, Planner
from clsim.vm.lockstep.emit_branches import BranchEmitter
from clsim.vm.lockstep.emit_core import Lines
from clsim.vm.lockstep.emit_expr import GLOBALS
from clsim.vm.lockstep.graph import (
    AtomicItem,
    BarrierItem,
    Block,
    If,
    Load,
    Loop,
    Node,
    PrintItem,
    Store,
)
from clsim.vm.lockstep.schedule import Schedule, is_recorded
from clsim.vm.lockstep.variant import Variant


class Emitter(BranchEmitter):
    def __init__(self, planner: Planner, schedule: Schedule, variant: Variant) -> None:
        super().__init__(planner, schedule, variant)
        self.pool.update(GLOBALS)
        self.place_numbers = {place: k for k, place in enumerate(self.graph.places)}
        self.locs: list[ir.Loc] = []

    def source(self) -> str:
        """The text of the function `run(C)`."""
        root = self.graph.root
        self.lines[root] = Lines(1)
        self.items(root)
        head = [f"  {name} = {how}" for name, how in self.needs.items()]
        return "\n".join(["def run(C):", *head, *self.lines[root].text, "  return None"])

    def loc(self, loc: Any) -> int:
        self.locs.append(loc)
        return len(self.locs) - 1

    # ------------------------------------------------------------ blocks

    def items(self, block: Block) -> None:
        for item in block.items:
            if not self.analysis.is_live(item):
                continue
            if isinstance(item, Load):
                if item.node.uses:
                    self.do_load(item, block)
            elif isinstance(item, Store):
                self.do_store(item, block)
            elif isinstance(item, If):
                if item.then.box is not block.box:
                    self.narrowed_if(item, block)
                elif item.test.axes:
                    self.divergent_if(item, block)
                else:
                    self.uniform_if(item, block)
            elif isinstance(item, Loop):
                if self.analysis.leaving_axes(item):
                    self._divergent_loop(item, block)
                else:
                    self._uniform_loop(item, block)
            elif isinstance(item, AtomicItem):
                self.do_atomic(item, block)
            elif isinstance(item, BarrierItem):
                self.do_barrier(item, block)
            elif isinstance(item, PrintItem):
                self.do_print(item, block)

    # ------------------------------------------------------------ loops

    def _begin_loop(self, loop: Loop, block: Block) -> tuple[list[Node], list[Node]]:
        """Variables for what the loop carries, set to their first values."""
        self._settle_before(loop, block)
        phis = [p for p in loop.phis if p in self.schedule.live_phis]
        outs = [p for p in loop.outs if p in self.schedule.live_phis]
        names = {}
        for p in (*phis, *outs):
            names[p] = self.fresh("v" if p.op == "out" else "p")
            self.assign(block, names[p], p.args[0], p)
        self.arrays += len(names)
        self.names.update(names)
        return phis, outs

    def _settle_before(self, loop: Loop, block: Block) -> None:
        """Copy views of memory that the loop writes and that are used in it or later."""
        written: set[Any] = set()
        for inner in (loop.head, loop.body):
            self._written_in(inner, written)
        for seg in written:
            self._before_write(seg, block)

    def _written_in(self, block: Block, found: set[Any]) -> None:
        for item in block.items:
            if not self.analysis.is_live(item):
                continue
            if isinstance(item, (Store, AtomicItem)):
                found.add(item.seg)
            elif isinstance(item, If):
                self._written_in(item.then, found)
                self._written_in(item.other, found)
            elif isinstance(item, Loop):
                self._written_in(item.head, found)
                self._written_in(item.body, found)

    def _loop_head(self, loop: Loop, block: Block, mask: str | None) -> Lines:
        head = self.child(loop.head, block)
        head.mask = mask
        return head

    def _uniform_loop(self, loop: Loop, block: Block) -> None:
        phis, outs = self._begin_loop(loop, block)
        head = self._loop_head(loop, block, None)
        self.items(loop.head)
        if loop.test is not None and not (loop.test.op == "const" and loop.test.attr):
            self.open(loop.head)
            leaving = [f"{self.names[o]} = {self.settled(o.args[2], o)}; " for o in outs if len(o.args) > 2]
            self.close(f"if not {self.use(loop.test)}: {''.join(leaving)}break")
        self.child(loop.body, loop.head, flat=True)
        self.items(loop.body)
        self.open(loop.body)
        targets, values = [], []
        for p in (*phis, *outs):
            targets.append(self.names[p])
            values.append(self.settled(p.args[1], p))
        again = loop.again
        condition = None
        if again is not None and not (again.op == "const" and again.attr):
            condition = self.name(again) if again.op != "const" else self.literal(again)
        if targets:
            self.write(loop.body, f"{', '.join(targets)} = {', '.join(values)}")
        self.close(None if condition is None else f"if not {condition}: break")
        self._end_loop(loop, block, head, "None" if loop.head.mask_axes == 0 else self.mask(block), phis)

    def _end_loop(self, loop: Loop, block: Block, head: Lines, mask: str, phis: list[Node]) -> None:
        out = self.lines[block].text
        pad = "  " * self.lines[block].indent
        out.append(f"{pad}for _ in range(C.loop_limit):")
        out.extend(head.text or [pad + "  pass"])
        out.append(f"{pad}else: C.limit_hit({self.loc(loop.loc)}, {mask})")
        self.finish(loop.body, loop.head)
        self.finish(loop.head, block, loop)
        for seg, nodes in self.outstanding.items():
            self.outstanding[seg] = [n for n in nodes if self.left.get(n, n.uses) > 0]

    def _divergent_loop(self, loop: Loop, block: Block) -> None:
        outer = self.mask(block)
        phis, outs = self._begin_loop(loop, block)
        alive, inside = self.fresh("m"), self.fresh("m")
        self.write(block, f"{alive} = {'True' if outer == 'None' else outer}")
        head = self._loop_head(loop, block, alive)
        self.items(loop.head)
        self.open(loop.head)
        if loop.test is None or (loop.test.op == "const" and loop.test.attr):
            self.close(f"{inside} = {alive}")
        else:
            test = self.name(loop.test)
            self.write(loop.head, f"{inside} = both({alive}, {test})")
            for o in outs:
                if len(o.args) > 2:
                    value = self.lane(o.args[2])
                    leaving = f"both({alive}, negate({inside}))"
                    name = self.names[o]
                    self.write(loop.head, f"{name} = where({leaving}, {value}, {name})")
            self.close(f"if not some({inside}): break")
        self.child(loop.body, loop.head, flat=True).mask = inside
        self.items(loop.body)
        self._next_pass(loop, phis, outs, alive, inside)
        self._end_loop(loop, block, head, alive, phis)

    def _next_pass(self, loop: Loop, phis: list[Node], outs: list[Node], alive: str, inside: str) -> None:
        self.open(loop.body)
        targets, values = [], []
        for o in outs:
            name = self.names[o]
            targets.append(name)
            values.append(f"where({inside}, {self.lane(o.args[1])}, {name})")
        for p in phis:
            targets.append(self.names[p])
            values.append(self.settled(p.args[1], p))
        again = loop.again
        assert again is not None
        if again.op == "const":
            stop = f"{alive} = {inside}" if again.attr else "break"
        else:
            stop = f"{alive} = both({inside}, {self.name(again)})"
        if targets:
            self.write(loop.body, f"{', '.join(targets)} = {', '.join(values)}")
        self.close(stop)
        if again.op != "const":
            self.write(loop.body, f"if not some({alive}): break")

    def record(self, item: Load | Store | AtomicItem, plan: Plan, block: Block) -> None:
        """A line that tells the recorder what an access to an argument touched."""
        if not is_recorded(item):
            return
        self.open(block)
        where = f"{self.use(plan.node)}, {self.place(item.place)}, {self.mask(block)}"
        if item.seg is None:
            self.close(f"C.record_address({where})")
            return
        form = {"scalar": "bytes", "gather": "elements"}.get(plan.kind, plan.kind)
        self.close(f"C.record_{form}({item.seg.index}, {where})")
