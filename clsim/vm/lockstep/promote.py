"""Which private memory objects can live in registers, element by element.

An object qualifies when each access to it has a constant place that is exactly one of its scalar elements
(or a run of them), and its address goes nowhere else. TVM's accumulators and most structs do.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from clsim.clc import ir
from clsim.clc.types import Array, Pointer, Record, Scalar, Space, Type, Vector
from clsim.clc.walk import expressions, operands, statements
from clsim.vm.dtypes import LIMITS, SIZES, code_of, width_of

_MOST_ELEMENTS = 512


@dataclass(slots=True)
class Promoted:
    """Element code by byte offset; 'p' is a pointer."""

    elements: dict[int, str] = field(default_factory=dict)

    def within(self, start: int, size: int) -> list[tuple[int, str]]:
        return [(at, code) for at, code in self.elements.items() if start <= at < start + size]


def constant_of(e: ir.Expr) -> int | None:
    """The value of an integer constant expression, as far as this needs to see."""
    if isinstance(e, ir.Const) and isinstance(e.value, int):
        return int(e.value)
    if isinstance(e, ir.Convert) and isinstance(e.type, Scalar) and e.type.is_integer:
        inner, (low, high) = constant_of(e.a), LIMITS[code_of(e.type)]
        return inner if inner is not None and low <= inner <= high else None
    if isinstance(e, ir.Binary) and e.op in ("add", "mul"):
        a, b = constant_of(e.a), constant_of(e.b)
        if a is not None and b is not None and 0 <= a < 1 << 15 and 0 <= b < 1 << 15:
            return a + b if e.op == "add" else a * b
    return None


def place_of(e: ir.Expr) -> tuple[ir.Memory, int] | None:
    """The memory object and constant offset that a pointer expression names, or None."""
    offset = 0
    while True:
        if isinstance(e, ir.Address):
            return (e.memory, offset) if e.memory.space is Space.PRIVATE else None
        if isinstance(e, ir.Offset):
            index = constant_of(e.index)
            if index is None:
                return None
            offset += index * e.stride
            e = e.pointer
        elif isinstance(e, (ir.Bitcast, ir.Convert)) and isinstance(e.a.type, Pointer):
            e = e.a
        else:
            return None


def flatten(type_: Type, start: int, out: dict[int, str]) -> bool:
    """Scalar elements of a type by offset; False where they overlap or are too many."""
    if len(out) > _MOST_ELEMENTS:
        return False
    if isinstance(type_, Scalar):
        out[start] = code_of(type_)
        return True
    if isinstance(type_, Pointer):
        out[start] = "p"
        return True
    if isinstance(type_, Vector):
        for k in range(type_.size // type_.elem.size):
            out[start + k * type_.elem.size] = code_of(type_)
        return True
    if isinstance(type_, Array):
        if type_.count > _MOST_ELEMENTS:
            return False
        return all(flatten(type_.elem, start + k * type_.elem.size, out) for k in range(type_.count))
    if isinstance(type_, Record) and not type_.is_union:
        return all(flatten(f.type, start + f.offset, out) for f in type_.fields)
    return False


def promotable(function: ir.Function) -> dict[ir.Memory, Promoted]:
    """The private objects of a function that become registers."""
    candidates: dict[ir.Memory, Promoted] = {}
    for memory in function.memories:
        layout: dict[int, str] = {}
        if memory.space is Space.PRIVATE and memory.initial is None and flatten(memory.type, 0, layout):
            candidates[memory] = Promoted(layout)
    if candidates:
        finder = _Finder(candidates)
        for s in statements(function.body):
            finder.statement(s)
        finder.settle_copies()
    return candidates


class _Finder:
    def __init__(self, candidates: dict[ir.Memory, Promoted]) -> None:
        self._candidates = candidates
        self._copies: list[tuple[tuple[ir.Memory, int], tuple[ir.Memory, int], int]] = []

    def statement(self, s: ir.Statement) -> None:
        if isinstance(s, ir.Store):
            self._access(s.pointer, s.value.type)
            self._expression(s.value)
        elif isinstance(s, ir.FillMemory):
            self._range(s.target, s.size)
        elif isinstance(s, ir.CopyMemory):
            self._range(s.target, s.size)
            self._range(s.source, s.size)
            target, source = place_of(s.target), place_of(s.source)
            if target and source:
                self._copies.append((target, source, s.size))
        elif isinstance(s, ir.BuiltinCall):
            for a in s.args[:-1]:
                self._expression(a)
            pointer = s.args[-1]
            assert isinstance(pointer.type, Pointer)
            self._access(pointer, pointer.type.pointee)
        else:
            for e in expressions(s):
                self._expression(e)

    def _expression(self, e: ir.Expr) -> None:
        if isinstance(e, ir.Load):
            self._access(e.pointer, e.type)
        elif isinstance(e, ir.Address):
            self._candidates.pop(e.memory, None)
        else:
            for inner in operands(e):
                self._expression(inner)

    def _access(self, pointer: ir.Expr, type_: Type) -> None:
        place = place_of(pointer)
        if place is None:
            self._expression(pointer)
            return
        memory, offset = place
        layout = self._candidates.get(memory)
        if layout is None:
            return
        code = "p" if isinstance(type_, Pointer) else code_of(type_)
        size = SIZES["u8" if code == "p" else code]
        if any(layout.elements.get(offset + k * size) != code for k in range(width_of(type_))):
            del self._candidates[memory]

    def _range(self, pointer: ir.Expr, size: int) -> None:
        place = place_of(pointer)
        if place is None:
            self._expression(pointer)
            return
        memory, start = place
        layout = self._candidates.get(memory)
        if layout is None:
            return
        edges = {start, start + size}
        for at, code in layout.elements.items():
            end = at + SIZES["u8" if code == "p" else code]
            if any(at < edge < end for edge in edges):
                del self._candidates[memory]
                return

    def settle_copies(self) -> None:
        """Both sides of a copy between two objects must have the same elements there."""
        for (target, to), (source, start), size in self._copies:
            a, b = self._candidates.get(target), self._candidates.get(source)
            if a is None or b is None:
                continue
            mine = [(at - to, code) for at, code in a.within(to, size)]
            theirs = [(at - start, code) for at, code in b.within(start, size)]
            if mine != theirs:
                del self._candidates[target]
