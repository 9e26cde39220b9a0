"""`prepare` and `Kernel`: the face of the machine towards the host side."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from clsim.vm.lockstep.code import Code, generate
from clsim.vm.lockstep.launch import LaunchState, parts_of
from clsim.vm.scalar import ScalarProgram
from clsim.vm.scalar_run import ScalarLaunch

if TYPE_CHECKING:
    from clsim.clc.ir import Module
    from clsim.vm.launch import Argument, LaunchReport, NDRange
    from clsim.vm.lockstep.variant import Variant

LOOP_LIMIT = 1 << 24
"""How many passes a loop may make in one work-item before it is taken for endless."""

_MOST_VARIANTS = 64


class Kernel:
    """A kernel ready to run. Safe to launch from several threads at once."""

    def __init__(self, module: Module, name: str) -> None:
        self.name = name
        self._module = module
        self._function = module.functions[name]
        self._scalar = ScalarProgram(module, self._function)
        self._codes: dict[Variant, Code] = {}
        self._lock = threading.Lock()

    def launch(
        self,
        arguments: Sequence[Argument],
        ndrange: NDRange,
        *,
        record_accesses: bool = False,
        loop_limit: int = LOOP_LIMIT,
    ) -> LaunchReport:
        """Run the kernel over the index space and report what was seen.

        The caller has checked the arguments against the kernel's parameters and the sizes against the
        device's limits. Only effects on memory and the report are left behind.
        """
        state = LaunchState(self._function, arguments, ndrange, loop_limit)
        with np.errstate(all="ignore"):
            for part in parts_of(ndrange):
                code = self._code(state.variant_of(part, record_accesses))
                state.run(code, part)
        return state.report()

    def launch_scalar(
        self, arguments: Sequence[Argument], ndrange: NDRange, *, loop_limit: int = LOOP_LIMIT
    ) -> LaunchReport:
        """The same on the scalar tier, one work-item at a time: slow, and the yardstick in tests."""
        return ScalarLaunch(self._scalar, arguments, ndrange, loop_limit).run()

    def _code(self, variant: Variant) -> Code:
        code = self._codes.get(variant)
        if code is None:
            with self._lock:
                code = self._codes.get(variant)
                if code is None:
                    code = generate(self._module, self._function, variant)
                    if len(self._codes) >= _MOST_VARIANTS:
                        del self._codes[next(iter(self._codes))]
                    self._codes[variant] = code
        return code


def prepare(module: Module, kernel_name: str) -> Kernel:
    """Check that the machine can run the kernel, and build what all launches share.

    Raises `NotSupported` where the kernel, or a function that it calls, uses something that the machine
    does not run.
    """
    return Kernel(module, kernel_name)
