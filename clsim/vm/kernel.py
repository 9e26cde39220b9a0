"""`prepare` and `Kernel`: the face of the machine towards the host side."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from clsim.vm.check import Progress, check_supported, progress_of
from clsim.vm.lockstep.atomics import Livelock
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
        self._progress = progress_of(module, self._function)
        self._program: ScalarProgram | None = None
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
        if self._progress is not Progress.IN_TURN:
            state = LaunchState(self._function, arguments, ndrange, loop_limit, record_accesses)
            if self._progress is Progress.TOGETHER:
                self._run(state)
                return state.report()
            before = state.snapshot()
            state.retrying = True
            try:
                self._run(state)
            except Livelock:
                state.restore(before)
                self._progress = Progress.IN_TURN
            else:
                return state.report()
        return self.launch_scalar(arguments, ndrange, record_accesses=record_accesses, loop_limit=loop_limit)

    def _run(self, state: LaunchState) -> None:
        with np.errstate(all="ignore"):
            for part in parts_of(state.ndrange):
                state.run(self._code(state.variant_of(part)), part)

    def launch_scalar(
        self,
        arguments: Sequence[Argument],
        ndrange: NDRange,
        *,
        record_accesses: bool = False,
        loop_limit: int = LOOP_LIMIT,
    ) -> LaunchReport:
        """The same on the scalar tier, one work-item at a time: slow, and the yardstick in tests."""
        with self._lock:
            if self._program is None:
                self._program = ScalarProgram(self._module, self._function)
        return ScalarLaunch(self._program, arguments, ndrange, loop_limit, record_accesses).run()

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
    check_supported(module, module.functions[kernel_name])
    return Kernel(module, kernel_name)
