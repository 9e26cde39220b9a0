"""What generated code is specialised on besides the kernel itself."""

from __future__ import annotations

from dataclasses import dataclass

GROUP_LIMIT_BITS = (8, 12, 16, 20, 24, 28, 31)
"""A dimension's size is taken as at most 2 to the power of the first of these that holds it."""

ARGUMENT_BITS = (8, 16, 24, 31)


def bits_for(value: int, steps: tuple[int, ...]) -> int | None:
    """The first of `steps` bits that hold a value from 0 up, None where none does."""
    if value < 0:
        return None
    for bits in steps:
        if value < 1 << bits:
            return bits
    return None


@dataclass(frozen=True, slots=True)
class Variant:
    """Shapes and assumptions of one generated function; all tuples but `argument_bits` go by dimension.

    `local` is the size of the work-groups of this launch part, `enqueued` the launch's (they differ only in
    remainder groups). `many_groups` says where there is more than one group. `id_bits` bounds global ids,
    `argument_bits` integer arguments (None: nothing is known). `zero_offset`: no global offset. `aliased`:
    arguments may overlap. `recording`: accesses are recorded.
    """

    local: tuple[int, ...]
    enqueued: tuple[int, ...]
    many_groups: tuple[bool, ...]
    id_bits: tuple[int, ...]
    argument_bits: tuple[int | None, ...]
    zero_offset: bool
    aliased: bool
    recording: bool

    @property
    def axes(self) -> tuple[str, ...]:
        """Lane axes from the outermost: 'g1' is the group index in dimension 1, 'l0' the local id in 0.

        Axes that always have one element are left out.
        """
        names = []
        for d in reversed(range(len(self.local))):
            if self.many_groups[d]:
                names.append(f"g{d}")
            if self.local[d] > 1:
                names.append(f"l{d}")
        return tuple(names)
