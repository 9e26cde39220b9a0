"""A module as bytes and back: what a program binary holds.

The form is one JSON document, deflated. Types, records, places, registers and memory objects stand in
tables; expressions and statements stand in one flat list in which a node names earlier nodes by number, so
that loading never recurses and a node used twice stays one. How a field is written follows from its
annotation in `ir`. Bytes from anywhere are safe to load: nothing is executed, sizes are bounded, and
`verify` checks the rules of the IR before a module is handed out.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from clsim.clc import ir
from clsim.clc.collector import paused
from clsim.clc.recursion import deep_recursion
from clsim.clc.rules import pointer
from clsim.clc.type_table import TypeReader, TypeWriter
from clsim.clc.types import Space, Type
from clsim.clc.verify import verify

FORMAT = 1
"""The version of the serialised form; a module of another version does not load."""

_MAGIC = b"clsim-ir"
_MAX_DOCUMENT = 1 << 28
_SPACES = {space.value: space for space in Space}

_NODES: tuple[type, ...] = (
    ir.Const, ir.Read, ir.Address, ir.Offset, ir.PointerDifference, ir.Load, ir.Unary, ir.Binary, ir.Compare,
    ir.Logical, ir.Cond, ir.Convert, ir.Bitcast, ir.Build, ir.Extract, ir.Builtin,
    ir.Declare, ir.Assign, ir.Store, ir.CopyMemory, ir.FillMemory, ir.Call, ir.BuiltinCall, ir.Atomic,
    ir.Barrier, ir.Printf, ir.If, ir.Loop, ir.Switch, ir.Break, ir.Continue, ir.Return,
)  # fmt: skip
_TAGS = {node: tag for tag, node in enumerate(_NODES)}
_FIELDS: list[list[tuple[str, str]]] = [[(f.name, str(f.type)) for f in fields(node)] for node in _NODES]


def dump(module: ir.Module) -> bytes:
    """The module as bytes; the same module always gives the same bytes."""
    with deep_recursion(), paused():
        document = _Writer().module(module)
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=True).encode()
    return _MAGIC + FORMAT.to_bytes(2, "little") + zlib.compress(text, 6)


def load(data: bytes) -> ir.Module:
    """A module from bytes. Raises ValueError with the reason if they are not one that `dump` could write."""
    head = len(_MAGIC)
    if data[:head] != _MAGIC:
        raise ValueError("not a serialised clsim module")
    version = int.from_bytes(data[head : head + 2], "little")
    if version != FORMAT:
        raise ValueError(f"module has format {version}, this is format {FORMAT}")
    inflater = zlib.decompressobj()
    try:
        text = inflater.decompress(data[head + 2 :], _MAX_DOCUMENT)
    except zlib.error as problem:
        raise ValueError(f"module does not inflate: {problem}") from None
    if not inflater.eof or inflater.unused_data:
        raise ValueError("module is truncated, too large, or followed by other bytes")
    try:
        with paused():
            module = _Reader(json.loads(text)).module()
            verify(module)
    except ValueError:
        raise
    except (KeyError, IndexError, TypeError, AttributeError, RecursionError, OverflowError) as problem:
        raise ValueError(f"module is malformed: {type(problem).__name__}: {problem}") from None
    return module


# ---------------------------------------------------------------- writing


class _Writer:
    def __init__(self) -> None:
        self.types = TypeWriter()
        self.locs: list[int] = []
        self.loc_index: dict[ir.Loc, int] = {}
        self.vars: list[list[Any]] = []
        self.var_index: dict[ir.Var, int] = {}
        self.memories: list[list[Any]] = []
        self.memory_index: dict[ir.Memory, int] = {}
        self.nodes: list[list[Any]] = []
        self.node_index: dict[int, int] = {}
        self.const_index: dict[tuple[Type, str], int] = {}
        self.write: dict[str, Callable[[Any], Any]] = {
            "int": _same, "str": _same, "bool": _same, "int | float | bool": _same,
            "Type": self.types.index, "Scalar": self.types.index, "Vector": self.types.index,
            "Expr": self.node, "Expr | None": self.optional_node,
            "Var": self.var, "Var | None": self.optional_var, "Memory": self.memory,
            "Var | Memory": self.var_or_memory, "Loc": self.loc, "Loc | None": self.loc,
            "bytes": _base64, "tuple[int, ...]": list, "tuple[Expr, ...]": self.block,
            "tuple[Expr | bytes, ...]": self.printf_args, "Block": self.block,
            "tuple[tuple[tuple[int, ...] | None, Block], ...]": self.cases,
        }  # fmt: skip
        self.plans = [[(name, self.write[kind]) for name, kind in plan] for plan in _FIELDS]

    def module(self, module: ir.Module) -> dict[str, Any]:
        constants = [self.memory(m) for m in module.constants]
        functions = [self.function(f) for f in module.functions.values()]
        return {
            "files": list(module.files),
            "sources": list(module.sources),
            "options": module.options,
            "daz": module.denormals_are_zero,
            "constants": constants,
            "functions": functions,
            "types": self.types.rows,
            "records": self.types.record_rows(),
            "locs": self.locs,
            "vars": self.vars,
            "memories": self.memories,
            "nodes": self.nodes,
        }

    def function(self, f: ir.Function) -> list[Any]:
        a = f.attributes
        return [
            f.name, [self.parameter(p) for p in f.parameters], self.types.index(f.result), self.block(f.body),
            f.is_kernel, [a.required_work_group_size, a.work_group_size_hint, a.vec_type_hint],
            [self.memory(m) for m in f.memories], self.loc(f.loc), f.uses_barrier, f.operations,
            f.bytes_moved,
        ]  # fmt: skip

    def parameter(self, p: ir.Parameter) -> list[Any]:
        record = -1 if p.record is None else self.types.index(p.record)
        return [
            self.var(p.var), p.type_name, p.space.value, sorted(p.qualifiers), p.access, p.may_read,
            p.may_write, record,
        ]  # fmt: skip

    def node(self, node: Any) -> int:
        """Write a node behind all that it is made of; its number."""
        known = self.node_index.get(id(node))
        if known is not None:
            return known
        tag = _TAGS[type(node)]
        if tag == 0:
            # Constants have no place, so equal ones may be one. The text tells 0.0 from -0.0.
            key = (node.type, repr(node.value))
            known = self.const_index.get(key)
            if known is not None:
                self.node_index[id(node)] = known
                return known
            self.const_index[key] = len(self.nodes)
        row = [tag, *(write(getattr(node, name)) for name, write in self.plans[tag])]
        index = self.node_index[id(node)] = len(self.nodes)
        self.nodes.append(row)
        return index

    def optional_node(self, node: Any) -> int:
        return -1 if node is None else self.node(node)

    def block(self, block: tuple[Any, ...]) -> list[int]:
        return [self.node(item) for item in block]

    def printf_args(self, args: tuple[Any, ...]) -> list[int | str]:
        return [_base64(a) if isinstance(a, bytes) else self.node(a) for a in args]

    def cases(self, cases: tuple[tuple[tuple[int, ...] | None, ir.Block], ...]) -> list[Any]:
        return [[None if values is None else list(values), self.block(block)] for values, block in cases]

    def var(self, var: ir.Var) -> int:
        index = self.var_index.get(var)
        if index is None:
            index = self.var_index[var] = len(self.vars)
            self.vars.append([var.name, self.types.index(var.type), var.is_temporary])
        return index

    def optional_var(self, var: ir.Var | None) -> int:
        return -1 if var is None else self.var(var)

    def memory(self, m: ir.Memory) -> int:
        index = self.memory_index.get(m)
        if index is None:
            index = self.memory_index[m] = len(self.memories)
            initial = None if m.initial is None else _base64(m.initial)
            type_ = self.types.index(m.type)
            self.memories.append([m.name, type_, m.space.value, m.size, m.align, initial, self.loc(m.loc)])
        return index

    def var_or_memory(self, what: ir.Var | ir.Memory) -> list[int]:
        return [0, self.var(what)] if isinstance(what, ir.Var) else [1, self.memory(what)]

    def loc(self, loc: ir.Loc | None) -> int:
        if loc is None:
            return -1
        index = self.loc_index.get(loc)
        if index is None:
            index = self.loc_index[loc] = len(self.locs) // 3
            self.locs += (loc.file, loc.line, loc.column)
        return index


def _same(value: Any) -> Any:
    return value


def _base64(data: bytes) -> str:
    return b64encode(data).decode()


# ---------------------------------------------------------------- reading


class _Reader:
    """Builds a module from a document, refusing whatever has the wrong shape.

    Tables are dictionaries from 0 up: looking a number up then is one call of a built-in, and a negative
    one is missing. That an operand is an expression, and a name one of those allowed, `verify` checks.
    """

    def __init__(self, document: Any) -> None:
        self.document = document
        self.nodes: dict[int, Any] = {}
        self.types: dict[int, Any] = {}
        self.locs: dict[int, ir.Loc] = {}
        self.vars: dict[int, ir.Var] = {}
        self.memories: dict[int, ir.Memory] = {}
        self.expression = self.nodes.__getitem__
        self.type = self.types.__getitem__
        self.loc = self.locs.__getitem__
        self.var = self.vars.__getitem__
        self.memory = self.memories.__getitem__
        self.read: dict[str, Callable[[Any], Any]] = {
            "int": _integer, "str": _same, "bool": _flag, "int | float | bool": _number,
            "Type": self.type, "Scalar": self.type, "Vector": self.type,
            "Expr": self.expression, "Expr | None": self.optional_expression,
            "Var": self.var, "Var | None": self.optional_var, "Memory": self.memory,
            "Var | Memory": self.var_or_memory, "Loc": self.loc, "Loc | None": self.optional_loc,
            "bytes": _bytes, "tuple[int, ...]": _integers, "tuple[Expr, ...]": self.block,
            "tuple[Expr | bytes, ...]": self.printf_args, "Block": self.block,
            "tuple[tuple[tuple[int, ...] | None, Block], ...]": self.cases,
        }  # fmt: skip

    def module(self) -> ir.Module:
        d = self.document
        if not isinstance(d, dict):
            raise ValueError("module is no object")
        files = tuple(_text(x) for x in _list(d["files"]))
        self.types.update(enumerate(TypeReader(_list(d["types"]), _list(d["records"])).types))
        self.locs.update(enumerate(self.read_locs(_list(d["locs"]), len(files))))
        self.vars.update(enumerate(self.read_var(row) for row in _list(d["vars"])))
        self.memories.update(enumerate(self.read_memory(row) for row in _list(d["memories"])))
        self.read_nodes(_list(d["nodes"]))
        functions = [self.function(row) for row in _list(d["functions"])]
        if len({f.name for f in functions}) != len(functions):
            raise ValueError("two functions have one name")
        return ir.Module(
            {f.name: f for f in functions}, tuple(self.memory(k) for k in _list(d["constants"])), files,
            tuple(_text(x) for x in _list(d["sources"])), _text(d["options"]), _flag(d["daz"]),
        )  # fmt: skip

    def read_locs(self, flat: list[Any], files: int) -> list[ir.Loc]:
        values = [_integer(x) for x in flat]
        if len(values) % 3 or any(not 0 <= f < files for f in values[::3]):
            raise ValueError("a place names a file that is not there")
        return [ir.Loc(*values[k : k + 3]) for k in range(0, len(values), 3)]

    def read_var(self, row: Any) -> ir.Var:
        name, type_, temporary = row
        return ir.Var(_text(name), self.type(type_), _flag(temporary))

    def read_memory(self, row: Any) -> ir.Memory:
        name, type_, space, size, align, initial, loc = row
        return ir.Memory(
            _text(name), self.type(type_), _SPACES[space], _integer(size), _integer(align),
            None if initial is None else _bytes(initial), self.optional_loc(loc),
        )  # fmt: skip

    def read_nodes(self, rows: list[Any]) -> None:
        plans = [
            (node, [self.read[kind] for _, kind in plan]) for node, plan in zip(_NODES, _FIELDS, strict=True)
        ]
        nodes = self.nodes
        for number, row in enumerate(rows):
            tag = row[0]
            if not isinstance(tag, int) or tag < 0:
                raise ValueError(f"node has the tag {tag!r}")
            node, readers = plans[tag]
            if len(row) != len(readers) + 1:
                raise ValueError(f"{node.__name__} has {len(row) - 1} fields instead of {len(readers)}")
            nodes[number] = node(*[read(value) for read, value in zip(readers, row[1:])])  # noqa: B905

    def function(self, row: Any) -> ir.Function:
        (name, parameters, result, body, is_kernel, attributes, memories, loc, barrier, operations, moved) = (
            row
        )
        required, hint, vec_type = attributes
        return ir.Function(
            _text(name), tuple(self.parameter(p) for p in _list(parameters)), self.type(result),
            self.block(body),
            _flag(is_kernel), ir.Attributes(_sizes(required), _sizes(hint), _text(vec_type)),
            tuple(self.memory(m) for m in _list(memories)), self.loc(loc), _flag(barrier),
            _integer(operations), _integer(moved),
        )  # fmt: skip

    def parameter(self, row: Any) -> ir.Parameter:
        var, type_name, space, qualifiers, access, may_read, may_write, record = row
        if access not in ("none", "read_only", "write_only", "read_write"):
            raise ValueError(f"parameter has the access qualifier {access!r}")
        of = None if record == -1 else self.type(record)
        if of is not None and self.var(var).type != pointer(of, Space.PRIVATE):
            raise ValueError("a record parameter is no pointer to its copy")
        return ir.Parameter(
            self.var(var), _text(type_name), _SPACES[space], frozenset(_text(q) for q in _list(qualifiers)),
            access, _flag(may_read), _flag(may_write), of,
        )  # fmt: skip

    def optional_expression(self, index: Any) -> Any:
        return None if index == -1 else self.expression(index)

    def printf_args(self, args: Any) -> tuple[Any, ...]:
        return tuple(_bytes(a) if isinstance(a, str) else self.expression(a) for a in _list(args))

    def block(self, indices: Any) -> tuple[Any, ...]:
        return tuple(map(self.expression, _list(indices)))

    def cases(self, cases: Any) -> tuple[Any, ...]:
        return tuple((None if v is None else _integers(v), self.block(block)) for v, block in _list(cases))

    def optional_var(self, index: Any) -> ir.Var | None:
        return None if index == -1 else self.var(index)

    def var_or_memory(self, pair: Any) -> ir.Var | ir.Memory:
        which, index = pair
        return self.memory(index) if which == 1 else self.var(index)

    def optional_loc(self, index: Any) -> ir.Loc | None:
        return None if index == -1 else self.locs[index]


def _integer(value: Any) -> int:
    if type(value) is not int or not -(1 << 64) < value < 1 << 64:
        raise ValueError(f"{value!r} is no integer of at most 64 bits")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither true nor false")
    return value


def _number(value: Any) -> int | float | bool:
    if isinstance(value, (bool, float)):
        return value
    return _integer(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no text")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{value!r} is no list")
    return value


def _integers(value: Any) -> tuple[int, ...]:
    return tuple([_integer(x) for x in _list(value)])


def _sizes(value: Any) -> tuple[int, int, int] | None:
    if value is None:
        return None
    x, y, z = _integers(value)
    if min(x, y, z) <= 0:
        raise ValueError(f"work-group size {value!r}")
    return x, y, z


def _bytes(value: Any) -> bytes:
    try:
        return b64decode(_text(value), validate=True)
    except Base64Error:
        raise ValueError("bytes are not base64") from None
