"""`prepare` and `Kernel`: the face of the machine towards the host side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from clsim.vm.lanes.analysis import Unsupported
from clsim.vm.lanes.launch import LaneProgram
from clsim.vm.scalar import ScalarProgram
from clsim.vm.scalar_run import ScalarLaunch

if TYPE_CHECKING:
    from clsim.clc.ir import Module
    from clsim.vm.launch import Argument, LaunchReport, NDRange

LOOP_LIMIT = 1 << 24
"""How many passes a loop may make in one work-item before it is taken for endless."""


class Kernel:
    """A kernel ready to run. Safe to launch from several threads at once."""

    def __init__(self, module: Module, name: str) -> None:
        self.name = name
        self._module = module
        self._scalar: ScalarProgram | None = None
        self._lanes: LaneProgram | None = None
        try:
            self._lanes = LaneProgram(module, module.functions[name])
        except Unsupported:
            self._scalar = ScalarProgram(module, module.functions[name])

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
        if self._lanes is not None and self._lanes.runs(ndrange) and not record_accesses:
            return self._lanes.launch(arguments, ndrange, loop_limit)
        if self._scalar is None:
            self._scalar = ScalarProgram(self._module, self._module.functions[self.name])
        return ScalarLaunch(self._scalar, arguments, ndrange, loop_limit).run()


def prepare(module: Module, kernel_name: str) -> Kernel:
    """Check that the machine can run the kernel, and build what all launches share.

    Raises `NotSupported` where the kernel, or a function that it calls, uses something that the machine
    does not run.
    """
    return Kernel(module, kernel_name)
