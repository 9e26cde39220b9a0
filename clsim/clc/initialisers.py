"""Initialisers of every shape (OpenCL C 6.7.2, C99 6.7.8): braces or none, designators, strings, vectors.

The walk is the same for a variable and for program-scope data; only the sink differs, which takes a value
for the bytes at an offset.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from clsim.clc import constants, ir
from clsim.clc import syntax as ast
from clsim.clc.constant_values import NotConstant, constant_bytes
from clsim.clc.rules import pointer
from clsim.clc.special_calls import SpecialCalls
from clsim.clc.symbols import MemoryPlace, NoValue, RecordValue
from clsim.clc.typenames import INCOMPLETE
from clsim.clc.types import (
    CHAR,
    INT,
    UCHAR,
    Array,
    Field,
    Opaque,
    Pointer,
    Record,
    Scalar,
    Space,
    Type,
    Vector,
)  # fmt: skip

Item: TypeAlias = "tuple[list[str | ast.Expression], ast.Expression | ast.InitList]"


@dataclass(slots=True)
class MemorySink:
    """Collects what to store into a private object."""

    stores: list[tuple[int, Type, ir.Expr | RecordValue, int]] = field(default_factory=list)
    covered: int = 0

    def put(self, offset: int, type_: Type, value: ir.Expr | RecordValue, pos: int) -> None:
        self.stores.append((offset, type_, value, pos))
        self.covered += type_.size


@dataclass(slots=True)
class BytesSink:
    """Writes constants into the bytes of a program-scope object, which grows as an unsized array does."""

    data: bytearray = field(default_factory=bytearray)

    def put(self, offset: int, type_: Type, value: ir.Expr | RecordValue, pos: int) -> None:
        if isinstance(value, RecordValue):
            raise NotConstant
        data = constant_bytes(value)
        if len(self.data) < offset + type_.size:
            self.data.extend(bytes(offset + type_.size - len(self.data)))
        self.data[offset : offset + len(data)] = data


Sink: TypeAlias = "MemorySink | BytesSink"


class Initialisers(SpecialCalls):
    """Initialisers."""

    # ------------------------------------------------------------ what others call

    def completed(self, type_: Type, initial: ast.Expression | ast.InitList) -> Type:
        """The type, with the size of an unsized array taken from its initialiser."""
        if not isinstance(type_, Array) or type_.count != INCOMPLETE:
            return type_
        if isinstance(initial, ast.String):
            return Array(type_.elem, len(initial.data) + 1)
        if not isinstance(initial, ast.InitList):
            self.fail(initial.pos, "array initializer must be an initializer list or string literal")
        only = initial.items[0][1] if len(initial.items) == 1 else None
        if isinstance(only, ast.String) and type_.elem in (CHAR, UCHAR):
            return Array(type_.elem, len(only.data) + 1)
        return Array(type_.elem, self.count_elements(type_.elem, initial))

    def count_elements(self, elem: Type, initial: ast.InitList) -> int:
        """How many elements a list gives an unsized array."""
        if not isinstance(elem, (Array, Record)) and not any(d for d, _ in initial.items):
            return len(initial.items)
        counter = _Counter()
        outer, self.out = self.out, []
        try:
            self.fill_array(Array(elem, 1 << 28), 0, initial.items, 0, counter, True)
        finally:
            self.out = outer
        return -(-counter.end // elem.size) if elem.size else 0

    def value_initialiser(self, type_: Type, initial: ast.Expression | ast.InitList, pos: int) -> ir.Expr:
        """The value that a register is initialised with."""
        if isinstance(initial, ast.InitList):
            return self.braced_value(type_, initial)
        return self.implicit(self.rvalue(initial), type_, initial.pos, "initialise")

    def initialise_memory(
        self, target: ir.Expr, type_: Type, initial: ast.Expression | ast.InitList, pos: int
    ) -> None:
        """Emit what initialises a private object."""
        sink = MemorySink()
        self.initialise(type_, initial, 0, sink)
        if isinstance(type_, (Array, Record)) and sink.covered < type_.size:
            self.out.append(ir.FillMemory(target, type_.size, self.loc(pos)))
        of = target.type
        assert isinstance(of, Pointer)
        for offset, part, value, at in sink.stores:
            where = target
            if offset or part is not type_:
                where = ir.Offset(pointer(part, of.space), target, ir.Const(INT, offset), 1)
            if isinstance(value, RecordValue):
                self.copy_record(where, value, at)
            else:
                self.out.append(ir.Store(where, value, part.align, self.loc(at)))

    def initial_bytes(self, type_: Type, initial: ast.Expression | ast.InitList) -> bytes:
        """The bytes of program-scope data."""
        sink = BytesSink()
        outer, self.out = self.out, []
        try:
            self.initialise(type_, initial, 0, sink)
            if self.out:
                raise NotConstant
        except NotConstant:
            self.fail(initial.pos, "initializer element is not a compile-time constant")
        finally:
            self.out = outer
        return bytes(sink.data).ljust(type_.size, b"\0")

    def initialise_literal(self, node: ast.CompoundLiteral) -> MemoryPlace:
        type_ = self.completed(self.qualified(node.type).type, node.items)
        self.complete(type_, node.pos, "compound literal")
        memory = self.private_memory("literal", type_, node.pos)
        self.initialise_memory(self.address(memory), type_, node.items, node.pos)
        return MemoryPlace(self.address(memory), type_, False, False, memory.align)

    # ------------------------------------------------------------ the walk

    def initialise(
        self, type_: Type, initial: ast.Expression | ast.InitList, offset: int, sink: Sink
    ) -> None:
        if isinstance(initial, ast.InitList):
            if isinstance(type_, Array):
                if self.is_string_for(type_, initial):
                    self.put_string(type_, initial.items[0][1], offset, sink)  # type: ignore[arg-type]
                else:
                    self.fill_array(type_, offset, initial.items, 0, sink, True)
            elif isinstance(type_, Record):
                self.fill_record(type_, offset, initial.items, 0, sink, True)
            else:
                sink.put(offset, type_, self.braced_value(type_, initial), initial.pos)
        elif isinstance(type_, Array):
            if not isinstance(initial, ast.String) or type_.elem not in (CHAR, UCHAR):
                self.fail(initial.pos, "array initializer must be an initializer list or string literal")
            self.put_string(type_, initial, offset, sink)
        elif isinstance(type_, Record):
            self.put_record(type_, self.any_value(initial), offset, sink, initial.pos)
        else:
            self.put_value(type_, self.rvalue(initial), offset, sink, initial.pos)

    def put_value(self, type_: Type, value: ir.Expr, offset: int, sink: Sink, pos: int) -> None:
        if isinstance(type_, Opaque):
            return
        sink.put(offset, type_, self.implicit(value, type_, pos, "initialise"), pos)

    def put_record(
        self, type_: Record, value: ir.Expr | RecordValue | NoValue, offset: int, sink: Sink, pos: int
    ) -> None:
        if not isinstance(value, RecordValue) or value.type is not type_:
            self.fail(pos, f"initializing '{type_}' with an expression of incompatible type '{value.type}'")
        sink.put(offset, type_, value, pos)

    def is_string_for(self, type_: Array, initial: ast.InitList) -> bool:
        return (
            type_.elem in (CHAR, UCHAR)
            and len(initial.items) == 1
            and isinstance(initial.items[0][1], ast.String)
            and not initial.items[0][0]
        )

    def put_string(self, type_: Array, node: ast.String, offset: int, sink: Sink) -> None:
        assert isinstance(type_.elem, Scalar)
        data = (node.data + b"\0")[: type_.count]
        if len(node.data) > type_.count:
            self.warn(node.pos, "initializer-string for char array is too long")
        for k, byte in enumerate(data):
            sink.put(offset + k, type_.elem, ir.Const(type_.elem, constants.wrap(byte, type_.elem)), node.pos)

    def fill_array(
        self, type_: Array, offset: int, items: list[Item], k: int, sink: Sink | _Counter, braced: bool
    ) -> int:
        """Initialise an array from items `k` on; the index of the first item that is not its own."""
        elem = type_.elem
        index = 0
        while k < len(items):
            designators, value = items[k]
            if designators:
                if not braced:
                    return k
                first = designators[0]
                if isinstance(first, str):
                    self.fail(items[k][1].pos, "field designator cannot initialize an array")
                index = self.constant_integer(first, "array designator")
                if not 0 <= index < type_.count:
                    self.fail(
                        first.pos, f"array designator index ({index}) exceeds array bounds ({type_.count})"
                    )
                k = self.fill_designated(elem, offset + index * elem.size, items, k, sink)
                index += 1
                continue
            if index >= type_.count:
                if not braced:
                    return k
                self.warn(value.pos, "excess elements in array initializer")
                return len(items)
            k = self.fill_element(elem, offset + index * elem.size, items, k, sink)
            index += 1
        return k

    def fill_record(
        self, type_: Record, offset: int, items: list[Item], k: int, sink: Sink | _Counter, braced: bool
    ) -> int:
        fields = type_.fields[:1] if type_.is_union else type_.fields
        index = 0
        while k < len(items):
            designators, value = items[k]
            if designators:
                if not braced:
                    return k
                index, target = self.designated_field(type_, designators[0], value.pos)
                k = self.fill_designated(target.type, offset + target.offset, items, k, sink)
                index += 1
                continue
            if index >= len(fields):
                if not braced:
                    return k
                kind = "union" if type_.is_union else "struct"
                self.warn(value.pos, f"excess elements in {kind} initializer")
                return len(items)
            k = self.fill_element(fields[index].type, offset + fields[index].offset, items, k, sink)
            index += 1
        return k

    def designated_field(
        self, type_: Record, designator: str | ast.Expression, pos: int
    ) -> tuple[int, Field]:
        if not isinstance(designator, str):
            self.fail(designator.pos, "array designator cannot initialize a structure or union")
        found = type_.lookup.get(designator)
        if found is None:
            self.fail(pos, f"field designator '{designator}' does not refer to any field in '{type_}'")
        for index, own in enumerate(type_.fields):
            if own.name == designator:
                return index, found
        return self.not_yet(pos, "a designator of a field in an unnamed record is")

    def fill_designated(
        self, type_: Type, offset: int, items: list[Item], k: int, sink: Sink | _Counter
    ) -> int:
        """The item whose first designator led here; the rest of its designators go deeper."""
        designators, value = items[k]
        rest = designators[1:]
        if not rest:
            return self.fill_element(type_, offset, [([], value), *items[k + 1 :]], 0, sink) + k
        following = items[k + 1] if k + 1 < len(items) else None
        if following is not None and not following[0]:
            self.not_yet(value.pos, "a nested designator followed by an item without one is")
        inner: list[Item] = [(rest, value)]
        if isinstance(type_, Array):
            self.fill_array(type_, offset, inner, 0, sink, True)
        elif isinstance(type_, Record):
            self.fill_record(type_, offset, inner, 0, sink, True)
        else:
            self.fail(value.pos, f"designator in initializer for '{type_}'")
        return k + 1

    def fill_element(self, type_: Type, offset: int, items: list[Item], k: int, sink: Sink | _Counter) -> int:
        """One element or field, from item `k`; with its braces left out it may take several items."""
        value = items[k][1]
        if isinstance(sink, _Counter):
            sink.end = max(sink.end, offset + type_.size)
        if isinstance(value, ast.InitList):
            if not isinstance(sink, _Counter):
                self.initialise(type_, value, offset, sink)
            return k + 1
        if isinstance(type_, Array):
            if isinstance(value, ast.String) and type_.elem in (CHAR, UCHAR):
                if not isinstance(sink, _Counter):
                    self.put_string(type_, value, offset, sink)
                return k + 1
            return self.fill_array(type_, offset, items, k, sink, False)
        if isinstance(type_, Record):
            lowered = self.any_value(value)
            if isinstance(lowered, RecordValue):
                if not isinstance(sink, _Counter):
                    self.put_record(type_, lowered, offset, sink, value.pos)
                return k + 1
            if not isinstance(lowered, (ir.Const, ir.Read)):
                # The item is looked at to see whether it is a record; doing it twice must do no harm.
                lowered_again = self.repeatable(value)
                if not lowered_again:
                    self.not_yet(value.pos, "an initialiser with side effects and without its own braces is")
            return self.fill_record(type_, offset, items, k, sink, False)
        if not isinstance(sink, _Counter):
            self.put_value(type_, self.rvalue(value), offset, sink, value.pos)
        return k + 1

    def repeatable(self, node: ast.Expression) -> bool:
        """Whether an expression has no effects."""
        return not self.aside(node)[1]

    # ------------------------------------------------------------ single values in braces

    def braced_value(self, type_: Type, initial: ast.InitList) -> ir.Expr:
        items = initial.items
        if any(designators for designators, _ in items):
            self.fail(initial.pos, f"designator in initializer for '{type_}'")
        if not items:
            if not isinstance(type_, (Scalar, Vector, Pointer)):
                self.fail(initial.pos, f"'{type_}' cannot be initialized with an empty list")
            return self.convert(ir.Const(INT, 0), type_)
        if isinstance(type_, Vector) and not (len(items) == 1 and isinstance(items[0][1], ast.InitList)):
            return self.braced_vector(type_, initial)
        if len(items) > 1:
            self.warn(items[1][1].pos, "excess elements in scalar initializer")
        inner = items[0][1]
        if isinstance(inner, ast.InitList):
            return self.braced_value(type_, inner)
        return self.implicit(self.rvalue(inner), type_, inner.pos, "initialise")

    def braced_vector(self, type_: Vector, initial: ast.InitList) -> ir.Expr:
        parts: list[ir.Expr] = []
        count = 0
        for _, item in initial.items:
            if isinstance(item, ast.InitList):
                self.fail(item.pos, "braces around a component of a vector")
            value = self.rvalue(item)
            if value.type is type_ and len(initial.items) == 1:
                return value
            if isinstance(value.type, Vector) and value.type.elem is type_.elem:
                count += value.type.width
            else:
                value = self.implicit(value, type_.elem, item.pos, "initialise")
                count += 1
            parts.append(value)
        if count != type_.width:
            self.fail(initial.pos, self.wrong_count(type_, count))
        return ir.Build(type_, tuple(parts))

    def constant_memory(self, name: str, type_: Type, initial: bytes, align: int, pos: int) -> ir.Memory:
        memory = ir.Memory(
            name, type_, Space.CONSTANT, type_.size, max(align, type_.align), initial, self.loc(pos)
        )
        self.constants.append(memory)
        return memory


@dataclass(slots=True)
class _Counter:
    """A sink that only finds how far an initialiser reaches."""

    end: int = 0
