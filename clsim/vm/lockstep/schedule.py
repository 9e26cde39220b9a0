"""Gives each floating node its block: outside of loops where it can be, else as late as it can be.

The classic algorithm: the earliest block is the deepest that an operand needs, the latest the deepest
around all uses; between the two, the latest block with the fewest loops around it is taken.
"""

from __future__ import annotations

from clsim.vm.lockstep.access import Planner
from clsim.vm.lockstep.graph import (
    AtomicItem,
    Block,
    If,
    Load,
    Loop,
    Node,
    PrintItem,
    Store,
    common_block,
)


class Schedule:
    """`node.home` and `node.uses` of every live node; `users` lists the floating users of each."""

    def __init__(self, planner: Planner) -> None:
        self.analysis = planner.analysis
        self.planner = planner
        self._sites: dict[Node, Block] = {}
        self.users: dict[Node, list[Node]] = {}
        self.live_phis: set[Node] = set()
        self._order: list[Node] = []
        self.height: dict[Node, int] = {}
        """How long the longest chain of floating operands is."""
        self._seen: set[Node] = set()
        self._pending: list[Node] = []
        self._count_uses()
        self._place()

    # ------------------------------------------------------------ uses

    def _count_uses(self) -> None:
        """Walk from what has effects to all that it needs, counting every use."""
        for block in self.analysis.blocks:
            for item in block.items:
                if not self.analysis.is_live(item):
                    continue
                if isinstance(item, Store):
                    for plan in self.planner.plans[item]:
                        self._use(plan.node, block)
                    self._use_recorded(item, block)
                    for node in item.values:
                        self._use(node, block)
                elif isinstance(item, AtomicItem):
                    self._use_atomic(item, block)
                elif isinstance(item, PrintItem):
                    for a in item.args:
                        for node in () if isinstance(a, str) else a:
                            self._use(node, block)
                elif isinstance(item, If):
                    self._use_test(item, block)
                elif isinstance(item, Loop):
                    if item.test is not None:
                        self._use(item.test, item.head)
                    if item.again is not None:
                        self._use(item.again, item.body)
        while self._pending:
            self._walk(self._pending.pop())

    def _use_test(self, item: If, block: Block) -> None:
        """The test of a branch, or the bounds of the lanes that take it."""
        if item.then.box is block.box:
            self._use(item.test, block)
            return
        for child in (item.then, item.other):
            if child.box is not block.box:
                assert child.box is not None
                self._use(child.box.low, block)
                self._use(child.box.high, block)

    def _use_atomic(self, item: AtomicItem, block: Block) -> None:
        for plan in self.planner.plans[item]:
            self._use(plan.node, block)
        self._use_recorded(item, block)
        for node in item.args:
            self._use(node, block)

    def _use_recorded(self, item: Load | Store | AtomicItem, block: Block) -> None:
        if self.analysis.variant.recording and is_recorded(item):
            self._use(self.planner.plans[item][0].node, block)

    def _use(self, node: Node, site: Block) -> None:
        node.uses += 1
        if node.pinned is None:
            known = self._sites.get(node)
            self._sites[node] = site if known is None else common_block(known, site)
        if node not in self._seen:
            self._seen.add(node)
            self._pending.append(node)

    def _walk(self, node: Node) -> None:
        """Count the uses that a pinned node makes; floating ones are put in order for `_place`."""
        owner = node.attr
        if node.op == "load":
            item = node.attr
            assert isinstance(item, Load)
            assert node.pinned is not None
            self._use(self.planner.plans[item][0].node, node.pinned)
            self._use_recorded(item, node.pinned)
        elif node.op == "phi":
            test, a, b = node.args
            self.live_phis.add(node)
            narrowed = owner.then.box is not owner.parent.box
            if not narrowed:
                self._use(test, owner.parent)
            self._use(a, owner.then)
            # A run of lanes with nothing to do in the others: their value is taken before the branch.
            alone = narrowed and owner.other.box is owner.parent.box
            self._use(b, owner.parent if alone else owner.other)
        elif node.op == "loop":
            self.live_phis.add(node)
            self._use(node.args[0], owner.parent)
            self._use(node.args[1], owner.body)
        elif node.op == "out":
            self.live_phis.add(node)
            self._use(node.args[0], owner.parent)
            self._use(node.args[1], owner.body)
            if len(node.args) > 2:
                self._use(node.args[2], owner.head)
        elif node.pinned is None:
            for a in node.args:
                self.users.setdefault(a, []).append(node)
                a.uses += 1
                if a not in self._seen:
                    self._seen.add(a)
                    self._pending.append(a)
            self._order.append(node)

    # ------------------------------------------------------------ places

    def _place(self) -> None:
        order = self._topological()
        for node in reversed(order):
            self.height[node] = 1 + max((self.height.get(a, 0) for a in node.args), default=0)
        for node in order:
            site = self._sites.get(node)
            assert site is not None, node
            node.home = self._best(site, node.early)
            for a in node.args:
                if a.pinned is None:
                    known = self._sites.get(a)
                    self._sites[a] = node.home if known is None else common_block(known, node.home)

    def _topological(self) -> list[Node]:
        """Floating nodes, users before operands."""
        order: list[Node] = []
        state: dict[Node, bool] = {}
        for start in self._order:
            stack = [(start, iter(start.args))] if start not in state else []
            state.setdefault(start, False)
            while stack:
                node, rest = stack[-1]
                for a in rest:
                    if a.pinned is None and a not in state:
                        state[a] = False
                        stack.append((a, iter(a.args)))
                        break
                else:
                    stack.pop()
                    order.append(node)
        order.reverse()
        return order

    @staticmethod
    def _best(site: Block, early: Block) -> Block:
        best = block = site
        while block is not early:
            assert block.parent is not None, "a value is used where it is not known"
            block = block.parent
            if block.loop_depth < best.loop_depth:
                best = block
        return best


def is_recorded(item: Load | Store | AtomicItem) -> bool:
    """Whether an access may lead to a kernel argument's memory; one component speaks for a vector."""
    if isinstance(item, Load) and item.component != item.place.reporter:
        return False
    return item.seg is None or item.seg.kind == "arg"
