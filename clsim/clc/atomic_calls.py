"""The atomic functions of OpenCL 1.x (OpenCL C 6.15.12): `atomic_*`, and `atom_*` of the extensions."""

from __future__ import annotations

from clsim.clc import ir
from clsim.clc import syntax as ast
from clsim.clc.calls import Calls
from clsim.clc.context import NO_VALUE
from clsim.clc.symbols import NoValue
from clsim.clc.types import FLOAT, INT, LONG, UINT, ULONG, Pointer, Scalar, Space
from clsim.clc.values import c_type

_OPERATIONS = {
    "add": 1, "sub": 1, "xchg": 1, "inc": 0, "dec": 0, "cmpxchg": 2,
    "min": 1, "max": 1, "and": 1, "or": 1, "xor": 1,
}  # fmt: skip
_STEPS = {"inc": "add", "dec": "sub"}


class AtomicCalls(Calls):
    """Calls of atomic functions."""

    def atomic_call(self, name: str, node: ast.Call, wanted: bool) -> ir.Expr | NoValue | None:
        prefix, _, operation = name.partition("_")
        if prefix not in ("atomic", "atom") or operation not in _OPERATIONS:
            return None
        args = self.arguments(node, 1 + _OPERATIONS[operation])
        type_ = self.atomic_type(name, operation, args[0], node)
        values = [
            self.implicit(a, type_, n.pos, "pass") for a, n in zip(args[1:], node.args[1:], strict=True)
        ]
        if operation in _STEPS:
            values = [ir.Const(type_, 1)]
            operation = _STEPS[operation]
        var = self.temporary(type_) if wanted else None
        self.out.append(ir.Atomic(var, operation, type_, args[0], tuple(values), self.loc(node.pos)))
        return NO_VALUE if var is None else ir.Read(var, type_)

    def atomic_type(self, name: str, operation: str, target: ir.Expr, node: ast.Call) -> Scalar:
        """What the atomic works on, checked."""
        of = target.type
        pos = node.args[0].pos
        if not isinstance(of, Pointer):
            self.fail(pos, f"no matching function for call to '{name}': '{c_type(target)}' is not a pointer")
        if of.const or of.space not in (Space.GLOBAL, Space.LOCAL):
            self.fail(
                pos,
                f"no matching function for call to '{name}': '{of}' is not writable global or local memory",
            )
        type_ = of.pointee
        if type_ in (INT, UINT) or (type_ is FLOAT and operation == "xchg"):
            assert isinstance(type_, Scalar)
            return type_
        if type_ in (LONG, ULONG):
            base = operation in ("add", "sub", "xchg", "inc", "dec", "cmpxchg")
            needed = f"cl_khr_int64_{'base' if base else 'extended'}_atomics"
            if needed not in self.target.extensions:
                self.fail(pos, f"'{name}' on '{type_}' requires {needed}")
            assert isinstance(type_, Scalar)
            return type_
        return self.fail(pos, f"no matching function for call to '{name}' on '{type_}'")
