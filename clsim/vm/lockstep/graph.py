"""The graph that a kernel is lowered to before code is generated from it.

Every value is a scalar `Node` in single-assignment form; vectors are tuples of nodes. Nodes without
effects float: they belong to no place until the scheduler finds the best one. What reads or writes memory,
and the joins of control flow, is pinned to a `Block`. Control flow is a tree of `If` and `Loop` items.

Type codes are NumPy's, and `x`: an exact index, a Python int or an int64 array that never wraps.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from clsim.clc import ir
    from clsim.clc.types import Space
    from clsim.vm.lockstep.build import Builder


class Node:
    """One scalar value.

    `lo` and `hi` bound an integer's value (None: nothing is known beyond its type). `exact` says that an
    integer operation did not wrap. `pinned` is the block of a pinned node, None for a floating one;
    `early` the deepest block that its operands need. `axes` is the set of lane axes it varies on, as bits,
    filled in by the analysis; 0 means uniform.
    """

    __slots__ = (
        "args",
        "attr",
        "axes",
        "code",
        "early",
        "exact",
        "hi",
        "home",
        "lo",
        "number",
        "op",
        "pinned",
        "uses",
    )

    def __init__(
        self, number: int, op: str, code: str, args: tuple[Node, ...], attr: Any, early: Block
    ) -> None:
        self.number = number
        self.op = op
        self.code = code
        self.args = args
        self.attr = attr
        self.early = early
        self.pinned: Block | None = None
        self.lo: int | None = None
        self.hi: int | None = None
        self.exact = False
        self.axes = 0
        self.uses = 0
        self.home: Block | None = None

    def __repr__(self) -> str:
        args = ", ".join(f"n{a.number}" for a in self.args)
        return f"n{self.number}:{self.code} = {self.op}({args}){'' if self.attr is None else self.attr!r}"


class Block:
    """A straight run of items. Its lanes are those of its parent for which its condition holds."""

    __slots__ = ("box", "depth", "items", "loop", "loop_depth", "mask_axes", "owner", "parent", "role")

    def __init__(self, parent: Block | None, owner: If | Loop | None, role: str) -> None:
        self.parent = parent
        self.owner = owner
        self.role = role
        """'root', 'then', 'other', 'head' or 'body'."""
        self.items: list[Item] = []
        self.depth: int = parent.depth + 1 if parent else 0
        inside = isinstance(owner, Loop)
        self.loop: Loop | None = owner if isinstance(owner, Loop) else parent.loop if parent else None
        above = parent.loop_depth if parent else 0
        self.loop_depth: int = above + (1 if inside and role == "head" else 0)
        self.mask_axes = 0
        self.box: Box | None = None
        """The part of the lanes that runs here, where it is a box rather than a mask."""

    def is_within(self, other: Block) -> bool:
        """Whether `other` is this block or one around it."""
        block: Block | None = self
        while block is not None and block.depth >= other.depth:
            if block is other:
                return True
            block = block.parent
        return False


@dataclass(eq=False, slots=True)
class Box:
    """Lanes `low` to `high` (uniform nodes of code x, within the axis) along one axis of the box around."""

    outer: Box | None
    axis: int
    low: Node
    high: Node

    def ranges(self) -> dict[int, tuple[Node, Node]]:
        """The range along each axis that is cut."""
        found: dict[int, tuple[Node, Node]] = {}
        box: Box | None = self
        while box is not None:
            found.setdefault(box.axis, (box.low, box.high))
            box = box.outer
        return found


@dataclass(eq=False, slots=True)
class If:
    """Two-way control flow. `phis` join values: (node, value of then, value of other)."""

    parent: Block
    test: Node
    then: Block = field(init=False)
    other: Block = field(init=False)
    phis: list[Node] = field(default_factory=list)
    live: bool = False

    def __post_init__(self) -> None:
        self.then = Block(self.parent, self, "then")
        self.other = Block(self.parent, self, "other")


@dataclass(eq=False, slots=True)
class Loop:
    """A loop: `head` runs, lanes where `test` fails leave, `body` runs, lanes where not `again` leave.

    `phis` are values at the start of a pass, with args (first, next); `outs` values after the loop, with
    args (first, after the body) and, where `head` assigns the variable, what it left.
    """

    parent: Block
    loc: ir.Loc
    head: Block = field(init=False)
    body: Block = field(init=False)
    test: Node | None = None
    again: Node | None = None
    phis: list[Node] = field(default_factory=list)
    outs: list[Node] = field(default_factory=list)
    live: bool = False

    def __post_init__(self) -> None:
        self.head = Block(self.parent, self, "head")
        self.body = Block(self.head, self, "body")


class Seg:
    """A memory object as the code generator sees it.

    `kind`: 'arg' (global or constant memory), 'const' (program scope), 'local', 'private', 'null'. Local
    and private ones are replicated over `axes`, those that their content varies on; `granule` is the run
    of bytes that stays together in that layout.
    """

    __slots__ = (
        "argument",
        "axes",
        "granule",
        "index",
        "initial",
        "is_stored",
        "kind",
        "label",
        "memory",
        "size",
        "space",
        "version",
    )

    def __init__(
        self,
        index: int,
        kind: str,
        label: str,
        space: Space,
        size: int | None = None,
        memory: ir.Memory | None = None,
        initial: bool = False,
    ) -> None:
        self.index = index
        self.kind = kind
        self.label = label
        self.space = space
        self.size = size
        """Bytes, or None where only a launch tells."""
        self.memory = memory
        self.initial = initial
        """Whether each launch fills it from an argument's bytes (a record passed by value)."""
        self.argument = -1
        """Index of the kernel argument that it is, or -1."""
        self.axes = 0
        self.granule = 1
        self.version = 0
        self.is_stored = False


@dataclass(frozen=True, slots=True)
class Ptr:
    """A pointer in registers: a known object and a byte offset, or (`seg` None) a 64-bit address."""

    seg: Seg | None
    off: Node


Value: TypeAlias = "Node | tuple[Node, ...] | Ptr"


@dataclass(eq=False, slots=True)
class Place:
    """Where an access stands in the source, with all that a report about it needs."""

    loc: ir.Loc
    seg: Seg | None
    size: int
    align: int
    write: bool
    code: str
    reads: bool = True
    """False for stores; an atomic operation both reads and writes."""
    reporter: int = 0
    """The component that tells of the whole access: the first that anybody uses."""


@dataclass(eq=False, slots=True)
class Load:
    """A pinned read of one component; `node` is its value. `first` reports for all of a vector."""

    node: Node
    seg: Seg | None
    off: Node
    component: int
    place: Place


@dataclass(eq=False, slots=True)
class Store:
    """A write of all components of a value."""

    seg: Seg | None
    off: Node
    values: tuple[Node, ...]
    place: Place


@dataclass(eq=False, slots=True)
class AtomicItem:
    """`node` is the old value, live only when somebody reads it."""

    node: Node
    name: str
    seg: Seg | None
    off: Node
    args: tuple[Node, ...]
    place: Place


@dataclass(eq=False, slots=True)
class BarrierItem:
    loc: ir.Loc


@dataclass(eq=False, slots=True)
class PrintItem:
    pieces: Any
    args: tuple[str | tuple[Node, ...], ...]


Item: TypeAlias = "If | Loop | Load | Store | AtomicItem | BarrierItem | PrintItem"


@dataclass(eq=False, slots=True)
class Graph:
    """A lowered kernel: its nodes and tree of blocks (in the builder), and all its memory objects."""

    builder: Builder
    segs: list[Seg]
    places: list[Place]
    has_dynamic_pointers: bool

    @property
    def root(self) -> Block:
        return self.builder.root


def common_block(a: Block, b: Block) -> Block:
    """The deepest block around both."""
    while a.depth > b.depth:
        assert a.parent is not None
        a = a.parent
    while b.depth > a.depth:
        assert b.parent is not None
        b = b.parent
    while a is not b:
        assert a.parent is not None
        assert b.parent is not None
        a, b = a.parent, b.parent
    return a
