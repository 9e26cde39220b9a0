"""The two classes of error: the program's fault and the simulator's own."""

from __future__ import annotations

from clsim.spec.constants import ERROR_NAMES


def error_name(code: int) -> str:
    """The name of an error code, of the standard or an extension; the number where there is none."""
    return ERROR_NAMES.get(code, f"error {code}")


class CLError(Exception):
    """An OpenCL call was wrong: `code` of the standard, the `routine` that was called, and the `reason`.

    The reason says what was wrong, with which value, and what would have been right.
    """

    def __init__(self, code: int, routine: str, reason: str) -> None:
        super().__init__(code, routine, reason)
        self.code = code
        self.routine = routine
        self.reason = reason

    @property
    def name(self) -> str:
        """The code's name in the standard, such as `CL_INVALID_VALUE`."""
        return error_name(self.code)

    def __str__(self) -> str:
        return f"{self.routine}: {self.name}: {self.reason}"


class SimulatorError(Exception):
    """The simulator itself is at fault. Never raised for anything a program passes in."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what

    def __str__(self) -> str:
        return f"internal error of the simulator, please report it: {self.what}"
