"""Named behaviours in which devices differ where the standard leaves room."""

from __future__ import annotations

from typing import NamedTuple


class Quirk(NamedTuple):
    """What it is about, and the values it takes, the default first."""

    meaning: str
    values: tuple[str, ...]


QUIRKS: dict[str, Quirk] = {
    "in_order_failure": Quirk(
        "what an in-order queue does with the commands behind one that failed: run them, or fail them too",
        ("continue", "fail"),
    ),
    "use_host_ptr": Quirk(
        "where a buffer over host memory keeps its bytes: in that memory, or in a copy that is synchronised"
        " when it is mapped, unmapped, and at blocking host access",
        ("in_place", "shadow"),
    ),
    "memory_fault": Quirk(
        "what becomes of a kernel that leaves its memory: only a finding, or as on GPUs a failed command,"
        " after which the context's later launches fail too",
        ("report", "late_error"),
    ),
}
