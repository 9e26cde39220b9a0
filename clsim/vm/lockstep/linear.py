"""Indices as sums: a uniform base, a coefficient for each lane axis, and what else varies.

An index without a rest becomes a strided view of memory; nothing is gathered.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from clsim.vm.dtypes import is_float
from clsim.vm.lockstep.build import Builder
from clsim.vm.lockstep.graph import Node

_DEEPEST = 200
"""Sums nested deeper than this are taken as they are."""

_LONG = ("i8", "u8", "x")


@dataclass(frozen=True, slots=True)
class Linear:
    """`base` (uniform, code x) + sum of coefs[axis] * lane index + sum of factor * node over `rest`.

    Coefficients are uniform nodes of code x.
    """

    base: Node
    coefs: dict[str, Node]
    rest: tuple[tuple[Node, int], ...] = ()


class Linears:
    """Finds and remembers the linear form of index nodes."""

    def __init__(self, builder: Builder, axis_bits: dict[str, int]) -> None:
        self.b = builder
        self.axis_bits = axis_bits
        self._known: dict[Node, Linear] = {}
        self._depth = 0
        self._values: dict[Node, bool] = {}
        self.inductions: dict[Node, Linear] = {}
        """Loop values that move by a uniform step a pass."""

    def of(self, node: Node) -> Linear:
        """The exact form of an integer node that is known not to wrap; others are opaque."""
        found = self._known.get(node)
        if found is None:
            self._depth += 1
            deep = self._depth > _DEEPEST
            found = self._known[node] = self._opaque(node) if deep and node.axes else self._find(node)
            self._depth -= 1
        return found

    def _uniform(self, node: Node) -> Linear:
        return Linear(self.b.convert(node, "x"), {})

    def _opaque(self, node: Node) -> Linear:
        return Linear(self.b.x(0), {}, ((node, 1),))

    def _find(self, node: Node) -> Linear:
        if node.axes == 0:
            return self._uniform(node)
        op = node.op
        if op == "axis":
            return Linear(self.b.x(0), {node.attr: self.b.x(1)})
        if node in self.inductions:
            return self.inductions[node]
        if op == "conv":
            inner = node.args[0]
            if is_float(inner.code) or inner.code == "?" or (node.attr[0] and not node.exact):
                return self._opaque(node)
            if node.exact or (node.code in _LONG and inner.code in _LONG):
                return self.of(inner)
            return self._opaque(node)
        if not node.exact and node.code not in _LONG:
            return self._opaque(node)
        if op == "add":
            return self._add(self.of(node.args[0]), self.of(node.args[1]))
        if op == "sub":
            return self._add(self.of(node.args[0]), self.scale(self.of(node.args[1]), -1))
        if op == "mul":
            a, b = node.args
            if b.op == "const":
                return self.scale(self.of(a), int(b.attr))
            for x, y in ((a, b), (b, a)):
                if y.axes == 0:
                    return self._scale_by_node(node, self.of(x), self.b.convert(y, "x"))
        if op == "shl" and node.args[1].op == "const":
            return self.scale(self.of(node.args[0]), 1 << node.args[1].attr)
        return self._opaque(node)

    def _add(self, a: Linear, b: Linear) -> Linear:
        coefs = dict(a.coefs)
        for axis, c in b.coefs.items():
            total = self.b.xadd(coefs[axis], c) if axis in coefs else c
            if total.op == "const" and total.attr == 0:
                coefs.pop(axis, None)
            else:
                coefs[axis] = total
        rest = dict(a.rest)
        for node, factor in b.rest:
            rest[node] = rest.get(node, 0) + factor
        return Linear(self.b.xadd(a.base, b.base), coefs, tuple((n, f) for n, f in rest.items() if f))

    def difference(self, a: Linear, b: Linear) -> Linear:
        return self._add(a, self.scale(b, -1))

    def is_signed_comparison(self, node: Node) -> bool:
        """Whether a comparison is one of the exact values: nothing unsigned in it wraps."""
        return all(self._is_value(n) for n in node.args)

    def _is_value(self, node: Node) -> bool:
        """Whether the form of a node, which holds modulo 2 ** 64, gives its very value."""
        found = self._values.get(node)
        if found is None:
            found = self._values[node] = self._find_whether_value(node)
        return found

    def _find_whether_value(self, node: Node) -> bool:
        if node.code == "u8":
            low, high = self.b.bounds(node)
            return low >= 0 and high < 1 << 62
        if not node.axes or node.op not in ("conv", "add", "sub", "mul", "shl"):
            return True
        return (node.exact or node.code == "x") and all(
            self._is_value(a) for a in node.args if not is_float(a.code)
        )

    def scale(self, a: Linear, factor: int) -> Linear:
        if factor == 1:
            return a
        coefs = {axis: self.b.xmul(c, factor) for axis, c in a.coefs.items()}
        return Linear(
            self.b.xmul(a.base, factor), coefs, tuple((n, f * factor) for n, f in a.rest if f * factor)
        )

    def _scale_by_node(self, product: Node, a: Linear, factor: Node) -> Linear:
        if a.rest:
            return self._opaque(product)
        times = self.b.arith("mul", "x", a.base, factor)
        return Linear(times, {axis: self.b.arith("mul", "x", c, factor) for axis, c in a.coefs.items()})

    # ------------------------------------------------------------ back to nodes

    def array(self, form: Linear, divisor: int = 1) -> Node:
        """The sum as one node, all of it divided by a number that is known to divide it."""
        b = self.b
        terms = [b.xmul(b.convert(node, "x"), factor // divisor) for node, factor in form.rest]
        for axis, c in form.coefs.items():
            lane = b.make("axis", "x", (), axis)
            lane.axes = self.axis_bits[axis]
            lane.exact = True
            terms.append(b.arith("mul", "x", lane, self.divided(c, divisor)))
        # What changes least is added first, so that the scheduler can lift it out of loops.
        terms.sort(key=lambda t: (t.early.depth, t.number))
        terms.append(self.divided(form.base, divisor))
        total = terms[0]
        for term in terms[1:]:
            total = b.xadd(total, term)
        return total

    def divided(self, node: Node, divisor: int) -> Node:
        """A uniform node divided exactly."""
        if divisor == 1:
            return node
        if node.op == "const":
            return self.b.x(node.attr // divisor)
        if node.op == "mul" and node.args[1].op == "const" and node.args[1].attr % divisor == 0:
            return self.b.xmul(node.args[0], node.args[1].attr // divisor)
        if node.op == "add":
            a, c = node.args
            if multiple(a) % divisor == 0 and multiple(c) % divisor == 0:
                return self.b.xadd(self.divided(a, divisor), self.divided(c, divisor))
        return self.b.make("exactdiv", "x", (node, self.b.x(divisor)))


def multiple(node: Node, assumed: dict[Node, int] | None = None, depth: int = 0) -> int:
    """A number that is known to divide the node's value; 0 for the constant 0."""
    op = node.op
    if op == "const":
        return abs(int(node.attr))
    if assumed and node in assumed:
        return assumed[node]
    if depth > _DEEPEST:
        return 1
    depth += 1
    does_not_wrap = node.code == "x" or node.exact
    if op == "mul" and does_not_wrap:
        return multiple(node.args[0], assumed, depth) * multiple(node.args[1], assumed, depth)
    if op in ("add", "sub") and does_not_wrap:
        return gcd(multiple(node.args[0], assumed, depth), multiple(node.args[1], assumed, depth))
    if op == "conv" and node.exact and not is_float(node.args[0].code):
        return multiple(node.args[0], assumed, depth)
    if op == "loop" and node.code == "x":
        return _loop_multiple(node, assumed or {}, depth)
    return 1


def _loop_multiple(node: Node, assumed: dict[Node, int], depth: int) -> int:
    """What divides a loop value at its start, as far as each pass keeps it."""
    first, following = node.args
    divisor = multiple(first, assumed, depth)
    for _ in range(3):
        kept = gcd(divisor, multiple(following, {**assumed, node: divisor}, depth))
        if kept == divisor:
            return divisor
        divisor = kept
    return 1


def form_multiple(form: Linear) -> int:
    """A number that divides every value of the form; 0 where it is always 0."""
    result = multiple(form.base)
    for c in form.coefs.values():
        result = gcd(result, multiple(c))
    for _, factor in form.rest:
        result = gcd(result, factor)
    return result
