"""Assignments, compound ones, `++` and `--` (OpenCL C 6.4.1, 6.4.14)."""

from __future__ import annotations

from clsim.clc import ir
from clsim.clc import syntax as ast
from clsim.clc.casts import incompatible
from clsim.clc.choices import Choices
from clsim.clc.symbols import (
    ComponentPlace,
    MemoryPlace,
    RecordValue,
    RegisterPlace,
)  # fmt: skip
from clsim.clc.types import (
    INT,
    Pointer,
    Record,
    Scalar,
    Vector,
)  # fmt: skip


class Assignments(Choices):
    """What changes a variable."""

    def assign_value(self, node: ast.Assign) -> ir.Expr | RecordValue:
        value = self.assign(node, True)
        assert value is not None
        return value

    def assign(self, node: ast.Assign, wanted: bool) -> ir.Expr | RecordValue | None:
        """Carry out an assignment; its value, if that is wanted."""
        place = self.place(node.a)
        self.check_assignable(place, node.pos)
        if isinstance(place.type, Record):
            return self.assign_record(node, place)
        if node.op:
            if isinstance(place, MemoryPlace):
                place.pointer = self.settled(place.pointer)
            elif isinstance(place, ComponentPlace) and isinstance(place.base, MemoryPlace):
                place.base.pointer = self.settled(place.base.pointer)
            right = self.rvalue(node.b)
            left = self.must_be_value(self.load(place, node.pos), node.pos)
            value = self.operate(node.op, left, right, node.pos)
            if isinstance(value.type, Vector) and isinstance(place.type, Scalar):
                self.fail(node.pos, incompatible(place.type, value))
        else:
            value = self.rvalue(node.b)
        value = self.implicit(value, place.type, node.pos, "assign")
        if not wanted:
            self.store(place, value, node.pos)
            return None
        if isinstance(place, RegisterPlace):
            self.store(place, value, node.pos)
            return ir.Read(place.var, place.type)
        if not isinstance(value, ir.Const):
            value = self.keep(value)
        self.store(place, value, node.pos)
        return value

    def assign_record(
        self, node: ast.Assign, place: RegisterPlace | MemoryPlace | ComponentPlace
    ) -> RecordValue:
        value = self.any_value(node.b)
        if node.op or not isinstance(value, RecordValue) or value.type is not place.type:
            of = value.type
            self.fail(node.pos, f"assigning to '{place.type}' from incompatible type '{of}'")
        assert isinstance(place, MemoryPlace)
        self.copy_record(place.pointer, value, node.pos)
        return RecordValue(value.type, place.pointer)

    # ------------------------------------------------------------ steps

    def step(self, target: ast.Expression, op: str, pos: int) -> ir.Expr:
        """Add or subtract one; the new value."""
        place = self.place(target)
        self.check_assignable(place, pos)
        if isinstance(place, MemoryPlace):
            place.pointer = self.settled(place.pointer)
        old = self.must_be_value(self.load(place, pos), pos)
        return self.stepped(place, old, op, pos)

    def stepped(
        self, place: RegisterPlace | MemoryPlace | ComponentPlace, old: ir.Expr, op: str, pos: int
    ) -> ir.Expr:
        type_ = place.type
        is_float_vector = isinstance(type_, Vector) and not type_.elem.is_integer
        if is_float_vector or not isinstance(type_, (Scalar, Pointer, Vector)):
            self.fail(pos, f"cannot {'increment' if op == '++' else 'decrement'} value of type '{type_}'")
        one: ir.Expr = ir.Const(INT, 1)
        if isinstance(type_, Vector):
            one = self.convert(one, type_)
        new = self.convert(self.operate(op[0], old, one, pos), type_)
        if isinstance(place, RegisterPlace):
            self.store(place, new, pos)
            return ir.Read(place.var, type_)
        kept = self.keep(new)
        self.store(place, kept, pos)
        return ir.Read(kept.var, kept.type)

    def post_step(self, node: ast.PostStep) -> ir.Expr:
        place = self.place(node.a)
        self.check_assignable(place, node.pos)
        if isinstance(place, MemoryPlace):
            place.pointer = self.settled(place.pointer)
        old = self.keep(self.must_be_value(self.load(place, node.pos), node.pos))
        self.stepped(place, old, node.op, node.pos)
        return ir.Read(old.var, old.type)
