"""The syntax tree. Every node knows its position; types are not known yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

# ---------------------------------------------------------------- expressions


@dataclass(eq=False, slots=True)
class Name:
    pos: int
    name: str


@dataclass(eq=False, slots=True)
class Number:
    pos: int
    spelling: str


@dataclass(eq=False, slots=True)
class Character:
    pos: int
    spelling: str


@dataclass(eq=False, slots=True)
class String:
    """Adjacent string literals in one."""

    pos: int
    data: bytes


@dataclass(eq=False, slots=True)
class Unary:
    """`op`: + - ! ~ * & ++ -- (the last two before their operand)."""

    pos: int
    op: str
    a: Expression


@dataclass(eq=False, slots=True)
class PostStep:
    """`op`: ++ or -- behind the operand."""

    pos: int
    op: str
    a: Expression


@dataclass(eq=False, slots=True)
class Binary:
    """Any binary operator but assignment and comma. `pos` is the operator's."""

    pos: int
    op: str
    a: Expression
    b: Expression


@dataclass(eq=False, slots=True)
class Assign:
    """`op` is '' for a plain assignment, else the operator before the '='."""

    pos: int
    op: str
    a: Expression
    b: Expression


@dataclass(eq=False, slots=True)
class Conditional:
    pos: int
    test: Expression
    a: Expression
    b: Expression


@dataclass(eq=False, slots=True)
class Comma:
    pos: int
    a: Expression
    b: Expression


@dataclass(eq=False, slots=True)
class Cast:
    pos: int
    type: TypeName
    a: Expression


@dataclass(eq=False, slots=True)
class VectorLiteral:
    """`(float4)(a, b)`"""

    pos: int
    type: TypeName
    items: list[Expression]


@dataclass(eq=False, slots=True)
class CompoundLiteral:
    """`(struct s){1, 2}`"""

    pos: int
    type: TypeName
    items: InitList


@dataclass(eq=False, slots=True)
class Call:
    pos: int
    callee: Expression
    args: list[Expression]


@dataclass(eq=False, slots=True)
class Index:
    pos: int
    a: Expression
    index: Expression


@dataclass(eq=False, slots=True)
class Member:
    """`a.name`, or `a->name` if `arrow`. `pos` is the name's."""

    pos: int
    a: Expression
    name: str
    arrow: bool


@dataclass(eq=False, slots=True)
class SizeOf:
    """`operator`: sizeof, alignof or vec_step."""

    pos: int
    operator: str
    what: Expression | TypeName


@dataclass(eq=False, slots=True)
class InitList:
    """`{ ... }`: each item with its designators (field names and index expressions), if any."""

    pos: int
    items: list[tuple[list[str | Expression], Expression | InitList]]


@dataclass(eq=False, slots=True)
class StatementExpression:
    """`({ ...; value; })`, an extension of clang's."""

    pos: int
    body: Compound


Expression: TypeAlias = (
    "Name | Number | Character | String | Unary | PostStep | Binary | Assign | Conditional | Comma | Cast"
    " | VectorLiteral | CompoundLiteral | Call | Index | Member | SizeOf | StatementExpression"
)

# ---------------------------------------------------------------- declarations


@dataclass(eq=False, slots=True)
class Attribute:
    """One attribute of `__attribute__((...))`. An argument that is a type comes as TypeName."""

    pos: int
    name: str
    args: list[Expression | TypeName]


@dataclass(eq=False, slots=True)
class RecordSpecifier:
    """`struct` or `union`; `members` is None where the body is not given."""

    pos: int
    is_union: bool
    tag: str
    members: list[Declaration] | None
    attributes: list[Attribute]


@dataclass(eq=False, slots=True)
class EnumSpecifier:
    pos: int
    tag: str
    members: list[tuple[int, str, Expression | None]] | None


@dataclass(eq=False, slots=True)
class Specifiers:
    """What stands before the declarators.

    `words` are the type's keywords ('unsigned', 'int', 'float4'), or one typedef name.
    `qualifiers` holds const, volatile, restrict, storage classes, inline, kernel and access qualifiers;
    `space` the address space as the standard's bare keyword, or ''.
    """

    pos: int
    words: list[str] = field(default_factory=list)
    qualifiers: set[str] = field(default_factory=set)
    space: str = ""
    record: RecordSpecifier | None = None
    enum: EnumSpecifier | None = None
    typeof: Expression | TypeName | None = None
    attributes: list[Attribute] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class PointerPart:
    """A `*` and the qualifiers behind it (also an address space, for the pointer itself)."""

    pos: int
    qualifiers: set[str]
    space: str


@dataclass(eq=False, slots=True)
class ArrayPart:
    pos: int
    size: Expression | None


@dataclass(eq=False, slots=True)
class FunctionPart:
    pos: int
    parameters: list[tuple[Specifiers, Declarator]]
    variadic: bool


@dataclass(eq=False, slots=True)
class Declarator:
    """`pointers` apply to the base first, then `suffixes` from the last, then `inner` around them."""

    pos: int
    name: str = ""
    pointers: list[PointerPart] = field(default_factory=list)
    inner: Declarator | None = None
    suffixes: list[ArrayPart | FunctionPart] = field(default_factory=list)
    bits: Expression | None = None
    initial: Expression | InitList | None = None
    attributes: list[Attribute] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class TypeName:
    pos: int
    specifiers: Specifiers
    declarator: Declarator


@dataclass(eq=False, slots=True)
class Declaration:
    pos: int
    specifiers: Specifiers
    declarators: list[Declarator]


@dataclass(eq=False, slots=True)
class FunctionDefinition:
    """`taken` are the names whose address is taken in the body, `subscripted` those with a varying index."""

    pos: int
    specifiers: Specifiers
    declarator: Declarator
    body: Compound
    taken: set[str]
    subscripted: set[str]


# ---------------------------------------------------------------- statements


@dataclass(eq=False, slots=True)
class ExpressionStatement:
    pos: int
    a: Expression


@dataclass(eq=False, slots=True)
class Empty:
    pos: int


@dataclass(eq=False, slots=True)
class Compound:
    pos: int
    items: list[Statement | Declaration]
    end: int


@dataclass(eq=False, slots=True)
class If:
    pos: int
    test: Expression
    then: Statement
    otherwise: Statement | None


@dataclass(eq=False, slots=True)
class While:
    pos: int
    test: Expression
    body: Statement


@dataclass(eq=False, slots=True)
class DoWhile:
    pos: int
    body: Statement
    test: Expression


@dataclass(eq=False, slots=True)
class For:
    pos: int
    initial: Declaration | Expression | None
    test: Expression | None
    step: Expression | None
    body: Statement


@dataclass(eq=False, slots=True)
class Switch:
    pos: int
    value: Expression
    body: Statement


@dataclass(eq=False, slots=True)
class Case:
    """A `case` label, or `default` where `value` is None, and the statement behind it."""

    pos: int
    value: Expression | None
    body: Statement


@dataclass(eq=False, slots=True)
class Jump:
    """`kind`: break, continue, return."""

    pos: int
    kind: str
    value: Expression | None


Statement: TypeAlias = (
    "ExpressionStatement | Empty | Compound | If | While | DoWhile | For | Switch | Case | Jump"
)
