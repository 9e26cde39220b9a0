"""The lockstep tier: all work-items of a chunk of work-groups advance together, on NumPy arrays.

Arrays have four axes, (group, z, y, x of the local id), of length 1 where a value does not vary along one,
so that NumPy's broadcasting keeps every value as small as what it depends on. Values that are the same in
all work-items ("uniform") are Python ints and bools and NumPy floats, and control flow on them is Python's.
Divergent control flow runs under masks.

What this tier does not know (pointers that lead to one of several objects, unions, atomics whose old value
is used, ...) raises `Unsupported` when code is generated, and the scalar tier runs the kernel.
"""

from __future__ import annotations
