"""Types in a serialised module: a table in which a row names earlier rows, and records apart from it.

A record may hold pointers to itself, so records are made empty, then the table, then their fields are put
in.
"""

from __future__ import annotations

import re
from typing import Any

from clsim.clc.rules import pointer
from clsim.clc.types import (
    SCALARS,
    VOID,
    Array,
    Field,
    Opaque,
    Pointer,
    Record,
    Scalar,
    Space,
    Type,
    Vector,
    Void,
    vector,
)  # fmt: skip
from clsim.clc.words import OPAQUES, WIDTHS

_MAX_SIZE = 1 << 40
_MAX_DEPTH = 64
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z|\(anonymous\)\Z|\Z")
_SPACES = {space.value: space for space in Space}


class TypeWriter:
    """Numbers types as they are met."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.records: list[Record] = []
        self._known: dict[Type, int] = {}
        self._record_index: dict[Record, int] = {}

    def index(self, type_: Type) -> int:
        known = self._known.get(type_)
        if known is not None:
            return known
        row = self._row(type_)
        index = self._known[type_] = len(self.rows)
        self.rows.append(row)
        return index

    def _row(self, type_: Type) -> Any:
        if isinstance(type_, (Scalar, Void)):
            return str(type_)
        if isinstance(type_, Vector):
            return ["v", type_.elem.name, type_.width]
        if isinstance(type_, Pointer):
            pointee = self.index(type_.pointee)
            return ["p", pointee, type_.space.value, type_.const, type_.volatile]
        if isinstance(type_, Array):
            return ["a", self.index(type_.elem), type_.count]
        if isinstance(type_, Opaque):
            return ["o", type_.name]
        number = self._record_index.get(type_)
        if number is None:
            number = self._record_index[type_] = len(self.records)
            self.records.append(type_)
        return ["r", number]

    def record_rows(self) -> list[Any]:
        """The records with their fields; that may add types and records, which are written too."""
        out: list[Any] = []
        while len(out) < len(self.records):
            record = self.records[len(out)]
            out.append(
                [record.name, record.size, record.align, record.is_union,
                 [[f.name, self.index(f.type), f.offset] for f in record.fields]]
            )  # fmt: skip
        return out


class TypeReader:
    """Rebuilds the table. Raises ValueError for a type that cannot be."""

    def __init__(self, rows: list[Any], record_rows: list[Any]) -> None:
        self.types: list[Type] = []
        self.records = [self._shell(*row[:4]) for row in record_rows]
        for row in rows:
            self.types.append(self._type(row))
        for record, row in zip(self.records, record_rows, strict=True):
            self._fill(record, row[4])
        for record in self.records:
            _check_depth(record, 0)

    def _shell(self, name: Any, size: Any, align: Any, is_union: Any) -> Record:
        if not isinstance(name, str) or not _NAME.match(name):
            raise ValueError(f"record name {name!r} is not an identifier")
        if type(size) is not int or not -1 <= size <= _MAX_SIZE:
            raise ValueError(f"record '{name}' has the size {size!r}")
        if (
            type(align) is not int
            or not 0 < align <= 4096
            or align & (align - 1)
            or not isinstance(is_union, bool)
        ):
            raise ValueError(f"record '{name}' has the alignment {align!r}")
        return Record(name, (), size, align, is_union)

    def _type(self, row: Any) -> Type:
        if isinstance(row, str):
            type_: Type | None = VOID if row == "void" else SCALARS.get(row)
            if type_ is None:
                raise ValueError(f"unknown type {row!r}")
            return type_
        kind = row[0]
        if kind == "v" and row[1] in SCALARS and row[1] != "bool" and row[2] in WIDTHS:
            return vector(SCALARS[row[1]], row[2])
        if kind == "p":
            const, volatile = row[3], row[4]
            if isinstance(const, bool) and isinstance(volatile, bool):
                return pointer(self._earlier(row[1]), _SPACES[row[2]], const, volatile)
        if kind == "a" and type(row[2]) is int:
            elem = self._earlier(row[1])
            if elem.size >= 0 and 0 <= row[2] * max(elem.size, 1) <= _MAX_SIZE:
                return Array(elem, row[2])
        if kind == "o" and row[1] in OPAQUES:
            return OPAQUES[row[1]]
        if kind == "r" and type(row[1]) is int and row[1] >= 0:
            return self.records[row[1]]
        raise ValueError(f"type {row!r} cannot be")

    def _earlier(self, index: Any) -> Type:
        if type(index) is not int or index < 0:
            raise ValueError(f"{index!r} is no index of a type")
        return self.types[index]

    def _fill(self, record: Record, rows: Any) -> None:
        out: list[Field] = []
        for name, index, offset in rows:
            type_ = self._earlier(index)
            if not isinstance(name, str) or not _NAME.match(name):
                raise ValueError(f"field name {name!r} is not an identifier")
            if type(offset) is not int or offset < 0 or type_.size < 0 or offset + type_.size > record.size:
                raise ValueError(f"field '{name}' is not inside '{record}'")
            out.append(Field(name, type_, offset))
        object.__setattr__(record, "fields", tuple(out))
        record.lookup.update({f.name: f for f in out if f.name})


def _check_depth(type_: Type, depth: int) -> None:
    """A record holds no copy of itself, and arrays and records nest to a bounded depth."""
    if depth > _MAX_DEPTH:
        raise ValueError(f"type '{type_}' nests too deeply, or holds itself")
    if isinstance(type_, Record):
        for item in type_.fields:
            if isinstance(item.type, (Record, Array)):
                _check_depth(item.type, depth + 1)
    elif isinstance(type_, Array) and isinstance(type_.elem, (Record, Array)):
        _check_depth(type_.elem, depth + 1)
