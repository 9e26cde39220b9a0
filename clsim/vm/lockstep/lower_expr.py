"""Lowers expressions. What loads behind `&&`, `||` or `?:` becomes a branch, so that it never runs where it
must not; everything else is computed in all lanes."""

from __future__ import annotations

from typing import Any

from clsim.clc import ir
from clsim.clc.types import BOOL, Pointer, Type, Vector
from clsim.clc.walk import subexpressions
from clsim.vm.dtypes import SIZES, code_of
from clsim.vm.lockstep.graph import Node, Ptr, Value
from clsim.vm.lockstep.lower_memory import MemoryLowering


class ExpressionLowering(MemoryLowering):
    def expr(self, e: ir.Expr) -> Value:
        handler = _HANDLERS[type(e)]
        result: Value = handler(self, e)
        return result

    def scalar(self, e: ir.Expr) -> Node:
        value = self.expr(e)
        assert isinstance(value, Node), e
        return value

    def pointer(self, e: ir.Expr) -> Ptr:
        value = self.expr(e)
        assert isinstance(value, Ptr), e
        return value

    def components(self, e: ir.Expr) -> tuple[Node, ...]:
        value = self.expr(e)
        if isinstance(value, Ptr):
            return (self.address(value),)
        return value if isinstance(value, tuple) else (value,)

    @staticmethod
    def _packed(nodes: Any, type_: Type) -> Value:
        parts = tuple(nodes)
        return parts if isinstance(type_, Vector) else parts[0]

    # ------------------------------------------------------------ leaves

    def on_const(self, e: ir.Const) -> Value:
        if isinstance(e.type, Pointer):
            if not e.value:
                return Ptr(self.null, self.b.x(0))
            self.has_dynamic_pointers = True
            return Ptr(None, self.b.const("u8", int(e.value)))
        return self.b.const(code_of(e.type), e.value)

    def on_read(self, e: ir.Read) -> Value:
        value = self.env.get(e.var)
        return self.undefined(e.var.type) if value is None else value

    # ------------------------------------------------------------ operators

    def on_unary(self, e: ir.Unary) -> Value:
        code = code_of(e.type)
        if e.op == "lnot":
            return self.b.lnot(self.scalar(e.a))
        make = self.b.neg if e.op == "neg" else self.b.invert
        return self._packed((make(code, a) for a in self.components(e.a)), e.type)

    def on_binary(self, e: ir.Binary) -> Value:
        a, b = self.expr(e.a), self.expr(e.b)
        code = code_of(e.type)
        if isinstance(a, Node) and isinstance(b, Node):
            return self.b.arith(e.op, code, a, b)
        assert isinstance(a, tuple)
        assert isinstance(b, tuple)
        return tuple(self.b.arith(e.op, code, x, y) for x, y in zip(a, b, strict=True))

    def on_compare(self, e: ir.Compare) -> Value:
        a, b = self.expr(e.a), self.expr(e.b)
        if isinstance(a, Ptr) and isinstance(b, Ptr):
            if a.seg is b.seg and a.seg is not None:
                return self.b.compare(e.op, a.off, b.off)
            return self.b.compare(e.op, self.address(a), self.address(b))
        if isinstance(a, tuple) and isinstance(b, tuple):
            code = code_of(e.type)
            found = (self.b.compare(e.op, x, y) for x, y in zip(a, b, strict=True))
            return tuple(self.b.neg(code, self.b.convert(t, code)) for t in found)
        assert isinstance(a, Node)
        assert isinstance(b, Node)
        return self.b.compare(e.op, a, b)

    def on_logical(self, e: ir.Logical) -> Value:
        a = self.scalar(e.a)
        if not _reads_memory(e.b):
            b = self.scalar(e.b)
            return self.b.land(a, b) if e.op == "and" else self.b.lor(a, b)
        key = ("test", e)
        self.env[key] = a
        test = a if e.op == "and" else self.b.lnot(a)
        self.branch(test, lambda: self._remember(key, e.b))
        return self.env.pop(key)

    def _remember(self, key: tuple[str, ir.Expr], e: ir.Expr) -> None:
        value = self.expr(e)  # which may replace the environment
        self.env[key] = value

    def on_cond(self, e: ir.Cond) -> Value:
        test = self.scalar(e.test)
        if test.op == "const":
            return self.expr(e.a if test.attr else e.b)
        if not _reads_memory(e.a) and not _reads_memory(e.b):
            a, b = self.expr(e.a), self.expr(e.b)
            if isinstance(a, Node) and isinstance(b, Node):
                return self.b.select(test, a, b)
            if isinstance(a, tuple) and isinstance(b, tuple):
                return tuple(self.b.select(test, x, y) for x, y in zip(a, b, strict=True))
        key = ("test", e)
        self.env[key] = self.undefined(e.type)
        self.branch(
            test,
            lambda: self._remember(key, e.a),
            lambda: self._remember(key, e.b),
        )
        return self.env.pop(key)

    # ------------------------------------------------------------ conversions and vectors

    def on_convert(self, e: ir.Convert) -> Value:
        value = self.expr(e.a)
        if isinstance(value, Ptr):
            if isinstance(e.type, Pointer):
                return value
            address = self.address(value)
            if e.type == BOOL:
                return self.b.compare("ne", address, self.b.zero("u8"))
            return self.b.convert(address, code_of(e.type))
        if isinstance(e.type, Pointer):
            assert isinstance(value, Node)
            return self.from_address(self.b.convert(value, "u8"))
        code = code_of(e.type)
        if isinstance(value, tuple):
            return tuple(self.b.convert(x, code, e.saturate, e.rounding) for x in value)
        return self.b.convert(value, code, e.saturate, e.rounding)

    def on_bitcast(self, e: ir.Bitcast) -> Value:
        value = self.expr(e.a)
        if isinstance(value, Ptr):
            if isinstance(e.type, Pointer):
                return value
            parts: tuple[Node, ...] = (self.address(value),)
        else:
            parts = value if isinstance(value, tuple) else (value,)
        if isinstance(e.type, Pointer):
            return self.from_address(self._rebits(parts, "u8")[0])
        code = code_of(e.type)
        return self._packed(self._rebits(parts, code)[: getattr(e.type, "width", 1)], e.type)

    def _rebits(self, parts: tuple[Node, ...], code: str) -> list[Node]:
        """The bits of some components as components of another type."""
        source, target = SIZES[parts[0].code], SIZES[code]
        if source == target:
            return [self.b.bitcast(p, code) for p in parts]
        whole = [self.b.bitcast(p, f"u{source}") for p in parts]
        result = []
        if target < source:
            small = f"u{target}"
            for w in whole:
                for k in range(source // target):
                    shifted = self.b.arith("shr", w.code, w, self.b.const(w.code, 8 * target * k))
                    result.append(self.b.bitcast(self.b.convert(shifted, small), code))
            return result
        ratio, wide = target // source, f"u{target}"
        whole += [self.b.zero(f"u{source}")] * (-len(whole) % ratio)
        for at in range(0, len(whole), ratio):
            joined = self.b.zero(wide)
            for k in range(ratio):
                part = self.b.convert(whole[at + k], wide)
                moved = self.b.arith("shl", wide, part, self.b.const(wide, 8 * source * k))
                joined = self.b.arith("or", wide, joined, moved)
            result.append(self.b.bitcast(joined, code))
        return result

    def on_build(self, e: ir.Build) -> Value:
        parts = [c for p in e.parts for c in self.components(p)]
        return tuple(parts * e.type.width) if len(parts) == 1 else tuple(parts)

    def on_extract(self, e: ir.Extract) -> Value:
        parts = self.components(e.a)
        return self._packed((parts[k] for k in e.indices), e.type)

    def on_builtin(self, e: ir.Builtin) -> Value:
        return self.builtin(e)

    def builtin(self, e: ir.Builtin) -> Value:
        raise NotImplementedError


def _reads_memory(e: ir.Expr) -> bool:
    return any(isinstance(inner, ir.Load) for inner in subexpressions(e))


_HANDLERS: dict[type, Any] = {
    ir.Const: ExpressionLowering.on_const,
    ir.Read: ExpressionLowering.on_read,
    ir.Address: ExpressionLowering.on_address,
    ir.Offset: ExpressionLowering.on_offset,
    ir.PointerDifference: ExpressionLowering.on_pointerdifference,
    ir.Load: ExpressionLowering.on_load,
    ir.Unary: ExpressionLowering.on_unary,
    ir.Binary: ExpressionLowering.on_binary,
    ir.Compare: ExpressionLowering.on_compare,
    ir.Logical: ExpressionLowering.on_logical,
    ir.Cond: ExpressionLowering.on_cond,
    ir.Convert: ExpressionLowering.on_convert,
    ir.Bitcast: ExpressionLowering.on_bitcast,
    ir.Build: ExpressionLowering.on_build,
    ir.Extract: ExpressionLowering.on_extract,
    ir.Builtin: ExpressionLowering.on_builtin,
}
