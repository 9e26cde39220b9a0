"""The rules of the IR for expressions, checked."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NoReturn

from clsim.clc import ir
from clsim.clc.builtins import PURE_NAMES, TABLE, WORK_ITEM, NoMatch, resolve
from clsim.clc.rules import compared, unsigned
from clsim.clc.types import (
    BOOL,
    LONG,
    UINT,
    Array,
    Kind,
    Opaque,
    Pointer,
    Record,
    Scalar,
    Type,
    Vector,
)  # fmt: skip
from clsim.clc.walk import operands
from clsim.clc.words import WIDTHS

MAX_BYTES = 1 << 40
_ROUNDINGS = frozenset({"", "rte", "rtz", "rtp", "rtn"})
_INTEGER_OPS = frozenset({"rem", "shl", "shr", "and", "or", "xor"})
_OPS = _INTEGER_OPS | {"add", "sub", "mul", "div"}
_COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})


@lru_cache(maxsize=4096)
def _builtin_fits(name: str, result: Type, arguments: tuple[Type, ...]) -> bool:
    """Whether a built-in has exactly this signature in the IR, where scalars are already splatted."""
    if name in WORK_ITEM:
        type_, takes_dimension, _ = WORK_ITEM[name]
        return result is type_ and arguments == ((UINT,) if takes_dimension else ())
    if name in TABLE:
        try:
            chosen = resolve(name, arguments, True, True)
        except NoMatch:
            return False
        return chosen.wide == arguments and chosen.result is result
    mask = arguments[-1] if arguments else result
    return (
        len(arguments) == (2 if name == "shuffle" else 3)
        and isinstance(result, Vector)
        and isinstance(mask, Vector)
        and all(isinstance(a, Vector) and a.elem is result.elem for a in arguments[:-1])
        and (mask.width, mask.elem) == (result.width, unsigned(result.elem))
    )


class ValueRules:
    """The checks of one function's expressions."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.memories: set[ir.Memory] = set()
        self.vars: set[ir.Var] = set()
        self.checked: set[int] = set()

    def fail(self, what: str) -> NoReturn:
        raise ValueError(f"function '{self.name}': {what}")

    def expression(self, root: ir.Expr) -> None:
        stack = [root]
        checked = self.checked
        while stack:
            value = stack.pop()
            if id(value) in checked:
                continue
            checked.add(id(value))
            rule = _RULES.get(type(value))
            if rule is None:
                self.fail(f"has a {type(value).__name__} where an expression belongs")
            rule(self, value)
            stack += operands(value)

    def const(self, e: ir.Const) -> None:
        type_, value = e.type, e.value
        if isinstance(type_, Scalar):
            if type_ is BOOL:
                fits = isinstance(value, bool)
            elif type_.kind is Kind.FLOAT:
                fits = isinstance(value, float)
            else:
                low = -(1 << (type_.bits - 1)) if type_.kind is Kind.INT else 0
                high = 1 << (type_.bits - (type_.kind is Kind.INT))
                fits = not isinstance(value, (float, bool)) and low <= value < high
            if fits and type_.kind is Kind.FLOAT and math.isfinite(value):
                fits = abs(value) <= {2: 65504.0, 4: 3.4028234663852886e38, 8: math.inf}[type_.size]
        else:
            # An event is only ever the constant 0.
            fits = isinstance(type_, (Pointer, Opaque)) and type(value) is int and 0 <= value < 1 << 64
        if not fits:
            self.fail(f"has the constant {value!r} of type '{type_}'")

    def read(self, e: ir.Read) -> None:
        self.register(e.var)
        self.same(e.type, e.var.type, "read")

    def address(self, e: ir.Address) -> None:
        if e.memory not in self.memories:
            self.fail(f"takes the address of '{e.memory.name}', which is not its own")
        if not isinstance(e.type, Pointer) or e.type.space is not e.memory.space:
            self.fail(f"has '{e.type}' as the address of '{e.memory.name}'")

    def offset(self, e: ir.Offset) -> None:
        self.pointer(e.pointer)
        if not isinstance(e.type, Pointer) or e.type.space is not e.pointer.type.space:  # type: ignore[union-attr]
            self.fail(f"moves '{e.pointer.type}' to '{e.type}'")
        if not isinstance(e.index.type, Scalar) or not e.index.type.is_integer or e.index.type is BOOL:
            self.fail(f"has an index of type '{e.index.type}'")
        if not 0 <= e.stride <= MAX_BYTES:
            self.fail(f"has a stride of {e.stride} bytes")

    def difference(self, e: ir.PointerDifference) -> None:
        self.pointer(e.a)
        self.pointer(e.b)
        self.same(e.type, LONG, "pointer difference")
        if not 0 < e.stride <= MAX_BYTES:
            self.fail(f"divides a pointer difference by {e.stride}")

    def load(self, e: ir.Load) -> None:
        self.pointer(e.pointer)
        self.register_type(e.type)
        self.align(e.align)

    def unary(self, e: ir.Unary) -> None:
        if e.op not in ("neg", "not", "lnot"):
            self.fail(f"has the operator {e.op!r}")
        self.same(e.type, e.a.type, f"operand of {e.op}")
        if (e.op == "lnot") != (e.type is BOOL):
            self.fail(f"has {e.op} on '{e.type}'")
        self.number(e.type, e.op == "not")

    def binary(self, e: ir.Binary) -> None:
        if e.op not in _OPS:
            self.fail(f"has the operator {e.op!r}")
        self.same(e.a.type, e.type, f"left operand of {e.op}")
        self.same(e.b.type, e.type, f"right operand of {e.op}")
        self.number(e.type, e.op in _INTEGER_OPS)
        if e.type is BOOL:
            self.fail(f"has {e.op} on bool")

    def compare(self, e: ir.Compare) -> None:
        if e.op not in _COMPARISONS:
            self.fail(f"has the comparison {e.op!r}")
        of = e.a.type
        if isinstance(of, Pointer):
            self.pointer(e.b)
        else:
            self.same(of, e.b.type, "operands of a comparison")
        self.same(e.type, compared(of) if isinstance(of, Vector) else BOOL, "comparison")

    def logical(self, e: ir.Logical) -> None:
        if e.op not in ("and", "or"):
            self.fail(f"has the operator {e.op!r}")
        for type_ in (e.type, e.a.type, e.b.type):
            self.same(type_, BOOL, f"operand of {e.op}")

    def cond(self, e: ir.Cond) -> None:
        self.same(e.test.type, BOOL, "test")
        self.same(e.a.type, e.type, "choice")
        self.same(e.b.type, e.type, "choice")
        self.register_type(e.type)

    def convert(self, e: ir.Convert) -> None:
        to, of = e.type, e.a.type
        if e.rounding not in _ROUNDINGS:
            self.fail(f"has the rounding {e.rounding!r}")
        scalars = isinstance(to, (Scalar, Pointer)) and isinstance(of, (Scalar, Pointer))
        vectors = isinstance(to, Vector) and isinstance(of, Vector) and to.width == of.width
        if not scalars and not vectors:
            self.fail(f"converts '{of}' to '{to}'")

    def bitcast(self, e: ir.Bitcast) -> None:
        self.register_type(e.type)
        self.register_type(e.a.type)
        if e.type.size != e.a.type.size or isinstance(e.type, Pointer) != isinstance(e.a.type, Pointer):
            self.fail(f"reinterprets '{e.a.type}' as '{e.type}'")

    def build(self, e: ir.Build) -> None:
        if not isinstance(e.type, Vector):
            self.fail(f"builds a '{e.type}'")
        count = 0
        for part in e.parts:
            elem = part.type.elem if isinstance(part.type, Vector) else part.type
            self.same(elem, e.type.elem, "part of a vector")
            count += part.type.width if isinstance(part.type, Vector) else 1
        splat = len(e.parts) == 1 and isinstance(e.parts[0].type, Scalar)
        if count != e.type.width and not splat:
            self.fail(f"builds '{e.type}' from {count} components")

    def extract(self, e: ir.Extract) -> None:
        of = e.a.type
        if not isinstance(of, Vector) or not all(0 <= i < of.width for i in e.indices):
            self.fail(f"takes components {e.indices} of '{of}'")
        count = e.type.width if isinstance(e.type, Vector) else 1
        elem = e.type.elem if isinstance(e.type, Vector) else e.type
        self.same(elem, of.elem, "component")
        if count != len(e.indices) or count not in (1, *WIDTHS):
            self.fail(f"takes {len(e.indices)} components as '{e.type}'")

    def builtin(self, e: ir.Builtin) -> None:
        if e.name not in PURE_NAMES:
            self.fail(f"uses {e.name!r}, which is no built-in function")
        types = tuple(a.type for a in e.args)
        if not _builtin_fits(e.name, e.type, types):
            listed = ", ".join(map(str, types))
            self.fail(f"has '{e.name}({listed})' give a '{e.type}'")

    # ------------------------------------------------------------ single rules

    def same(self, a: Type, b: Type, what: str) -> None:
        if a is b:
            return
        if isinstance(a, Pointer) and isinstance(b, Pointer) and a.space is b.space:
            return
        if isinstance(a, (Pointer, Record, Array)) or a != b:
            self.fail(f"{what}: '{a}' where '{b}' belongs")

    def number(self, type_: Type, integer: bool) -> None:
        elem = type_.elem if isinstance(type_, Vector) else type_
        if not isinstance(elem, Scalar) or (integer and not elem.is_integer):
            self.fail(f"computes with '{type_}'")

    def pointer(self, value: ir.Expr) -> None:
        if not isinstance(value.type, Pointer):
            self.fail(f"uses a '{value.type}' as a pointer")

    def register(self, var: ir.Var) -> None:
        if var not in self.vars:
            self.fail(f"uses the register {var.name!r}, which it does not declare")

    def register_type(self, type_: Type) -> None:
        if not isinstance(type_, (Scalar, Vector, Pointer)):
            self.fail(f"has a value of type '{type_}'")

    def align(self, value: int) -> None:
        if not 0 < value <= 4096 or value & (value - 1):
            self.fail(f"has an access with alignment {value}")


_RULES: dict[type, Callable[..., None]] = {
    ir.Const: ValueRules.const,
    ir.Read: ValueRules.read,
    ir.Address: ValueRules.address,
    ir.Offset: ValueRules.offset,
    ir.PointerDifference: ValueRules.difference,
    ir.Load: ValueRules.load,
    ir.Unary: ValueRules.unary,
    ir.Binary: ValueRules.binary,
    ir.Compare: ValueRules.compare,
    ir.Logical: ValueRules.logical,
    ir.Cond: ValueRules.cond,
    ir.Convert: ValueRules.convert,
    ir.Bitcast: ValueRules.bitcast,
    ir.Build: ValueRules.build,
    ir.Extract: ValueRules.extract,
    ir.Builtin: ValueRules.builtin,
}
