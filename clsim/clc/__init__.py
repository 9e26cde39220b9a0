"""OpenCL C compiler: source text in, typed intermediate form and a build log out.

`compile_source` is the whole of it for other rooms; `ir` and `types` describe what it returns, `dump` and
`load` turn a module into bytes and back. The compiler itself is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clsim.clc.target import Target

if TYPE_CHECKING:
    from clsim.clc.compiler import Compilation, compile_source
    from clsim.clc.serial import FORMAT, dump, load

__all__ = ["FORMAT", "Compilation", "Target", "compile_source", "dump", "load"]

_HOMES = {
    "Compilation": "compiler", "compile_source": "compiler",
    "FORMAT": "serial", "dump": "serial", "load": "serial",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"clsim.clc.{home}"), name)
    globals()[name] = value
    return value
