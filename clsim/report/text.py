"""Findings and live objects as text of 80 columns."""

from __future__ import annotations

import linecache
import os
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from clsim.checks import Finding

WIDTH = 80
_ORDER = {"error": 0, "warning": 1, "possible": 2}
_COLOURS = {"error": "31", "warning": "33", "possible": "36"}


def wants_colour(stream: TextIO) -> bool:
    """Colour only on a terminal, and not where NO_COLOR is set or the terminal is a dumb one."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and stream.isatty()


def findings_text(findings: Iterable[Finding], *, colour: bool = False) -> str:
    """Findings, worst first, each with its call sites and their source lines."""
    ordered = sorted(findings, key=lambda f: _ORDER[f.severity])
    if not ordered:
        return "no findings"
    parts = [_finding_text(finding, colour) for finding in ordered]
    counts = {s: sum(f.severity == s for f in ordered) for s in _ORDER}
    told = ", ".join(f"{n} {_plural(s, n)}" for s, n in counts.items() if n)
    return "\n\n".join([*parts, told])


def _plural(severity: str, count: int) -> str:
    word = {"error": "error", "warning": "warning", "possible": "possible fault"}[severity]
    return word if count == 1 else word + "s"


def _finding_text(finding: Finding, colour: bool) -> str:
    head = f"{finding.severity}[{finding.kind}]"
    if colour:
        head = f"\x1b[1;{_COLOURS[finding.severity]}m{head}\x1b[0m"
    times = f" (seen {finding.count} times)" if finding.count > 1 else ""
    lines = [head + ":", *_wrap(finding.message + times, "  ")]
    for place in finding.sites:
        lines.append(f"  {place.label}: {_short(place.file)}:{place.line}, in {place.function}")
        source = linecache.getline(place.file, place.line).strip()
        if source:
            lines.append(f"    | {source[: WIDTH - 6]}")
    if finding.advice:
        lines += _wrap(finding.advice, "  = ", "    ")
    return "\n".join(lines)


def _wrap(text: str, first: str, rest: str | None = None) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=first if rest is None else rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _short(file: str) -> str:
    """The path relative to the working directory where that is shorter."""
    try:
        relative = os.path.relpath(file)
    except ValueError:  # another drive
        return file
    return min(relative, file, key=len)


def live_objects_text(rows: Sequence[Mapping[str, object]]) -> str:
    """A table of live objects; each row has kind, live, peak, total and bytes."""
    names = ("kind", "live", "peak", "total", "bytes")
    table = [names, *(tuple(str(row.get(name, "")) for name in names) for row in rows)]
    widths = [max(len(line[i]) for line in table) for i in range(len(names))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in table
    )
