"""What is live in a graph, and on which lane axes each value, mask and memory object varies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clsim.vm.lockstep.graph import (
    AtomicItem,
    BarrierItem,
    Block,
    Graph,
    If,
    Item,
    Load,
    Loop,
    Node,
    PrintItem,
    Seg,
    Store,
)

if TYPE_CHECKING:
    from clsim.vm.lockstep.variant import Variant

_INVARIANT = frozenset(("const", "param", "undef", "address"))


class Analysis:
    """`live` holds live nodes by number; `axes` names the lane axes, outermost first."""

    def __init__(self, graph: Graph, variant: Variant) -> None:
        self.graph = graph
        self.variant = variant
        axes = self.axes = variant.axes
        self.all_axes = (1 << len(axes)) - 1
        self.group_axes = sum(1 << k for k, name in enumerate(axes) if name[0] == "g")
        self.bit = {name: 1 << k for k, name in enumerate(axes)}
        self.live: set[Node] = set()
        self.accesses: list[tuple[Load | Store | AtomicItem, Block]] = []
        self.blocks: list[Block] = []
        self._waiting: list[Node] = []
        self._collect(graph.root)
        self._mark()
        self._settle_addressed()
        self._vary()
        graph.builder.analysed = True

    def local_size(self, axis: str) -> int:
        """How many lanes a local axis has."""
        return self.variant.local[int(axis[1:])]

    # ------------------------------------------------------------ what is live

    def _collect(self, block: Block) -> None:
        self.blocks.append(block)
        for item in block.items:
            if isinstance(item, (Load, Store, AtomicItem)):
                self.accesses.append((item, block))
            elif isinstance(item, If):
                self._collect(item.then)
                self._collect(item.other)
            elif isinstance(item, Loop):
                self._collect(item.head)
                self._collect(item.body)

    def _mark(self) -> None:
        for block in self.blocks:
            for item in block.items:
                if isinstance(item, (Store, AtomicItem, BarrierItem, PrintItem)):
                    self._need_control(block)
                    for node in operands_of(item):
                        self._need(node)
        while self._waiting:
            node = self._waiting.pop()
            if node.pinned is not None:
                self._need_control(node.pinned)
                if node.op in ("phi", "out"):
                    owner = node.attr
                    self._need_control(owner.then if isinstance(owner, If) else owner.head)
            for a in node.args:
                self._need(a)
        self._name_reporters()

    def _name_reporters(self) -> None:
        seen = set()
        for item, _ in self.accesses:
            if isinstance(item, Load) and item.node in self.live and item.place not in seen:
                seen.add(item.place)
                item.place.reporter = item.component

    def _need(self, node: Node) -> None:
        if node not in self.live:
            self.live.add(node)
            self._waiting.append(node)

    def _need_control(self, block: Block | None) -> None:
        while block is not None and block.owner is not None:
            owner = block.owner
            if not owner.live:
                owner.live = True
                self._need(owner.test) if owner.test is not None else None
                if isinstance(owner, Loop) and owner.again is not None:
                    self._need(owner.again)
            block = owner.parent

    def is_live(self, item: Item) -> bool:
        """Whether code must be made for an item."""
        if isinstance(item, Load):
            return item.node in self.live
        if isinstance(item, (If, Loop)):
            return item.live
        return True

    # ------------------------------------------------------------ what varies

    def _settle_addressed(self) -> None:
        """Objects whose address became a number may be written by any lane at any place."""
        self.addressed: set[Seg] = set()
        for node in self.live:
            if node.op == "address":
                self.addressed.add(self.graph.segs[node.attr])
        for seg in self.addressed:
            if seg.kind == "private":
                seg.axes = self.all_axes
            elif seg.kind == "local":
                seg.axes = self.group_axes

    def _vary(self) -> None:
        nodes = sorted(self.live, key=lambda n: n.number)
        accesses = [(i, b) for i, b in self.accesses if self.is_live(i)]
        changed = True
        while changed:
            changed = False
            for node in nodes:
                axes = self._axes_of(node)
                if axes != node.axes:
                    node.axes = axes
                    changed = True
            for block in self.blocks:
                axes = self._mask_axes(block)
                if axes != block.mask_axes:
                    block.mask_axes = axes
                    changed = True
            for item, block in accesses:
                if isinstance(item, Load) or item.seg is None:
                    continue
                axes = item.seg.axes | self._written_axes(item, block)
                if axes != item.seg.axes:
                    item.seg.axes = axes
                    changed = True

    def _axes_of(self, node: Node) -> int:
        op = node.op
        if op in _INVARIANT:
            return 0
        if op == "axis":
            return self.bit[node.attr]
        axes = 0
        if op == "load":
            seg = node.attr.seg
            return node.args[0].axes | (self._dynamic_axes() if seg is None else seg.axes)
        if op == "atomic":
            return self.all_axes
        if op == "phi":
            test, a, b = node.args
            if a.op == "undef" or b.op == "undef":
                return a.axes | b.axes
            return test.axes | a.axes | b.axes
        for a in node.args:
            axes |= a.axes
        if op == "out":
            leaving = self.leaving_axes(node.attr)
            # The mask of the lanes still in the loop chose it, which varies as the mask around the loop does.
            axes |= leaving and leaving | node.attr.parent.mask_axes
        return axes

    @staticmethod
    def leaving_axes(loop: Loop) -> int:
        """The axes on which lanes leave the loop at different passes."""
        test = 0 if loop.test is None else loop.test.axes
        return test | (0 if loop.again is None else loop.again.axes)

    def _mask_axes(self, block: Block) -> int:
        owner = block.owner
        if owner is None:
            return 0
        if isinstance(owner, If):
            return owner.parent.mask_axes | owner.test.axes
        return owner.parent.mask_axes | self.leaving_axes(owner)

    def _written_axes(self, item: Store | AtomicItem, block: Block) -> int:
        assert item.seg is not None
        if item.seg.kind not in ("local", "private"):
            return 0
        axes = item.off.axes | block.mask_axes
        for v in item.values if isinstance(item, Store) else item.args:
            axes |= v.axes
        if isinstance(item, AtomicItem):
            axes |= self.all_axes
        return axes if item.seg.kind == "private" else axes & self.group_axes

    def _dynamic_axes(self) -> int:
        axes = 0
        for seg in self.addressed:
            axes |= seg.axes
        return axes


def operands_of(item: Item) -> tuple[Node, ...]:
    """The nodes that an item with effects uses."""
    if isinstance(item, Store):
        return (item.off, *item.values)
    if isinstance(item, AtomicItem):
        return item.off, *item.args
    if isinstance(item, PrintItem):
        return tuple(n for a in item.args if not isinstance(a, str) for n in a)
    return ()
