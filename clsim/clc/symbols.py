"""What names stand for, and the scopes they live in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from clsim.clc import ir
from clsim.clc.types import Record, Space, Type


@dataclass(slots=True)
class Qualified:
    """A type with the qualifiers of the object that has it. `space` is None where none was written."""

    type: Type
    const: bool = False
    volatile: bool = False
    space: Space | None = None
    restrict: bool = False


@dataclass(eq=False, slots=True)
class Variable:
    """A variable or parameter: a register (`var`) or a memory object (`memory`)."""

    name: str
    type: Type
    pos: int
    const: bool = False
    volatile: bool = False
    var: ir.Var | None = None
    memory: ir.Memory | None = None
    pointer: ir.Expr | None = None
    """For a record parameter: the pointer to its copy."""
    constant: ir.Const | None = None
    """The value of a constant scalar at program scope, which counts as a constant expression."""


@dataclass(eq=False, slots=True)
class TypedefName:
    """A typedef name."""

    meaning: Qualified
    pos: int


@dataclass(eq=False, slots=True)
class EnumConstant:
    value: int
    pos: int


@dataclass(eq=False, slots=True)
class FunctionSymbol:
    """A function of the program, defined or only declared so far."""

    name: str
    result: Type
    parameters: tuple[Type, ...]
    is_kernel: bool
    pos: int
    defined: bool = False
    called_at: int = -1


@dataclass(eq=False, slots=True)
class OverloadSet:
    """Functions of one name, declared with the attribute `overloadable`."""

    name: str
    pos: int
    members: list[FunctionSymbol] = field(default_factory=list)


Symbol: TypeAlias = "Variable | TypedefName | EnumConstant | FunctionSymbol | OverloadSet"


class Scopes:
    """Names in force. One dictionary, and for each open scope what to put back when it closes."""

    def __init__(self) -> None:
        self.names: dict[str, Symbol] = {}
        self.tags: dict[str, Record | str] = {}
        self._undo: list[list[tuple[dict[str, object], str, object]]] = []
        self._own: list[set[str]] = [set()]

    @property
    def depth(self) -> int:
        return len(self._undo)

    def open(self) -> None:
        self._undo.append([])
        self._own.append(set())

    def close(self) -> None:
        for table, name, old in reversed(self._undo.pop()):
            if old is None:
                del table[name]
            else:
                table[name] = old
        self._own.pop()

    def declare(self, name: str, symbol: Symbol) -> None:
        if self._undo:
            self._undo[-1].append((self.names, name, self.names.get(name)))  # type: ignore[arg-type]
        self._own[-1].add(name)
        self.names[name] = symbol

    def declare_tag(self, name: str, tag: Record | str) -> None:
        if self._undo:
            self._undo[-1].append((self.tags, name, self.tags.get(name)))  # type: ignore[arg-type]
        self._own[-1].add("tag " + name)
        self.tags[name] = tag

    def here(self, name: str) -> Symbol | None:
        """The symbol, if it was declared in the innermost scope."""
        return self.names.get(name) if name in self._own[-1] else None

    def tag_here(self, name: str) -> Record | str | None:
        return self.tags.get(name) if "tag " + name in self._own[-1] else None


# ---------------------------------------------------------------- places


@dataclass(eq=False, slots=True)
class RegisterPlace:
    """An lvalue that is a whole register."""

    var: ir.Var
    type: Type
    const: bool


@dataclass(eq=False, slots=True)
class MemoryPlace:
    """An lvalue in memory. `align` is what is known of its address."""

    pointer: ir.Expr
    type: Type
    const: bool
    volatile: bool
    align: int


@dataclass(eq=False, slots=True)
class ComponentPlace:
    """Components of a vector lvalue."""

    base: RegisterPlace | MemoryPlace
    type: Type
    indices: tuple[int, ...]
    const: bool


Place: TypeAlias = "RegisterPlace | MemoryPlace | ComponentPlace"


@dataclass(eq=False, slots=True)
class RecordValue:
    """A record as the value of an expression: where it lies. Never leaves the compiler."""

    type: Record
    pointer: ir.Expr


@dataclass(eq=False, slots=True)
class NoValue:
    """The value of an expression of type void."""

    type: Type


@dataclass(slots=True)
class FunctionState:
    """What is being collected while one function is lowered."""

    symbol: FunctionSymbol
    taken: set[str]
    subscripted: set[str] = field(default_factory=set)
    result_pointer: ir.Var | None = None
    memories: list[ir.Memory] = field(default_factory=list)
    temporaries: int = 0
    breakable: int = 0
    loops: int = 0
