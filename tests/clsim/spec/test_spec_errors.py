"""The two classes of error, and the names of codes."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pytest

from clsim.spec import CL_INVALID_BUFFER_SIZE, CLError, SimulatorError, error_name


def test_an_error_says_the_call_the_code_and_the_reason() -> None:
    error = CLError(CL_INVALID_BUFFER_SIZE, "clCreateBuffer", "size is 0, it must be at least 1")
    assert (error.code, error.name, error.routine) == (-61, "CL_INVALID_BUFFER_SIZE", "clCreateBuffer")
    assert str(error) == "clCreateBuffer: CL_INVALID_BUFFER_SIZE: size is 0, it must be at least 1"


@pytest.mark.parametrize("make", [copy.copy, lambda e: pickle.loads(pickle.dumps(e))])
def test_an_error_survives_a_copy_and_a_pickle(make: Callable[[CLError], CLError]) -> None:
    error = make(CLError(-30, "clFinish", "because"))
    assert (error.code, error.routine, error.reason) == (-30, "clFinish", "because")


def test_the_simulators_own_fault_is_no_cl_error_and_asks_for_a_report() -> None:
    error = SimulatorError("no such state")
    assert not isinstance(error, CLError)
    assert "please report" in str(error)
    assert "no such state" in str(error)


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (0, "CL_SUCCESS"),
        (-1, "CL_DEVICE_NOT_FOUND"),  # and neither CL_BUILD_NONE nor another name of that number
        (-5, "CL_OUT_OF_RESOURCES"),
        (-11, "CL_BUILD_PROGRAM_FAILURE"),
        (-1001, "CL_PLATFORM_NOT_FOUND_KHR"),
        (-1010, "CL_INVALID_DX9_MEDIA_ADAPTER_KHR"),
        (-9999, "error -9999"),
    ],
)
def test_a_code_has_the_name_of_an_error(code: int, name: str) -> None:
    assert error_name(code) == name
