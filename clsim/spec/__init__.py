"""Facts of the OpenCL standard, without behaviour: constants, error codes, versions, info queries."""

from __future__ import annotations

from clsim.spec.constants import *  # noqa: F403
from clsim.spec.errors import CLError, SimulatorError, error_name

__all__ = [name for name in dir() if name.startswith("CL_")]
__all__ += ["CLError", "SimulatorError", "error_name"]
