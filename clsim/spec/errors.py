"""The two classes of error: the program's fault and the simulator's own."""

from __future__ import annotations

from clsim.spec import constants

_LAST_STANDARD_CODE = -72
_LOADER_CODES = {"CL_PLATFORM_NOT_FOUND_KHR"}
_NOT_ERROR_CODES = ("CL_BUILD_", "CL_PARTITION_BY_", "CL_FLT_", "CL_HALF_", "CL_DBL_")
"""Names with small negative values that are no error codes."""


def _error_names() -> dict[int, str]:
    names: dict[int, str] = {}
    for name, value in vars(constants).items():
        if not name.startswith("CL_") or not isinstance(value, int):
            continue
        is_build_failure = name == "CL_BUILD_PROGRAM_FAILURE"
        if name.startswith(_NOT_ERROR_CODES) and not is_build_failure:
            continue
        if name == "CL_SUCCESS" or _LAST_STANDARD_CODE <= value < 0 or name in _LOADER_CODES:
            names.setdefault(value, name)
    return names


ERROR_NAMES: dict[int, str] = _error_names()
"""The standard's name of every error code."""


def error_name(code: int) -> str:
    """The standard's name of an error code, or the number for one it does not define."""
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
