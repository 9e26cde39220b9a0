"""Built-ins whose type is in their name or whose effect is more than a value (OpenCL C 6.4.4, 6.4.5, 6.15).

Conversions, reinterpretations, vload and vstore, shuffles, barriers, prefetch, printf and the asynchronous
copies; atomics have a file of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from clsim.clc import ir
from clsim.clc import syntax as ast
from clsim.clc.atomic_calls import AtomicCalls
from clsim.clc.context import NO_VALUE
from clsim.clc.rules import pointer, shaped, unsigned
from clsim.clc.symbols import NoValue
from clsim.clc.types import (
    BOOL,
    CHAR,
    DOUBLE,
    FLOAT,
    HALF,
    INT,
    LONG,
    SCALARS,
    UCHAR,
    UINT,
    ULONG,
    Kind,
    Pointer,
    Scalar,
    Space,
    Type,
    Vector,
    vector,
)  # fmt: skip
from clsim.clc.values import c_type
from clsim.clc.words import EVENT, SCALAR_ALIASES, VECTOR_NAMES

_CONVERT = re.compile(r"convert_([a-z]+(?:2|3|4|8|16)?)(_sat)?(?:_(rte|rtz|rtp|rtn))?\Z")
_AS = re.compile(r"as_([a-z]+(?:2|3|4|8|16)?|size_t|ptrdiff_t|intptr_t|uintptr_t)\Z")
_VECTOR_ACCESS = re.compile(r"v(load|store)(2|3|4|8|16)\Z")
_HALF_ACCESS = re.compile(r"v(load|store)(a?)_half(2|3|4|8|16)?(?:_(rte|rtz|rtp|rtn))?\Z")


class SpecialCalls(AtomicCalls):
    """Calls that have rules of their own."""

    def special_call(self, name: str, node: ast.Call, wanted: bool) -> ir.Expr | NoValue | None:
        rule = _RULES.get(name)
        if rule is not None:
            return rule(self, node)
        if name.startswith("convert_"):
            return self.convert_call(name, node)
        if name.startswith("as_"):
            return self.as_call(name, node)
        if name[:2] in ("vl", "vs"):
            return self.vector_access(name, node)
        if name.startswith("atom"):
            return self.atomic_call(name, node, wanted)
        if name in ("work_group_barrier",) and self.standard >= (2, 0):
            return self.work_group_barrier(node)
        return None

    # ------------------------------------------------------------ conversions

    def named_type(self, name: str) -> Scalar | Vector | None:
        type_: Scalar | Vector | None = (
            SCALARS.get(name) or SCALAR_ALIASES.get(name) or VECTOR_NAMES.get(name)
        )
        elem = type_.elem if isinstance(type_, Vector) else type_
        if elem is BOOL or (elem is DOUBLE and not self.target.has_double):
            return None
        if elem is HALF and not self.target.has_half:
            return None
        return type_

    def convert_call(self, name: str, node: ast.Call) -> ir.Expr | None:
        match = _CONVERT.match(name)
        to = self.named_type(match[1]) if match else None
        if match is None or to is None:
            return None
        value = self.arguments(node, 1)[0]
        saturate, rounding = match[2] is not None, match[3] or ""
        elem = to.elem if isinstance(to, Vector) else to
        if saturate and not elem.is_integer:
            return None
        width = to.width if isinstance(to, Vector) else 1
        of = value.type
        if not isinstance(of, (Scalar, Vector)) or (of.width if isinstance(of, Vector) else 1) != width:
            self.fail(node.pos, f"no matching function for call to '{name}' (argument '{c_type(value)}')")
        if of is to:
            return value
        if not saturate and not rounding:
            return self.convert(value, to)
        return ir.Convert(to, value, saturate, rounding)

    def as_call(self, name: str, node: ast.Call) -> ir.Expr | None:
        match = _AS.match(name)
        to = self.named_type(match[1]) if match else None
        if to is None:
            return None
        value = self.arguments(node, 1)[0]
        if value.type is BOOL:
            value = self.convert(value, INT)
        of = value.type
        if not isinstance(of, (Scalar, Vector)) or of.size != to.size:
            self.fail(node.pos, f"invalid reinterpretation: sizes of '{to}' and '{c_type(value)}' must match")
        return self.reinterpret(value, of, to)

    def reinterpret(self, value: ir.Expr, of: Scalar | Vector, to: Scalar | Vector) -> ir.Expr:
        """The same bits; a vector of three is filled up to four on the way where that is needed."""
        if of is to:
            return value
        if isinstance(of, Vector) and of.width == 3:
            if isinstance(to, Vector) and to.width == 3:
                return ir.Bitcast(to, value)
            of = vector(of.elem, 4)
            value = ir.Build(of, (value, self.convert(ir.Const(INT, 0), of.elem)))
        if isinstance(to, Vector) and to.width == 3:
            four = vector(to.elem, 4)
            whole = value if of is four else ir.Bitcast(four, value)
            return ir.Extract(to, whole, (0, 1, 2))
        return value if of is to else ir.Bitcast(to, value)

    # ------------------------------------------------------------ vload, vstore

    def vector_access(self, name: str, node: ast.Call) -> ir.Expr | NoValue | None:
        match = _VECTOR_ACCESS.match(name)
        if match is not None:
            width = int(match[2])
            if match[1] == "load":
                base = self.element_pointer(node, 2, 1, None)
                return self.load_vector(base[0], base[1], base[2], width, width, node)
            base = self.element_pointer(node, 3, 2, None)
            return self.store_vector(base[0], base[1], base[2], width, width, node)
        match = _HALF_ACCESS.match(name)
        if match is None or (match[2] and not match[3]) or (match[4] and match[1] == "load"):
            return None
        width = int(match[3] or 1)
        aligned = bool(match[2])
        stride = 4 if aligned and width == 3 else width
        if match[1] == "load":
            base = self.element_pointer(node, 2, 1, HALF)
            loaded = self.load_vector(base[0], base[1], base[2], width, stride, node, aligned)
            return ir.Convert(shaped(FLOAT, width), loaded)
        base = self.element_pointer(node, 3, 2, HALF)
        rounding = match[4] or "rte"
        return self.store_vector(base[0], base[1], base[2], width, stride, node, aligned, rounding)

    def element_pointer(
        self, node: ast.Call, count: int, which: int, elem: Scalar | None
    ) -> tuple[list[ir.Expr], ir.Expr, Pointer]:
        """The arguments of a vload or vstore, its pointer, and that pointer's type, all checked."""
        args = self.arguments(node, count)
        of = args[which].type
        if not isinstance(of, Pointer) or not isinstance(of.pointee, Scalar) or of.pointee is BOOL:
            self.fail(node.args[which].pos, f"'{of}' is not a pointer to a scalar type")
        if elem is not None and of.pointee is not elem:
            self.fail(node.args[which].pos, f"'{of}' is not a pointer to 'half'")
        if of.pointee is HALF and elem is None and not self.target.has_half:
            self.fail(node.args[which].pos, "vectors of 'half' require cl_khr_fp16 support")
        if which == 2 and (of.const or of.space is Space.CONSTANT):
            self.fail(node.args[which].pos, f"cannot store through '{of}'")
        index = args[which - 1]
        if not isinstance(index.type, Scalar) or not index.type.is_integer:
            self.fail(node.args[which - 1].pos, f"vector offset of type '{c_type(index)}' is not an integer")
        return args, args[which], of

    def load_vector(
        self,
        args: list[ir.Expr],
        base: ir.Expr,
        of: Pointer,
        width: int,
        stride: int,
        node: ast.Call,
        aligned: bool = False,
    ) -> ir.Expr:
        elem = of.pointee
        assert isinstance(elem, Scalar)
        type_ = shaped(elem, width)
        at = self.moved(base, args[0], of, type_, stride * elem.size)
        return ir.Load(type_, at, type_.size if aligned else elem.size, self.loc(node.pos), of.volatile)

    def store_vector(
        self,
        args: list[ir.Expr],
        base: ir.Expr,
        of: Pointer,
        width: int,
        stride: int,
        node: ast.Call,
        aligned: bool = False,
        rounding: str = "",
    ) -> NoValue:
        elem = of.pointee
        assert isinstance(elem, Scalar)
        type_ = shaped(elem, width)
        value = args[0]
        if rounding:
            value = self.half_source(value, width, node)
            value = ir.Convert(type_, value, False, rounding)
        else:
            value = self.implicit(value, type_, node.args[0].pos, "pass")
        at = self.moved(base, args[1], of, type_, stride * elem.size)
        align = type_.size if aligned else elem.size
        self.out.append(ir.Store(at, value, align, self.loc(node.pos), of.volatile))
        return NO_VALUE

    def half_source(self, value: ir.Expr, width: int, node: ast.Call) -> ir.Expr:
        """The value of a vstore_half: float, or double where there are doubles."""
        type_ = value.type
        if type_ is shaped(DOUBLE, width):
            return value
        if isinstance(type_, Scalar) and width == 1:
            return self.convert(value, FLOAT)
        return self.implicit(value, shaped(FLOAT, width), node.args[0].pos, "pass")

    def moved(self, base: ir.Expr, index: ir.Expr, of: Pointer, to: Type, stride: int) -> ir.Expr:
        type_ = pointer(to, of.space, of.const, of.volatile)
        if index.type is BOOL:
            index = self.convert(index, INT)
        return ir.Offset(type_, base, index, stride)

    # ------------------------------------------------------------ shuffles

    def shuffle(self, node: ast.Call) -> ir.Expr:
        return self.shuffle_of(node, "shuffle", 1)

    def shuffle2(self, node: ast.Call) -> ir.Expr:
        return self.shuffle_of(node, "shuffle2", 2)

    def shuffle_of(self, node: ast.Call, name: str, count: int) -> ir.Expr:
        args = self.arguments(node, count + 1)
        type_, mask = args[0].type, args[-1].type
        fits = isinstance(type_, Vector) and isinstance(mask, Vector) and 3 not in (type_.width, mask.width)
        if fits and count == 2:
            fits = args[1].type is type_
        if not fits or not isinstance(type_, Vector) or not isinstance(mask, Vector):
            self.fail(node.pos, f"no matching function for call to '{name}'")
        if mask.elem.kind is not Kind.UINT or mask.elem is not unsigned(type_.elem):
            self.fail(node.args[-1].pos, f"mask of '{name}' must be a vector of '{unsigned(type_.elem)}'")
        result = shaped(type_.elem, mask.width)
        return ir.Builtin(name, result, tuple(args), self.loc(node.pos))

    # ------------------------------------------------------------ barriers

    def barrier(self, node: ast.Call) -> NoValue:
        self.flags(node, self.arguments(node, 1))
        self.out.append(ir.Barrier(self.loc(node.pos)))
        return NO_VALUE

    def work_group_barrier(self, node: ast.Call) -> NoValue:
        self.flags(node, self.arguments(node, 2 if len(node.args) == 2 else 1))
        self.out.append(ir.Barrier(self.loc(node.pos)))
        return NO_VALUE

    def fence(self, node: ast.Call) -> NoValue:
        self.flags(node, self.arguments(node, 1))
        self.out.append(ir.Barrier(self.loc(node.pos), True))
        return NO_VALUE

    def flags(self, node: ast.Call, args: list[ir.Expr]) -> None:
        for value, argument in zip(args, node.args, strict=True):
            self.implicit(value, UINT, argument.pos, "pass")

    def expect(self, node: ast.Call) -> ir.Expr:
        """`__builtin_expect`, a hint of clang's: its first argument as a long."""
        return self.implicit(self.arguments(node, 2)[0], LONG, node.pos, "pass")

    # ------------------------------------------------------------ copies

    def prefetch(self, node: ast.Call) -> NoValue:
        base, count = self.arguments(node, 2)
        if not isinstance(base.type, Pointer) or base.type.space is not Space.GLOBAL:
            self.fail(node.args[0].pos, f"'{base.type}' is not a pointer to global memory")
        self.implicit(count, ULONG, node.args[1].pos, "pass")
        return NO_VALUE

    def async_copy(self, node: ast.Call) -> ir.Expr:
        return self.async_copy_of(node, False)

    def async_strided_copy(self, node: ast.Call) -> ir.Expr:
        return self.async_copy_of(node, True)

    def async_copy_of(self, node: ast.Call, strided: bool) -> ir.Expr:
        """Each work-item copies its share; `wait_group_events` is a barrier."""
        args = self.arguments(node, 5 if strided else 4)
        target, source = args[0], args[1]
        tt, ts = target.type, source.type
        if not isinstance(tt, Pointer) or not isinstance(ts, Pointer) or tt.pointee is not ts.pointee:
            self.fail(node.pos, f"no matching function for this call (arguments '{tt}', '{ts}')")
        if {tt.space, ts.space} != {Space.LOCAL, Space.GLOBAL} or tt.const:
            self.fail(node.pos, "an asynchronous copy goes between local and global memory")
        elem = tt.pointee
        if not isinstance(elem, (Scalar, Vector)):
            self.fail(node.pos, f"an asynchronous copy cannot copy '{elem}'")
        for k in range(2, len(args) - 1):
            args[k] = self.implicit(args[k], ULONG, node.args[k].pos, "pass")
        if c_type(args[-1]) not in (EVENT, INT):
            self.fail(node.args[-1].pos, f"'{c_type(args[-1])}' is not an event")
        target, source, count = self.settled(target), self.settled(source), self.keep(args[2])
        stride = self.keep(args[3]) if strided else None
        self.out.append(self.share_loop(target, source, count, stride, elem, node))
        return ir.Const(EVENT, 0)

    def share_loop(
        self, target: ir.Expr, source: ir.Expr, count: ir.Read, stride: ir.Read | None,
        elem: Scalar | Vector, node: ast.Call,
    ) -> ir.Loop:  # fmt: skip
        loc = self.loc(node.pos)
        index = self.temporary(ULONG)
        self.out.append(ir.Assign(index, self.linear_id(loc)))
        at: ir.Expr = ir.Read(index, ULONG)
        if stride is not None:
            at = ir.Binary("mul", ULONG, at, ir.Read(stride.var, ULONG))
        assert isinstance(target.type, Pointer)
        gathers = target.type.space is Space.LOCAL
        plain: ir.Expr = ir.Read(index, ULONG)
        to = ir.Offset(target.type, target, plain if gathers else at, elem.size)
        of = ir.Offset(source.type, source, at if gathers else plain, elem.size)
        copy = ir.Store(to, ir.Load(elem, of, elem.align, loc), elem.align, loc)
        size: ir.Expr = ir.Builtin("get_local_size", ULONG, (ir.Const(UINT, 0),), loc)
        for dimension in (1, 2):
            other = ir.Builtin("get_local_size", ULONG, (ir.Const(UINT, dimension),), loc)
            size = ir.Binary("mul", ULONG, size, other)
        step = ir.Assign(index, ir.Binary("add", ULONG, ir.Read(index, ULONG), size))
        test = ir.Compare("lt", BOOL, ir.Read(index, ULONG), ir.Read(count.var, ULONG))
        return ir.Loop((), test, (copy,), (step,), True, loc)

    def linear_id(self, loc: ir.Loc) -> ir.Expr:
        """The work-item's number in its group."""

        def of(name: str, dimension: int) -> ir.Expr:
            return ir.Builtin(name, ULONG, (ir.Const(UINT, dimension),), loc)

        def nested(dimension: int, inner: ir.Expr) -> ir.Expr:
            size = of("get_local_size", dimension)
            return ir.Binary(
                "add", ULONG, ir.Binary("mul", ULONG, inner, size), of("get_local_id", dimension)
            )

        return nested(0, nested(1, of("get_local_id", 2)))

    def wait_group_events(self, node: ast.Call) -> NoValue:
        args = self.arguments(node, 2)
        self.implicit(args[0], INT, node.args[0].pos, "pass")
        of = args[1].type
        if not isinstance(of, Pointer) or of.pointee is not EVENT:
            self.fail(node.args[1].pos, f"'{of}' is not a pointer to events")
        self.out.append(ir.Barrier(self.loc(node.pos)))
        return NO_VALUE

    # ------------------------------------------------------------ printf

    def printf(self, node: ast.Call) -> ir.Expr:
        if not node.args:
            self.fail(node.pos, "too few arguments to function call, expected at least 1, have 0")
        template = node.args[0]
        if not isinstance(template, ast.String):
            self.not_yet(template.pos, "a format that is not a string literal is")
        args: list[ir.Expr | bytes] = []
        for argument in node.args[1:]:
            if isinstance(argument, ast.String):
                args.append(argument.data)
                continue
            value = self.rvalue(argument)
            args.append(self.promoted(value, argument.pos))
        self.out.append(ir.Printf(template.data, tuple(args), self.loc(node.pos)))
        return ir.Const(INT, 0)

    def promoted(self, value: ir.Expr, pos: int) -> ir.Expr:
        """A variable argument: small integers become int, floats double where there are doubles."""
        type_ = value.type
        if isinstance(type_, Scalar):
            if type_.rank < INT.rank:
                return self.convert(value, INT)
            if type_ in (HALF, FLOAT):
                return self.convert(value, DOUBLE if self.target.has_double else FLOAT)
        elif isinstance(type_, Pointer) and type_.pointee in (CHAR, UCHAR) and type_.space is Space.CONSTANT:
            return value
        elif not isinstance(type_, (Vector, Pointer)):
            self.fail(pos, f"cannot pass a value of type '{type_}' to printf")
        return value


_RULES: dict[str, Callable[[SpecialCalls, ast.Call], ir.Expr | NoValue]] = {
    "shuffle": SpecialCalls.shuffle,
    "shuffle2": SpecialCalls.shuffle2,
    "__builtin_expect": SpecialCalls.expect,
    "barrier": SpecialCalls.barrier,
    "mem_fence": SpecialCalls.fence,
    "read_mem_fence": SpecialCalls.fence,
    "write_mem_fence": SpecialCalls.fence,
    "prefetch": SpecialCalls.prefetch,
    "async_work_group_copy": SpecialCalls.async_copy,
    "async_work_group_strided_copy": SpecialCalls.async_strided_copy,
    "wait_group_events": SpecialCalls.wait_group_events,
    "printf": SpecialCalls.printf,
}
