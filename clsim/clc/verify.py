"""The rules of the IR, checked: what the machine may rely on, also for a module that came as bytes.

`verify` raises ValueError with the first rule that is broken. It never recurses over statements or
expressions deeper than they are nested in calls of its own explicit stack.
"""

from __future__ import annotations

import re

from clsim.clc import ir
from clsim.clc.builtins import WRITES_LAST
from clsim.clc.types import (
    BOOL,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    UINT,
    ULONG,
    Pointer,
    Scalar,
    Space,
    Type,
    Vector,
    Void,
)  # fmt: skip
from clsim.clc.verify_values import MAX_BYTES, ValueRules
from clsim.clc.walk import blocks, expressions, statements

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_TYPE_NAME = re.compile(r"[A-Za-z0-9_ *()]*\Z")
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
        name: [s.function for s in statements(f.body) if isinstance(s, ir.Call)]
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


class _Function(ValueRules):
    """The checks of one function."""

    def __init__(self, module: ir.Module, function: ir.Function, constants: set[ir.Memory]) -> None:
        super().__init__(function.name)
        self.module = module
        self.function = function
        self.memories = constants | set(function.memories)
        self.vars = {p.var for p in function.parameters}

    def check(self) -> None:
        function = self.function
        for memory in function.memories:
            _memory(memory)
            if memory.space not in (Space.PRIVATE, Space.LOCAL) or memory.initial is not None:
                self.fail(f"memory object '{memory.name}' is neither private nor local")
        for parameter in function.parameters:
            self.parameter(parameter)
        self.jumps(function.body)
        every = list(statements(function.body))
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
