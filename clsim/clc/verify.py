"""The rules of the IR, checked: what the machine may rely on, also for a module that came as bytes.

`verify` raises ValueError with the first rule that is broken. It never recurses over statements or
expressions deeper than they are nested in calls of its own explicit stack.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import lru_cache
from typing import NoReturn

from clsim.clc import ir
from clsim.clc.builtins import PURE_NAMES, TABLE, WORK_ITEM, WRITES_LAST, NoMatch, resolve
from clsim.clc.rules import compared, unsigned
from clsim.clc.types import (
    BOOL,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    UINT,
    ULONG,
    Array,
    Kind,
    Opaque,
    Pointer,
    Record,
    Scalar,
    Space,
    Type,
    Vector,
    Void,
)  # fmt: skip
from clsim.clc.walk import blocks, expressions, operands
from clsim.clc.words import WIDTHS

MAX_BYTES = 1 << 40
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_TYPE_NAME = re.compile(r"[A-Za-z0-9_ *()]*\Z")
_ROUNDINGS = frozenset({"", "rte", "rtz", "rtp", "rtn"})
_INTEGER_OPS = frozenset({"rem", "shl", "shr", "and", "or", "xor"})
_OPS = _INTEGER_OPS | {"add", "sub", "mul", "div"}
_COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
_STATEMENTS = frozenset(
    {
        ir.Declare, ir.Assign, ir.Store, ir.CopyMemory, ir.FillMemory, ir.Call, ir.BuiltinCall, ir.Atomic,
        ir.Barrier, ir.Printf, ir.If, ir.Loop, ir.Switch, ir.Break, ir.Continue, ir.Return,
    }
)  # fmt: skip
_ATOMICS = {"add": 1, "sub": 1, "xchg": 1, "min": 1, "max": 1, "and": 1, "or": 1, "xor": 1, "cmpxchg": 2,
            "load": 0, "store": 1}  # fmt: skip


def verify(module: ir.Module) -> None:
    """Check a whole module. Raises ValueError."""
    if len(module.files) != len(module.sources):
        raise ValueError("a module needs the text of each of its files")
    for memory in module.constants:
        _memory(memory)
        if memory.space is not Space.CONSTANT or memory.initial is None or len(memory.initial) != memory.size:
            raise ValueError(f"constant '{memory.name}' has no initial bytes, or not {memory.size} of them")
    constants = set(module.constants)
    for name, function in module.functions.items():
        if name != function.name or not _NAME.match(name):
            raise ValueError(f"function name {name!r} is not an identifier, or not the function's own")
        _Function(module, function, constants).check()
    _no_recursion(module)


def _memory(memory: ir.Memory) -> None:
    if not _NAME.match(memory.name):
        raise ValueError(f"memory name {memory.name!r} is not an identifier")
    if not memory.type.size <= memory.size <= MAX_BYTES:
        raise ValueError(
            f"memory object '{memory.name}' has {memory.size} bytes for a type of {memory.type.size}"
        )
    if not 0 < memory.align <= 4096 or memory.align & (memory.align - 1):
        raise ValueError(f"memory object '{memory.name}' has the alignment {memory.align}")


def _no_recursion(module: ir.Module) -> None:
    callees = {
        name: [s.function for s in _all_statements(f.body) if isinstance(s, ir.Call)]
        for name, f in module.functions.items()
    }
    done: set[str] = set()
    for root in callees:
        path: list[tuple[str, int]] = [(root, 0)]
        active = {root}
        while path:
            name, k = path.pop()
            if name in done or k == len(callees[name]):
                done.add(name)
                active.discard(name)
                continue
            path.append((name, k + 1))
            callee = callees[name][k]
            if callee in active:
                raise ValueError(f"function '{callee}' calls itself")
            if callee not in done:
                active.add(callee)
                path.append((callee, 0))


def _all_statements(block: ir.Block) -> list[ir.Statement]:
    out: list[ir.Statement] = []
    stack = [block]
    while stack:
        for statement in stack.pop():
            out.append(statement)
            stack += blocks(statement)
    return out


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


class _Function:
    """The checks of one function."""

    def __init__(self, module: ir.Module, function: ir.Function, constants: set[ir.Memory]) -> None:
        self.module = module
        self.function = function
        self.memories = constants | set(function.memories)
        self.vars: set[ir.Var] = {p.var for p in function.parameters}
        self.checked: set[int] = set()

    def fail(self, what: str) -> NoReturn:
        raise ValueError(f"function '{self.function.name}': {what}")

    def check(self) -> None:
        function = self.function
        for memory in function.memories:
            _memory(memory)
            if memory.space not in (Space.PRIVATE, Space.LOCAL) or memory.initial is not None:
                self.fail(f"memory object '{memory.name}' is neither private nor local")
        for parameter in function.parameters:
            self.parameter(parameter)
        self.jumps(function.body)
        every = _all_statements(function.body)
        for statement in every:
            if isinstance(statement, ir.Declare):
                if isinstance(statement.what, ir.Var):
                    if not _NAME.match(statement.what.name):
                        self.fail(f"register name {statement.what.name!r} is not an identifier")
                    self.vars.add(statement.what)
                elif statement.what not in self.memories or statement.what.space is not Space.PRIVATE:
                    self.fail(f"declares '{statement.what.name}', which is none of its private objects")
        for statement in every:
            for value in expressions(statement):
                self.expression(value)
            self.statement(statement)

    def parameter(self, parameter: ir.Parameter) -> None:
        if not _NAME.match(parameter.var.name) or not _TYPE_NAME.match(parameter.type_name):
            self.fail(f"parameter {parameter.var.name!r} has a bad name or type name")
        if parameter.qualifiers - {"const", "volatile", "restrict"}:
            self.fail(f"parameter '{parameter.var.name}' has unknown qualifiers")
        if not isinstance(parameter.var.type, (Scalar, Vector, Pointer)):
            self.fail(f"parameter '{parameter.var.name}' has the type '{parameter.var.type}'")

    def jumps(self, body: ir.Block) -> None:
        """Break and continue stand where they mean something."""
        stack = [(body, False, False)]
        while stack:
            block, can_break, can_continue = stack.pop()
            for statement in block:
                if type(statement) not in _STATEMENTS:
                    self.fail(f"has a {type(statement).__name__} where a statement belongs")
                if isinstance(statement, ir.Break) and not can_break:
                    self.fail("break outside a loop or switch")
                if isinstance(statement, ir.Continue) and not can_continue:
                    self.fail("continue outside a loop")
                if isinstance(statement, ir.Loop):
                    stack += [(statement.before, False, False), (statement.after, False, False)]
                    stack.append((statement.body, True, True))
                elif isinstance(statement, ir.Switch):
                    stack += [(part, True, can_continue) for _, part in statement.cases]
                else:
                    stack += [(part, can_break, can_continue) for part in blocks(statement)]

    # ------------------------------------------------------------ statements

    def statement(self, s: ir.Statement) -> None:
        if isinstance(s, ir.Assign):
            self.register(s.var)
            self.same(s.var.type, s.value.type, "assignment")
        elif isinstance(s, ir.Store):
            self.pointer(s.pointer)
            self.align(s.align)
            self.register_type(s.value.type)
        elif isinstance(s, (ir.CopyMemory, ir.FillMemory)):
            self.pointer(s.target)
            if isinstance(s, ir.CopyMemory):
                self.pointer(s.source)
            if not 0 <= s.size <= MAX_BYTES:
                self.fail(f"copies {s.size} bytes")
        elif isinstance(s, ir.Call):
            self.call(s)
        elif isinstance(s, ir.BuiltinCall):
            if s.name not in WRITES_LAST or len(s.args) < 2:
                self.fail(f"calls {s.name!r}, which does not write through its last argument")
            self.pointer(s.args[-1])
            self.result(s.result, s.args[0].type)
        elif isinstance(s, ir.Atomic):
            self.atomic(s)
        elif isinstance(s, (ir.If, ir.Loop)):
            if s.test is not None:
                self.same(s.test.type, BOOL, "test")
        elif isinstance(s, ir.Switch):
            if not isinstance(s.value.type, Scalar) or not s.value.type.is_integer:
                self.fail("switches on a value that is not an integer")
        elif isinstance(s, ir.Return):
            of: Type = Void() if s.value is None else s.value.type
            self.same(of, self.function.result, "result")

    def call(self, s: ir.Call) -> None:
        callee = self.module.functions.get(s.function)
        if callee is None:
            self.fail(f"calls {s.function!r}, which is no function of the module")
        if len(s.args) != len(callee.parameters):
            self.fail(
                f"calls '{s.function}' with {len(s.args)} arguments instead of {len(callee.parameters)}"
            )
        for value, parameter in zip(s.args, callee.parameters, strict=True):
            if isinstance(parameter.var.type, Pointer):
                self.pointer(value)
            else:
                self.same(value.type, parameter.var.type, f"argument of '{s.function}'")
        self.result(s.result, callee.result)

    def atomic(self, s: ir.Atomic) -> None:
        if s.op not in _ATOMICS or len(s.args) != _ATOMICS[s.op]:
            self.fail(f"has the atomic operation {s.op!r} with {len(s.args)} operands")
        if s.type not in (INT, UINT, LONG, ULONG, FLOAT, DOUBLE):
            self.fail(f"has an atomic on '{s.type}'")
        self.pointer(s.pointer)
        for value in s.args:
            self.same(value.type, s.type, "atomic operand")
        self.result(s.result, s.type)

    def result(self, var: ir.Var | None, type_: Type) -> None:
        if var is not None:
            self.register(var)
            self.same(var.type, type_, "result")

    # ------------------------------------------------------------ expressions

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
    ir.Const: _Function.const,
    ir.Read: _Function.read,
    ir.Address: _Function.address,
    ir.Offset: _Function.offset,
    ir.PointerDifference: _Function.difference,
    ir.Load: _Function.load,
    ir.Unary: _Function.unary,
    ir.Binary: _Function.binary,
    ir.Compare: _Function.compare,
    ir.Logical: _Function.logical,
    ir.Cond: _Function.cond,
    ir.Convert: _Function.convert,
    ir.Bitcast: _Function.bitcast,
    ir.Build: _Function.build,
    ir.Extract: _Function.extract,
    ir.Builtin: _Function.builtin,
}
