"""Built-in functions of OpenCL C on NumPy, looked up by name; both tiers of the machine use them.

`elementwise` gives a function of components (arrays or NumPy scalars of the operand's type); `relational`
one whose result is a bool, to become 1 or -1; `whole` one on lists of components; `storing` one that gives
a result and what goes through the pointer argument.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clsim.vm.builtins import exact, maths, special
from clsim.vm.builtins.integers import INTEGERS
from clsim.vm.builtins.maths import MATHS
from clsim.vm.builtins.vectors import VECTORS


def _is_normal(x: Any) -> Any:
    return np.isfinite(x) & (np.abs(x) >= np.finfo(x.dtype).tiny)


RELATIONAL: dict[str, Callable[..., Any]] = {
    "isequal": np.equal,
    "isnotequal": np.not_equal,
    "isgreater": np.greater,
    "isgreaterequal": np.greater_equal,
    "isless": np.less,
    "islessequal": np.less_equal,
    "islessgreater": lambda x, y: (x < y) | (x > y),
    "isfinite": np.isfinite,
    "isinf": np.isinf,
    "isnan": np.isnan,
    "isnormal": _is_normal,
    "isordered": lambda x, y: (x == x) & (y == y),
    "isunordered": lambda x, y: np.isnan(x) | np.isnan(y),
    "signbit": np.signbit,
}

STORING: dict[str, Callable[..., tuple[Any, Any]]] = {
    "fract": maths.fract,
    "modf": maths.modf,
    "sincos": maths.sincos,
    "frexp": maths.frexp,
    "remquo": exact.remquo,
    "lgamma_r": special.lgamma_r,
}

WORK_ITEM = frozenset(
    [
        "get_work_dim",
        "get_global_size",
        "get_global_id",
        "get_local_size",
        "get_enqueued_local_size",
        "get_local_id",
        "get_num_groups",
        "get_group_id",
        "get_global_offset",
        "get_global_linear_id",
        "get_local_linear_id",
    ]
)
"""Functions of the work-item's place, which each tier answers itself (section 6.15.1)."""


def elementwise(name: str) -> Callable[..., Any] | None:
    return MATHS.get(name) or INTEGERS.get(name)


def relational(name: str) -> Callable[..., Any] | None:
    return RELATIONAL.get(name)


def whole(name: str) -> Callable[..., list[Any]] | None:
    return VECTORS.get(name)


def storing(name: str) -> Callable[..., tuple[Any, Any]] | None:
    return STORING.get(name)


def is_known(name: str) -> bool:
    """Whether either tier can run the built-in (`select` is theirs too)."""
    return (
        name == "select"
        or name in WORK_ITEM
        or name in MATHS
        or name in INTEGERS
        or name in RELATIONAL
        or name in VECTORS
    )
