"""A simulated OpenCL platform in pure Python and NumPy.

`clsim.open("adreno-750")` gives a platform; `clsim.api` has the entry points of OpenCL, `clsim.spec` its
constants and `CLError`. What went wrong in a program is in `platform.findings`, what lives in
`platform.ledger`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if sys.version_info < (3, 10):  # noqa: UP036 - one sentence for whoever starts it on an older one
    raise ImportError(f"clsim needs Python 3.10 or later, this is {sys.version.split()[0]}")

if TYPE_CHECKING:
    from clsim.checks import Finding
    from clsim.objects import Platform
    from clsim.objects import Platform as open  # noqa: N813
    from clsim.spec import CLError, SimulatorError

__all__ = ["CLError", "Finding", "Platform", "SimulatorError", "open"]

# Importing NumPy takes longer than all of clsim: what needs it is imported when it is asked for.
_HOME = {
    "CLError": ("clsim.spec", "CLError"),
    "Finding": ("clsim.checks", "Finding"),
    "Platform": ("clsim.objects", "Platform"),
    "SimulatorError": ("clsim.spec", "SimulatorError"),
    "open": ("clsim.objects", "Platform"),
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'clsim' has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _HOME[name]
    return getattr(import_module(module), attribute)
