"""Names and lines of the generated Python function.

A value gets a variable when more than one thing uses it, else it is written inline. A variable whose last
use is past is taken for another value, which also frees its array: memory stays bounded by what is live.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clsim.vm.dtypes import DTYPES, SCALAR_TYPES, is_float
from clsim.vm.lockstep.access import Planner
from clsim.vm.lockstep.graph import Block, Box, Load, Loop, Node, Seg
from clsim.vm.lockstep.schedule import Schedule
from clsim.vm.lockstep.variant import Variant

_MAX_INLINE = 6
_IN_PLACE = {"add": "+", "sub": "-", "mul": "*"}
_FRESH = frozenset(("add", "sub", "mul", "div", "neg", "select"))
_DEEPEST_CHAIN = 24
_NEVER_INLINE = frozenset(("span", "view", "pair", "whole"))


class Lines:
    """The code of one block while it is written."""

    __slots__ = ("indent", "mask", "pool", "text")

    def __init__(self, indent: int, text: list[str] | None = None) -> None:
        self.indent = indent
        self.text: list[str] = [] if text is None else text
        self.pool: list[str] = []
        """Names of variables that are free here."""
        self.mask: str | None = None


class Core:
    """What all parts of the emitter share."""

    def __init__(self, planner: Planner, schedule: Schedule, variant: Variant) -> None:
        self.planner = planner
        self.schedule = schedule
        self.variant = variant
        self.analysis = planner.analysis
        self.graph = planner.graph
        self.b = planner.b
        self.names: dict[Node, str] = {}
        self.left: dict[Node, int] = {}
        self.lines: dict[Block, Lines] = {}
        self.pool: dict[str, Any] = {}
        """Globals of the generated code."""
        self.needs: dict[str, str] = {}
        """Variables that the function's first lines set, and how."""
        self.outstanding: dict[Seg, list[Node]] = {}
        """Views of memory that was not written since, by object."""
        self._full: dict[Node, bool] = {}
        self.packed: set[Node] = set()
        """Loads whose view was copied at once."""
        self.arrays = 0
        self.inside: list[Block] = [self.graph.root]
        """The blocks being written, innermost last."""
        self._contexts: list[tuple[Block, list[Node]]] = []
        self._deferred: dict[Loop, list[str]] = {}
        self._count = 0
        self._depth = 0
        self._constants: dict[Any, str] = {}
        self._cuts: dict[Any, str] = {}
        self.versions: dict[Node | str, int] = {}
        """How often a value was copied away from memory."""

    # ------------------------------------------------------------ names

    def fresh(self, prefix: str = "v") -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def take(self, block: Block) -> str:
        """A free variable for a value that is set in `block`."""
        walk: Block | None = block
        while walk is not None:
            lines = self.lines.get(walk)
            if lines is not None and lines.pool:
                return lines.pool.pop()
            walk = walk.parent
        self.arrays += 1
        return self.fresh()

    def constant(self, value: Any, key: Any = None) -> str:
        """A global of the generated code."""
        if key is not None and key in self._constants:
            return self._constants[key]
        name = f"K{len(self.pool)}"
        self.pool[name] = value
        if key is not None:
            self._constants[key] = name
        return name

    def need(self, name: str, how: str) -> str:
        """A variable that the function sets at its start."""
        self.needs.setdefault(name, how)
        return name

    def dtype(self, code: str) -> str:
        code = "i8" if code == "x" else code
        return self.constant(DTYPES[code], ("dtype", code))

    def scalar_type(self, code: str) -> str:
        code = "i8" if code == "x" else code
        return self.constant(SCALAR_TYPES[code], ("type", code))

    # ------------------------------------------------------------ statements

    def open(self, block: Block) -> None:
        """Begin a statement of `block`: what it uses is released when it is written."""
        self._contexts.append((block, []))

    def close(self, text: str | None = None) -> None:
        """Write the statement, if any, and release what it used."""
        block, consumed = self._contexts.pop()
        if text is not None:
            self.write(block, text)
        for node in consumed:
            # Even where the statement was lifted out: code inside may have used the variable before.
            self._release(node, self.inside[-1])

    def write(self, block: Block, text: str) -> None:
        lines = self.lines[block]
        lines.text.append("  " * lines.indent + text)

    def _release(self, node: Node, block: Block) -> None:
        left = self.left[node] = self.left.get(node, node.uses) - 1
        if left > 0:
            return
        name = self.names.get(node)
        if name is None or name[0] != "v":
            return
        home = node.home if node.pinned is None else node.pinned
        if node.op == "out":
            home = node.attr.parent
        assert home is not None
        boundary = self._outermost_loop(block, home)
        if boundary is None:
            self.lines[block].pool.append(name)
        else:
            self._deferred.setdefault(boundary, []).append(name)

    @staticmethod
    def _outermost_loop(block: Block, home: Block) -> Loop | None:
        """The outermost loop that holds `block` but not `home`."""
        if home.is_within(block):
            return None
        found = None
        walk: Block | None = block
        while walk is not None and walk is not home:
            if walk.role == "head":
                assert isinstance(walk.owner, Loop)
                found = walk.owner
            walk = walk.parent
        return found

    def finish(self, child: Block, parent: Block, loop: Loop | None = None) -> None:
        """Give the names that are free in a finished block to the one around it."""
        assert self.inside.pop() is child
        pool = self.lines[parent].pool
        pool.extend(self.lines[child].pool)
        self.lines[child].pool = []
        if loop is not None:
            pool.extend(self._deferred.pop(loop, ()))

    # ------------------------------------------------------------ values

    def use(self, node: Node) -> str:
        """The text for one use of a node in the statement being written."""
        if node.op == "const":
            return self.literal(node)
        if node.op == "undef":
            return self.literal(self.b.zero(node.code))
        block, consumed = self._contexts[-1]
        name = self.names.get(node)
        if name is None:
            name = self.leaf(node)
            if name is not None:
                self.names[node] = name
                return self.cut(node, name, block)
            if (
                node.uses == 1
                and node.home is block
                and self._depth < _MAX_INLINE
                and self.schedule.height[node] < _DEEPEST_CHAIN
                and node.op not in _NEVER_INLINE
                and self._accumulator(node) is None
            ):
                self._depth += 1
                text = self.expression(node)
                self._depth -= 1
                return text
            self.settle(node)
            name = self.names[node]
        consumed.append(node)
        return self.cut(node, name, block)

    def peek(self, node: Node, block: Block) -> str:
        """The text of a value in a block whose use is counted elsewhere."""
        self.settle(node)
        if node.op in ("const", "undef"):
            return self.literal(node)
        name = self.names.get(node) or self.leaf(node)
        assert name is not None
        return self.cut(node, name, block)

    def cut(self, node: Node, name: str, block: Block) -> str:
        """The part of an array that belongs to the lanes of `block`, where it holds more."""
        if block.box is None or not node.axes or node.op in ("view", "span"):
            return name
        home = node.home if node.pinned is None else node.pinned
        if node.op == "axis":
            home = None  # set at the function's start, for all lanes
        elif node.op in ("out", "loop"):
            home = node.attr.parent
        return self.cut_from(node, name, node.axes, None if home is None else home.box, block)

    def cut_from(self, what: Node | str, name: str, axes: int, have: Box | None, block: Block) -> str:
        if block.box is have or block.box is None:
            return name
        known = {} if have is None else have.ranges()
        wanted = {k: ends for k, ends in block.box.ranges().items() if axes >> k & 1 and known.get(k) != ends}
        if not wanted:
            return name
        version = self.versions.get(what, 0)
        # Where the value was copied since, code before this place still has the old one.
        holder = self._holder(block) if not version else block
        key = what, holder, version
        found = self._cuts.get(key)
        if found is not None:
            return found
        result = self._cuts[key] = self.fresh("c")
        texts = []
        for k, (low, high) in wanted.items():
            shift = f" - {self._bound(known[k][0])}" if k in known else ""
            texts.append(f"({k}, {self._bound(low)}{shift}, {self._bound(high)}{shift})")
        self.write(holder, f"{result} = cut({name}, ({', '.join(texts)},))")
        return result

    def _bound(self, node: Node) -> str:
        return self.literal(node) if node.op == "const" else self.names[node]

    @staticmethod
    def _holder(block: Block) -> Block:
        """The outermost block around with the same lanes."""
        while block.parent is not None and block.parent.box is block.box:
            block = block.parent
        return block

    def name(self, node: Node) -> str:
        """Like `use`, but the text is a literal or a variable, so that it may stand twice."""
        self.settle(node)
        return self.use(node)

    def settle(self, node: Node) -> None:
        """See that a value has a variable or is a literal, without using it."""
        waiting = [node]
        while waiting:
            node = waiting[-1]
            if node.op in ("const", "undef") or node in self.names or self.leaf(node) is not None:
                waiting.pop()
                continue
            # Long chains are written from their far end, so that nothing recurses as deep as they are.
            height = self.schedule.height
            chain = [a for a in node.args if height.get(a, 0) >= _DEEPEST_CHAIN and a not in self.names]
            if chain:
                waiting.extend(chain)
            else:
                self.set(node)
                waiting.pop()

    def set(self, node: Node) -> str:
        """Write the statement that gives a floating node its variable, in its home block."""
        assert node.home is not None, node
        depth, self._depth = self._depth, 0
        self.open(node.home)
        into = self._accumulator(node)
        if into is not None:
            name = self._accumulate(node, into)
            self._depth = depth
            return name
        text = self.expression(node)
        name = self.take(node.home)
        self.close(f"{name} = {text}")
        self._depth = depth
        self.names[node] = name
        return name

    def _accumulator(self, node: Node) -> Node | None:
        """An operand whose array can take the result: nobody else wants it, and it has the same shape."""
        if node.op not in _IN_PLACE or not node.axes or node.code in ("?", "x"):
            return None
        candidates = node.args[:1] if node.op == "sub" else node.args
        for a in candidates:
            if (
                a.op in _FRESH
                and a.uses == 1
                and a.axes == node.axes
                and a.code == node.code
                and a.home is node.home
                and self.is_full(a)
            ):
                return a
        return None

    def _accumulate(self, node: Node, into: Node) -> str:
        self.settle(into)
        other = node.args[1] if node.args[0] is into else node.args[0]
        text = self.use(other)
        name = self.names.pop(into)
        self.close(f"{name} {_IN_PLACE[node.op]}= {text}")
        self.names[node] = name
        return name

    def is_full(self, node: Node) -> bool:
        """Whether a value surely has all lanes along its axes; a loop's first value may have fewer."""
        known = self._full.get(node)
        if known is None and self.schedule.height.get(node, 0) > 8 * _DEEPEST_CHAIN:
            return False
        if known is None:
            if node.op == "load":
                plan = self.planner.plans[node.attr][0]
                known = plan.kind == "view" or (plan.kind == "gather" and self.is_full(plan.node))
            elif node.op == "axis":
                known = True
            elif node.pinned is not None or node.op in ("part", "placed"):
                known = False
            else:
                axes = 0
                for a in node.args:
                    if a.axes and self.is_full(a):
                        axes |= a.axes
                known = axes == node.axes
            self._full[node] = known
        return known

    def hold(self, node: Node) -> str:
        """A name that stays until `drop`."""
        node.uses += 1
        if node in self.left:
            self.left[node] += 1
        return self.name(node)

    def pending(self, node: Node) -> int:
        """Uses of a node that no statement, written or being written, has made yet."""
        made = sum(consumed.count(node) for _, consumed in self._contexts)
        return self.left.get(node, node.uses) - made

    def literal(self, node: Node) -> str:
        if is_float(node.code):
            value = node.attr if node.op == "const" else np.float64(0)
            return self.constant(value, (node.code, value.tobytes()))
        return f"({node.attr})" if node.code != "?" and node.attr < 0 else repr(node.attr)

    def typed(self, node: Node) -> str:
        """A use as an operand that has its NumPy type: uniform integers become NumPy scalars."""
        if node.axes or is_float(node.code) or node.code == "?":
            return self.use(node)
        if node.op in ("const", "undef"):
            value = node.attr if node.op == "const" else 0
            code = "i8" if node.code == "x" else node.code
            return self.constant(SCALAR_TYPES[code](value), (code, "typed", value))
        return f"{self.scalar_type(node.code)}({self.use(node)})"

    def settled(self, node: Node, target: Node) -> str:
        """A use as the value of a variable that outlives memory as it is now."""
        if node.op == "undef":
            node = self.b.zero(node.code)
        if not target.axes:
            return self.use(node)
        text = self.lane(node)
        if self.is_view(node):
            text += ".copy()"
        return text

    def lane(self, node: Node) -> str:
        """A use as what may become the value of lanes: a uniform integer is an array of one lane.

        As a scalar it would not keep its type: NumPy 1 adds two scalars as if they were long.
        """
        if node.axes or is_float(node.code) or node.code == "?":
            return self.use(node)
        if node.op in ("const", "undef"):
            return self.lane_constant(node)
        return f"{self.typed(node)}.reshape({self.shape(0)})"

    def lane_constant(self, node: Node) -> str:
        code = "i8" if node.code == "x" else node.code
        value = node.attr if node.op == "const" else 0
        array = np.full((1,) * len(self.analysis.axes), value, DTYPES[code])
        return self.constant(array, (code, "lane", value))

    def shape(self, axes: int) -> str:
        """The shape of a value that varies on these axes."""
        sizes = "".join(f"C.dims[{k}], " if axes >> k & 1 else "1, " for k in range(len(self.analysis.axes)))
        return self.need(f"h{axes}", f"({sizes})")

    def is_view(self, node: Node) -> bool:
        """Whether a node's array is memory that the kernel may write later."""
        if node.op != "load" or node in self.packed:
            return False
        item: Load = node.attr
        seg = item.seg
        return seg is not None and seg.is_stored and self.planner.plans[item][0].kind == "view"

    def expression(self, node: Node) -> str:
        raise NotImplementedError

    def leaf(self, node: Node) -> str | None:
        raise NotImplementedError
