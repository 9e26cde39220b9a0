"""The machine that runs compiled kernels on NumPy, all work-items of a chunk in lockstep.

`prepare(module, kernel_name)` gives a `Kernel`, whose `launch` takes arguments and an index space and gives
a `LaunchReport`. `launch` holds the types of both; `NotSupported` says what a kernel uses that the machine
cannot run.
"""

from __future__ import annotations

from clsim.vm.errors import NotSupported
from clsim.vm.kernel import LOOP_LIMIT, Kernel, prepare
from clsim.vm.launch import (
    Access,
    Argument,
    BufferArgument,
    Fault,
    LaunchReport,
    LocalArgument,
    NDRange,
    Region,
    ScalarArgument,
)

__all__ = [
    "LOOP_LIMIT",
    "Access",
    "Argument",
    "BufferArgument",
    "Fault",
    "Kernel",
    "LaunchReport",
    "LocalArgument",
    "NDRange",
    "NotSupported",
    "Region",
    "ScalarArgument",
    "prepare",
]
