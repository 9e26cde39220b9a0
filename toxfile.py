"""Which environments plain `tox` runs: `sim` everywhere, `pocl` where PyPI has a PoCL.

tox.ini can tell operating systems apart but not processors, hence this inline plugin.
"""

from __future__ import annotations

import platform
import sys

from tox.config.loader.memory import MemoryLoader
from tox.config.sets import ConfigSet
from tox.config.types import EnvList
from tox.plugin import impl
from tox.session.state import State

POCL_ON_PYPI = sys.platform == "linux" and platform.machine() == "x86_64"


@impl
def tox_add_core_config(core_conf: ConfigSet, state: State) -> None:
    """Sets the default list of environments."""
    names = EnvList(["sim", "pocl"] if POCL_ON_PYPI else ["sim"])
    core_conf.loaders.insert(0, MemoryLoader(env_list=names))
