"""Writes a kernel's Python function: blocks, branches, loops, and the lines at its start.

A branch or loop whose condition is uniform becomes Python's own. Where lanes differ, a branch runs under a
mask and its values are merged; a loop goes on while any lane does.
"""

from __future__ import annotations

from typing import Any

from clsim.clc import ir
from clsim.vm.lockstep.access import Plan, Planner
from clsim.vm.lockstep.emit_core import Lines
from clsim.vm.lockstep.emit_expr import GLOBALS
from clsim.vm.lockstep.emit_memory import MemoryEmitter
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

_GUARD_ABOVE = 3
"""A divergent branch with more items than this is skipped where no lane takes it."""


class Emitter(MemoryEmitter):
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
                    self._narrowed_if(item, block)
                elif item.test.axes:
                    self._divergent_if(item, block)
                else:
                    self._uniform_if(item, block)
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

    def mask(self, block: Block) -> str:
        lines = self.lines[block]
        if lines.mask is None:
            owner, parent = block.owner, block.parent
            if owner is None or parent is None:
                lines.mask = "None"
            elif block.box is not parent.box:
                outer = self.mask(parent)
                whole = outer == "None"
                lines.mask = outer if whole else self.cut_from(outer, outer, -1, parent.box, block)
            elif isinstance(owner, If) and owner.test.axes:
                outer = self.mask(parent)
                test = self.peek(owner.test, parent)
                if block.role == "other":
                    test = f"negate({test})"
                lines.mask = self.fresh("m")
                text = test if outer == "None" else f"both({outer}, {test})"
                self.write(parent, f"{lines.mask} = {text}")
            else:
                lines.mask = self.mask(parent)
        return lines.mask

    def _child(self, block: Block, parent: Block, flat: bool = False) -> Lines:
        around = self.lines[parent]
        lines = Lines(around.indent, around.text) if flat else Lines(around.indent + 1)
        self.lines[block] = lines
        self.inside.append(block)
        return lines

    def _assign(self, block: Block, name: str, node: Node, target: Node) -> None:
        self.open(block)
        self.close(f"{name} = {self.settled(node, target)}")

    def drop(self, node: Node, block: Block) -> None:
        """Let go of what `hold` kept."""
        self.open(block)
        self._contexts[-1][1].append(node)
        self.close()

    # ------------------------------------------------------------ branches

    def _live_phis(self, item: If) -> list[Node]:
        return [p for p in item.phis if p in self.schedule.live_phis]

    def _uniform_if(self, item: If, block: Block) -> None:
        self.open(block)
        test = self.use(item.test)
        phis = self._live_phis(item)
        names = {p: self.take(block) for p in phis}
        texts: list[list[str]] = []
        spare: list[str] = []
        for child, which in ((item.then, 1), (item.other, 2)):
            lines = self._child(child, block)
            lines.pool.extend(spare)
            before = {seg: list(nodes) for seg, nodes in self.outstanding.items()}
            self.items(child)
            for p in phis:
                self._assign(child, names[p], p.args[which], p)
            if which == 1:
                after = self.outstanding
                self.outstanding = before
            else:
                for seg, nodes in after.items():
                    known = self.outstanding.setdefault(seg, [])
                    known.extend(n for n in nodes if n not in known)
            texts.append(lines.text)
            # Not to the block around yet: what is lifted out now would stand before both branches.
            spare, lines.pool = lines.pool, []
            self.finish(child, block)
        out = self.lines[block].text
        pad = "  " * self.lines[block].indent
        if texts[0]:
            out.append(f"{pad}if {test}:")
            out.extend(texts[0])
            if texts[1]:
                out.append(f"{pad}else:")
                out.extend(texts[1])
        elif texts[1]:
            out.append(f"{pad}if not {test}:")
            out.extend(texts[1])
        self.lines[block].pool.extend(spare)
        self.close()
        self.names.update(names)
        for p in phis:
            self._forget_use(p.args[0], block)

    def _forget_use(self, node: Node, block: Block) -> None:
        """A use that was counted but needed no text."""
        if node.op not in ("const", "undef"):
            self.drop(node, block)

    def _divergent_if(self, item: If, block: Block) -> None:
        self.open(block)
        self.hold(item.test)
        self.close()
        test = self.peek(item.test, block)
        phis = self._live_phis(item)
        results = {p: self.take(block) for p in phis}
        halves: list[dict[Node, str]] = []
        for child, which in ((item.then, 1), (item.other, 2)):
            guarded = self._weight(child) > _GUARD_ABOVE
            halves.append(self._divergent_half(item, block, child, which, phis, guarded, test))
        for p in phis:
            a, b = halves[0][p], halves[1][p]
            if p.args[1].op == "undef" or p.args[2].op == "undef":
                text, node = (b, p.args[2]) if p.args[1].op == "undef" else (a, p.args[1])
                text += ".copy()" if self.is_view(node) else ""
            else:
                text = f"where({test}, {a}, {b})"
            self.write(block, f"{results[p]} = {text}")
            self._forget_use(p.args[0], block)
        for p in phis:
            self._forget_use(p.args[1], block)
            self._forget_use(p.args[2], block)
        self.names.update(results)
        self.drop(item.test, block)

    def _narrowed_if(self, item: If, block: Block) -> None:
        """A branch that a run of local ids takes: it runs on that part of every array."""
        phis = self._live_phis(item)
        names = {p: self.take(block) for p in phis}
        sides = [(item.then, 1)]
        if item.other.box is not block.box:
            sides.append((item.other, 2))
        for p in phis:
            self.open(block)
            value = "None" if len(sides) > 1 or p.args[2].op == "undef" else self.typed(p.args[2])
            self.close(f"{names[p]} = C.spread({value}, {p.axes}, {self.dtype(p.code)})")
        for child, which in sides:
            self._narrowed_side(item, block, child, which, names)
        self.names.update(names)

    def _narrowed_side(
        self, item: If, block: Block, child: Block, which: int, names: dict[Node, str]
    ) -> None:
        box = child.box
        assert box is not None
        self.open(block)
        low, high = self.hold(box.low), self.hold(box.high)
        self.close()
        lines = self._child(child, block)
        self.write(child, f"C.narrow({box.axis}, {low}, {high})")
        self.items(child)
        outer = block.box.ranges().get(box.axis) if block.box is not None else None
        shift = "" if outer is None else f" - {self.peek(outer[0], block)}"
        for p, name in names.items():
            self.open(child)
            part = f"cut({name}, (({box.axis}, {low}{shift}, {high}{shift}),))"
            self.close(f"{part}[...] = {self.typed(p.args[which])}")
        self.write(child, "C.widen()")
        out = self.lines[block].text
        out.append(f"{'  ' * self.lines[block].indent}if {low} < {high}:")
        out.extend(lines.text)
        self.finish(child, block)
        for node in (box.low, box.high):
            self._forget_use(node, block)

    def _divergent_half(
        self, item: If, block: Block, child: Block, which: int, phis: list[Node], guarded: bool, test: str
    ) -> dict[Node, str]:
        """Write one side; gives the text of each joined value on that side."""
        lines = self._child(child, block, flat=not guarded)
        self.items(child)
        texts: dict[Node, str] = {}
        for p in phis:
            node = p.args[which]
            if guarded and node.op not in ("const", "undef") and not self._known_outside(node, child, block):
                name = texts[p] = self.fresh("q")
                zero = self.typed(self.b.zero(p.code))
                self.write(block, f"{name} = {zero}")
                self._borrow(child, name, node)
            else:
                texts[p] = self._borrowed(child if not guarded else block, node)
        if guarded and lines.text:
            pad = "  " * self.lines[block].indent
            condition = f"some({test})" if which == 1 else f"not_all({test})"
            self.lines[block].text.append(f"{pad}if {condition}:")
            self.lines[block].text.extend(lines.text)
        self.finish(child, block)
        return texts

    def _known_outside(self, node: Node, child: Block, block: Block) -> bool:
        home = node.pinned if node.pinned is not None else node.home
        if node.op == "out":
            home = node.attr.parent
        return home is not None and block.is_within(home)

    def _borrow(self, child: Block, name: str, node: Node) -> None:
        """Give a value a second name without counting the use, which is counted at the join."""
        text = self._borrowed(child, node)
        self.write(child, f"{name} = {text}")

    def _borrowed(self, block: Block, node: Node) -> str:
        """The text of a value whose use is released later."""
        if node.op in ("const", "undef"):
            return self.typed(node if node.op == "const" else self.b.zero(node.code))
        name = self.peek(node, block)
        if node.axes or node.code[0] in "f?":
            return name
        return f"{self.scalar_type(node.code)}({name})"

    def _weight(self, block: Block) -> int:
        total = 0
        for item in block.items:
            if self.analysis.is_live(item):
                total += _GUARD_ABOVE + 1 if isinstance(item, (If, Loop, AtomicItem)) else 1
        return total

    # ------------------------------------------------------------ loops

    def _begin_loop(self, loop: Loop, block: Block) -> tuple[list[Node], list[Node]]:
        """Variables for what the loop carries, set to their first values."""
        self._settle_before(loop, block)
        phis = [p for p in loop.phis if p in self.schedule.live_phis]
        outs = [p for p in loop.outs if p in self.schedule.live_phis]
        names = {}
        for p in (*phis, *outs):
            names[p] = self.fresh("v" if p.op == "out" else "p")
            self._assign(block, names[p], p.args[0], p)
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
        head = self._child(loop.head, block)
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
        self._child(loop.body, loop.head, flat=True)
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
                    value = self.typed(o.args[2])
                    leaving = f"both({alive}, negate({inside}))"
                    name = self.names[o]
                    self.write(loop.head, f"{name} = where({leaving}, {value}, {name})")
            self.close(f"if not some({inside}): break")
        self._child(loop.body, loop.head, flat=True).mask = inside
        self.items(loop.body)
        self._next_pass(loop, phis, outs, alive, inside)
        self._end_loop(loop, block, head, alive, phis)

    def _next_pass(self, loop: Loop, phis: list[Node], outs: list[Node], alive: str, inside: str) -> None:
        self.open(loop.body)
        targets, values = [], []
        for o in outs:
            name = self.names[o]
            targets.append(name)
            values.append(f"where({inside}, {self.typed(o.args[1])}, {name})")
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
