"""The conditional operator, on scalars, records and vectors (OpenCL C 6.4.9)."""

from __future__ import annotations

from clsim.clc import ir
from clsim.clc import syntax as ast
from clsim.clc.casts import Casts
from clsim.clc.context import NO_VALUE
from clsim.clc.rules import pointer, same_pointee, usual
from clsim.clc.symbols import NoValue, RecordValue
from clsim.clc.types import BOOL, Pointer, Record, Scalar, Space, Vector, Void, vector
from clsim.clc.values import c_type, is_null


class Choices(Casts):
    """`?:`"""

    def aside(self, node: ast.Expression) -> tuple[ir.Expr | RecordValue | NoValue, list[ir.Statement]]:
        """An operand that may not be evaluated: its value and what it does."""
        outer, self.out = self.out, []
        try:
            return self.any_value(node), self.out
        finally:
            self.out = outer

    def conditional_value(self, node: ast.Conditional) -> ir.Expr | RecordValue | NoValue:
        test = self.rvalue(node.test)
        a, a_does = self.aside(node.a)
        b, b_does = self.aside(node.b)
        if isinstance(test.type, Vector):
            self.out += a_does + b_does
            return self.vector_select(node, test, a, b)
        test = self.condition_of(test, node.test.pos)
        if isinstance(a, NoValue) or isinstance(b, NoValue):
            self.out.append(ir.If(test, tuple(a_does), tuple(b_does), self.loc(node.pos)))
            return NO_VALUE
        record: Record | None = None
        if isinstance(a, RecordValue) or isinstance(b, RecordValue):
            if not isinstance(a, RecordValue) or not isinstance(b, RecordValue) or a.type is not b.type:
                self.fail(node.pos, f"incompatible operand types ('{a.type}' and '{b.type}')")
            record = a.type
            a, b = a.pointer, b.pointer
            common = pointer(record, self.common_space(a, b, node.pos), True)
            a, b = self.retype(a, common), self.retype(b, common)
        else:
            a, b = self.same_type(a, b, node.pos)
        value: ir.Expr
        if isinstance(test, ir.Const):
            self.out += a_does if test.value else b_does
            value = a if test.value else b
        elif not a_does and not b_does:
            value = ir.Cond(a.type, test, a, b)
        else:
            var = self.temporary(a.type)
            a_does.append(ir.Assign(var, a))
            b_does.append(ir.Assign(var, b))
            self.out.append(ir.If(test, tuple(a_does), tuple(b_does), self.loc(node.pos)))
            value = ir.Read(var, var.type)
        return RecordValue(record, value) if record is not None else value

    def common_space(self, a: ir.Expr, b: ir.Expr, pos: int) -> Space:
        assert isinstance(a.type, Pointer)
        assert isinstance(b.type, Pointer)
        if a.type.space is not b.type.space:
            self.not_yet(pos, "a choice between records in different address spaces is")
        return a.type.space

    def conditional_effect(self, node: ast.Conditional) -> None:
        test = self.rvalue(node.test)
        if isinstance(test.type, Vector):
            self.conditional_value(node)
            return
        blocks: list[tuple[ir.Statement, ...]] = []
        for side in (node.a, node.b):
            outer, self.out = self.out, []
            try:
                self.effect(side)
                blocks.append(tuple(self.out))
            finally:
                self.out = outer
        self.out.append(
            ir.If(self.condition_of(test, node.test.pos), blocks[0], blocks[1], self.loc(node.pos))
        )

    def same_type(self, a: ir.Expr, b: ir.Expr, pos: int) -> tuple[ir.Expr, ir.Expr]:
        """The two sides of `?:` brought to their common type."""
        ta, tb = a.type, b.type
        if ta is tb and not isinstance(ta, Scalar):
            return a, b
        if isinstance(ta, Scalar) and isinstance(tb, Scalar):
            type_ = usual(ta, tb)
            if ta is tb is BOOL:
                return a, b
            return self.convert(a, type_), self.convert(b, type_)
        if isinstance(ta, Vector) or isinstance(tb, Vector):
            return self.vector_operands(a, b, pos)
        if isinstance(ta, Pointer) and is_null(b):
            return a, ir.Const(ta, 0)
        if isinstance(tb, Pointer) and is_null(a):
            return ir.Const(tb, 0), b
        if not isinstance(ta, Pointer) or not isinstance(tb, Pointer):
            self.fail(pos, f"incompatible operand types ('{c_type(a)}' and '{c_type(b)}')")
        if ta.space is not tb.space:
            self.fail(
                pos,
                f"conditional operator with the second and third operands of type ('{ta}' and '{tb}')"
                " which are pointers to non-overlapping address spaces",
            )
        if not same_pointee(ta.pointee, tb.pointee):
            self.warn(pos, f"pointer type mismatch ('{ta}' and '{tb}')")
        pointee = tb.pointee if isinstance(ta.pointee, Void) else ta.pointee
        both = pointer(pointee, ta.space, ta.const or tb.const, ta.volatile or tb.volatile)
        return self.retype(a, both), self.retype(b, both)

    def vector_select(
        self,
        node: ast.Conditional,
        test: ir.Expr,
        a: ir.Expr | RecordValue | NoValue,
        b: ir.Expr | RecordValue | NoValue,
    ) -> ir.Expr:
        """`?:` with a vector condition chooses each component by the condition's sign bit."""
        a, b = self.must_be_value(a, node.a.pos), self.must_be_value(b, node.b.pos)
        test_type = test.type
        assert isinstance(test_type, Vector)
        if isinstance(a.type, Scalar) and isinstance(b.type, Scalar):
            common = usual(a.type, b.type)
            a, b = self.convert(a, common), self.convert(b, common)
            a = self.convert(a, vector(common, test_type.width))
        a, b = self.vector_operands(a, b, node.pos)
        type_ = a.type
        assert isinstance(type_, Vector)
        if not test_type.elem.is_integer:
            self.fail(node.test.pos, f"used type '{test_type}' where integer vector is required")
        if type_.width != test_type.width or type_.elem.size != test_type.elem.size:
            self.fail(
                node.pos,
                f"vector condition type '{test_type}' and result type '{type_}' do not have the same number"
                " of elements of the same size",
            )
        return ir.Builtin("select", type_, (b, a, test), self.loc(node.pos))
