"""What kernels do wrong, gathered while they run: one `Fault` a place, with a count."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clsim.vm.launch import Fault

if TYPE_CHECKING:
    from clsim.clc.ir import Loc


class Findings:
    """The faults of one launch. Only ever touched by the thread that runs the launch."""

    __slots__ = ("_faults", "kernel", "muted")

    def __init__(self, kernel: str) -> None:
        self.kernel = kernel
        self.muted = False
        """Set while components of a vector are read of which another one tells."""
        self._faults: dict[tuple[str, Loc, str], Fault] = {}

    def add(
        self,
        kind: str,
        loc: Loc,
        label: str,
        offset: int,
        extent: int,
        size: int,
        global_id: tuple[int, ...],
        count: int = 1,
    ) -> None:
        """Record that `count` work-items did this, `global_id` (x first) the first of them."""
        if self.muted:
            return
        key = (kind, loc, label)
        seen = self._faults.get(key)
        if seen is None or global_id[::-1] < seen.global_id[::-1]:
            total = count + (seen.count if seen else 0)
            self._faults[key] = Fault(kind, self.kernel, loc, label, offset, extent, size, global_id, total)
        else:
            self._faults[key] = replace(seen, count=seen.count + count)

    def result(self) -> list[Fault]:
        return list(self._faults.values())
