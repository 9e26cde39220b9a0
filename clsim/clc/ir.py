"""The typed, structured form in which a compiled program leaves the compiler.

It is what `clsim.vm` runs and what a program binary holds. Its rules:

- Every conversion is explicit: the operands of `Binary` and `Compare` have one type, the operation's.
- Expressions have no side effects. Assignments, calls, atomics and `++` are statements; the compiler
  introduces temporaries (`Var`) for them and keeps C's order of evaluation where C has one.
- An expression may load from memory. `Logical` and `Cond` evaluate their later operands only in the
  lanes that need them, so a load behind `i < n &&` never runs where `i >= n`.
- A variable whose address is never taken, of scalar, vector or pointer type, is a `Var` (a register). All
  others (arrays, records, variables whose address is taken) are `Memory` objects, reached by `Address`.
- A record is never a value: it is copied by `CopyMemory`. Record parameters are pointers to a private
  copy, record results are written through a hidden first pointer parameter.
- Pointers are values. Arithmetic on them is in bytes: `Offset(pointer, index, stride)`.
- Functions are kept as functions; the machine inlines them. Recursion never reaches this form.
- Vector components in registers: `Extract` and `Build`; in memory: `Load`/`Store` at an `Offset`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from clsim.clc.types import BOOL, Record, Scalar, Space, Type, Vector


@dataclass(frozen=True, slots=True)
class Loc:
    """A place in the source: index into `Module.files`, line and column from 1."""

    file: int
    line: int
    column: int


@dataclass(eq=False, slots=True)
class Var:
    """A register: a parameter, a scalar, vector or pointer variable, or a temporary."""

    name: str
    type: Type
    is_temporary: bool = False


@dataclass(eq=False, slots=True)
class Memory:
    """A memory object of the program: a private or local variable, or a program-scope constant.

    `initial` is the bytes of a program-scope object. Private objects are initialised by statements; a
    local object never is. A private object comes to life anew each time its `Declare` runs.
    """

    name: str
    type: Type
    space: Space
    size: int
    align: int
    initial: bytes | None = None
    loc: Loc | None = None


# ---------------------------------------------------------------- expressions


@dataclass(eq=False, slots=True)
class Const:
    """A scalar constant as a Python int, float or bool, already wrapped into its type; NULL is pointer 0."""

    type: Type
    value: int | float | bool


@dataclass(eq=False, slots=True)
class Read:
    """The value of a register."""

    var: Var
    type: Type


@dataclass(eq=False, slots=True)
class Address:
    """The address of a memory object; its type is a pointer in the object's space."""

    memory: Memory
    type: Type


@dataclass(eq=False, slots=True)
class Offset:
    """`pointer` moved by `index * stride` bytes; `index` is a scalar integer (any integer type)."""

    type: Type
    pointer: Expr
    index: Expr
    stride: int


@dataclass(eq=False, slots=True)
class PointerDifference:
    """`(a - b) / stride` as a long."""

    type: Type
    a: Expr
    b: Expr
    stride: int


@dataclass(eq=False, slots=True)
class Load:
    """A scalar, vector or pointer read from memory.

    `align` is what the access promises (an element's size for `vloadn`). A `vload3` or a vec3 load reads
    three elements. `loc` is where the access stands in the source.
    """

    type: Type
    pointer: Expr
    align: int
    loc: Loc
    volatile: bool = False


@dataclass(eq=False, slots=True)
class Unary:
    """`op`: 'neg' (numbers), 'not' (bits), 'lnot' (bool)."""

    op: str
    type: Type
    a: Expr


@dataclass(eq=False, slots=True)
class Binary:
    """`op`: add sub mul div rem shl shr and or xor, on scalars or whole vectors of one type.

    The right operand of a shift has the left one's type; its count is taken modulo the width. Integer
    division truncates; dividing by zero gives an unspecified value and never fails. `shr` is arithmetic
    on signed types. Signed overflow wraps.
    """

    op: str
    type: Type
    a: Expr
    b: Expr
    loc: Loc | None = None


@dataclass(eq=False, slots=True)
class Compare:
    """`op`: eq ne lt le gt ge. Scalars and pointers give bool; vectors a signed vector of 0 and -1."""

    op: str
    type: Type
    a: Expr
    b: Expr


@dataclass(eq=False, slots=True)
class Logical:
    """Short-circuit 'and' / 'or' of two bools."""

    op: str
    a: Expr
    b: Expr
    type: Type = BOOL


@dataclass(eq=False, slots=True)
class Cond:
    """`test ? a : b` with a bool test; only the chosen side is evaluated in each lane."""

    type: Type
    test: Expr
    a: Expr
    b: Expr


@dataclass(eq=False, slots=True)
class Convert:
    """Value conversion between scalars, or between vectors of one width, component by component.

    `rounding`: '' (the default of the types: toward zero to an integer, nearest even to a float), 'rte',
    'rtz', 'rtp', 'rtn'. To bool: comparison with zero. From bool: 0 or 1. Between pointer and integer the
    address is kept.
    """

    type: Type
    a: Expr
    saturate: bool = False
    rounding: str = ""


@dataclass(eq=False, slots=True)
class Bitcast:
    """The same bits as another type of the same size (`as_type`, pointer casts)."""

    type: Type
    a: Expr


@dataclass(eq=False, slots=True)
class Build:
    """A vector from scalars and vectors of its element type, in order. One scalar part fills all."""

    type: Vector
    parts: tuple[Expr, ...]


@dataclass(eq=False, slots=True)
class Extract:
    """Components of a vector: one index gives a scalar, more give a vector. Covers every swizzle."""

    type: Type
    a: Expr
    indices: tuple[int, ...]


@dataclass(eq=False, slots=True)
class Builtin:
    """A pure built-in function by its name in the standard ('fmax', 'get_global_id', 'mad_sat', ...).

    All operands already have the types that the chosen overload takes.
    """

    name: str
    type: Type
    args: tuple[Expr, ...]
    loc: Loc


Expr: TypeAlias = (
    "Const | Read | Address | Offset | PointerDifference | Load | Unary | Binary | Compare | Logical | Cond"
    " | Convert | Bitcast | Build | Extract | Builtin"
)


# ---------------------------------------------------------------- statements


@dataclass(eq=False, slots=True)
class Declare:
    """The point where a register or private memory object comes into scope, its content undefined."""

    what: Var | Memory


@dataclass(eq=False, slots=True)
class Assign:
    var: Var
    value: Expr
    loc: Loc | None = None


@dataclass(eq=False, slots=True)
class Store:
    """A scalar, vector or pointer written to memory. A vec3 store writes three elements only."""

    pointer: Expr
    value: Expr
    align: int
    loc: Loc
    volatile: bool = False


@dataclass(eq=False, slots=True)
class CopyMemory:
    """`size` bytes from `source` to `target`, which do not overlap partly."""

    target: Expr
    source: Expr
    size: int
    loc: Loc


@dataclass(eq=False, slots=True)
class FillMemory:
    """`size` zero bytes at `target` (the rest of an aggregate with a partial initialiser)."""

    target: Expr
    size: int
    loc: Loc


@dataclass(eq=False, slots=True)
class Call:
    """A call of a function of the module; `result` is None for void."""

    result: Var | None
    function: str
    args: tuple[Expr, ...]
    loc: Loc


@dataclass(eq=False, slots=True)
class BuiltinCall:
    """A built-in that also writes through its last argument, a pointer.

    These are `fract`, `modf`, `sincos`, `frexp`, `remquo` and `lgamma_r`.
    """

    result: Var | None
    name: str
    args: tuple[Expr, ...]
    loc: Loc


@dataclass(eq=False, slots=True)
class Atomic:
    """`op`: add sub xchg min max and or xor cmpxchg load store, on int, uint, long, ulong or float.

    `inc` and `dec` arrive as add and sub of 1. For cmpxchg, `args` is (comparand, new value); for load it
    is empty. `result` receives the old value, or is None when nobody reads it.
    """

    result: Var | None
    op: str
    type: Scalar
    pointer: Expr
    args: tuple[Expr, ...]
    loc: Loc


@dataclass(eq=False, slots=True)
class Barrier:
    """A work-group barrier. `fence_only` marks `mem_fence` and its kin."""

    loc: Loc
    fence_only: bool = False


@dataclass(eq=False, slots=True)
class Printf:
    """`template` is the format string's bytes; arguments are promoted as C and OpenCL say.

    A string literal argument is a `bytes`.
    """

    template: bytes
    args: tuple[Expr | bytes, ...]
    loc: Loc


@dataclass(eq=False, slots=True)
class If:
    test: Expr
    then: Block
    otherwise: Block
    loc: Loc


@dataclass(eq=False, slots=True)
class Loop:
    """Every loop of C.

    `before` computes what `test` needs (statements of the controlling expression) and runs before each
    test; `test` None loops for ever. `after` is the step: it runs at the end of each pass and after
    `Continue`. With `test_first` False (do-while) the first pass skips `before` and `test`.
    """

    before: Block
    test: Expr | None
    body: Block
    after: Block
    test_first: bool
    loc: Loc


@dataclass(eq=False, slots=True)
class Switch:
    """Cases in source order. `values` None is the default. Control falls through to the next case.

    `Break` inside leaves the switch.
    """

    value: Expr
    cases: tuple[tuple[tuple[int, ...] | None, Block], ...]
    loc: Loc


@dataclass(eq=False, slots=True)
class Break:
    loc: Loc


@dataclass(eq=False, slots=True)
class Continue:
    loc: Loc


@dataclass(eq=False, slots=True)
class Return:
    value: Expr | None
    loc: Loc


Statement: TypeAlias = (
    "Declare | Assign | Store | CopyMemory | FillMemory | Call | BuiltinCall | Atomic | Barrier | Printf | If"
    " | Loop | Switch | Break | Continue | Return"
)
Block: TypeAlias = "tuple[Statement, ...]"


# ---------------------------------------------------------------- functions and modules


@dataclass(eq=False, slots=True)
class Parameter:
    """A parameter of a function, with what `clGetKernelArgInfo` tells of a kernel's.

    `may_read` and `may_write` speak of the memory a pointer argument leads to, found by data flow, not
    from `const`; both are False for values.
    """

    var: Var
    type_name: str
    space: Space
    qualifiers: frozenset[str] = frozenset()
    access: str = "none"
    may_read: bool = False
    may_write: bool = False
    record: Record | None = None
    """A kernel parameter that is a record by value: `var` is then a private pointer to the copy."""


@dataclass(eq=False, slots=True)
class Attributes:
    required_work_group_size: tuple[int, int, int] | None = None
    work_group_size_hint: tuple[int, int, int] | None = None
    vec_type_hint: str = ""


@dataclass(eq=False, slots=True)
class Function:
    """A function. `memories` are all its private and local memory objects; local ones live per work-group.

    `operations` and `bytes_moved` are a static estimate per work-item for the cost model (loops with a
    constant trip count multiplied out, others taken as 16 passes).
    """

    name: str
    parameters: tuple[Parameter, ...]
    result: Type
    body: Block
    is_kernel: bool
    attributes: Attributes
    memories: tuple[Memory, ...]
    loc: Loc
    uses_barrier: bool = False
    operations: int = 0
    bytes_moved: int = 0

    @property
    def local_bytes(self) -> int:
        """Bytes of local memory that the function's own local variables take, each aligned."""
        total = 0
        for memory in self.memories:
            if memory.space is Space.LOCAL:
                total = -(-total // memory.align) * memory.align + memory.size
        return total


@dataclass(eq=False, slots=True)
class Module:
    """A compiled program: functions by name, program-scope constants, and its files for messages."""

    functions: dict[str, Function]
    constants: tuple[Memory, ...] = ()
    files: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    """The text of each file in `files`, so that a finding can show its line."""
    options: str = ""
    denormals_are_zero: bool = False

    @property
    def kernels(self) -> dict[str, Function]:
        return {name: f for name, f in self.functions.items() if f.is_kernel}
