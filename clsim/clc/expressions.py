"""Lowering expressions (OpenCL C 6.4, C99 6.5).

An expression becomes a pure value; what it does besides (assignments, calls, steps) is written to the
current block first. Where C evaluates an operand only sometimes and the operand does something, the
operator becomes an `If` that sets a temporary.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from clsim.clc import constants, ir
from clsim.clc import syntax as ast
from clsim.clc.assignments import Assignments
from clsim.clc.context import NO_VALUE
from clsim.clc.lexer import BadLiteral, character, number
from clsim.clc.rules import compared, pointer, promote
from clsim.clc.symbols import (
    ComponentPlace,
    EnumConstant,
    FunctionSymbol,
    MemoryPlace,
    NoValue,
    RecordValue,
    Variable,
)  # fmt: skip
from clsim.clc.types import (
    BOOL,
    CHAR,
    INT,
    SCALARS,
    ULONG,
    Array,
    Kind,
    Pointer,
    Scalar,
    Type,
    Vector,
    Void,
)  # fmt: skip
from clsim.clc.values import c_type

_SPINE = 60
"""Operators in a chain after which a temporary cuts it, so that expression trees stay shallow."""


class Expressions(Assignments):
    """Values of expressions."""

    _rules: ClassVar[dict[type, Callable[..., ir.Expr | RecordValue | NoValue]]] = {}

    def call_value(self, node: ast.Call) -> ir.Expr | RecordValue | NoValue:
        raise NotImplementedError

    def initialise_literal(self, node: ast.CompoundLiteral) -> MemoryPlace:
        raise NotImplementedError

    def compound_literal(self, node: ast.CompoundLiteral) -> MemoryPlace:
        return self.initialise_literal(node)

    # ------------------------------------------------------------ entry points

    def any_value(self, node: ast.Expression) -> ir.Expr | RecordValue | NoValue:
        return self._rules[type(node)](self, node)

    def rvalue(self, node: ast.Expression) -> ir.Expr:
        value = self._rules[type(node)](self, node)
        if type(value) is RecordValue or type(value) is NoValue:
            return self.must_be_value(value, node.pos)
        return value  # type: ignore[return-value]

    def condition(self, node: ast.Expression) -> ir.Expr:
        """A controlling expression as a bool."""
        return self.condition_of(self.rvalue(node), node.pos)

    def effect(self, node: ast.Expression) -> None:
        kind = type(node)
        if kind is ast.Assign:
            self.assign(node, False)  # type: ignore[arg-type]
        elif kind is ast.PostStep:
            self.step(node.a, node.op, node.pos)  # type: ignore[union-attr]
        elif isinstance(node, ast.Unary) and node.op in ("++", "--"):
            self.step(node.a, node.op, node.pos)
        elif isinstance(node, ast.Comma):
            self.effect(node.a)
            self.effect(node.b)
        elif isinstance(node, ast.Call):
            self.call_effect(node)
        elif isinstance(node, ast.Cast):
            self.qualified(node.type)
            self.effect(node.a)
        elif isinstance(node, ast.Conditional):
            self.conditional_effect(node)
        else:
            self.any_value(node)

    def call_effect(self, node: ast.Call) -> None:
        raise NotImplementedError

    def constant_integer(self, node: ast.Expression, what: str) -> int:
        value, statements = self.aside(node)
        if statements or not isinstance(value, ir.Const) or not isinstance(value.type, Scalar):
            self.fail(node.pos, f"{what} is not an integer constant expression")
        if not value.type.is_integer:
            self.fail(node.pos, f"{what} must have integer type")
        return int(value.value)

    def type_of_expression(self, node: ast.Expression) -> Type:
        """The type an expression has, arrays and all, without doing anything."""
        outer, self.out = self.out, []
        memories = len(self.state.memories)
        try:
            if self.is_place(node) and not self.is_enumerator(node):
                return self.place(node).type
            if isinstance(node, ast.Cast):
                return self.qualified(node.type).type
            value = self.any_value(node)
        finally:
            self.out = outer
            del self.state.memories[memories:]
        return value.type if isinstance(value, (RecordValue, NoValue)) else c_type(value)

    # ------------------------------------------------------------ leaves

    def name_value(self, node: ast.Name) -> ir.Expr | RecordValue:
        symbol = self.names.get(node.name)
        if type(symbol) is Variable:
            if symbol.constant is not None:
                return symbol.constant
            if symbol.var is not None:
                return ir.Read(symbol.var, symbol.type)
            return self.load(self.variable_place(symbol), node.pos)
        if isinstance(symbol, EnumConstant):
            return ir.Const(INT, constants.wrap(symbol.value, INT))
        if isinstance(symbol, FunctionSymbol):
            self.fail(node.pos, "taking address of function is not allowed")
        return self.load(self.place(node), node.pos)

    def number_value(self, node: ast.Number) -> ir.Expr:
        try:
            name, value = number(node.spelling)
        except BadLiteral as bad:
            self.fail(node.pos, str(bad))
        if name == "double":
            if self.single_precision:
                name = "float"
            elif not self.target.has_double:
                self.warn(
                    node.pos, "double precision constant requires cl_khr_fp64, casting to single precision"
                )
                name = "float"
        elif name == "half" and not self.target.has_half:
            self.fail(node.pos, "half precision constant requires cl_khr_fp16")
        type_ = SCALARS[name]
        if type_.kind is Kind.FLOAT:
            rounded = constants.round_to(float(value), type_)
            if rounded in (float("inf"), float("-inf")) and value != rounded:
                self.warn(node.pos, f"magnitude of floating-point constant too large for type '{type_}'")
            value = rounded
        return ir.Const(type_, value)

    def character_value(self, node: ast.Character) -> ir.Expr:
        try:
            return ir.Const(INT, character(node.spelling))
        except BadLiteral as bad:
            return self.fail(node.pos, str(bad))

    def place_value(self, node: ast.Index | ast.String | ast.CompoundLiteral) -> ir.Expr | RecordValue:
        return self.load(self.place(node), node.pos)

    def index_value(self, node: ast.Index) -> ir.Expr | RecordValue:
        if self.is_place(node.a):
            return self.load(self.index_place(node), node.pos)
        base = self.rvalue(node.a)
        if not isinstance(base.type, Vector):
            return self.load(self.pointer_index(base, self.rvalue(node.index), node), node.pos)
        memory = self.private_memory("vector", base.type, node.pos)
        whole = MemoryPlace(self.address(memory), base.type, False, False, memory.align)
        self.store(whole, base, node.pos)
        place = self.subscripted_vector(whole, self.rvalue(node.index), node)
        return self.load(place, node.pos)

    def member_value(self, node: ast.Member) -> ir.Expr | RecordValue:
        if node.arrow or self.is_place(node.a):
            return self.load(self.member_place(node), node.pos)
        base = self.any_value(node.a)
        if isinstance(base, RecordValue):
            whole = MemoryPlace(base.pointer, base.type, False, False, base.type.align)
            return self.load(self.field_place(whole, self.field(base.type, node), node.pos), node.pos)
        value = self.must_be_value(base, node.pos)
        if not isinstance(value.type, Vector):
            self.fail(node.pos, f"member reference base type '{c_type(value)}' is not a structure or union")
        return self.extract(value, self.swizzle(value.type, node.name, node.pos))

    def size_of(self, node: ast.SizeOf) -> ir.Expr:
        what = node.what
        if isinstance(what, ast.TypeName):
            type_ = self.qualified(what).type
        elif isinstance(what, ast.String):
            type_ = Array(CHAR, len(what.data) + 1)
        else:
            type_ = self.type_of_expression(what)
        if isinstance(type_, Void) and node.operator != "vec_step":
            self.fail(node.pos, f"invalid application of '{node.operator}' to a void type")
        if node.operator == "vec_step":
            if isinstance(type_, Vector):
                return ir.Const(INT, 4 if type_.width == 3 else type_.width)
            if not isinstance(type_, (Scalar, Void)):
                self.fail(node.pos, f"'vec_step' requires built-in scalar or vector type, '{type_}' invalid")
            return ir.Const(INT, 1)
        self.complete(type_, node.pos, f"'{node.operator}' operand")
        return ir.Const(ULONG, type_.size if node.operator == "sizeof" else type_.align)

    # ------------------------------------------------------------ unary

    def unary_value(self, node: ast.Unary) -> ir.Expr | RecordValue:
        op = node.op
        if op == "*":
            return self.load(self.place(node), node.pos)
        if op == "&":
            return self.address_of(node)
        if op in ("++", "--"):
            return self.step(node.a, op, node.pos)
        value = self.rvalue(node.a)
        type_ = value.type
        if op == "!":
            return self.logical_not(value, node.pos)
        if isinstance(type_, Scalar):
            if op == "~" and not type_.is_integer:
                self.fail(node.pos, f"invalid argument type '{type_}' to unary expression")
            to = promote(type_)
            value = self.convert(value, to)
            if op == "+":
                return value
            name = "neg" if op == "-" else "not"
            if isinstance(value, ir.Const):
                return ir.Const(to, constants.unary(name, to, value.value))
            return ir.Unary(name, to, value)
        if not isinstance(type_, Vector) or (op == "~" and not type_.elem.is_integer):
            self.fail(node.pos, f"invalid argument type '{c_type(value)}' to unary expression")
        return value if op == "+" else ir.Unary("neg" if op == "-" else "not", type_, value)

    def logical_not(self, value: ir.Expr, pos: int) -> ir.Expr:
        type_ = value.type
        if isinstance(type_, Vector):
            return ir.Compare("eq", compared(type_), value, self.zeros(type_))
        if not isinstance(type_, (Scalar, Pointer)):
            self.fail(pos, f"invalid argument type '{type_}' to unary expression")
        return self.negated(self.truth(value))

    def zeros(self, type_: Vector) -> ir.Expr:
        return self.convert(ir.Const(INT, 0), type_)

    def address_of(self, node: ast.Unary) -> ir.Expr:
        target = node.a
        if isinstance(target, ast.Unary) and target.op == "*":
            return self.rvalue(target.a)
        if isinstance(target, ast.Name) and isinstance(self.names.get(target.name), FunctionSymbol):
            self.fail(node.pos, "taking address of function is not allowed")
        if not self.is_place(target):
            self.fail(node.pos, "cannot take the address of an rvalue")
        place = self.place(target)
        if isinstance(place, ComponentPlace):
            self.fail(node.pos, "address of vector element requested")
        assert isinstance(place, MemoryPlace)
        of = place.pointer.type
        assert isinstance(of, Pointer)
        return self.retype(place.pointer, pointer(place.type, of.space, place.const, place.volatile))

    # ------------------------------------------------------------ binary

    def binary_value(self, node: ast.Binary) -> ir.Expr:
        """A chain of left operands is walked, not recursed into: generated code has long ones."""
        chain = [node]
        left = node.a
        while type(left) is ast.Binary:
            chain.append(left)
            left = left.a
        value = self.rvalue(left)
        length = 0
        while chain:
            item = chain.pop()
            if item.op in ("&&", "||"):
                value = self.logical(item, value)
            else:
                value = self.operate(item.op, value, self.rvalue(item.b), item.pos)
            length += 1
            if length >= _SPINE and chain and not isinstance(value, ir.Const):
                value = self.keep(value)
                length = 0
        return value

    def logical(self, node: ast.Binary, left: ir.Expr) -> ir.Expr:
        op = "and" if node.op == "&&" else "or"
        right, statements = self.aside(node.b)
        right = self.must_be_value(right, node.b.pos)
        if isinstance(left.type, Vector) or isinstance(right.type, Vector):
            self.out += statements
            return self.vector_logical(op, left, right, node.pos)
        for value in (left, right):
            if not isinstance(value.type, (Scalar, Pointer)):
                self.invalid_operands(left, right, node.pos)
        test, other = self.truth(left), self.truth(right)
        if isinstance(test, ir.Const):
            decided = bool(test.value) == (op == "or")
            if decided:
                return test
            self.out += statements
            return other
        if not statements:
            return ir.Logical(op, test, other)
        var = self.temporary(BOOL)
        self.out.append(ir.Assign(var, test))
        statements.append(ir.Assign(var, other))
        goes_on = ir.Read(var, BOOL) if op == "and" else self.negated(ir.Read(var, BOOL))
        self.out.append(ir.If(goes_on, tuple(statements), (), self.loc(node.pos)))
        return ir.Read(var, BOOL)

    def vector_logical(self, op: str, left: ir.Expr, right: ir.Expr, pos: int) -> ir.Expr:
        left, right = self.vector_operands(left, right, pos)
        assert isinstance(left.type, Vector)
        type_ = compared(left.type)
        zeros = self.zeros(left.type)
        return ir.Binary(
            op, type_, ir.Compare("ne", type_, left, zeros), ir.Compare("ne", type_, right, zeros)
        )

    def comma_value(self, node: ast.Comma) -> ir.Expr | RecordValue | NoValue:
        self.effect(node.a)
        return self.any_value(node.b)

    def statement(self, node: ast.Statement | ast.Declaration) -> None:
        raise NotImplementedError

    def statement_value(self, node: ast.StatementExpression) -> ir.Expr | RecordValue | NoValue:
        """The value of the last statement of a block, held beyond the block's end."""
        self.scopes.open()
        try:
            for item in node.body.items[:-1]:
                self.statement(item)
            last = node.body.items[-1] if node.body.items else None
            if not isinstance(last, ast.ExpressionStatement):
                if last is not None:
                    self.statement(last)
                return NO_VALUE
            value = self.any_value(last.a)
            return value if isinstance(value, (RecordValue, NoValue, ir.Const)) else self.keep(value)
        finally:
            self.scopes.close()


Expressions._rules = {
    ast.Name: Expressions.name_value,
    ast.Number: Expressions.number_value,
    ast.Character: Expressions.character_value,
    ast.String: Expressions.place_value,
    ast.Unary: Expressions.unary_value,
    ast.PostStep: Expressions.post_step,
    ast.Binary: Expressions.binary_value,
    ast.Assign: Expressions.assign_value,
    ast.Conditional: Expressions.conditional_value,
    ast.Comma: Expressions.comma_value,
    ast.Cast: Expressions.cast_value,
    ast.VectorLiteral: Expressions.vector_literal,
    ast.CompoundLiteral: Expressions.place_value,
    ast.Call: lambda self, node: self.call_value(node),
    ast.Index: Expressions.index_value,
    ast.Member: Expressions.member_value,
    ast.SizeOf: Expressions.size_of,
    ast.StatementExpression: Expressions.statement_value,
}
