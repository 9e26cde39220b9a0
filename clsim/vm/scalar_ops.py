"""What the scalar tier's generated code calls: arithmetic on one value, and memory of one work-item."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from clsim.clc.types import Space
from clsim.vm import builtins
from clsim.vm.convert import convert_uniform
from clsim.vm.dtypes import LIMITS, SCALAR_TYPES, SIZES, STRUCT_CODES, is_float, wrap
from clsim.vm.segments import AddressTable, Segment, null_segment, window_address

if TYPE_CHECKING:
    from clsim.clc.ir import Loc
    from clsim.vm.accesses import Recorder
    from clsim.vm.findings import Findings
    from clsim.vm.printf import Printer

Pointer: TypeAlias = "tuple[Segment, int]"

_MASK64 = (1 << 64) - 1


def divide(a: int, b: int) -> int:
    if b == 0:
        return 0
    quotient = abs(a) // abs(b)
    return -quotient if (a < 0) != (b < 0) else quotient


def remainder(a: int, b: int) -> int:
    if b == 0:
        return 0
    rest = abs(a) % abs(b)
    return -rest if a < 0 else rest


def scalar_binary(op: str, code: str) -> Callable[[Any, Any], Any]:
    """The function of two values of type `code` that `Binary.op` names."""
    if is_float(code):
        floats: dict[str, Callable[[Any, Any], Any]] = {
            "add": lambda a, b: a + b,
            "sub": lambda a, b: a - b,
            "mul": lambda a, b: a * b,
            "div": lambda a, b: a / b,
            "rem": np.fmod,
        }
        return floats[op]
    bits = 8 * SIZES[code]
    plain: dict[str, Callable[[Any, Any], Any]] = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": divide,
        "rem": remainder,
        "shl": lambda a, b: a << (b & (bits - 1)),
        "shr": lambda a, b: a >> (b & (bits - 1)),
        "and": lambda a, b: a & b,
        "or": lambda a, b: a | b,
        "xor": lambda a, b: a ^ b,
    }
    function = plain[op]
    if code == "?":
        return lambda a, b: bool(function(a, b))
    return lambda a, b: wrap(code, function(a, b))


def bits_of(value: Any, code: str) -> bytes:
    if is_float(code):
        return bytes(value.tobytes())
    return struct.pack("<" + STRUCT_CODES[code], value)


def value_of(data: Any, code: str, offset: int = 0) -> Any:
    if is_float(code):
        return np.frombuffer(bytes(data[offset : offset + SIZES[code]]), code)[0]
    value = struct.unpack_from("<" + STRUCT_CODES[code], data, offset)[0]
    return bool(value) if code == "?" else value


def zero_of(code: str) -> Any:
    if is_float(code):
        return SCALAR_TYPES[code](0)
    return False if code == "?" else 0


def bitcast(values: tuple[Any, ...], source: str, target: str) -> tuple[Any, ...]:
    data = b"".join(bits_of(v, source) for v in values)
    return tuple(value_of(data, target, at) for at in range(0, len(data), SIZES[target]))


def convert_one(x: Any, source: str, target: str, saturate: bool, rounding: str) -> Any:
    if not is_float(source) and not is_float(target) and target != "?":
        if saturate:
            low, high = LIMITS[target]
            return min(max(int(x), low), high)
        return wrap(target, int(x))
    return convert_uniform(x, source, target, saturate, rounding)


def uniform(value: Any, code: str) -> Any:
    """A result of a NumPy function as the machine keeps a single value."""
    if is_float(code):
        return SCALAR_TYPES[code](value)
    return bool(value) if code == "?" else int(value)


def apply_builtin(
    name: str, width: int, result: str, codes: tuple[str, ...], args: tuple[Any, ...]
) -> tuple[Any, ...]:
    """A pure built-in on component tuples; operands of one component serve all (`fmax(float4, float)`)."""
    lists = [[SCALAR_TYPES[c](x) for x in a] for a, c in zip(args, codes, strict=True)]
    function = builtins.whole(name)
    if function:
        return tuple(uniform(x, result) for x in function(*lists))
    columns = [items * width if len(items) == 1 else items for items in lists]
    if name == "select":
        return tuple(
            uniform(b if _is_chosen(c, width > 1) else a, result) for a, b, c in zip(*columns, strict=True)
        )
    test = builtins.relational(name)
    if test:
        true = -1 if width > 1 else 1
        return tuple(true if test(*row) else 0 for row in zip(*columns, strict=True))
    compute = builtins.elementwise(name)
    assert compute is not None, name
    return tuple(uniform(compute(*row), result) for row in zip(*columns, strict=True))


def _is_chosen(c: Any, is_vector: bool) -> bool:
    """`select` looks at the highest bit of a vector's component, and at all of a scalar."""
    return bool(int(c) >> (8 * c.dtype.itemsize - 1)) if is_vector else bool(c)


class ScalarMemory:
    """Pointers, loads and stores of the scalar tier, with their checks.

    `item_id` is the global id of the work-item that runs, x first.
    """

    def __init__(self, findings: Findings, printer: Printer, recorder: Recorder | None = None) -> None:
        self.recorder = recorder
        self.findings = findings
        self.printer = printer
        self.null: Pointer = (null_segment(), 0)
        self.table = AddressTable(self.null[0])
        self.item_id: tuple[int, ...] = ()
        self._windows = itertools.count()
        self._free_windows: list[int] = []

    def new_object(self, size: int, label: str, space: Space, initial: bytes | None = None) -> Pointer:
        data = np.zeros(size, np.uint8)
        if initial:
            data[: len(initial)] = np.frombuffer(initial, np.uint8)
        window = self._free_windows.pop() if self._free_windows else window_address(next(self._windows))
        segment = Segment(data, window, label, space)
        self.table.add(segment)
        return segment, 0

    def forget(self, pointer: Pointer) -> None:
        self.table.remove(pointer[0])
        self._free_windows.append(pointer[0].address)

    def pointer(self, address: int) -> Pointer:
        return self.table.find(address & _MASK64)

    @staticmethod
    def address(pointer: Pointer) -> int:
        return (pointer[0].address + pointer[1]) & _MASK64

    @staticmethod
    def move(pointer: Pointer, distance: int) -> Pointer:
        return pointer[0], pointer[1] + distance

    def _allowed(self, pointer: Pointer, size: int, loc: Loc, writing: bool) -> bool:
        segment, offset = pointer
        if segment.is_null:
            kind = "null-write" if writing else "null-read"
        elif offset < 0 or offset + size > segment.size:
            kind = "out-of-bounds-write" if writing else "out-of-bounds-read"
        elif writing and segment.read_only:
            kind = "write-to-read-only"
        else:
            if self.recorder is not None and segment.argument >= 0:
                self.recorder.add(segment.argument, writing, segment.size, np.array([offset]), size)
            return True
        self.findings.add(kind, loc, segment.label, offset, segment.size, size, self.item_id)
        return False

    def _check_alignment(self, pointer: Pointer, align: int, size: int, loc: Loc) -> None:
        if self.address(pointer) % align:
            segment, offset = pointer
            self.findings.add("misaligned", loc, segment.label, offset, segment.size, size, self.item_id)

    def load(self, pointer: Pointer, code: str, width: int, align: int, loc: Loc) -> tuple[Any, ...]:
        size = SIZES[code]
        self._check_alignment(pointer, align, size * width, loc)
        if not self._allowed(pointer, size * width, loc, False):
            return (zero_of(code),) * width
        segment, offset = pointer
        return tuple(value_of(segment.data, code, offset + k * size) for k in range(width))

    def store(self, pointer: Pointer, values: tuple[Any, ...], code: str, align: int, loc: Loc) -> None:
        size = SIZES[code] * len(values)
        self._check_alignment(pointer, align, size, loc)
        if self._allowed(pointer, size, loc, True):
            data = b"".join(bits_of(value, code) for value in values)
            segment, offset = pointer
            segment.data[offset : offset + size] = np.frombuffer(data, np.uint8)

    def copy(self, target: Pointer, source: Pointer, size: int, loc: Loc) -> None:
        if self._allowed(source, size, loc, False) and self._allowed(target, size, loc, True):
            data = source[0].data[source[1] : source[1] + size].copy()
            target[0].data[target[1] : target[1] + size] = data

    def fill(self, target: Pointer, size: int, loc: Loc) -> None:
        if self._allowed(target, size, loc, True):
            target[0].data[target[1] : target[1] + size] = 0

    def atomic(self, op: str, code: str, pointer: Pointer, args: tuple[Any, ...], loc: Loc) -> Any:
        """Do it and give the old value."""
        if not self._allowed(pointer, SIZES[code], loc, op != "load"):
            return zero_of(code)
        data, offset = pointer[0].data, pointer[1]
        old = value_of(data, code, offset)
        if op != "load":
            if op != "store":
                self._allowed(pointer, SIZES[code], loc, False)  # it reads as well
            new = atomic_result(op, code, old, args)
            data[offset : offset + SIZES[code]] = np.frombuffer(bits_of(new, code), np.uint8)
        return old


def atomic_result(op: str, code: str, old: Any, args: tuple[Any, ...]) -> Any:
    """What an atomic operation leaves in memory."""
    if op in ("xchg", "store"):
        return args[0]
    if op == "cmpxchg":
        return args[1] if old == args[0] else old
    if op in ("min", "max"):
        return (min if op == "min" else max)(old, args[0])
    return scalar_binary(op, code)(old, args[0])
