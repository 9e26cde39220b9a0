"""What the machine refuses: `NotSupported`, raised by `prepare` and never by a launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clsim.clc.ir import Loc


class NotSupported(Exception):
    """A kernel uses something that this machine does not run.

    `kernel` is its name, `what` the construct, `loc` where it stands in the source (None where it has no
    one place).
    """

    def __init__(self, kernel: str, what: str, loc: Loc | None = None) -> None:
        where = f" at line {loc.line}, column {loc.column}" if loc else ""
        super().__init__(f"kernel {kernel}: {what} is not supported{where}")
        self.kernel = kernel
        self.what = what
        self.loc = loc
