"""Lvalues: what they name, reading them, writing them (OpenCL C 6.1.7, 6.4)."""

from __future__ import annotations

from clsim.clc import ir
from clsim.clc import syntax as ast
from clsim.clc.diagnostics import AlreadyTold
from clsim.clc.layout import low_bit
from clsim.clc.rules import pointer, shaped
from clsim.clc.symbols import (
    ComponentPlace,
    EnumConstant,
    FunctionSymbol,
    MemoryPlace,
    Place,
    RecordValue,
    RegisterPlace,
    Variable,
)  # fmt: skip
from clsim.clc.types import CHAR, HALF, INT, Array, Field, Pointer, Record, Scalar, Space, Vector, Void
from clsim.clc.values import Values
from clsim.clc.words import EVENT

_LETTERS = {"x": 0, "y": 1, "z": 2, "w": 3}
_COLOURS = {"r": 0, "g": 1, "b": 2, "a": 3}
_HEX = {c: int(c, 16) for c in "0123456789abcdefABCDEF"}
_LENGTHS = (1, 2, 3, 4, 8, 16)


class Places(Values):
    """Lvalues."""

    # ------------------------------------------------------------ what an lvalue names

    def place(self, node: ast.Expression) -> Place:
        kind = type(node)
        if kind is ast.Name:
            return self.name_place(node)  # type: ignore[arg-type]
        if kind is ast.Index:
            return self.index_place(node)  # type: ignore[arg-type]
        if kind is ast.Member:
            return self.member_place(node)  # type: ignore[arg-type]
        if isinstance(node, ast.Unary) and node.op == "*":
            return self.pointee_place(self.rvalue(node.a), node.pos)
        if isinstance(node, ast.String):
            return self.string_place(node)
        if isinstance(node, ast.CompoundLiteral):
            return self.compound_literal(node)
        return self.fail(node.pos, "expression is not assignable")

    def is_place(self, node: ast.Expression) -> bool:
        """Whether an expression is an lvalue."""
        if isinstance(node, ast.Member):
            return node.arrow or self.is_place(node.a)
        return isinstance(node, (ast.Name, ast.Index, ast.String, ast.CompoundLiteral)) or (
            isinstance(node, ast.Unary) and node.op == "*"
        )

    def compound_literal(self, node: ast.CompoundLiteral) -> MemoryPlace:
        raise NotImplementedError

    def name_place(self, node: ast.Name) -> Place:
        symbol = self.names.get(node.name)
        if isinstance(symbol, Variable):
            return self.variable_place(symbol)
        if symbol is None:
            self.fail(node.pos, f"use of undeclared identifier '{node.name}'")
        if isinstance(symbol, EnumConstant):
            self.fail(node.pos, "expression is not assignable")
        if isinstance(symbol, FunctionSymbol):
            self.fail(node.pos, "pointers to functions are not allowed in OpenCL C")
        return self.fail(node.pos, f"unexpected type name '{node.name}': expected expression")

    def variable_place(self, symbol: Variable) -> Place:
        if symbol.var is not None:
            return RegisterPlace(symbol.var, symbol.type, symbol.const)
        if symbol.pointer is not None:
            return MemoryPlace(symbol.pointer, symbol.type, symbol.const, symbol.volatile, symbol.type.align)
        memory = symbol.memory
        if memory is None:
            # Its declaration was refused.
            raise AlreadyTold
        type_ = pointer(symbol.type, memory.space, symbol.const, symbol.volatile)
        return MemoryPlace(
            ir.Address(memory, type_), symbol.type, symbol.const, symbol.volatile, memory.align
        )

    def pointee_place(self, value: ir.Expr, pos: int) -> MemoryPlace:
        type_ = value.type
        if not isinstance(type_, Pointer):
            self.fail(pos, f"indirection requires pointer operand ('{type_}' invalid)")
        return MemoryPlace(value, type_.pointee, type_.const, type_.volatile, type_.pointee.align)

    def index_place(self, node: ast.Index) -> Place:
        whole: Place | None = None
        if self.is_place(node.a) and not self.is_enumerator(node.a):
            whole = self.place(node.a)
            base = self.must_be_value(self.load(whole, node.a.pos), node.a.pos)
        else:
            base = self.rvalue(node.a)
        index = self.rvalue(node.index)
        if isinstance(base.type, Vector) and whole is not None:
            return self.subscripted_vector(whole, index, node)
        place = self.pointer_index(base, index, node)
        if isinstance(whole, MemoryPlace) and isinstance(whole.type, Array):
            place.align = min(place.align, whole.align)
        return place

    def pointer_index(self, base: ir.Expr, index: ir.Expr, node: ast.Index) -> MemoryPlace:
        if not isinstance(base.type, Pointer) and isinstance(index.type, Pointer):
            base, index = index, base
        type_ = base.type
        if not isinstance(type_, Pointer):
            self.fail(node.pos, "subscripted value is not an array, pointer, or vector")
        if not isinstance(index.type, Scalar) or not index.type.is_integer:
            self.fail(node.index.pos, "array subscript is not an integer")
        pointee = type_.pointee
        if isinstance(pointee, Void):
            self.fail(node.pos, "subscript of pointer to incomplete type 'void'")
        return MemoryPlace(
            self.offset(base, index, node.pos), pointee, type_.const, type_.volatile, pointee.align
        )

    def is_enumerator(self, node: ast.Expression) -> bool:
        return isinstance(node, ast.Name) and isinstance(self.names.get(node.name), EnumConstant)

    def subscripted_vector(self, base: Place, index: ir.Expr, node: ast.Index) -> Place:
        """`v[i]`, which clang takes although the standard has no such thing."""
        type_ = base.type
        assert isinstance(type_, Vector)
        if not isinstance(index.type, Scalar) or not index.type.is_integer:
            self.fail(node.index.pos, "vector subscript is not an integer")
        if isinstance(index, ir.Const):
            if not 0 <= index.value < type_.width:
                self.fail(node.index.pos, f"vector subscript {index.value} is outside of '{type_}'")
            return self.components(base, (int(index.value),))
        if not isinstance(base, MemoryPlace):
            self.not_yet(node.pos, "writing a component that varies of this vector is")
        return self.vector_element(base, index, node.pos)

    def vector_element(self, base: MemoryPlace, index: ir.Expr, pos: int) -> MemoryPlace:
        """A component of a vector in memory by a varying index."""
        type_, of = base.type, base.pointer.type
        assert isinstance(type_, Vector)
        assert isinstance(of, Pointer)
        elem = pointer(type_.elem, of.space, base.const, base.volatile)
        at = self.offset(self.retype(base.pointer, elem), index, pos)
        return MemoryPlace(at, type_.elem, base.const, base.volatile, min(base.align, type_.elem.align))

    def member_place(self, node: ast.Member) -> Place:
        if node.arrow:
            value = self.rvalue(node.a)
            if not isinstance(value.type, Pointer):
                self.fail(node.pos, f"member reference type '{value.type}' is not a pointer")
            base: Place = self.pointee_place(value, node.pos)
        elif self.is_place(node.a):
            base = self.place(node.a)
        else:
            record = self.any_value(node.a)
            if not isinstance(record, RecordValue):
                self.fail(node.pos, "expression is not assignable")
            base = MemoryPlace(record.pointer, record.type, False, False, record.type.align)
        type_ = base.type
        if isinstance(type_, Vector):
            return self.components(base, self.swizzle(type_, node.name, node.pos))
        if isinstance(type_, Record) and isinstance(base, MemoryPlace):
            return self.field_place(base, self.field(type_, node), node.pos)
        if isinstance(type_, Pointer):
            self.fail(node.pos, f"member reference type '{type_}' is a pointer; did you mean to use '->'?")
        return self.fail(node.pos, f"member reference base type '{type_}' is not a structure or union")

    def field(self, record: Record, node: ast.Member) -> Field:
        if not record.lookup and record.size < 0:
            self.fail(node.pos, f"incomplete definition of type '{record}'")
        found = record.lookup.get(node.name)
        if found is None:
            self.fail(node.pos, f"no member named '{node.name}' in '{record}'")
        return found

    def field_place(self, base: MemoryPlace, field: Field, pos: int) -> MemoryPlace:
        base_type = base.pointer.type
        assert isinstance(base_type, Pointer)
        type_ = pointer(field.type, base_type.space, base.const, base.volatile)
        at, whole = field.offset, base.pointer
        if isinstance(whole, ir.Offset) and whole.stride == 1 and isinstance(whole.index, ir.Const):
            at, whole = at + int(whole.index.value), whole.pointer
        address = ir.Offset(type_, whole, ir.Const(INT, at), 1)
        known = min(base.align, low_bit(field.offset)) if field.offset else base.align
        align = min(field.type.align, known)
        return MemoryPlace(address, field.type, base.const, base.volatile, align)

    def string_place(self, node: ast.String) -> MemoryPlace:
        data = node.data + b"\0"
        memory = self.strings.get(data)
        if memory is None:
            memory = ir.Memory(
                f"string{len(self.strings)}", Array(CHAR, len(data)), Space.CONSTANT, len(data), 1, data,
                self.loc(node.pos),
            )  # fmt: skip
            self.strings[data] = memory
            self.constants.append(memory)
        address = ir.Address(memory, pointer(memory.type, Space.CONSTANT, True))
        return MemoryPlace(address, memory.type, True, False, 1)

    # ------------------------------------------------------------ components

    def swizzle(self, type_: Vector, name: str, pos: int) -> tuple[int, ...]:
        """The components that a name selects."""
        whole = 4 if type_.width == 3 else type_.width
        half = whole // 2
        if name in ("lo", "hi", "even", "odd"):
            return {
                "lo": tuple(range(half)),
                "hi": tuple(range(half, whole)),
                "even": tuple(range(0, whole, 2)),
                "odd": tuple(range(1, whole, 2)),
            }[name]
        if name[0] in "sS" and len(name) > 1:
            table, letters = _HEX, name[1:]
        elif name[0] in _LETTERS:
            table, letters = _LETTERS, name
        else:
            table, letters = _COLOURS, name
        indices = []
        for letter in letters:
            if letter not in table:
                self.fail(pos, f"illegal vector component name '{letter}' in '{name}'")
            indices.append(table[letter])
        if max(indices) >= type_.width:
            self.fail(pos, f"vector component access exceeds type '{type_}'")
        if len(indices) not in _LENGTHS:
            self.fail(
                pos, f"vector component access has invalid length {len(indices)}. Supported: 1,2,3,4,8,16."
            )
        return tuple(indices)

    def components(self, base: Place, indices: tuple[int, ...]) -> ComponentPlace:
        if isinstance(base, ComponentPlace):
            last = len(base.indices) - 1
            return self.components(base.base, tuple(base.indices[min(i, last)] for i in indices))
        assert isinstance(base.type, Vector)
        return ComponentPlace(base, shaped(base.type.elem, len(indices)), indices, base.const)

    # ------------------------------------------------------------ reading

    def load(self, place: Place, pos: int) -> ir.Expr | RecordValue:
        """The value in a place; an array is the address of its first element."""
        if isinstance(place, RegisterPlace):
            return ir.Read(place.var, place.type)
        if isinstance(place, ComponentPlace):
            whole = self.load(place.base, pos)
            assert not isinstance(whole, RecordValue)
            return self.extract(whole, place.indices)
        type_ = place.type
        if isinstance(type_, Array):
            of = place.pointer.type
            assert isinstance(of, Pointer)
            return self.retype(place.pointer, pointer(type_.elem, of.space, place.const, place.volatile))
        if isinstance(type_, Record):
            return RecordValue(type_, place.pointer)
        if type_ is EVENT:
            return ir.Const(EVENT, 0)
        if isinstance(type_, Void):
            self.fail(pos, "dereference of a pointer to void")
        if type_ is HALF and not self.target.has_half:
            self.fail(
                pos,
                f"loading directly from pointer to type '{type_}' requires cl_khr_fp16."
                " Use vector data load builtin functions instead",
            )
        return ir.Load(type_, place.pointer, place.align, self.loc(pos), place.volatile)

    # ------------------------------------------------------------ writing

    def check_assignable(self, place: Place, pos: int) -> None:
        if place.const:
            if isinstance(place, MemoryPlace) and isinstance(place.pointer.type, Pointer):
                space = place.pointer.type.space.value
                what = f"'const {place.type}'" if space == "private" else f"'__{space} const {place.type}'"
                self.fail(pos, f"read-only variable is not assignable (type {what})")
            self.fail(pos, f"cannot assign to a variable with const-qualified type 'const {place.type}'")
        base = place.base if isinstance(place, ComponentPlace) else place
        if isinstance(base, MemoryPlace):
            of = base.pointer.type
            if isinstance(of, Pointer) and of.space is Space.CONSTANT:
                self.fail(pos, "read-only variable is not assignable (__constant address space)")
        if isinstance(place, ComponentPlace) and len(set(place.indices)) != len(place.indices):
            self.fail(pos, "vector is not assignable (contains duplicate components)")
        if isinstance(place.type, Array):
            self.fail(pos, f"array type '{place.type}' is not assignable")

    def store(self, place: Place, value: ir.Expr, pos: int) -> None:
        """Write a value that already has the place's type."""
        if isinstance(place, RegisterPlace):
            if place.type is not EVENT:
                self.out.append(ir.Assign(place.var, value))
        elif isinstance(place, ComponentPlace):
            self.store_components(place, value, pos)
        elif place.type is not EVENT:
            if place.type is HALF and not self.target.has_half:
                self.fail(
                    pos,
                    f"assigning directly to pointer to type '{place.type}' requires cl_khr_fp16."
                    " Use vector data store builtin functions instead",
                )
            self.out.append(ir.Store(place.pointer, value, place.align, self.loc(pos), place.volatile))

    def store_components(self, place: ComponentPlace, value: ir.Expr, pos: int) -> None:
        base = place.base
        whole = base.type
        assert isinstance(whole, Vector)
        indices = place.indices
        if len(indices) > 1 and not isinstance(value, (ir.Read, ir.Build)):
            value = self.keep(value)
        if isinstance(base, MemoryPlace):
            base_pointer = self.settled(base.pointer)
            for k, index in enumerate(indices):
                if index >= whole.width:
                    continue
                of = base_pointer.type
                assert isinstance(of, Pointer)
                at = ir.Offset(
                    pointer(whole.elem, of.space), base_pointer, ir.Const(INT, index), whole.elem.size
                )
                part = self.component(value, k)
                self.out.append(
                    ir.Store(at, part, min(whole.elem.size, base.align), self.loc(pos), base.volatile)
                )
            return
        new = {index: self.component(value, k) for k, index in enumerate(indices) if index < whole.width}
        parts: list[ir.Expr] = []
        index = 0
        while index < whole.width:
            if index in new:
                parts.append(new[index])
                index += 1
                continue
            behind = next((k for k in range(index, whole.width) if k in new), whole.width)
            count = next(n for n in (8, 4, 3, 2, 1) if index + n <= behind)
            parts.append(self.extract(ir.Read(base.var, whole), tuple(range(index, index + count))))
            index += count
        self.out.append(ir.Assign(base.var, ir.Build(whole, tuple(parts))))

    def copy_record(self, target: ir.Expr, value: RecordValue, pos: int) -> None:
        self.out.append(ir.CopyMemory(target, value.pointer, value.type.size, self.loc(pos)))

    def settled(self, address: ir.Expr) -> ir.Expr:
        """An address that may be used twice: what it loads or computes at length is computed once."""
        if isinstance(address, ir.Offset):
            base = self.settled(address.pointer)
            index = address.index if self.is_simple(address.index, 8) else self.keep(address.index)
            if base is address.pointer and index is address.index:
                return address
            return ir.Offset(address.type, base, index, address.stride)
        if isinstance(address, (ir.Read, ir.Address, ir.Const)):
            return address
        return self.keep(address)

    def is_simple(self, value: ir.Expr, budget: int) -> bool:
        """Whether computing a value twice costs little and gives the same twice."""
        if isinstance(value, (ir.Const, ir.Read, ir.Address)):
            return True
        if budget <= 0:
            return False
        if isinstance(value, ir.Binary):
            return self.is_simple(value.a, budget - 1) and self.is_simple(value.b, budget - 1)
        if isinstance(value, (ir.Convert, ir.Unary)):
            return self.is_simple(value.a, budget - 1)
        return isinstance(value, ir.Builtin) and value.name.startswith("get_")
