"""Python text for the expressions of one work-item."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clsim.clc import ir
from clsim.clc.types import BOOL, Pointer, Space, Type, Vector
from clsim.vm import builtins
from clsim.vm.dtypes import SCALAR_TYPES, code_of, is_float, width_of
from clsim.vm.scalar_ops import apply_builtin, bitcast, convert_one, scalar_binary, zero_of

_MAX_NESTING = 40
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


class ExpressionWriter:
    """Names, lines and expressions of one function. `constant` names any object in the code's globals."""

    def __init__(self, constant: Callable[[Any], str]) -> None:
        self._constant = constant
        self._names: dict[object, str] = {}
        self._lines: list[str] = []
        self._indent = 1
        self._depth = 0
        self._lazy = 0

    def _emit(self, line: str, indent: int | None = None) -> None:
        self._lines.append("  " * (self._indent if indent is None else indent) + line)

    def _name(self, what: object) -> str:
        name = self._names.get(what)
        if name is None:
            name = self._names[what] = f"v{len(self._names)}"
        return name

    def _fresh(self) -> str:
        return self._name(object())

    def _const(self, value: Any) -> str:
        return self._constant(value)

    def _zero(self, type_: Type) -> str:
        if isinstance(type_, Pointer):
            return "M.null"
        zero = zero_of(code_of(type_))
        return self._const((zero,) * type_.width if isinstance(type_, Vector) else zero)

    # ------------------------------------------------------------ expressions

    def _expr(self, e: ir.Expr) -> str:
        self._depth += 1
        text: str = getattr(self, "_on_" + type(e).__name__.lower())(e)
        self._depth -= 1
        if self._depth > _MAX_NESTING and not self._lazy and len(text) > 20:
            name = self._fresh()  # Python limits how deep an expression may nest
            self._emit(f"{name} = {text}")
            return name
        return text

    def _components(self, e: ir.Expr) -> str:
        text = self._expr(e)
        return text if isinstance(e.type, Vector) else f"({text},)"

    def _each(self, type_: Type, function: str, *operands: ir.Expr) -> str:
        """A function of scalars on scalars, or component by component."""
        args = [self._expr(o) for o in operands]
        if not isinstance(type_, Vector):
            return f"{function}({', '.join(args)})"
        return f"tuple(map({function}, {', '.join(args)}))"

    def _on_const(self, e: ir.Const) -> str:
        if isinstance(e.type, Pointer):
            return f"M.pointer({int(e.value)})" if e.value else "M.null"
        code = code_of(e.type)
        if is_float(code):
            return self._const(SCALAR_TYPES[code](e.value))
        return repr(bool(e.value) if code == "?" else int(e.value))

    def _on_read(self, e: ir.Read) -> str:
        return self._name(e.var)

    def _on_address(self, e: ir.Address) -> str:
        if e.memory.space is Space.PRIVATE:
            return self._name(e.memory)
        return f"S[{self._const(e.memory)}]"

    def _on_offset(self, e: ir.Offset) -> str:
        return f"M.move({self._expr(e.pointer)}, {self._expr(e.index)} * {e.stride})"

    def _on_pointerdifference(self, e: ir.PointerDifference) -> str:
        a, b = self._expr(e.a), self._expr(e.b)
        return f"((M.address({a}) - M.address({b})) // {e.stride})"

    def _on_load(self, e: ir.Load) -> str:
        code, width = code_of(e.type), width_of(e.type)
        text = f"M.load({self._expr(e.pointer)}, {code!r}, {width}, {e.align}, {self._const(e.loc)})"
        if isinstance(e.type, Pointer):
            return f"M.pointer({text}[0])"
        return text if width > 1 else text + "[0]"

    def _on_unary(self, e: ir.Unary) -> str:
        code = code_of(e.type)
        if e.op == "lnot":
            return f"(not {self._expr(e.a)})"
        zero, minus_one = zero_of(code), -1
        if is_float(code):
            function: Any = SCALAR_TYPES[code].__neg__
        elif e.op == "neg":
            subtract = scalar_binary("sub", code)
            function = lambda x: subtract(zero, x)  # noqa: E731
        else:
            invert = scalar_binary("xor", code)
            function = lambda x: invert(x, minus_one)  # noqa: E731
        return self._each(e.type, self._const(function), e.a)

    def _on_binary(self, e: ir.Binary) -> str:
        return self._each(e.type, self._const(scalar_binary(e.op, code_of(e.type))), e.a, e.b)

    def _on_compare(self, e: ir.Compare) -> str:
        operator = _COMPARISONS[e.op]
        a, b = self._expr(e.a), self._expr(e.b)
        if isinstance(e.a.type, Pointer):
            return f"(M.address({a}) {operator} M.address({b}))"
        if isinstance(e.a.type, Vector):
            return f"tuple(-1 if x {operator} y else 0 for x, y in zip({a}, {b}))"
        return f"bool({a} {operator} {b})"

    def _lazily(self, e: ir.Expr) -> str:
        self._lazy += 1
        text = self._expr(e)
        self._lazy -= 1
        return text

    def _on_logical(self, e: ir.Logical) -> str:
        return f"({self._expr(e.a)} {e.op} {self._lazily(e.b)})"

    def _on_cond(self, e: ir.Cond) -> str:
        test = self._expr(e.test)
        return f"({self._lazily(e.a)} if {test} else {self._lazily(e.b)})"

    def _on_convert(self, e: ir.Convert) -> str:
        a, source, target = self._expr(e.a), e.a.type, e.type
        if isinstance(source, Pointer) and isinstance(target, Pointer):
            return a
        if isinstance(source, Pointer):
            a = f"M.address({a})"
            if target == BOOL:
                return f"({a} != 0)"
        pointer_wanted = isinstance(target, Pointer)
        codes = code_of(source), code_of(target)
        if codes[0] != codes[1]:
            function = self._const(
                lambda x, c=codes, s=e.saturate, r=e.rounding: convert_one(x, c[0], c[1], s, r)
            )
            a = f"tuple(map({function}, {a}))" if isinstance(target, Vector) else f"{function}({a})"
        return f"M.pointer({a})" if pointer_wanted else a

    def _on_bitcast(self, e: ir.Bitcast) -> str:
        source, target = e.a.type, e.type
        if isinstance(source, Pointer) and isinstance(target, Pointer):
            return self._expr(e.a)
        a = f"(M.address({self._expr(e.a)}),)" if isinstance(source, Pointer) else self._components(e.a)
        if isinstance(source, Vector) and source.width == 3:
            a = f"({a} + ({self._zero(source.elem)},))"
        text = f"{self._const(bitcast)}({a}, {code_of(source)!r}, {code_of(target)!r})"
        if isinstance(target, Pointer):
            return f"M.pointer({text}[0])"
        if isinstance(target, Vector):
            return f"{text}[:3]" if target.width == 3 else text
        return text + "[0]"

    def _on_build(self, e: ir.Build) -> str:
        parts = [self._components(p) for p in e.parts]
        if len(parts) == 1 and not isinstance(e.parts[0].type, Vector):
            return f"({parts[0]} * {e.type.width})"
        return "(" + " + ".join(parts) + ")"

    def _on_extract(self, e: ir.Extract) -> str:
        a = self._expr(e.a)
        if len(e.indices) == 1:
            return f"{a}[{e.indices[0]}]"
        return f"tuple(map({a}.__getitem__, {e.indices!r}))"

    def _on_builtin(self, e: ir.Builtin) -> str:
        if e.name in builtins.WORK_ITEM:
            args = ", ".join(self._expr(a) for a in e.args)
            return f"I.{e.name}({args})"
        codes = tuple(code_of(a.type) for a in e.args)
        args = "".join(self._components(a) + ", " for a in e.args)
        widths = [width_of(a.type) for a in e.args]
        width = width_of(e.type) if builtins.whole(e.name) else max(widths, default=1)
        apply = self._const(apply_builtin)
        text = f"{apply}({e.name!r}, {width}, {code_of(e.type)!r}, {codes!r}, ({args}))"
        return text if isinstance(e.type, Vector) else text + "[0]"
