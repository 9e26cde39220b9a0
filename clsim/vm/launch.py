"""What a kernel launch takes and gives: arguments, the index space, and what was seen while it ran."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from clsim.clc.ir import Loc


@dataclass(eq=False, slots=True)
class Region:
    """A memory object as a kernel sees it.

    `data` is a one-dimensional uint8 array that aliases the object's bytes (a sub-buffer's region aliases
    a part of its parent's); it starts at an address aligned to 128 bytes unless the sub-buffer's origin says
    otherwise. `address` is the device address that a kernel sees when it looks at the pointer's bits.
    """

    data: NDArray[np.uint8]
    address: int
    label: str
    read_only: bool = False
    write_only: bool = False


@dataclass(slots=True)
class BufferArgument:
    """A `__global` or `__constant` pointer; None is NULL."""

    region: Region | None


@dataclass(slots=True)
class LocalArgument:
    """A `__local` pointer to `size` bytes a work-group."""

    size: int


@dataclass(slots=True)
class ScalarArgument:
    """A value passed by copy: its bytes in little-endian order, of exactly the parameter's size."""

    data: bytes


Argument: TypeAlias = BufferArgument | LocalArgument | ScalarArgument


@dataclass(frozen=True, slots=True)
class NDRange:
    """The index space. All three tuples have the length `work_dim` (1 to 3).

    The local size may not divide the global one where the program was built for OpenCL C 2.0 or later;
    the last work-groups are then smaller.
    """

    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    offset: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """Something a kernel did that the standard leaves undefined, the first of its kind at that place.

    `kind`: out-of-bounds-read, out-of-bounds-write, null-read, null-write, misaligned, divergent-barrier,
    write-to-read-only, loop-limit. `offset` is in bytes from the start of the argument's memory, `extent`
    that memory's size, `count` how many work-items did it, `global_id` the first of them.
    """

    kind: str
    kernel: str
    loc: Loc
    argument: str
    offset: int
    extent: int
    size: int
    global_id: tuple[int, ...]
    count: int


@dataclass(frozen=True, slots=True)
class Access:
    """Bytes of an argument that a launch touched: `count` pieces of `size` bytes, `stride` bytes apart.

    A gather is given as pieces after merging neighbours; `exact` False means the set is an upper bound.
    """

    argument: int
    write: bool
    start: int
    size: int
    stride: int
    count: int
    exact: bool


@dataclass(slots=True)
class LaunchReport:
    """What a launch left behind besides its effects on memory."""

    faults: list[Fault] = field(default_factory=list)
    printed: str = ""
    accesses: list[Access] | None = None
