"""What generated lockstep code calls: memory access with bounds checks, selection, integer arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from clsim.vm.dtypes import DTYPES, LIMITS, SCALAR_TYPES, SIZES, wrap

if TYPE_CHECKING:
    from clsim.vm.findings import Findings
    from clsim.vm.lanes.values import Place
    from clsim.vm.launch import NDRange

LANES = 1 << 15
"""Work-items that advance together, rounded to whole work-groups."""


class Chunk:
    """A run of work-groups: its shape, its ids, and where its faults go."""

    __slots__ = ("bounds", "findings", "first_group", "groups", "loop_limit", "ndrange", "shape", "sizes")

    def __init__(
        self, ndrange: NDRange, first_group: int, groups: int, findings: Findings, loop_limit: int
    ) -> None:
        self.ndrange = ndrange
        self.first_group = first_group
        self.groups = groups
        self.findings = findings
        self.loop_limit = loop_limit
        local = (*ndrange.local_size, 1, 1)[:3]
        self.sizes = local
        self.shape = (groups, local[2], local[1], local[0])
        self.bounds: dict[int, tuple[int, int, Any]] = {}
        """Least and greatest of index arrays that live as long as the chunk, by their id."""

    # ------------------------------------------------------------ ids

    def group_id(self, d: int, code: str) -> Any:
        counts = [n // m for n, m in zip(self.ndrange.global_size, self.ndrange.local_size, strict=True)]
        if d >= len(counts) or counts[d] == 1:
            return SCALAR_TYPES[code](0)
        below = int(np.prod(counts[:d], dtype=np.int64))
        number = np.arange(self.first_group, self.first_group + self.groups, dtype=np.int64)
        return ((number // below) % counts[d]).astype(DTYPES[code]).reshape(-1, 1, 1, 1)

    def local_id(self, d: int, code: str) -> Any:
        size = self.sizes[d] if d < 3 else 1
        if size == 1:
            return SCALAR_TYPES[code](0)
        shape = [1, 1, 1, 1]
        shape[3 - d] = size
        return np.arange(size, dtype=DTYPES[code]).reshape(shape)

    def global_id(self, d: int, code: str) -> Any:
        if d >= len(self.ndrange.global_size):
            return SCALAR_TYPES[code](0)
        first = SCALAR_TYPES[code](self.ndrange.offset[d])
        size = SCALAR_TYPES[code](self.sizes[d])
        return self.group_id(d, code) * size + self.local_id(d, code) + first

    def local_linear_id(self, code: str) -> Any:
        x, y, _ = (SCALAR_TYPES[code](n) for n in self.sizes)
        return (self.local_id(2, code) * y + self.local_id(1, code)) * x + self.local_id(0, code)

    def global_linear_id(self, code: str) -> Any:
        result = SCALAR_TYPES[code](0)
        for d in reversed(range(len(self.ndrange.global_size))):
            size = SCALAR_TYPES[code](self.ndrange.global_size[d])
            start = SCALAR_TYPES[code](self.ndrange.offset[d])
            result = result * size + (self.global_id(d, code) - start)
        return result

    def lane_of(self, position: int) -> tuple[int, ...]:
        """Global id of the lane at a flat position of the chunk."""
        g, z, y, x = (int(i) for i in np.unravel_index(position, self.shape))
        result = []
        number = self.first_group + g
        for d, (n, m) in enumerate(zip(self.ndrange.global_size, self.ndrange.local_size, strict=True)):
            number, group = divmod(number, n // m)
            result.append(self.ndrange.offset[d] + group * m + (x, y, z)[d])
        return tuple(result)

    # ------------------------------------------------------------ faults

    def report(self, kind: str, place: Place, bad: Any, offset: Any, extent: int) -> None:
        """Lanes of `bad` did wrong; `offset` is in bytes. Both broadcast to the chunk."""
        lanes = np.flatnonzero(np.broadcast_to(np.asarray(bad), self.shape))
        if not lanes.size:
            return
        first = int(np.broadcast_to(offset, self.shape).ravel()[lanes[0]])
        self.findings.add(
            kind, place.loc, place.label, first, extent, place.size, self.lane_of(int(lanes[0])), lanes.size
        )

    def hit_limit(self, place: Place, mask: Any) -> None:
        self.report("loop-limit", place, True if mask is None else mask, 0, 0)

    def barrier(self, place: Place, mask: Any) -> None:
        """A barrier that some of a group's work-items do not reach is a fault."""
        if mask is None or np.ndim(mask) == 0:
            return
        reached: Any = np.broadcast_to(mask, self.shape).reshape(self.groups, -1)
        split = reached.any(axis=1) & ~reached.all(axis=1)
        if split.any():
            bad = (reached & split[:, None]).reshape(self.shape)
            self.report("divergent-barrier", place, bad, 0, 0)


class Memory:
    """A memory object's bytes as arrays of each element type, shared by all groups or one a group.

    `stride` is 0 for memory that all work-groups share, else the bytes between the groups' copies.
    """

    __slots__ = ("_bases", "_views", "data", "is_null", "label", "read_only", "size", "stride", "write_only")

    def __init__(
        self, data: Any, size: int, stride: int, *, read_only: bool = False, write_only: bool = False,
        is_null: bool = False,
    ) -> None:  # fmt: skip
        self.data = data
        self.size = size
        self.stride = stride
        self.read_only = read_only
        self.write_only = write_only
        self.is_null = is_null
        self._views: dict[str, Any] = {}
        self._bases: dict[int, Any] = {}

    def view(self, code: str) -> Any:
        array = self._views.get(code)
        if array is None:
            item = SIZES[code]
            kind = DTYPES["u1" if code == "?" else code]
            array = self._views[code] = self.data[: self.data.size // item * item].view(kind)
        return array

    def base(self, groups: int, item: int) -> Any:
        """Index of each group's first element of `item` bytes, along the group axis."""
        array = self._bases.get(item)
        if array is None or array.shape[0] != groups:
            step = self.stride // item
            array = np.arange(0, groups * step, step, dtype=np.int64).reshape(-1, 1, 1, 1)
            self._bases[item] = array
        return array


def _checked(c: Chunk, m: Memory, i: Any, mask: Any, place: Place, extra: int) -> tuple[Any, Any]:
    """The index with lanes out of bounds moved to 0, and the mask without them."""
    item = SIZES[place.code]
    last = m.size // item - 1 - extra
    wide = i.astype(np.int64) if isinstance(i, np.generic | np.ndarray) else np.int64(i)
    bad = (wide < 0) | (wide > last)
    if mask is not None:
        bad = bad & mask
    if np.any(bad):
        kind = "null" if m.is_null else "out-of-bounds"
        c.report(f"{kind}-{'write' if place.write else 'read'}", place, bad, wide * item, m.size)
    good = ~((wide < 0) | (wide > last))
    return np.where(good, wide, 0), good if mask is None else good & mask


def load(c: Chunk, m: Memory, i: Any, mask: Any, place: Place, extra: int = 0) -> Any:
    """The element at index `i` (+ extra for the last of a vector); masked-off lanes read anything."""
    code = place.code
    last = m.size // SIZES[code] - 1 - extra
    array = m.view(code)
    if type(i) is int or isinstance(i, np.integer):
        i = int(i)
        if 0 <= i <= last:
            if m.stride:
                return array.reshape(-1, m.stride // SIZES[code])[: c.groups, i].reshape(-1, 1, 1, 1).copy()
            return array[i]
    elif i.ndim == 0:
        return load(c, m, int(i), mask, place, extra)
    else:
        if i.dtype.kind == "u":
            i = i.astype(np.int64)
        low, high = i.min(), i.max()
        if low >= 0 and high <= last:
            if not m.stride:
                return array.take(i)
            if i.shape[0] == 1:
                row = array.reshape(-1, m.stride // SIZES[code])[: c.groups]
                return row.take(i.ravel(), axis=1).reshape((-1, *i.shape[1:]))
            return array.take(i + m.base(c.groups, SIZES[code]))
    if last < 0:
        _checked(c, m, i, mask, place, extra)
        return SCALAR_TYPES["u1" if code == "?" else code](0)
    where, good = _checked(c, m, i, mask, place, extra)
    if m.stride:
        where = where + m.base(c.groups, SIZES[code])
    return np.where(good, array.take(where), array.dtype.type(0))


def load_fixed(c: Chunk, m: Memory, fixed: Any, uniform: int, mask: Any, place: Place, extra: int = 0) -> Any:
    """`load` at `fixed + uniform`, where `fixed` is the same array for the whole chunk."""
    if not isinstance(fixed, np.ndarray):
        return load(c, m, int(fixed) + uniform, mask, place, extra)
    bounds = c.bounds.get(id(fixed))
    if bounds is None:
        bounds = c.bounds[id(fixed)] = (int(fixed.min()), int(fixed.max()), fixed)
    item = SIZES[place.code]
    if bounds[0] + uniform < 0 or bounds[1] + uniform > m.size // item - 1 - extra:
        return load(c, m, fixed.astype(np.int64) + uniform, mask, place, extra)
    array = m.view(place.code)
    if not m.stride:
        return (array[uniform:] if uniform > 0 else array).take(fixed if uniform >= 0 else fixed + uniform)
    i = fixed + uniform if uniform else fixed
    if i.shape[0] == 1:
        row = array.reshape(-1, m.stride // item)
        return row.take(i.ravel(), axis=1).reshape((c.groups, *i.shape[1:]))
    return array.take(i.astype(np.int64, copy=False) + m.base(c.groups, item))


def store(c: Chunk, m: Memory, i: Any, values: tuple[Any, ...], mask: Any, place: Place) -> None:
    """Writes the components at consecutive elements from index `i` on, in lanes of the mask."""
    code = place.code
    extra = len(values) - 1
    last = m.size // SIZES[code] - 1 - extra
    if m.read_only:
        bad = True if mask is None else mask
        offset = i * SIZES[code] if isinstance(i, int) else i.astype(np.int64) * SIZES[code]
        c.report("write-to-read-only", place, bad, offset, m.size)
        return
    scalar = np.ndim(i) == 0
    if not scalar and i.dtype.kind == "u":
        # uint64 + int64 is float64 in NumPy.
        i = i.astype(np.int64)
    low, high = (int(i), int(i)) if scalar else (i.min(), i.max())
    if low < 0 or high > last:
        i, mask = _checked(c, m, i, mask, place, extra)
        if last < 0:
            return
        scalar = False
    if m.stride:
        i = m.base(c.groups, SIZES[code]) + i
        scalar = False
    array = m.view(code)
    for k, value in enumerate(values):
        if code == "?":
            value = np.asarray(value).astype(np.uint8)
        if scalar and (mask is None or np.ndim(mask) == 0):
            if mask is None or mask:
                array[int(i) + k] = (
                    value if np.ndim(value) == 0 else np.broadcast_to(value, c.shape)[-1, -1, -1, -1]
                )
            continue
        if mask is None:
            if np.ndim(value) == 0 or i.shape == value.shape:
                array[i + k if k else i] = value
                continue
            where, what = np.broadcast_arrays(i, value)
            array[where + k if k else where] = what
        else:
            where, what, live = np.broadcast_arrays(np.asarray(i), value, mask)
            array[where[live] + k] = what[live]


def atomic(c: Chunk, m: Memory, i: Any, op: str, value: Any, mask: Any, place: Place) -> None:
    """An atomic operation whose old value nobody reads."""
    i, good = _checked(c, m, i, mask, place, 0)
    if m.size < SIZES[place.code]:
        return
    if m.stride:
        i = i + m.base(c.groups, SIZES[place.code])
    live = np.broadcast_to(good, c.shape)
    where = np.broadcast_to(i, c.shape)[live]
    what = np.broadcast_to(value, c.shape)[live]
    _ATOMICS[op].at(m.view(place.code), where, what)


_ATOMICS = {
    "add": np.add, "sub": np.subtract, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip


def select(mask: Any, a: Any, b: Any) -> Any:
    """`a` in lanes of the mask, else `b`; both of one NumPy type."""
    if mask is None:
        return a
    if isinstance(mask, bool | np.bool_):
        return a if mask else b
    return np.where(mask, a, b)


def divide(code: str, whole_positive: bool) -> Callable[[Any, Any], Any]:
    """C's division of arrays, truncating; by zero it gives 0."""
    kind = SCALAR_TYPES[code]

    def truncated(a: Any, b: Any) -> Any:
        safe = np.where(b == 0, kind(1), b)
        quotient = np.floor_divide(a, safe)
        rest = a - quotient * safe
        quotient = quotient + ((rest != 0) & ((a < 0) != (b < 0))).astype(DTYPES[code])
        return np.where(b == 0, kind(0), quotient)[()]

    def plain(a: Any, b: Any) -> Any:
        if np.ndim(b) == 0 and b > 0:
            return np.floor_divide(a, b)
        return truncated(a, b)

    return plain if whole_positive or code[0] == "u" else truncated


def remainder(code: str, whole_positive: bool) -> Callable[[Any, Any], Any]:
    """C's remainder of arrays: the sign of the dividend; by zero it gives 0."""
    division = divide(code, whole_positive)
    kind = SCALAR_TYPES[code]

    def rest(a: Any, b: Any) -> Any:
        if whole_positive and np.ndim(b) == 0 and b > 0:
            n = int(b)
            return a & kind(n - 1) if n & (n - 1) == 0 else a - np.floor_divide(a, b) * b
        return np.where(b == 0, kind(0), a - division(a, b) * b)[()]

    return rest


def shift(op: str, code: str) -> Callable[[Any, Any], Any]:
    mask = SCALAR_TYPES[code](8 * SIZES[code] - 1)
    function = np.left_shift if op == "shl" else np.right_shift
    return lambda a, b: function(a, b & mask)


def wrapper(code: str) -> Callable[[int], int]:
    """Brings a uniform integer back into its type."""
    low, high = LIMITS[code]
    return lambda x: x if low <= x <= high else wrap(code, x)


def any_lane(mask: Any) -> bool:
    return mask is None or bool(np.any(mask))


def both(mask: Any, test: Any) -> Any:
    return test if mask is None else mask & test


def without(mask: Any, gone: Any) -> Any:
    return ~gone if mask is None else mask & ~gone
