"""Facts of the OpenCL standard, without behaviour.

`constants` and `entry_points` are generated from the registry; all constants stand here too. `errors` has the
two classes of error, `info` the tables of the information queries.
"""

from __future__ import annotations

from clsim.spec.constants import *  # noqa: F403
from clsim.spec.constants import ERROR_NAMES
from clsim.spec.entry_points import DEPRECATED, EXTENSION, SINCE
from clsim.spec.errors import CLError, SimulatorError, error_name

__all__ = [name for name in dir() if name.startswith("CL_")]
__all__ += ["DEPRECATED", "ERROR_NAMES", "EXTENSION", "SINCE", "CLError", "SimulatorError", "error_name"]
