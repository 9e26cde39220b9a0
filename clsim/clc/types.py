"""Types of OpenCL C with their C layout.

Scalars and records are equal only to themselves, and vectors come from `vector`, so the compiler may compare
all three with `is`. Pointers and arrays are compared by value.

Sizes and alignments follow the OpenCL C specification, section 6.1 and 6.3.5: a three-component vector
occupies the space of four, every vector is aligned to its own size, `size_t` and pointers have the
device's address width (64 bits here).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from typing import TypeAlias


class Space(Enum):
    """An address space. `GENERIC` is the unnamed one of OpenCL C 2.0."""

    PRIVATE = "private"
    LOCAL = "local"
    GLOBAL = "global"
    CONSTANT = "constant"
    GENERIC = "generic"

    __hash__ = object.__hash__


class Kind(Enum):
    """What a scalar's bits mean."""

    BOOL = "bool"
    INT = "int"
    UINT = "uint"
    FLOAT = "float"

    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True, eq=False)
class Scalar:
    """A scalar type. `rank` orders integers for C's usual arithmetic conversions."""

    name: str
    kind: Kind
    size: int
    rank: int

    @property
    def align(self) -> int:
        return self.size

    @property
    def bits(self) -> int:
        return 8 * self.size

    @property
    def is_integer(self) -> bool:
        return self.kind is not Kind.FLOAT

    def __str__(self) -> str:
        return self.name


BOOL = Scalar("bool", Kind.BOOL, 1, 0)
CHAR = Scalar("char", Kind.INT, 1, 1)
UCHAR = Scalar("uchar", Kind.UINT, 1, 1)
SHORT = Scalar("short", Kind.INT, 2, 2)
USHORT = Scalar("ushort", Kind.UINT, 2, 2)
INT = Scalar("int", Kind.INT, 4, 3)
UINT = Scalar("uint", Kind.UINT, 4, 3)
LONG = Scalar("long", Kind.INT, 8, 4)
ULONG = Scalar("ulong", Kind.UINT, 8, 4)
HALF = Scalar("half", Kind.FLOAT, 2, 5)
FLOAT = Scalar("float", Kind.FLOAT, 4, 6)
DOUBLE = Scalar("double", Kind.FLOAT, 8, 7)

SCALARS: dict[str, Scalar] = {
    t.name: t for t in (BOOL, CHAR, UCHAR, SHORT, USHORT, INT, UINT, LONG, ULONG, HALF, FLOAT, DOUBLE)
}


@dataclass(frozen=True, slots=True)
class Vector:
    """`elem` repeated `width` times (2, 3, 4, 8 or 16); a width of 3 has the layout of 4."""

    elem: Scalar
    width: int

    @property
    def size(self) -> int:
        return self.elem.size * (4 if self.width == 3 else self.width)

    @property
    def align(self) -> int:
        return self.size

    def __str__(self) -> str:
        return f"{self.elem.name}{self.width}"


@cache
def vector(elem: Scalar, width: int) -> Vector:
    """The one `Vector` object of this element type and width."""
    return Vector(elem, width)


@dataclass(frozen=True, slots=True)
class Void:
    size: int = 0
    align: int = 1

    def __str__(self) -> str:
        return "void"


VOID = Void()


@dataclass(frozen=True, slots=True)
class Pointer:
    """A pointer. Qualifiers are those of the pointee."""

    pointee: Type
    space: Space
    const: bool = False
    volatile: bool = False
    restrict: bool = False

    @property
    def size(self) -> int:
        return 8

    @property
    def align(self) -> int:
        return 8

    def __str__(self) -> str:
        words = [] if self.space is Space.PRIVATE else [f"__{self.space.value}"]
        words += ["const"] * self.const + ["volatile"] * self.volatile
        return " ".join([*words, str(self.pointee), "*"])


@dataclass(frozen=True, slots=True)
class Array:
    elem: Type
    count: int

    @property
    def size(self) -> int:
        return self.elem.size * self.count

    @property
    def align(self) -> int:
        return self.elem.align

    def __str__(self) -> str:
        return f"{self.elem}[{self.count}]"


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: Type
    offset: int


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """A struct or union with its layout worked out."""

    name: str
    fields: tuple[Field, ...]
    size: int
    align: int
    is_union: bool = False
    lookup: dict[str, Field] = field(default_factory=dict, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{'union' if self.is_union else 'struct'} {self.name}"


@dataclass(frozen=True, slots=True)
class Opaque:
    """A type whose inside a kernel never sees: images, samplers, events."""

    name: str
    size: int = 8
    align: int = 8

    def __str__(self) -> str:
        return self.name


Type: TypeAlias = "Scalar | Vector | Void | Pointer | Array | Record | Opaque"
Value: TypeAlias = "Scalar | Vector | Pointer"
