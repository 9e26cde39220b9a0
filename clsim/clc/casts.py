"""Casts and vector literals (OpenCL C 6.3.1, 6.4.2)."""

from __future__ import annotations

from clsim.clc import ir
from clsim.clc import syntax as ast
from clsim.clc.context import NO_VALUE
from clsim.clc.places import Places
from clsim.clc.symbols import NoValue, RecordValue
from clsim.clc.types import BOOL, ULONG, Array, Pointer, Record, Scalar, Type, Vector, Void
from clsim.clc.values import c_type, is_null


class Casts(Places):
    """Explicit conversions."""

    def cast_value(self, node: ast.Cast) -> ir.Expr | RecordValue | NoValue:
        to = self.qualified(node.type).type
        if isinstance(to, Void):
            self.effect(node.a)
            return NO_VALUE
        value = self.any_value(node.a)
        if isinstance(value, RecordValue):
            if value.type is to:
                return value
            self.fail(
                node.pos, f"operand of type '{value.type}' where arithmetic or pointer type is required"
            )
        value = self.must_be_value(value, node.pos)
        return self.cast(value, to, node.pos)

    def cast(self, value: ir.Expr, to: Type, pos: int) -> ir.Expr:
        """An explicit cast."""
        of = value.type
        if isinstance(to, Scalar) and isinstance(of, Scalar):
            return self.convert(value, to)
        if isinstance(to, Vector) and isinstance(of, Scalar):
            return self.convert(value, to)
        if isinstance(to, Vector) and isinstance(of, Vector):
            if to is of:
                return value
            self.fail(
                pos,
                f"invalid conversion between ext-vector type '{to}' and '{of}'; use convert_{to} or as_{to}",
            )
        if isinstance(to, Pointer):
            if isinstance(of, Pointer):
                return self.cast_pointer(value, of, to, pos)
            if isinstance(of, Scalar) and of.is_integer:
                if isinstance(value, ir.Const):
                    return ir.Const(to, int(value.value) & ((1 << 64) - 1))
                return ir.Convert(to, self.convert(value, ULONG))
        if isinstance(of, Pointer) and isinstance(to, Scalar) and to.is_integer:
            if to is BOOL:
                return self.truth(value)
            return self.convert(ir.Convert(ULONG, value), to)
        if isinstance(to, (Array, Record)):
            self.fail(pos, f"used type '{to}' where arithmetic or pointer type is required")
        if to == of:
            return value
        return self.fail(pos, f"invalid conversion between '{to}' and '{c_type(value)}'")

    def cast_pointer(self, value: ir.Expr, of: Pointer, to: Pointer, pos: int) -> ir.Expr:
        if is_null(value):
            return ir.Const(to, 0)
        if of.space is not to.space:
            self.fail(pos, f"casting '{of}' to type '{to}' changes address space of pointer")
        return self.retype(value, to)

    def vector_literal(self, node: ast.VectorLiteral) -> ir.Expr:
        type_ = self.qualified(node.type).type
        values = [self.rvalue(item) for item in node.items]
        if not isinstance(type_, Vector):
            if len(values) == 1:
                return self.cast(values[0], type_, node.pos)
            self.fail(node.pos, f"a list of values cannot make a '{type_}'")
        if len(values) == 1:
            return self.cast(values[0], type_, node.pos)
        parts: list[ir.Expr] = []
        count = 0
        for value, item in zip(values, node.items, strict=True):
            if isinstance(value.type, Vector):
                if value.type.elem is not type_.elem:
                    self.fail(item.pos, incompatible(type_.elem, value, "initializing"))
                count += value.type.width
            elif isinstance(value.type, Scalar):
                value = self.convert(value, type_.elem)
                count += 1
            else:
                self.fail(item.pos, incompatible(type_.elem, value, "initializing"))
            parts.append(value)
        if count != type_.width:
            self.fail(node.pos, self.wrong_count(type_, count))
        return ir.Build(type_, tuple(parts))

    def wrong_count(self, type_: Vector, count: int) -> str:
        few_or_many = "few" if count < type_.width else "many"
        return (
            f"too {few_or_many} elements in vector initialization"
            f" (expected {type_.width} elements, have {count})"
        )


def incompatible(to: Type, value: ir.Expr, how: str = "assigning to") -> str:
    if how == "initializing":
        return f"initializing '{to}' with an expression of incompatible type '{c_type(value)}'"
    return f"assigning to '{to}' from incompatible type '{c_type(value)}'"
