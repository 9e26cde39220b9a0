"""Information queries: a table a chapter, from the query's number to what answers it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from clsim.spec import CL_INVALID_VALUE, CLError

T = TypeVar("T")


def answer(routine: str, table: Mapping[int, Callable[[T], Any]], param_name: int, item: T) -> Any:
    """The value of a query. Raises CL_INVALID_VALUE for a query that the table does not have."""
    get = table.get(param_name)
    if get is None:
        raise CLError(CL_INVALID_VALUE, routine, f"no query of this number: {param_name!r:.40}")
    return get(item)
