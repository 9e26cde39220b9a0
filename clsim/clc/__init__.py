"""OpenCL C compiler: source text in, typed intermediate form and a build log out.

`compile_source` is the whole of it for other rooms; `ir` and `types` describe what it returns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from clsim.clc.target import Target

if TYPE_CHECKING:
    from clsim.clc.compiler import Compilation
    from clsim.clc.preprocessor import Reader

__all__ = ["Target", "compile_source"]


def compile_source(
    source: str,
    options: str = "",
    *,
    target: Target,
    headers: Mapping[str, str] | None = None,
    read_file: Reader | None = None,
) -> Compilation:
    """Compile a program; see `clsim.clc.compiler.compile_source`. The compiler is loaded on first use."""
    from clsim.clc import compiler

    return compiler.compile_source(source, options, target=target, headers=headers, read_file=read_file)
