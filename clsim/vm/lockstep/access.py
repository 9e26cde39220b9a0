"""Decides how each access to memory is done: one element, a strided view, a gather, or by address."""

from __future__ import annotations

from dataclasses import dataclass

from clsim.vm.dtypes import SIZES
from clsim.vm.lockstep.analyse import Analysis
from clsim.vm.lockstep.boxes import Boxes
from clsim.vm.lockstep.graph import AtomicItem, Block, Load, Node, Seg, Store
from clsim.vm.lockstep.linear import Linear, Linears, form_multiple, multiple


@dataclass(frozen=True, slots=True)
class Plan:
    """How one component is reached.

    `kind`: 'scalar' (node: the byte offset, uniform), 'view' (node: the view), 'gather' (node: element
    indices), 'bytes' (node: byte offsets, nothing known of them), 'address' (node: 64-bit addresses).
    `axes` are those that the place varies on.
    """

    kind: str
    node: Node
    axes: int


@dataclass(frozen=True, slots=True)
class ViewSpec:
    """What identifies a strided view, besides its uniform operands: the offset, then its span.

    `is_safe`: it lies inside its object whatever the launch.
    """

    seg: int
    code: str
    component: int
    axes: int
    is_safe: bool
    is_whole: bool
    """All offsets are multiples of the granule, which is the element's size."""
    align: int
    """What the base must be a multiple of, where that is to be seen in each chunk; else 1."""


@dataclass(frozen=True, slots=True)
class SpanSpec:
    """Bounds and strides of views that differ in their start only. Operands are the coefficients.

    `writes` sets apart those whose bounds are empty where the argument may not be written.
    """

    seg: int
    size: int
    axes: tuple[str, ...]
    writes: bool
    cut: tuple[int, ...]
    """Axes along which only a part of the lanes is meant; its bounds follow the coefficients, in pairs."""


class Planner:
    """Plans all live accesses of a graph. `plans` holds, by access, one plan a component."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self.graph = analysis.graph
        self.b = analysis.graph.builder
        self.linears = Linears(self.b, analysis.bit)
        self.plans: dict[Load | Store | AtomicItem, tuple[Plan, ...]] = {}
        self._set_granules()
        self._find_inductions()
        Boxes(analysis, self.linears).find(self.graph.root)
        for item, block in analysis.accesses:
            if analysis.is_live(item):
                self.plans[item] = self._plan(item, block)
        self._decide_comparisons()

    def _set_granules(self) -> None:
        """The unit in which a replicated object is laid out: its largest access."""
        accesses = [i for i, _ in self.analysis.accesses if self.analysis.is_live(i)]
        loose = [SIZES[i.place.code] for i in accesses if i.seg is None]
        for seg in self.graph.segs:
            if seg.kind in ("local", "private"):
                sizes = [SIZES[i.place.code] for i in accesses if i.seg is seg]
                if seg in self.analysis.addressed:
                    sizes += loose
                seg.granule = max(sizes, default=1)

    def _find_inductions(self) -> None:
        """Loop values that grow by a uniform amount a pass keep their linear form, with a moving base."""
        for node in sorted(self.analysis.live, key=lambda n: n.number):
            if node.op != "loop" or not node.axes or node.code not in ("i4", "i8", "u8", "x"):
                continue
            probe = Linears(self.b, self.analysis.bit)
            probe.inductions = dict(self.linears.inductions)
            first, following = node.args
            step = probe.of(following)
            if step.coefs or step.rest != ((node, 1),):
                continue
            start = self.linears.of(first)
            if any(n is node for n, _ in start.rest):
                continue
            loop = node.attr
            base = self.b.pin(loop.head, "loop", "x", (start.base, start.base), loop)
            base.args = (start.base, self.b.xadd(base, step.base))
            loop.phis.append(base)
            self.linears.inductions[node] = Linear(base, start.coefs, start.rest)

    # ------------------------------------------------------------ accesses

    def _plan(self, item: Load | Store | AtomicItem, block: Block) -> tuple[Plan, ...]:
        seg, off = item.seg, item.off
        if isinstance(item, Load):
            components = [item.component]
        else:
            components = list(range(len(item.values))) if isinstance(item, Store) else [0]
        if seg is None:
            return (Plan("address", off, off.axes),) * len(components)
        axes = off.axes | seg.axes
        if isinstance(item, AtomicItem):
            return (Plan("bytes", off, axes),)
        if axes == 0:
            return (Plan("scalar", self.b.convert(off, "x"), 0),) * len(components)
        form = self.linears.of(off)
        size = SIZES[item.place.code]
        # Bytes by bytes where the address may not be aligned: only that path tells of it.
        if (
            form_multiple(form) % size
            or item.place.align % size
            or (seg.granule % size and seg.kind != "arg")
        ):
            return (Plan("bytes", off, axes),) * len(components)
        loose = form_multiple(form) % item.place.align != 0
        if loose and (form.rest or any(multiple(c) % item.place.align for c in form.coefs.values())):
            return (Plan("bytes", off, axes),) * len(components)
        if not form.rest:
            span = self._span(seg, form, item, axes, block)
            if span is not None:
                return tuple(self._view(seg, form, item, k, span) for k in components)
        if loose or (seg.kind in ("local", "private") and seg.granule != size):
            return (Plan("bytes", off, axes),) * len(components)
        index = self.linears.array(form, size)
        return tuple(Plan("gather", self.b.xadd(index, self.b.x(k)), axes) for k in components)

    def _span(self, seg: Seg, form: Linear, item: Load | Store, axes: int, block: Block) -> Node | None:
        grain = seg.granule if seg.kind in ("local", "private") else 1
        if any(multiple(c) % grain for c in form.coefs.values()):
            return None
        names = tuple(sorted(form.coefs))
        coefs = tuple(form.coefs[name] for name in names)
        writes = item.place.write and seg.kind in ("arg", "const")
        ranges = block.box.ranges() if block.box is not None else {}
        cut = tuple(sorted(k for k in ranges if axes >> k & 1))
        bounds = tuple(node for k in cut for node in ranges[k])
        spec = SpanSpec(seg.index, item.place.size, names, writes, cut)
        return self.b.make("span", "t", coefs + bounds, spec)

    def _view(self, seg: Seg, form: Linear, item: Load | Store, component: int, span: Node) -> Plan:
        size = SIZES[item.place.code]
        axes = seg.axes
        for name in form.coefs:
            axes |= self.analysis.bit[name]
        whole = seg.granule == size and form_multiple(form) % size == 0
        align = item.place.align if form_multiple(form) % item.place.align else 1
        safe = align == 1 and self._is_safe(seg, form, item, span)
        spec = ViewSpec(seg.index, item.place.code, component, axes, safe, whole, align)
        node = self.b.make("view", item.place.code, (form.base, span), spec)
        node.axes = axes
        return Plan("view", node, axes)

    def _is_safe(self, seg: Seg, form: Linear, item: Load | Store, span: Node) -> bool:
        """Whether bounds known now keep the access inside its object."""
        if seg.size is None or (seg.kind == "const" and item.place.write):
            return False
        low, high = self.b.bounds(form.base)
        cut = span.attr.cut
        ends = span.args[len(form.coefs) :]
        for name, c in form.coefs.items():
            if name[0] != "l" or c.op != "const":
                return False
            first, last = 0, self.analysis.local_size(name) - 1
            k = self.analysis.axes.index(name)
            if k in cut:
                start, end = ends[2 * cut.index(k) : 2 * cut.index(k) + 2]
                first = max(first, self.b.bounds(start)[0])
                last = min(last, self.b.bounds(end)[1] - 1)
            low += min(c.attr * first, c.attr * last)
            high += max(c.attr * first, c.attr * last)
        return low >= 0 and high + item.place.size <= seg.size

    # ------------------------------------------------------------ comparisons

    def _decide_comparisons(self) -> None:
        """Comparisons of lane places with a uniform bound: most chunks decide them as a whole."""
        for node in list(self.analysis.live):
            if node.op not in ("lt", "le") or not node.axes & self.analysis.group_axes:
                continue
            if node.args[0].code not in ("i4", "u4", "i8", "u8", "x"):
                continue
            a, b = (self.linears.of(n) for n in node.args)
            if a.rest or b.rest or not (a.coefs or b.coefs):
                continue
            if not self.linears.is_signed_comparison(node):
                continue
            difference = self.linears.difference(a, b)
            if not difference.coefs:
                continue
            names = tuple(sorted(difference.coefs))
            node.args = (difference.base, *(difference.coefs[n] for n in names))
            node.attr = (node.op, names)
            node.op = "placed"
