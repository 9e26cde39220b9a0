"""Figures that a script can judge: the rows that every `--json FILE` of this project holds.

A row is `{"name", "value", "unit", "limit", "pass"}`. `limit` is null where nothing was promised, and then
`pass` is true; a value that could not be measured is null and fails the limit it has.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypedDict

Rule = Literal["at most", "at least", "exactly"]

Row = TypedDict(
    "Row",
    {"name": str, "value": "float | str | None", "unit": str, "limit": "float | str | None", "pass": bool},
)


@dataclass(frozen=True)
class Figure:
    """One measured value and, where something was promised of it, the limit.

    `rule` says how a numeric value keeps its limit; text must equal it.
    """

    name: str
    value: float | str | None
    unit: str = ""
    limit: float | str | None = None
    rule: Rule = "at most"

    @property
    def passes(self) -> bool:
        """Whether the value keeps its limit."""
        value, limit = self.value, self.limit
        if limit is None:
            return True
        if isinstance(value, str) or isinstance(limit, str):
            return value == limit
        if value is None or math.isnan(value):
            return False
        if self.rule == "exactly":
            return value == limit
        return value >= limit if self.rule == "at least" else value <= limit

    @property
    def row(self) -> Row:
        """The figure as JSON takes it: numbers that JSON does not have are null."""
        value = self.value
        if isinstance(value, float) and not math.isfinite(value):
            value = None
        return {
            "name": self.name,
            "value": value,
            "unit": self.unit,
            "limit": self.limit,
            "pass": self.passes,
        }


def dumps(figures: Iterable[Figure]) -> str:
    """The rows as JSON text, ASCII only so that any pipe takes it, one row a line."""
    rows = ",\n".join("  " + json.dumps(figure.row, allow_nan=False) for figure in figures)
    return f"[\n{rows}\n]\n" if rows else "[]\n"


def reserve(target: str | None) -> None:
    """Finds out before long work whether `write` could write there. Raises OSError if not."""
    if target is not None and target != "-":
        with Path(target).open("a"):
            pass


def write(figures: Iterable[Figure], target: str) -> None:
    """Writes the rows to the file `target`, or to standard output for `-`. Raises OSError."""
    text = dumps(figures)
    if target == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        Path(target).write_text(text, encoding="ascii")
