"""Expressions of the lockstep tier as Python text."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from clsim.clc import ir
from clsim.clc.types import Array, Pointer, Scalar, Type, Vector
from clsim.vm import builtins
from clsim.vm.convert import convert
from clsim.vm.dtypes import LIMITS, SCALAR_TYPES, SIZES, code_of, is_float, width_of, wrap
from clsim.vm.lanes import run
from clsim.vm.lanes.analysis import Analysis, Unsupported
from clsim.vm.scalar_ops import apply_builtin, convert_one, scalar_binary, zero_of

_OPERATORS = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^", "div": "/"}
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_IDS = {
    "get_global_id": "global_id", "get_local_id": "local_id", "get_group_id": "group_id",
    "get_local_linear_id": "local_linear_id", "get_global_linear_id": "global_linear_id",
}  # fmt: skip
_POSITIVE = frozenset(["add", "mul", "div", "rem", "shr", "and", "or"])


class Place(NamedTuple):
    """Where an access stands in the source, and what a report says of it."""

    loc: ir.Loc
    label: str
    code: str
    size: int
    write: bool


@dataclass(frozen=True, slots=True)
class Value:
    """One component as Python text.

    `uniform` text gives a Python int or bool, or a NumPy float; other text a NumPy scalar or array of
    exactly the type `code`. `known` is a constant's value. `positive` says that an integer is never below
    zero. `fixed` text depends on ids and arguments alone, so that it can be computed once a chunk.
    """

    text: str
    code: str
    uniform: bool
    positive: bool = False
    fixed: bool = False
    known: Any = None
    split: tuple[Value, Value] | None = None
    """The value as the sum of one that is fixed and varies, and one that is uniform."""


@dataclass(frozen=True, slots=True)
class Target:
    """A pointer: a known memory object, and its byte offset as a sum of index times stride."""

    memory: object
    parts: tuple[tuple[Value, int], ...] = ()


class Expressions:
    """Turns expressions into text. `emit` of the statements' writer takes lines that come before."""

    def __init__(self, module: ir.Module, kernel: ir.Function) -> None:
        self.module = module
        self.kernel = kernel
        self.facts = Analysis(module, kernel)
        self.pool: dict[str, Any] = {
            "np": np, "LD": run.load, "LDF": run.load_fixed, "ST": run.store, "SEL": run.select,
            "BOTH": run.both, "WITHOUT": run.without, "ANY": run.any_lane,
        }  # fmt: skip
        self.pool.update({f"T_{code}": kind for code, kind in SCALAR_TYPES.items() if code != "?"})
        self.pool["T_b"] = np.bool_
        self.prelude: list[str] = []
        self.mask = "None"
        self._constants: dict[Any, str] = {}
        self._hoisted: dict[str, str] = {}
        self._names: dict[object, str] = {}
        self._count = 0
        self.alias: dict[ir.Var, list[Value]] = {}
        self.pointers: dict[ir.Var, Target] = {}
        self.memory_names: dict[object, str] = {}

    # ------------------------------------------------------------ names

    def fresh(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def name(self, what: object, prefix: str = "v") -> str:
        if what not in self._names:
            self._names[what] = self.fresh(prefix)
        return self._names[what]

    def constant(self, value: Any) -> str:
        """A global name of the generated code for any object."""
        key = (type(value), value.tobytes()) if isinstance(value, np.generic) else id(value)
        if key not in self._constants:
            name = self._constants[key] = self.fresh("K")
            self.pool[name] = value
        return self._constants[key]

    def hoist(self, value: Value) -> Value:
        """The value with its text computed once a chunk, where it can be and is worth it."""
        if not value.fixed or value.uniform or value.text.isidentifier():
            return value
        name = self._hoisted.get(value.text)
        if name is None:
            name = self._hoisted[value.text] = self.fresh("h")
            self.prelude.append(f"{name} = {value.text}")
        return replace(value, text=name)

    def zero(self, code: str, uniform: bool = False) -> str:
        return repr(zero_of(code)) if uniform and not is_float(code) else self.constant(_typed(code, 0))

    def array(self, value: Value) -> str:
        """Text of the value as a NumPy scalar or array of its type."""
        if not value.uniform or is_float(value.code):
            return self.hoist(value).text
        if value.known is not None:
            return self.constant(_typed(value.code, value.known))
        return f"T_{value.code.replace('?', 'b')}({value.text})"

    def test(self, e: ir.Expr) -> Value:
        return self.hoist(self.one(e))

    # ------------------------------------------------------------ expressions

    def one(self, e: ir.Expr) -> Value:
        """A scalar expression."""
        (value,) = self.components(e)
        return value

    def components(self, e: ir.Expr) -> list[Value]:
        method = getattr(self, "_on_" + type(e).__name__.lower(), None)
        if method is None:
            raise Unsupported(type(e).__name__)
        result: list[Value] = method(e)
        return result

    def _on_const(self, e: ir.Const) -> list[Value]:
        if isinstance(e.type, Pointer):
            raise Unsupported("a NULL pointer as a value")
        code = code_of(e.type)
        if is_float(code):
            kind = SCALAR_TYPES[code](e.value)
            return [Value(self.constant(kind), code, True, fixed=True, known=kind)]
        known = bool(e.value) if code == "?" else wrap(code, int(e.value))
        return [Value(f"({known})" if known < 0 else repr(known), code, True, known >= 0, True, known)]

    def _on_read(self, e: ir.Read) -> list[Value]:
        if isinstance(e.type, Pointer):
            raise Unsupported("a pointer as a value")
        if e.var in self.alias:
            return self.alias[e.var]
        return self.register(e.var)

    def register(self, var: ir.Var) -> list[Value]:
        """The variable's own Python names."""
        uniform = var not in self.facts.varying
        name, code, width = self.name(var), code_of(var.type), width_of(var.type)
        if width == 1:
            return [Value(name, code, uniform, var in self.facts.positive)]
        return [Value(f"{name}_{k}", code, uniform) for k in range(width)]

    def _on_load(self, e: ir.Load) -> list[Value]:
        if isinstance(e.type, Pointer):
            raise Unsupported("a pointer in memory")
        where = self.pointer(e.pointer)
        code, width = code_of(e.type), width_of(e.type)
        if where.memory in self.facts.slots:
            return self._slot_load(where, e)
        index = self.index(where, SIZES[code])
        place = self.place(where, e.loc, code, width, False)
        memory = self.memory_names[where.memory]
        if not index.uniform and (index.fixed or index.split):
            return self._load_at(memory, index, code, width, place)
        texts = []
        head = self.array(index) if not index.uniform else index.text
        if width > 1 and not head.isidentifier() and not index.uniform:
            name = self.fresh("t")
            texts, head = [f"({name} := {head})"], name
        values = []
        for k in range(width):
            at = texts[0] if k == 0 and texts else head
            if k:
                at = f"{at} + {k}" if index.uniform else f"{at} + {self.constant(_typed(index.code, k))}"
            extra = f", {width - 1 - k}" if width > 1 else ""
            text = f"LD(C, {memory}, {at}, {self.mask}, {place}{extra})"
            values.append(Value(text if code != "?" else f"{text}.astype(bool)", code, False))
        return values

    def _load_at(self, memory: str, index: Value, code: str, width: int, place: str) -> list[Value]:
        """A load at an index with a fixed part, whose bounds are worked out once a chunk."""
        zero = Value("0", index.code, True, True, True, 0)
        fixed, uniform = index.split if index.split is not None else (index, zero)
        held = self.hoist(fixed).text
        values = []
        for k in range(width):
            at = self._binary("add", uniform, Value(str(k), index.code, True, True, True, k)).text
            extra = f", {width - 1 - k}" if width > 1 else ""
            text = f"LDF(C, {memory}, {held}, {at}, {self.mask}, {place}{extra})"
            values.append(Value(text if code != "?" else f"{text}.astype(bool)", code, False))
        return values

    def _slot_load(self, where: Target, e: ir.Load) -> list[Value]:
        index = self.index(where, _stride(where))
        code, width = code_of(e.type), width_of(e.type)
        name = self.memory_names[where.memory]
        count = _count(where)
        place = self.place(where, e.loc, code, width, False)
        if index.known is not None and 0 <= index.known < count:
            item = f"{name}[{index.known}]"
        elif index.uniform:
            item = f"{self.constant(slot_load)}(C, {name}, {index.text}, {self.mask}, {place})"
        else:
            item = f"{self.constant(slot_gather)}(C, {name}, {self.array(index)}, {self.mask}, {place})"
        if width == 1:
            return [Value(item, code, False)]
        return [Value(f"{item}[{k}]", code, False) for k in range(width)]

    def place(self, where: Target, loc: ir.Loc, code: str, width: int, write: bool) -> str:
        label = self.label(where.memory)
        return self.constant(Place(loc, label, code, SIZES[code] * width, write))

    def label(self, memory: object) -> str:
        if isinstance(memory, ir.Memory):
            return memory.name
        assert isinstance(memory, ir.Parameter)
        return memory.var.name

    def _on_unary(self, e: ir.Unary) -> list[Value]:
        return [self._unary(e.op, a) for a in self.components(e.a)]

    def _unary(self, op: str, a: Value) -> Value:
        code = a.code
        if op == "lnot":
            text = f"(not {a.text})" if a.uniform else f"(~{a.text})"
        elif a.uniform and not is_float(code):
            text = f"{self._wrapper(code)}({'-' if op == 'neg' else '~'}{a.text})"
        else:
            text = f"({'-' if op == 'neg' else '~'}{self.array(a) if a.uniform else a.text})"
        return Value(text, code, a.uniform, fixed=a.fixed)

    def _wrapper(self, code: str) -> str:
        key = f"W_{code}"
        self.pool.setdefault(key, run.wrapper(code))
        return key

    def _on_binary(self, e: ir.Binary) -> list[Value]:
        pairs = zip(self.components(e.a), self.components(e.b), strict=True)
        return [self._binary(e.op, a, b) for a, b in pairs]

    def _binary(self, op: str, a: Value, b: Value) -> Value:
        code = a.code
        positive = a.positive and b.positive and op in _POSITIVE and not is_float(code)
        positive = positive or (op == "rem" and a.positive) or (op == "and" and (a.positive or b.positive))
        fixed = a.fixed and b.fixed
        if a.uniform and b.uniform and not is_float(code):
            function = scalar_binary(op, code)
            if a.known is not None and b.known is not None:
                known = function(a.known, b.known)
                return Value(f"({known})", code, True, known >= 0, True, known)
            if op in _OPERATORS and op != "div" and code != "?":
                text = f"({a.text} {_OPERATORS[op]} {b.text})"
                if op not in ("and", "or", "xor"):
                    text = f"{self._wrapper(code)}{text}"
            else:
                text = f"{self.constant_function(op, code)}({a.text}, {b.text})"
            return Value(text, code, True, positive, fixed)
        if fixed:  # what is computed once a chunk may stay one long text
            x, y = self._raw(a), self._raw(b)
        else:
            x, y = self.array(a), self.array(b)
        if is_float(code) and op in _OPERATORS:
            text = f"({x} {_OPERATORS[op]} {y})"
        elif is_float(code):
            text = f"np.fmod({x}, {y})"
        elif op in _OPERATORS and op != "div":
            text = f"({x} {_OPERATORS[op]} {y})"
        elif op in ("div", "rem"):
            shift = b.known.bit_length() - 1 if b.known and b.known > 0 else -1
            if op == "div" and a.positive and shift >= 0 and b.known == 1 << shift:
                text = f"({x} >> {self.constant(_typed(code, shift))})"
            else:
                maker = run.divide if op == "div" else run.remainder
                key = f"{op}_{code}_{int(a.positive)}"
                self.pool.setdefault(key, maker(code, a.positive))
                text = f"{key}({x}, {y})"
        else:
            key = f"{op}_{code}"
            if b.known is not None and 0 <= b.known < 8 * SIZES[code]:
                text = f"({x} {'<<' if op == 'shl' else '>>'} {y})"
            else:
                self.pool.setdefault(key, run.shift(op, code))
                text = f"{key}({x}, {y})"
        split = None if fixed else self._split(op, a, b)
        return Value(text, code, a.uniform and b.uniform, positive, fixed, split=split)

    def _split(self, op: str, a: Value, b: Value) -> tuple[Value, Value] | None:
        """Sum of a fixed and a uniform part, for signed integers, whose overflow is undefined."""
        if a.code not in ("i4", "i8"):
            return None
        nothing = Value("0", a.code, True, True, True, 0)
        halves = []
        for value in (a, b):
            if value.uniform:
                halves.append((nothing, value))
            elif value.split is not None:
                halves.append(value.split)
            elif value.fixed:
                halves.append((value, nothing))
            else:
                return None
        (fixed_a, uniform_a), (fixed_b, uniform_b) = halves
        if op in ("add", "sub"):
            return self._binary(op, fixed_a, fixed_b), self._binary(op, uniform_a, uniform_b)
        if op == "mul" and b.known is not None:
            return self._binary(op, fixed_a, b), self._binary(op, uniform_a, b)
        if op == "mul" and a.known is not None:
            return self._binary(op, a, fixed_b), self._binary(op, a, uniform_b)
        return None

    def _raw(self, value: Value) -> str:
        return value.text if not value.uniform or is_float(value.code) else self.array(value)

    def constant_function(self, op: str, code: str) -> str:
        key = f"u_{op}_{code.replace('?', 'b')}"
        self.pool.setdefault(key, scalar_binary(op, code))
        return key

    def _on_compare(self, e: ir.Compare) -> list[Value]:
        if isinstance(e.a.type, Pointer):
            raise Unsupported("a comparison of pointers")
        operator = _COMPARISONS[e.op]
        code = code_of(e.type)
        result = []
        for a, b in zip(self.components(e.a), self.components(e.b), strict=True):
            uniform = a.uniform and b.uniform
            text = (
                f"({a.text} {operator} {b.text})"
                if uniform
                else f"({self.array(a)} {operator} {self.array(b)})"
            )
            if uniform:
                text = f"bool{text}" if code == "?" else f"(-1 if {text} else 0)"
            elif code != "?":
                text = f"(-{text}.astype(T_{code}))"
            result.append(Value(text, code, uniform, code == "?", a.fixed and b.fixed))
        return result

    def _lazily(self, e: ir.Expr, test: str | None) -> list[Value]:
        """An operand that only some lanes evaluate: its loads run under their mask."""
        outer = self.mask
        if test is not None:
            self.mask = f"BOTH({outer}, {test})"
        values = self.components(e)
        self.mask = outer
        return values

    def _on_logical(self, e: ir.Logical) -> list[Value]:
        a = self.one(e.a)
        operator = "and" if e.op == "and" else "or"
        if a.uniform:
            b = self._lazily(e.b, None)[0]
            text = b.text if b.uniform else self.array(b)
            short = repr(e.op == "or") if b.uniform else f"T_b({e.op == 'or'})"
            chosen = (
                f"({text} if {a.text} else {short})"
                if operator == "and"
                else f"({short} if {a.text} else {text})"
            )
            return [Value(chosen, "?", b.uniform, True, a.fixed and b.fixed)]
        if a.fixed:
            a = self.hoist(a)
        name = a.text if a.text.isidentifier() else self.fresh("c")
        b = self._lazily(e.b, name if e.op == "and" else f"~{name}")[0]
        if a.fixed and b.fixed:
            return [
                Value(f"({a.text} {'&' if e.op == 'and' else '|'} {self.array(b)})", "?", False, True, True)
            ]
        head = name if name == a.text else f"({name} := {a.text})"
        return [Value(f"({head} {'&' if e.op == 'and' else '|'} {self.array(b)})", "?", False, True)]

    def _on_cond(self, e: ir.Cond) -> list[Value]:
        if isinstance(e.type, Pointer):
            raise Unsupported("a choice of pointers")
        test = self.test(e.test)
        code = code_of(e.type)
        if test.uniform:
            a, b = self._lazily(e.a, None), self._lazily(e.b, None)
            uniform = all(v.uniform for v in (*a, *b))
            pairs = zip(a, b, strict=True)
            values = []
            for p, q in pairs:
                one, two = (p.text, q.text) if uniform else (self.array(p), self.array(q))
                fixed = test.fixed and p.fixed and q.fixed
                values.append(Value(f"({one} if {test.text} else {two})", code, uniform, False, fixed))
            return values
        name = test.text if test.text.isidentifier() else self.fresh("c")
        a, b = self._lazily(e.a, name), self._lazily(e.b, f"~{name}")
        values = []
        for k, (x, y) in enumerate(zip(a, b, strict=True)):
            head = name if name == test.text or k else f"({name} := {test.text})"
            positive = x.positive and y.positive
            fixed = test.fixed and x.fixed and y.fixed
            values.append(
                Value(f"SEL({head}, {self.array(x)}, {self.array(y)})", code, False, positive, fixed)
            )
        return values

    def _on_convert(self, e: ir.Convert) -> list[Value]:
        if isinstance(e.type, Pointer) or isinstance(e.a.type, Pointer):
            raise Unsupported("a pointer as a number")
        target = code_of(e.type)
        if isinstance(e.a, ir.Builtin) and e.a.name in _IDS and target in ("i4", "u4", "i8"):
            return [self._id(e.a, target)]
        return [self._converted(a, target, e.saturate, e.rounding) for a in self.components(e.a)]

    def _converted(self, a: Value, target: str, saturate: bool, rounding: str) -> Value:
        source = a.code
        if source == target:
            return a
        whole = not is_float(source) and not is_float(target) and target != "?"
        positive = whole and a.positive
        if a.known is not None:
            known = convert_one(a.known, source, target, saturate, rounding)
            text = self.constant(known) if is_float(target) else f"({known})"
            positive = not is_float(target) and known >= 0
            return Value(text, target, True, positive, True, known)
        if a.uniform:
            inside = (
                whole and LIMITS[target][0] <= LIMITS[source][0] and LIMITS[source][1] <= LIMITS[target][1]
            )
            if inside and source != "?":
                return replace(a, code=target)
            if whole and not saturate:
                return Value(f"{self._wrapper(target)}(int({a.text}))", target, True, positive, a.fixed)
            function = _converter(source, target, saturate, rounding)
            return Value(f"{self.constant_of(function)}({a.text})", target, True, positive, a.fixed)
        simple = (whole and not saturate) or (is_float(target) and not rounding)
        if simple:
            return Value(f"{a.text}.astype(T_{target})", target, False, positive, a.fixed)
        if target == "?":
            return Value(f"({a.text} != {self.zero(source)})", target, False, True, a.fixed)
        function = _array_converter(source, target, saturate, rounding)
        return Value(f"{self.constant_of(function)}({a.text})", target, False, positive, a.fixed)

    def constant_of(self, function: Any) -> str:
        return self.constant(_kept(function))

    def _on_bitcast(self, e: ir.Bitcast) -> list[Value]:
        if isinstance(e.type, Pointer) or isinstance(e.a.type, Pointer):
            raise Unsupported("a pointer's bits")
        source, target = code_of(e.a.type), code_of(e.type)
        values = self.components(e.a)
        if SIZES[source] != SIZES[target]:
            raise Unsupported("as_type between element sizes")
        if source == target:
            return values
        return [Value(f"{self.array(v)}.view(T_{target})", target, False, fixed=v.fixed) for v in values]

    def _on_build(self, e: ir.Build) -> list[Value]:
        parts = [v for p in e.parts for v in self.components(p)]
        return parts * e.type.width if len(parts) == 1 else parts

    def _on_extract(self, e: ir.Extract) -> list[Value]:
        values = self.components(e.a)
        return [values[i] for i in e.indices]

    def _id(self, e: ir.Builtin, code: str) -> Value:
        if not e.args:
            return Value(f"C.{_IDS[e.name]}({code!r})", code, False, True, True)
        d = e.args[0]
        if not isinstance(d, ir.Const):
            raise Unsupported(f"{e.name} of a dimension that is no constant")
        if not 0 <= int(d.value) < 3:
            return Value("0", code, True, True, True, 0)
        return Value(f"C.{_IDS[e.name]}({int(d.value)}, {code!r})", code, False, True, True)

    def _on_builtin(self, e: ir.Builtin) -> list[Value]:
        code, width = code_of(e.type), width_of(e.type)
        if e.name in _IDS:
            return [self._id(e, code)]
        if e.name in builtins.WORK_ITEM:
            args = ", ".join(str(self.one(a).text) for a in e.args)
            text = f"{self.constant_of(_SIZES[e.name])}(C.ndrange{', ' + args if args else ''})"
            return [Value(text, code, True, True, True)]
        lists = [self.components(a) for a in e.args]
        flat = [v for items in lists for v in items]
        fixed = all(v.fixed for v in flat)
        if all(v.uniform for v in flat):
            codes = tuple(code_of(a.type) for a in e.args)
            width = width if builtins.whole(e.name) else max((len(x) for x in lists), default=1)
            args = "".join("(" + "".join(v.text + ", " for v in items) + "), " for items in lists)
            text = f"{self.constant_of(apply_builtin)}({e.name!r}, {width}, {code!r}, {codes!r}, ({args}))"
            return [Value(f"{text}[{k}]", code, True, False, fixed) for k in range(width_of(e.type))]
        whole = builtins.whole(e.name)
        if whole:
            args = ", ".join("[" + ", ".join(self.array(v) for v in items) + "]" for items in lists)
            text = f"{self.constant_of(whole)}({args})"
            if width == 1:
                return [Value(f"{text}[0].astype(T_{code})", code, False, False, fixed)]
            name = self.fresh("w")
            first = Value(f"({name} := {text})[0]", code, False)
            return [first, *(Value(f"{name}[{k}]", code, False) for k in range(1, width))]
        width = max((len(x) for x in lists), default=1)
        rows = [[x[0] if len(x) == 1 else x[k] for x in lists] for k in range(width)]
        return [self._applied(e.name, row, code, width > 1, fixed) for row in rows]

    def _applied(self, name: str, row: list[Value], code: str, vector: bool, fixed: bool) -> Value:
        args = ", ".join(self.array(v) for v in row)
        if name == "select":
            chosen = self.array(row[2])
            zero = self.zero(row[2].code)
            if vector:
                signed = f"i{SIZES[row[2].code]}"
                test = f"({chosen}.view(T_{signed}) < {self.zero(signed)})"
            else:
                test = f"({chosen} != {zero})"
            return Value(
                f"SEL({test}, {self.array(row[1])}, {self.array(row[0])})", code, False, False, fixed
            )
        relational = builtins.relational(name)
        if relational:
            text = f"{self.constant_of(relational)}({args}).astype(T_{code})"
            return Value(f"(-{text})" if vector else text, code, False, not vector, fixed)
        function = builtins.elementwise(name)
        if function is None:
            raise Unsupported(f"the built-in {name}")
        return Value(f"{self.constant_of(function)}({args})", code, False, False, fixed)

    # ------------------------------------------------------------ pointers

    def pointer(self, e: ir.Expr) -> Target:
        """The memory object that a pointer leads to, which must be known here, and its offset."""
        if isinstance(e, ir.Address):
            return Target(e.memory)
        if isinstance(e, ir.Offset):
            base = self.pointer(e.pointer)
            return Target(base.memory, (*base.parts, (self.one(e.index), e.stride)))
        if isinstance(e, ir.Bitcast | ir.Convert) and isinstance(e.a.type, Pointer):
            return self.pointer(e.a)
        if isinstance(e, ir.Read) and e.var in self.pointers:
            return self.pointers[e.var]
        raise Unsupported("a pointer that leads to one of several objects")

    def index(self, where: Target, size: int) -> Value:
        """The offset in elements of `size` bytes."""
        total: Value | None = None
        for value, stride in where.parts:
            if value.known == 0:
                continue
            if value.known is not None and value.known * stride % size == 0:
                known = value.known * stride // size
                value, stride = Value(f"({known})", "i8", True, known >= 0, True, known), size
            if stride % size:
                raise Unsupported("an offset that is no multiple of the element")
            part = value
            if stride != size:
                wide = self._converted(value, "i8", False, "")
                factor = stride // size
                part = self._binary("mul", wide, Value(str(factor), "i8", True, True, True, factor))
            if total is not None:
                total = self._converted(total, "i8", False, "")
                part = self._binary("add", total, self._converted(part, "i8", False, ""))
            total = part
        return total if total is not None else Value("0", "i8", True, True, True, 0)


_KEPT: dict[int, Any] = {}


def _kept(function: Any) -> Any:
    """Keeps a function alive for ever, so that its id names it."""
    _KEPT[id(function)] = function
    return function


def _typed(code: str, value: Any) -> Any:
    return SCALAR_TYPES[code](value) if code != "?" else np.bool_(value)


_CONVERTERS: dict[tuple[Any, ...], Any] = {}


def _converter(source: str, target: str, saturate: bool, rounding: str) -> Any:
    key = (source, target, saturate, rounding)
    if key not in _CONVERTERS:
        _CONVERTERS[key] = lambda x: convert_one(x, source, target, saturate, rounding)
    return _CONVERTERS[key]


def _array_converter(source: str, target: str, saturate: bool, rounding: str) -> Any:
    key = ("array", source, target, saturate, rounding)
    if key not in _CONVERTERS:
        _CONVERTERS[key] = lambda x: convert(x, source, target, saturate, rounding)
    return _CONVERTERS[key]


def _of(values: tuple[int, ...], d: int, otherwise: int) -> int:
    return values[d] if 0 <= d < len(values) else otherwise


_SIZES = {
    "get_work_dim": lambda r: len(r.global_size),
    "get_global_size": lambda r, d: _of(r.global_size, d, 1),
    "get_global_offset": lambda r, d: _of(r.offset, d, 0),
    "get_local_size": lambda r, d: _of(r.local_size, d, 1),
    "get_enqueued_local_size": lambda r, d: _of(r.local_size, d, 1),
    "get_num_groups": lambda r, d: _of(tuple(map(int.__floordiv__, r.global_size, r.local_size)), d, 1),
}


# ---------------------------------------------------------------- private arrays, an element a register


def element_of(type_: Type) -> Scalar | Vector:
    while isinstance(type_, Array):
        type_ = type_.elem
    assert isinstance(type_, Scalar | Vector)
    return type_


def _stride(where: Target) -> int:
    assert isinstance(where.memory, ir.Memory)
    return element_of(where.memory.type).size


def _count(where: Target) -> int:
    assert isinstance(where.memory, ir.Memory)
    return where.memory.size // _stride(where)


def slot_load(c: run.Chunk, slots: list[Any], i: int, mask: Any, place: Place) -> Any:
    if 0 <= i < len(slots):
        return slots[i]
    bad = True if mask is None else mask
    c.report("out-of-bounds-read", place, bad, i * place.size, len(slots) * place.size)
    first = slots[0]
    return tuple(x * 0 for x in first) if isinstance(first, tuple) else first * 0


def slot_gather(c: run.Chunk, slots: list[Any], i: Any, mask: Any, place: Place) -> Any:
    """Each lane's own element."""
    wide = i.astype(np.int64)
    bad = (wide < 0) | (wide >= len(slots))
    if mask is not None:
        bad = bad & mask
    if np.any(bad):
        c.report("out-of-bounds-read", place, bad, wide * place.size, len(slots) * place.size)
    if isinstance(slots[0], tuple):
        return tuple(_gathered([s[k] for s in slots], wide) for k in range(len(slots[0])))
    return _gathered(slots, wide)


def _gathered(slots: list[Any], i: Any) -> Any:
    result = slots[0] * slots[0].dtype.type(0) if slots[0].dtype.kind != "b" else slots[0] & False
    for k, value in enumerate(slots):
        result = np.where(i == k, value, result)
    return result


def slot_scatter(c: run.Chunk, slots: list[Any], i: Any, value: Any, mask: Any, place: Place) -> None:
    if isinstance(i, int) and 0 <= i < len(slots):
        slots[i] = _kept_where(mask, value, slots[i])
        return
    wide = np.int64(i) if isinstance(i, int) else i.astype(np.int64)
    bad = (wide < 0) | (wide >= len(slots))
    if mask is not None:
        bad = bad & mask
    if np.any(bad):
        c.report("out-of-bounds-write", place, bad, wide * place.size, len(slots) * place.size)
    for k in range(len(slots)):
        here = wide == k
        if np.any(here):
            slots[k] = _kept_where(run.both(mask, here), value, slots[k])


def _kept_where(mask: Any, value: Any, old: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(run.select(mask, v, o) for v, o in zip(value, old, strict=True))
    return run.select(mask, value, old)
