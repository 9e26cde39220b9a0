"""Writes branches: Python's own where the test is uniform, masks or parts of arrays where lanes differ."""

from __future__ import annotations

from clsim.vm.lockstep.emit_core import Lines
from clsim.vm.lockstep.emit_memory import MemoryEmitter
from clsim.vm.lockstep.graph import AtomicItem, Block, If, Loop, Node

_GUARD_ABOVE = 3
"""A divergent branch with more items than this is skipped where no lane takes it."""

_DEEPEST_INDENT = 64


class BranchEmitter(MemoryEmitter):
    def items(self, block: Block) -> None:
        """Write all items of a block."""
        raise NotImplementedError

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

    def child(self, block: Block, parent: Block, flat: bool = False) -> Lines:
        around = self.lines[parent]
        lines = Lines(around.indent, around.text) if flat else Lines(around.indent + 1)
        self.lines[block] = lines
        self.inside.append(block)
        return lines

    def assign(self, block: Block, name: str, node: Node, target: Node) -> None:
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

    def uniform_if(self, item: If, block: Block) -> None:
        self.open(block)
        test = self.use(item.test)
        phis = self._live_phis(item)
        names = {p: self.take(block) for p in phis}
        texts: list[list[str]] = []
        spare: list[str] = []
        for child, which in ((item.then, 1), (item.other, 2)):
            lines = self.child(child, block)
            lines.pool.extend(spare)
            before = {seg: list(nodes) for seg, nodes in self.outstanding.items()}
            self.items(child)
            for p in phis:
                self.assign(child, names[p], p.args[which], p)
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

    def divergent_if(self, item: If, block: Block) -> None:
        self.open(block)
        self.hold(item.test)
        self.close()
        test = self.peek(item.test, block)
        phis = self._live_phis(item)
        results = {p: self.take(block) for p in phis}
        halves: list[dict[Node, str]] = []
        for child, which in ((item.then, 1), (item.other, 2)):
            heavy = self._weight(child) > _GUARD_ABOVE
            guarded = heavy and self.lines[block].indent < _DEEPEST_INDENT
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

    def narrowed_if(self, item: If, block: Block) -> None:
        """A branch that a run of local ids takes: it runs on that part of every array."""
        phis = self._live_phis(item)
        names = {p: self.take(block) for p in phis}
        sides = [(item.then, 1)]
        if item.other.box is not block.box:
            sides.append((item.other, 2))
        for p in phis:
            self.open(block)
            if not p.axes:
                self.close(f"{names[p]} = {self.literal(self.b.zero(p.code))}")
                continue
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
        lines = self.child(child, block)
        self.write(child, f"C.narrow({box.axis}, {low}, {high})")
        self.items(child)
        outer = block.box.ranges().get(box.axis) if block.box is not None else None
        shift = "" if outer is None else f" - {self.peek(outer[0], block)}"
        for p, name in names.items():
            self.open(child)
            if not p.axes:
                if p.args[which].op != "undef":
                    self.close(f"{name} = {self.use(p.args[which])}")
                else:
                    self.close()
                continue
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
        lines = self.child(child, block, flat=not guarded)
        self.items(child)
        texts: dict[Node, str] = {}
        for p in phis:
            node = p.args[which]
            if guarded and node.op not in ("const", "undef") and not self._known_outside(node, child, block):
                name = texts[p] = self.fresh("q")
                self.write(block, f"{name} = {self._borrowed(block, self.b.zero(p.code), p)}")
                self.write(child, f"{name} = {self._borrowed(child, node, p)}")
            else:
                texts[p] = self._borrowed(child if not guarded else block, node, p)
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

    def _borrowed(self, block: Block, node: Node, target: Node) -> str:
        """The text of a value for a join, where its use is counted later."""
        if node.op == "undef":
            node = self.b.zero(node.code)
        if not target.axes:  # the other side is undefined, so all lanes may have the value
            return self.peek(node, block)
        if node.axes or node.code[0] in "f?":
            return self.peek(node, block)
        if node.op == "const":
            return self.lane_constant(node)
        return f"{self.scalar_type(node.code)}({self.peek(node, block)}).reshape({self.shape(0)})"

    def _weight(self, block: Block) -> int:
        total = 0
        for item in block.items:
            if self.analysis.is_live(item):
                total += _GUARD_ABOVE + 1 if isinstance(item, (If, Loop, AtomicItem)) else 1
        return total
