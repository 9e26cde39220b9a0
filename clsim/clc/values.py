"""Conversions, arithmetic and comparisons on values that are already lowered (OpenCL C 6.2, 6.4)."""

from __future__ import annotations

from clsim.clc import constants, ir
from clsim.clc.rules import compared, promote, same_pointee, shaped, usual
from clsim.clc.symbols import NoValue, RecordValue
from clsim.clc.typenames import TypeNames
from clsim.clc.types import (
    BOOL,
    INT,
    LONG,
    ULONG,
    Kind,
    Pointer,
    Scalar,
    Space,
    Type,
    Vector,
    Void,
)  # fmt: skip

_ARITHMETIC = {"+": "add", "-": "sub", "*": "mul", "/": "div", "%": "rem", "&": "and", "|": "or", "^": "xor"}
_SHIFTS = {"<<": "shl", ">>": "shr"}
_COMPARISONS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_INVERSE = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}
_INTEGER_ONLY = frozenset({"%", "&", "|", "^"})

_PHRASES = {
    "assign": "assigning to '{to}' from incompatible type '{of}'",
    "initialise": "initializing '{to}' with an expression of incompatible type '{of}'",
    "pass": "passing '{of}' to parameter of incompatible type '{to}'",
    "return": "returning '{of}' from a function with incompatible result type '{to}'",
}
_POINTER_PHRASES = {
    "assign": "assigning '{of}' to '{to}'",
    "initialise": "initializing '{to}' with an expression of type '{of}'",
    "pass": "passing '{of}' to parameter of type '{to}'",
    "return": "returning '{of}' from a function with result type '{to}'",
}


def c_type(value: ir.Expr) -> Type:
    """A value's type in C: what compares or negates is an int there, a bool only inside the compiler."""
    if value.type is BOOL and isinstance(value, (ir.Compare, ir.Logical, ir.Unary, ir.Const)):
        return INT
    return value.type


def is_null(value: ir.Expr) -> bool:
    """Whether a value is a null pointer constant."""
    return (
        isinstance(value, ir.Const)
        and value.value == 0
        and not isinstance(value.value, float)
        and (isinstance(value.type, Scalar) or isinstance(value.type.pointee, Void))  # type: ignore[union-attr]
    )


class Values(TypeNames):
    """Operations on lowered values."""

    # ------------------------------------------------------------ conversions

    def convert(self, value: ir.Expr, to: Type) -> ir.Expr:
        """An explicit conversion whose legality is known: scalars, a scalar to a vector, pointers."""
        of = value.type
        if of is to:
            return value
        if isinstance(to, Scalar):
            if isinstance(value, ir.Const) and isinstance(of, Scalar):
                return ir.Const(to, constants.convert(value.value, to))
            if to is BOOL:
                return self.truth(value)
            return ir.Convert(to, value)
        if isinstance(to, Vector):
            if isinstance(of, Vector):
                return ir.Convert(to, value)
            return ir.Build(to, (self.convert(value, to.elem),))
        if isinstance(to, Pointer):
            if isinstance(value, ir.Const):
                return ir.Const(to, int(value.value))
            if isinstance(of, Pointer):
                return self.retype(value, to)
            return ir.Convert(to, value)
        return value

    def retype(self, value: ir.Expr, to: Pointer) -> ir.Expr:
        """The same address as another pointer type."""
        if value.type == to:
            return value
        if isinstance(value, ir.Address):
            return ir.Address(value.memory, to)
        if isinstance(value, ir.Offset):
            return ir.Offset(to, value.pointer, value.index, value.stride)
        return ir.Bitcast(to, value)

    def truth(self, value: ir.Expr) -> ir.Expr:
        """The value compared with zero, as a bool."""
        type_ = value.type
        if type_ is BOOL:
            return value
        if isinstance(value, ir.Const):
            return ir.Const(BOOL, bool(value.value))
        if isinstance(value, ir.Convert) and value.a.type is BOOL:
            return value.a
        zero: float | int = 0.0 if isinstance(type_, Scalar) and type_.kind is Kind.FLOAT else 0
        return ir.Compare("ne", BOOL, value, ir.Const(type_, zero))

    def negated(self, value: ir.Expr) -> ir.Expr:
        """The opposite of a bool."""
        if isinstance(value, ir.Const):
            return ir.Const(BOOL, not value.value)
        if isinstance(value, ir.Unary) and value.op == "lnot":
            return value.a
        if isinstance(value, ir.Compare):
            of = value.a.type
            exact = not isinstance(of, Scalar) or of.kind is not Kind.FLOAT
            if exact or value.op in ("eq", "ne"):
                return ir.Compare(_INVERSE[value.op], BOOL, value.a, value.b)
        return ir.Unary("lnot", BOOL, value)

    def condition_of(self, value: ir.Expr, pos: int) -> ir.Expr:
        """A controlling expression as a bool."""
        if value.type is BOOL:
            return value
        if not isinstance(value.type, (Scalar, Pointer)):
            self.fail(pos, f"statement requires expression of scalar type ('{value.type}' invalid)")
        return self.truth(value)

    def implicit(self, value: ir.Expr, to: Type, pos: int, how: str) -> ir.Expr:
        """Convert as an assignment does, or fail. `how`: assign, initialise, pass, return."""
        of = value.type
        if of is to:
            return value
        if isinstance(to, Scalar):
            if isinstance(of, Scalar):
                return self.convert(value, to)
            if isinstance(of, Pointer) and to is BOOL:
                return self.truth(value)
            if isinstance(of, Pointer):
                phrase = _POINTER_PHRASES[how].format(to=to, of=of)
                self.warn(pos, f"incompatible pointer to integer conversion {phrase}")
                return self.convert(ir.Convert(ULONG, value), to)
        elif isinstance(to, Vector):
            if isinstance(of, Scalar):
                return self.convert(value, to)
        elif isinstance(to, Pointer):
            return self.implicit_pointer(value, to, pos, how)
        if of == to:
            return value
        return self.fail(pos, _PHRASES[how].format(to=to, of=c_type(value)))

    def implicit_pointer(self, value: ir.Expr, to: Pointer, pos: int, how: str) -> ir.Expr:
        of = value.type
        if is_null(value):
            return ir.Const(to, 0)
        phrase = _POINTER_PHRASES[how].format(to=to, of=c_type(value))
        if isinstance(of, Scalar) and of.is_integer:
            self.warn(pos, f"incompatible integer to pointer conversion {phrase}")
            return ir.Convert(to, self.convert(value, ULONG))
        if not isinstance(of, Pointer):
            self.fail(pos, _PHRASES[how].format(to=to, of=c_type(value)))
        if of.space is not to.space:
            if how in ("pass", "assign", "initialise", "return"):
                if self.standard >= (2, 0) and to.space is Space.PRIVATE:
                    self.not_yet(pos, f"{phrase}: a pointer to the generic address space is")
                self.fail(pos, f"{phrase} changes address space of pointer")
        elif not same_pointee(of.pointee, to.pointee):
            if isinstance(of.pointee, Pointer) and isinstance(to.pointee, Pointer):
                self.nested_pointers(of.pointee, to.pointee, pos, phrase)
            else:
                self.warn(pos, f"incompatible pointer types {phrase}")
        elif (of.const and not to.const) or (of.volatile and not to.volatile):
            self.warn(pos, f"{phrase} discards qualifiers")
        return self.retype(value, to)

    def nested_pointers(self, of: Pointer, to: Pointer, pos: int, phrase: str) -> None:
        if of.space is not to.space:
            self.fail(pos, f"{phrase} changes address space of nested pointer")
        if not same_pointee(of.pointee, to.pointee):
            self.warn(pos, f"incompatible pointer types {phrase}")
        elif of.const != to.const or of.volatile != to.volatile:
            self.warn(pos, f"{phrase} discards qualifiers in nested pointer types")

    # ------------------------------------------------------------ arithmetic

    def invalid_operands(self, a: ir.Expr, b: ir.Expr, pos: int) -> ir.Expr:
        return self.fail(pos, f"invalid operands to binary expression ('{c_type(a)}' and '{c_type(b)}')")

    def operate(self, op: str, a: ir.Expr, b: ir.Expr, pos: int) -> ir.Expr:
        """Any binary operator but `&&` and `||`, on operands of any types."""
        name = _ARITHMETIC.get(op)
        if name is not None:
            ta, tb = a.type, b.type
            if isinstance(ta, Scalar) and isinstance(tb, Scalar):
                type_ = ta if ta is tb and ta.rank >= 3 else usual(ta, tb)
                if op in _INTEGER_ONLY and type_.kind is Kind.FLOAT:
                    self.invalid_operands(a, b, pos)
                return self.scalar_binary(name, type_, self.convert(a, type_), self.convert(b, type_), pos)
            if isinstance(ta, Pointer) or isinstance(tb, Pointer):
                return self.pointer_arithmetic(op, a, b, pos)
            a, b = self.vector_operands(a, b, pos)
            assert isinstance(a.type, Vector)
            if op in _INTEGER_ONLY and a.type.elem.kind is Kind.FLOAT:
                self.invalid_operands(a, b, pos)
            return ir.Binary(name, a.type, a, b, self.loc(pos) if name in ("div", "rem") else None)
        if op in _COMPARISONS:
            return self.compare(_COMPARISONS[op], a, b, pos)
        return self.shift(_SHIFTS[op], a, b, pos)

    def scalar_binary(self, name: str, type_: Scalar, a: ir.Expr, b: ir.Expr, pos: int) -> ir.Expr:
        if isinstance(a, ir.Const) and isinstance(b, ir.Const):
            result = constants.binary(name, type_, a.value, b.value)
            if result is not None:
                return ir.Const(type_, result)
        if name in ("div", "rem"):
            if isinstance(b, ir.Const) and b.value == 0 and type_.kind is not Kind.FLOAT:
                self.warn(pos, f"{'division' if name == 'div' else 'remainder'} by zero is undefined")
            return ir.Binary(name, type_, a, b, self.loc(pos))
        return ir.Binary(name, type_, a, b)

    def vector_operands(self, a: ir.Expr, b: ir.Expr, pos: int) -> tuple[ir.Expr, ir.Expr]:
        """Two operands of which one is a vector, brought to that vector's type."""
        ta, tb = a.type, b.type
        if isinstance(ta, Vector) and isinstance(tb, Vector):
            if ta is not tb:
                self.invalid_operands(a, b, pos)
            return a, b
        if isinstance(ta, Vector) and isinstance(tb, Scalar):
            return a, self.widened(b, ta, a, b, pos)
        if isinstance(tb, Vector) and isinstance(ta, Scalar):
            return self.widened(a, tb, a, b, pos), b
        self.invalid_operands(a, b, pos)
        return a, b

    def widened(self, scalar: ir.Expr, to: Vector, a: ir.Expr, b: ir.Expr, pos: int) -> ir.Expr:
        of = scalar.type
        assert isinstance(of, Scalar)
        if of.rank > to.elem.rank:
            self.fail(
                pos,
                "scalar operand type has greater rank than the type of the vector element"
                f" ('{c_type(a)}' and '{c_type(b)}')",
            )
        return self.convert(scalar, to)

    def shift(self, name: str, a: ir.Expr, b: ir.Expr, pos: int) -> ir.Expr:
        ta, tb = a.type, b.type
        if isinstance(ta, Scalar) and isinstance(tb, Scalar):
            if not (ta.is_integer and tb.is_integer):
                self.invalid_operands(a, b, pos)
            type_ = promote(ta)
            return self.scalar_binary(name, type_, self.convert(a, type_), self.convert(b, type_), pos)
        if not isinstance(ta, Vector) or not ta.elem.is_integer:
            self.invalid_operands(a, b, pos)
        assert isinstance(ta, Vector)
        if isinstance(tb, Vector):
            if tb.width != ta.width or not tb.elem.is_integer:
                self.invalid_operands(a, b, pos)
        elif not isinstance(tb, Scalar) or not tb.is_integer:
            self.invalid_operands(a, b, pos)
        return ir.Binary(name, ta, a, self.convert(b, ta))

    def compare(self, name: str, a: ir.Expr, b: ir.Expr, pos: int) -> ir.Expr:
        ta, tb = a.type, b.type
        if isinstance(ta, Scalar) and isinstance(tb, Scalar):
            type_ = ta if ta is tb and ta.rank >= 3 else usual(ta, tb)
            a, b = self.convert(a, type_), self.convert(b, type_)
            if isinstance(a, ir.Const) and isinstance(b, ir.Const):
                return ir.Const(BOOL, constants.compare(name, a.value, b.value))
            return ir.Compare(name, BOOL, a, b)
        if isinstance(ta, Pointer) or isinstance(tb, Pointer):
            return self.compare_pointers(name, a, b, pos)
        a, b = self.vector_operands(a, b, pos)
        assert isinstance(a.type, Vector)
        return ir.Compare(name, compared(a.type), a, b)

    # ------------------------------------------------------------ pointers

    def compare_pointers(self, name: str, a: ir.Expr, b: ir.Expr, pos: int) -> ir.Expr:
        ta, tb = a.type, b.type
        if isinstance(ta, Pointer) and is_null(b):
            return ir.Compare(name, BOOL, a, ir.Const(ta, 0))
        if isinstance(tb, Pointer) and is_null(a):
            return ir.Compare(name, BOOL, ir.Const(tb, 0), b)
        if not isinstance(ta, Pointer) or not isinstance(tb, Pointer):
            return self.compare_pointer_with_integer(name, a, b, pos)
        if ta.space is not tb.space:
            self.fail(
                pos,
                f"comparison between ('{ta}' and '{tb}') which are pointers to non-overlapping address"
                " spaces",
            )
        if not same_pointee(ta.pointee, tb.pointee):
            self.warn(pos, f"comparison of distinct pointer types ('{ta}' and '{tb}')")
        return ir.Compare(name, BOOL, a, self.retype(b, ta))

    def compare_pointer_with_integer(self, name: str, a: ir.Expr, b: ir.Expr, pos: int) -> ir.Expr:
        types = f"('{c_type(a)}' and '{c_type(b)}')"
        other = b if isinstance(a.type, Pointer) else a
        if not isinstance(other.type, Scalar) or not other.type.is_integer:
            self.invalid_operands(a, b, pos)
        self.warn(pos, f"comparison between pointer and integer {types}")
        sides = [
            ir.Convert(ULONG, x) if isinstance(x.type, Pointer) else self.convert(x, ULONG) for x in (a, b)
        ]
        return ir.Compare(name, BOOL, sides[0], sides[1])

    def pointer_arithmetic(self, op: str, a: ir.Expr, b: ir.Expr, pos: int) -> ir.Expr:
        ta, tb = a.type, b.type
        if op == "-" and isinstance(ta, Pointer) and isinstance(tb, Pointer):
            if ta.space is not tb.space or not same_pointee(ta.pointee, tb.pointee):
                self.fail(pos, f"'{ta}' and '{tb}' are not pointers to compatible types")
            return ir.PointerDifference(LONG, a, self.retype(b, ta), self.stride(ta, pos))
        if op == "+" and isinstance(tb, Pointer):
            a, b, ta, tb = b, a, tb, ta
        if (
            op not in ("+", "-")
            or not isinstance(ta, Pointer)
            or not isinstance(tb, Scalar)
            or not tb.is_integer
        ):
            return self.invalid_operands(a, b, pos)
        if op == "-":
            type_ = promote(tb)
            if type_.kind is Kind.UINT:
                type_ = LONG
            b = self.convert(b, type_)
            b = ir.Const(type_, -int(b.value)) if isinstance(b, ir.Const) else ir.Unary("neg", type_, b)
        return self.offset(a, b, pos)

    def offset(self, base: ir.Expr, index: ir.Expr, pos: int) -> ir.Expr:
        """`base` moved by `index` elements."""
        type_ = base.type
        assert isinstance(type_, Pointer)
        if index.type is BOOL:
            index = self.convert(index, INT)
        return ir.Offset(type_, base, index, self.stride(type_, pos))

    def stride(self, type_: Pointer, pos: int) -> int:
        """The size of what a pointer points to; void counts as one byte, as in clang."""
        pointee = type_.pointee
        if isinstance(pointee, Void):
            self.warn(pos, "arithmetic on a pointer to void")
            return 1
        self.complete(pointee, pos, "arithmetic on a pointer to a type that")
        return pointee.size

    # ------------------------------------------------------------ vectors

    def component(self, value: ir.Expr, index: int) -> ir.Expr:
        """One component of a vector; of a scalar itself."""
        type_ = value.type
        if not isinstance(type_, Vector):
            return value
        if isinstance(value, ir.Build):
            if len(value.parts) == 1 and isinstance(value.parts[0].type, Scalar):
                return value.parts[0]
            if len(value.parts) == type_.width:
                return value.parts[index]
        return ir.Extract(type_.elem, value, (index,))

    def extract(self, value: ir.Expr, indices: tuple[int, ...]) -> ir.Expr:
        """Some components, in the order given. A component behind the last (`hi` of three) is undefined."""
        type_ = value.type
        assert isinstance(type_, Vector)
        indices = tuple(min(i, type_.width - 1) for i in indices)
        if len(indices) == 1:
            return self.component(value, indices[0])
        if indices == tuple(range(type_.width)):
            return value
        return ir.Extract(shaped(type_.elem, len(indices)), value, indices)

    # ------------------------------------------------------------ guards

    def must_be_value(self, value: ir.Expr | RecordValue | NoValue, pos: int) -> ir.Expr:
        """Refuse a record or nothing where a scalar, vector or pointer is needed."""
        if isinstance(value, RecordValue):
            self.fail(pos, f"used type '{value.type}' where arithmetic or pointer type is required")
        if isinstance(value, NoValue):
            self.fail(pos, "expression of type 'void' where a value is required")
        return value
