"""A simulated OpenCL platform in pure Python and NumPy.

`clsim.open("adreno-750")` gives a platform; `clsim.api` has the entry points of OpenCL, `clsim.spec` its
constants and `CLError`. What went wrong in a program is in `platform.findings`, what lives in
`platform.ledger`.
"""

import sys

# No newer syntax in this file: an older Python must get as far as the next statement.
if sys.version_info < (3, 10):  # noqa: UP036
    raise SystemExit(
        "clsim needs Python 3.10 or later, but this is Python {}.{}.".format(*sys.version_info[:2])
    )

from typing import TYPE_CHECKING

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


def __getattr__(name):  # type: (str) -> object
    if name not in _HOME:
        raise AttributeError("module 'clsim' has no attribute {!r}".format(name))  # noqa: UP032
    from importlib import import_module

    module, attribute = _HOME[name]
    return getattr(import_module(module), attribute)
