"""Finds branches that a run of local ids takes, such as `if (lid < s)`.

They need no mask: they run on a part of each array. Nothing out of bounds is computed for the other lanes,
and a reduction does half the work at each step.
"""

from __future__ import annotations

from clsim.vm.lockstep.analyse import Analysis
from clsim.vm.lockstep.graph import Block, Box, If, Loop, Node
from clsim.vm.lockstep.linear import Linears

_CODES = ("i4", "u4", "i8", "u8", "x")


class Boxes:
    """Sets `box` of the blocks of a graph."""

    def __init__(self, analysis: Analysis, linears: Linears) -> None:
        self.analysis = analysis
        self.linears = linears
        self.b = analysis.graph.builder

    def find(self, block: Block) -> None:
        for item in block.items:
            if isinstance(item, If):
                item.then.box = item.other.box = block.box
                self._narrow(item, block)
                self.find(item.then)
                self.find(item.other)
            elif isinstance(item, Loop):
                item.head.box = item.body.box = block.box
                self.find(item.head)
                self.find(item.body)

    def _narrow(self, item: If, block: Block) -> None:
        found = self._range(item.test)
        if found is None:
            return
        axis, low, high, rest = found
        if rest is None and self._has_content(item, item.other, 2):
            return
        outer = block.box.ranges().get(axis) if block.box is not None else None
        item.then.box = self._box(block.box, axis, low, high, outer)
        if rest is not None and self._has_content(item, item.other, 2):
            item.other.box = self._box(block.box, axis, *rest, outer)

    def _box(
        self, around: Box | None, axis: int, low: Node, high: Node, outer: tuple[Node, Node] | None
    ) -> Box:
        size = self.analysis.local_size(self.analysis.axes[axis])
        least, most = outer if outer is not None else (self.b.x(0), self.b.x(size))
        start = self._extreme("min", self._extreme("max", low, least), most)
        end = self._extreme("max", self._extreme("min", high, most), start)
        for node in (start, end):
            if node.op != "const":
                node.lo = 0 if node.lo is None else max(0, node.lo)
                node.hi = size if node.hi is None else min(size, node.hi)
        return Box(around, axis, start, end)

    def _extreme(self, name: str, a: Node, b: Node) -> Node:
        pick = min if name == "min" else max
        if a.op == "const" and b.op == "const":
            return self.b.x(pick(a.attr, b.attr))
        (al, ah), (bl, bh) = self.b.bounds(a), self.b.bounds(b)
        if a is b or (ah <= bl if name == "min" else al >= bh):
            return a
        if bh <= al if name == "min" else bl >= ah:
            return b
        node = self.b.make("call", "x", (a, b), name)
        node.lo, node.hi = pick(al, bl), pick(ah, bh)
        return node

    def _has_content(self, item: If, block: Block, which: int) -> bool:
        """Whether a branch does anything, or gives a value that is not known before it."""
        if any(self.analysis.is_live(i) for i in block.items):
            return True
        live = self.analysis.live
        return any(p in live and not item.parent.is_within(p.args[which].early) for p in item.phis)

    def _range(self, test: Node) -> tuple[int, Node, Node, tuple[Node, Node] | None] | None:
        """Axis, least and greatest + 1 local id that pass, and the range of the others if it is one."""
        if test.op not in ("lt", "le", "eq") or test.args[0].code not in _CODES:
            return None
        if test.axes & self.analysis.group_axes or test.axes & (test.axes - 1) or not test.axes:
            return None
        a, b = (self.linears.of(n) for n in test.args)
        if a.rest or b.rest or not self.linears.is_signed_comparison(test):
            return None
        form = self.linears.difference(a, b)
        if len(form.coefs) != 1:
            return None
        (name, coef), base = next(iter(form.coefs.items())), form.base
        if coef.op != "const" or (test.op == "eq" and abs(coef.attr) != 1):
            return None
        axis = self.analysis.axes.index(name)
        size = self.b.x(self.analysis.local_size(name))
        zero, one, c = self.b.x(0), self.b.x(1), coef.attr
        if test.op == "eq":
            at = base if c < 0 else self._negated(base)
            return axis, at, self.b.xadd(at, one), None
        if test.op == "le":
            base = self.b.xadd(base, self.b.x(-1))
        # Now the test is: c * id + base < 0.
        if c > 0:
            edge = self._floor_divided(self.b.xadd(self._negated(base), self.b.x(c - 1)), c)
            return axis, zero, edge, (edge, size)
        edge = self.b.xadd(self._floor_divided(base, -c), one)
        return axis, edge, size, (zero, edge)

    def _negated(self, node: Node) -> Node:
        return self.b.arith("sub", "x", self.b.x(0), node)

    def _floor_divided(self, node: Node, divisor: int) -> Node:
        if divisor == 1:
            return node
        if node.op == "const":
            return self.b.x(node.attr // divisor)
        result = self.b.make("exactdiv", "x", (node, self.b.x(divisor)))
        low, high = self.b.bounds(node)
        result.lo, result.hi = low // divisor, high // divisor
        return result
