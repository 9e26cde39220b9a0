"""Makes nodes: shares equal ones, folds constants, simplifies, and keeps the bounds of integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clsim.vm.convert import convert_uniform
from clsim.vm.dtypes import LIMITS, SCALAR_TYPES, SIZES, is_float, wrap
from clsim.vm.lockstep.graph import Block, Node
from clsim.vm.scalar_ops import scalar_binary

_COMMUTATIVE = frozenset(("add", "mul", "and", "or", "xor"))
_RING = frozenset(("add", "sub", "mul"))
_WIDE = (-(1 << 80), 1 << 80)
_EXACT_OPS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "shl": lambda a, b: a << b,
    "shr": lambda a, b: a >> b,
}
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
}


class Builder:
    """Owns all nodes of a graph. `root` is the outermost block."""

    def __init__(self) -> None:
        self.root = Block(None, None, "root")
        self.nodes: list[Node] = []
        self._table: dict[Any, Node] = {}
        self.analysed = False
        """Once axes are known, new nodes get theirs when they are made."""

    # ------------------------------------------------------------ raw nodes

    def make(self, op: str, code: str, args: tuple[Node, ...] = (), attr: Any = None) -> Node:
        """The floating node with this content, made only once."""
        key = (op, code, args, attr)
        node = self._table.get(key)
        if node is None:
            early = self.root
            axes = 0
            for a in args:
                axes |= a.axes
                if a.early.depth > early.depth:
                    early = a.early
            node = Node(len(self.nodes), op, code, args, attr, early)
            if self.analysed:
                node.axes = axes
            self.nodes.append(node)
            self._table[key] = node
        return node

    def pin(self, block: Block, op: str, code: str, args: tuple[Node, ...] = (), attr: Any = None) -> Node:
        """A node with its own identity and place."""
        node = Node(len(self.nodes), op, code, args, attr, block)
        node.pinned = block
        self.nodes.append(node)
        return node

    def const(self, code: str, value: Any) -> Node:
        if is_float(code):
            value = SCALAR_TYPES[code](value)
            key = ("const", code, value.tobytes())
        elif code == "?":
            value = bool(value)
            key = ("const", code, value)
        else:
            value = int(value) if code == "x" else wrap(code, int(value))
            key = ("const", code, value)
        node = self._table.get(key)
        if node is None:
            node = Node(len(self.nodes), "const", code, (), value, self.root)
            if not is_float(code):
                node.lo = node.hi = int(value)
                node.exact = True
            self.nodes.append(node)
            self._table[key] = node
        return node

    def zero(self, code: str) -> Node:
        return self.const(code, 0)

    def param(self, code: str, name: str, lo: int | None = None, hi: int | None = None) -> Node:
        """A uniform value that each launch or chunk provides under this name."""
        node = self.make("param", code, (), name)
        node.lo, node.hi = lo, hi
        return node

    def undef(self, code: str) -> Node:
        return self.make("undef", code)

    # ------------------------------------------------------------ bounds

    @staticmethod
    def bounds(node: Node) -> tuple[int, int]:
        low, high = LIMITS.get(node.code, _WIDE)
        return (low if node.lo is None else node.lo), (high if node.hi is None else node.hi)

    @staticmethod
    def _bound(node: Node, low: int, high: int) -> Node:
        """Narrow what is known of a node to a sound range."""
        least, most = LIMITS.get(node.code, _WIDE)
        if low > least:
            node.lo = low if node.lo is None else max(node.lo, low)
        if high < most:
            node.hi = high if node.hi is None else min(node.hi, high)
        return node

    # ------------------------------------------------------------ arithmetic

    def arith(self, op: str, code: str, a: Node, b: Node) -> Node:
        """`ir.Binary` on scalars of type `code`."""
        if code == "?":
            return self._bool_arith(op, a, b)
        if a.op == "const" and b.op == "const":
            function = _EXACT_OPS[op] if code == "x" else scalar_binary(op, code)
            return self.const(code, function(a.attr, b.attr))
        if is_float(code):
            if op in _COMMUTATIVE and a.number > b.number:
                a, b = b, a
            return self.make(op, code, (a, b))
        if op in _COMMUTATIVE and (a.op == "const" or (b.op != "const" and a.number > b.number)):
            a, b = b, a
        return self._int_arith(op, code, a, b)

    def _int_arith(self, op: str, code: str, a: Node, b: Node) -> Node:
        if b.op == "const":
            value = b.attr
            if op in ("shl", "shr") and code != "x":
                value &= 8 * SIZES[code] - 1
                b = self.const(code, value)
            simpler = self._with_constant(op, code, a, value)
            if simpler is not None:
                return simpler
        elif a is b and op in ("sub", "xor"):
            return self.zero(code)
        elif a is b and op in ("and", "or"):
            return a
        node = self.make(op, code, (a, b))
        if not node.exact:
            self._int_bounds(node, op, code, a, b)
        return node

    def _with_constant(self, op: str, code: str, a: Node, value: int) -> Node | None:
        """Rewrites of an integer operation whose right operand is constant."""
        if value == 0:
            if op in ("add", "sub", "or", "xor", "shl", "shr"):
                return a
            if op in ("mul", "and"):
                return self.zero(code)
        if value == 1:
            if op in ("mul", "div"):
                return a
            if op == "rem":
                return self.zero(code)
        if op == "sub" and code[0] != "u" and (code == "x" or value != LIMITS[code][0]):
            return self.arith("add", code, a, self.const(code, -value))
        if op == "add" and a.op == "add" and a.args[1].op == "const":
            return self.arith("add", code, a.args[0], self.const(code, a.args[1].attr + value))
        if op == "mul" and a.op == "mul" and a.args[1].op == "const" and (code == "x" or a.exact):
            product = a.args[1].attr * value
            if code == "x" or LIMITS[code][0] <= product <= LIMITS[code][1]:
                return self.arith("mul", code, a.args[0], self.const(code, product))
        if op in ("div", "rem") and value > 0:
            low, high = self.bounds(a)
            if low >= 0 and high < value:
                return self.zero(code) if op == "div" else a
        return None

    def _int_bounds(self, node: Node, op: str, code: str, a: Node, b: Node) -> None:
        (al, ah), (bl, bh) = self.bounds(a), self.bounds(b)
        least, most = LIMITS.get(code, _WIDE)
        if op in _RING or (op == "shl" and b.op == "const"):
            if op == "add":
                low, high = al + bl, ah + bh
            elif op == "sub":
                low, high = al - bh, ah - bl
            else:
                if op == "shl":
                    bl = bh = 1 << b.attr
                corners = (al * bl, al * bh, ah * bl, ah * bh)
                low, high = min(corners), max(corners)
            fits = least <= low and high <= most
            # Signed overflow in +, - and * is undefined; a left shift that drops bits is not.
            node.exact = fits or code == "x" or (code[0] == "i" and op != "shl")
            if node.exact:
                self._bound(node, low, high)
            return
        if op == "shl":
            return  # by an amount that is not known
        node.exact = True
        if op == "div":
            if al >= 0 and bl > 0:
                self._bound(node, al // bh, ah // bl)
            elif bl > 0:
                self._bound(node, -(-al // bl) if al < 0 else 0, ah // bl if ah > 0 else 0)
        elif op == "rem":
            if bl > 0:
                self._bound(node, 0 if al >= 0 else max(al, 1 - bh), min(max(ah, 0), bh - 1))
        elif op == "shr":
            if b.op == "const":
                self._bound(node, al >> b.attr, ah >> b.attr)
            elif al >= 0:
                self._bound(node, 0, ah)
        elif op == "and":
            highs = [h for low, h in ((al, ah), (bl, bh)) if low >= 0]
            if highs:
                self._bound(node, 0, min(highs))
        elif al >= 0 and bl >= 0:
            self._bound(node, 0, (1 << max(ah, bh).bit_length()) - 1)

    def _bool_arith(self, op: str, a: Node, b: Node) -> Node:
        if op == "and":
            return self.land(a, b)
        if op == "or":
            return self.lor(a, b)
        if op == "xor":
            return self.compare("ne", a, b)
        raise AssertionError(f"bool {op}")

    def neg(self, code: str, a: Node) -> Node:
        if is_float(code):
            if a.op == "const":
                return self.const(code, -a.attr)
            return self.make("neg", code, (a,))
        return self.arith("sub", code, self.zero(code), a)

    def invert(self, code: str, a: Node) -> Node:
        if code == "?":
            return self.lnot(a)
        return self.arith("xor", code, a, self.const(code, -1))

    # ------------------------------------------------------------ truth

    def lnot(self, a: Node) -> Node:
        if a.op == "const":
            return self.const("?", not a.attr)
        if a.op == "lnot":
            return a.args[0]
        if a.op in ("lt", "le") and not is_float(a.args[0].code):
            return self.compare("le" if a.op == "lt" else "lt", a.args[1], a.args[0])
        if a.op in ("eq", "ne"):
            return self.make("ne" if a.op == "eq" else "eq", "?", a.args)
        return self.make("lnot", "?", (a,))

    def land(self, a: Node, b: Node) -> Node:
        for x, y in ((a, b), (b, a)):
            if x.op == "const":
                return y if x.attr else x
        if a is b:
            return a
        if self.lnot(a) is b:
            return self.const("?", False)
        for x, y in ((a, b), (b, a)):
            if y.op == "land" and x in y.args:
                return y
        return self.make("land", "?", (a, b))

    def lor(self, a: Node, b: Node) -> Node:
        for x, y in ((a, b), (b, a)):
            if x.op == "const":
                return x if x.attr else y
        if a is b:
            return a
        if self.lnot(a) is b:
            return self.const("?", True)
        return self.make("lor", "?", (a, b))

    def compare(self, op: str, a: Node, b: Node) -> Node:
        """`op`: eq ne lt le gt ge on two nodes of one code."""
        if op in ("gt", "ge"):
            return self.compare("lt" if op == "gt" else "le", b, a)
        if a.op == "const" and b.op == "const":
            return self.const("?", bool(_COMPARE[op](a.attr, b.attr)))
        if not is_float(a.code):
            if a is b:
                return self.const("?", op in ("eq", "le"))
            known = self._decide(op, *self.bounds(a), *self.bounds(b))
            if known is not None:
                return self.const("?", known)
            if a.code == "?" and b.op == "const":
                return a if (op == "eq") == b.attr else self.lnot(a)
        if op in ("eq", "ne") and (a.op == "const" or (b.op != "const" and a.number > b.number)):
            a, b = b, a
        return self.make(op, "?", (a, b))

    @staticmethod
    def _decide(op: str, al: int, ah: int, bl: int, bh: int) -> bool | None:
        if op == "lt":
            return True if ah < bl else False if al >= bh else None
        if op == "le":
            return True if ah <= bl else False if al > bh else None
        apart = ah < bl or bh < al
        return (op == "ne") if apart else None

    def select(self, test: Node, a: Node, b: Node) -> Node:
        if test.op == "const":
            return a if test.attr else b
        if a is b or b.op == "undef":
            return a
        if a.op == "undef":
            return b
        if test.op == "lnot":
            return self.select(test.args[0], b, a)
        if a.code == "?":
            if a.op == "const":
                return self.lor(test, b) if a.attr else self.land(self.lnot(test), b)
            if b.op == "const":
                return self.lor(self.lnot(test), a) if b.attr else self.land(test, a)
        node = self.make("select", a.code, (test, a, b))
        return self.join_bounds(node, a, b)

    def join_bounds(self, node: Node, a: Node, b: Node) -> Node:
        if not is_float(node.code):
            (al, ah), (bl, bh) = self.bounds(a), self.bounds(b)
            self._bound(node, min(al, bl), max(ah, bh))
        return node

    # ------------------------------------------------------------ conversions

    def convert(self, a: Node, code: str, saturate: bool = False, rounding: str = "") -> Node:
        source = a.code
        if source == code:
            return a
        if a.op == "const":
            return self.const(code, self._convert_constant(a, code, saturate, rounding))
        if a.op == "undef":
            return self.undef(code)
        if code == "?":
            zero = self.zero(source)
            return self.compare("ne", a, zero)
        if is_float(source) or is_float(code):
            return self.make("conv", code, (a,), (saturate, rounding))
        return self._convert_int(a, code, saturate)

    @staticmethod
    def _convert_constant(a: Node, code: str, saturate: bool, rounding: str) -> Any:
        value = a.attr
        if code == "x":
            return wrap("i8", int(value)) if a.code == "u8" else int(value)
        if a.code == "x":
            return wrap(code, value) if code != "?" else value != 0
        return convert_uniform(value, a.code, code, saturate, rounding)

    def _convert_int(self, a: Node, code: str, saturate: bool) -> Node:
        source = a.code
        low, high = self.bounds(a)
        least, most = LIMITS["i8"] if code == "x" else LIMITS[code]
        fits = least <= low and high <= most
        if a.op == "axis" and fits:
            node = self.make("axis", code, (), a.attr)
            return self._bound(node, low, high)
        if a.op == "conv" and not is_float(a.args[0].code) and a.args[0].code != "?":
            inner = a.args[0]
            keeps = a.attr == (False, "") and (a.exact or SIZES.get(source, 8) >= SIZES.get(code, 8))
            if keeps and (not saturate or a.exact):
                return self.convert(inner, code, saturate)
        narrow = SIZES.get(code, 8) <= SIZES.get(source, 8) and source != "?"
        if narrow and not saturate and code != "x" and a.op in _RING:
            x, y = (self.convert(v, code) for v in a.args)
            node = self.arith(a.op, code, x, y)
            if fits and node.op not in ("const", "axis"):
                node.exact = True
                self._bound(node, low, high)
            elif node.op in _RING and not fits:
                self._doubt(node)
            return node
        node = self.make("conv", code, (a,), (saturate, ""))
        if fits:
            node.exact = True
            self._bound(node, low, high)
        elif saturate:
            self._bound(node, max(low, least), min(high, most))
        return node

    def _doubt(self, node: Node) -> None:
        """An operation narrowed from a wider one may wrap by design: forget what overflow rules gave."""
        (al, ah), (bl, bh) = self.bounds(node.args[0]), self.bounds(node.args[1])
        least, most = LIMITS[node.code]
        corners = {
            "add": (al + bl, ah + bh),
            "sub": (al - bh, ah - bl),
            "mul": (min(al * bl, al * bh, ah * bl, ah * bh), max(al * bl, al * bh, ah * bl, ah * bh)),
        }[node.op]
        if corners[0] < least or corners[1] > most:
            node.exact = False
            node.lo = node.hi = None

    def bitcast(self, a: Node, code: str) -> Node:
        if a.code == code:
            return a
        if a.op == "bitcast":
            return self.bitcast(a.args[0], code)
        if not is_float(a.code) and not is_float(code) and "?" not in (a.code, code):
            return self.convert(a, code)
        if a.op == "const" and not is_float(code) and code != "?":
            return self.const(code, int.from_bytes(a.attr.tobytes(), "little"))
        return self.make("bitcast", code, (a,))

    # ------------------------------------------------------------ exact indices

    def x(self, value: int) -> Node:
        return self.const("x", value)

    def xadd(self, a: Node, b: Node) -> Node:
        return self.arith("add", "x", a, b)

    def xmul(self, a: Node, factor: int) -> Node:
        return self.arith("mul", "x", a, self.x(factor))
