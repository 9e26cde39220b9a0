"""Where the fields of a struct or union lie (OpenCL C 6.3.5, C99 6.7.2.1, packed and aligned)."""

from __future__ import annotations

from collections.abc import Iterable

from clsim.clc.types import Field, Record, Type


def low_bit(value: int) -> int:
    """The largest power of two that divides `value`."""
    return value & -value


def complete(
    record: Record, members: Iterable[tuple[str, Type, int, bool]], packed: bool, aligned: int
) -> None:
    """Lay out `record` in place.

    `members` are name, type, the alignment asked for by `aligned` (0 if none) and whether the member itself
    is packed; `packed` and `aligned` are the record's own.
    """
    fields: list[Field] = []
    offset = size = 0
    align = 1
    for name, type_, asked, member_packed in members:
        own = 1 if packed or member_packed else type_.align
        own = max(own, asked)
        align = max(align, own)
        if record.is_union:
            offset = 0
        offset = -(-offset // own) * own
        fields.append(Field(name, type_, offset))
        offset += type_.size
        size = max(size, offset)
    align = max(align, aligned)
    size = -(-size // align) * align
    for attribute, value in (("fields", tuple(fields)), ("size", size), ("align", align)):
        object.__setattr__(record, attribute, value)
    record.lookup.clear()
    record.lookup.update(_names(fields, 0))


def _names(fields: Iterable[Field], base: int) -> dict[str, Field]:
    """Fields by name, those of unnamed records inside among them."""
    out: dict[str, Field] = {}
    for item in fields:
        if item.name:
            out[item.name] = Field(item.name, item.type, base + item.offset) if base else item
        elif isinstance(item.type, Record):
            out.update(_names(item.type.fields, base + item.offset))
    return out
