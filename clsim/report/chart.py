"""An area chart for the terminal, in the manner of a massif graph: a quantity over the length of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_ASCII = " .:#"
_SUFFIXES = ("", "k", "M", "G", "T", "P", "E")


class Series(NamedTuple):
    """Points of a chart: `x` ascending, `y` not negative."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


def area_chart(
    series: Series, *, y_unit: str, x_unit: str, width: int = 78, height: int = 12, ascii_only: bool = False
) -> str:
    """The series as text of at most `width` columns: title, `height` rows, axis, the x axis' two ends.

    The y axis starts at 0 and ends at the series' peak, written with an SI suffix (k is 1000). Each
    column shows the largest value of its stretch of x.
    """
    if len(series.x) != len(series.y):
        raise ValueError(f"{series.name}: {len(series.x)} x values and {len(series.y)} y values")
    peak = max(series.y, default=0.0)
    label = f"{amount(peak)} {y_unit}"
    margin = max(len(label), len("0")) + 1
    columns = max(width - margin - 1, 1)
    bars = _column_peaks(series, columns)
    levels = _ASCII if ascii_only else _EIGHTHS
    corner, side, floor = ("+", "|", "-") if ascii_only else ("└", "│", "─")
    lines = [series.name]
    for row in range(height, 0, -1):
        head = label if row == height else ""
        cells = "".join(_cell(bar, peak, row, height, levels) for bar in bars)
        lines.append(f"{head:>{margin - 1}} {side}{cells}".rstrip())
    lines.append(f"{'0':>{margin - 1}} {corner}{floor * columns}")
    first, last = (series.x[0], series.x[-1]) if len(series.x) else (0, 0)
    ends = f"{amount(first)}", f"{amount(last)} {x_unit}"
    lines.append(f"{'':>{margin}} {ends[0]}{ends[1]:>{max(columns - len(ends[0]), len(ends[1]) + 1)}}")
    return "\n".join(lines)


def amount(value: float) -> str:
    """A number in at most six characters with an SI suffix: 0, 12, 3.46k, 818M."""
    size = abs(value)
    for power in range(len(_SUFFIXES)):
        scaled = size / 1000.0**power
        if scaled < 999.5 or power == len(_SUFFIXES) - 1:
            break
    sign = "-" if value < 0 else ""
    digits = f"{scaled:.0f}" if scaled >= 99.95 or scaled == int(scaled) else f"{scaled:.3g}"
    return f"{sign}{digits}{_SUFFIXES[power]}"


def _column_peaks(series: Series, columns: int) -> list[float]:
    """The largest y in each column; a column without a point repeats the one before it."""
    if not len(series.x):
        return [0.0] * columns
    first, last = series.x[0], series.x[-1]
    span = last - first
    peaks: list[float | None] = [None] * columns
    for x, y in zip(series.x, series.y, strict=True):
        column = min(int((x - first) / span * columns), columns - 1) if span else 0
        seen = peaks[column]
        peaks[column] = y if seen is None or y > seen else seen
    filled: list[float] = []
    for value in peaks:
        filled.append(value if value is not None else filled[-1])
    return filled


def _cell(value: float, peak: float, row: int, height: int, levels: str) -> str:
    """The character of a bar of `value` in a row (1 is the lowest)."""
    if peak <= 0:
        return " "
    filled = value / peak * height - (row - 1)
    steps = len(levels) - 1
    step = min(max(round(filled * steps), 0), steps)
    if row == 1 and value > 0:
        step = max(step, 1)
    return levels[step]
