"""An area chart for the terminal, in the manner of a massif graph: a quantity over the length of a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

_SUFFIXES = ("", "k", "M", "G", "T", "P", "E")
_EIGHTHS = " ▁▂▃▄▅▆▇█"
_ASCII_STEPS = " .:#"


class Series(NamedTuple):
    """Points of a chart: `x` ascending, `y` finite and not negative."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


class _Strokes(NamedTuple):
    """What a chart is drawn with; `steps` fills one cell from empty to full, `other` a second series."""

    steps: str
    other: str
    side: str
    tick: str
    corner: str
    floor: str


_DRAWN = _Strokes(_EIGHTHS, "░", "│", "┤", "└", "─")
_PLAIN = _Strokes(_ASCII_STEPS, ".", "|", "|", "+", "-")


def area_chart(
    series: Series,
    other: Series | None = None,
    *,
    y_unit: str,
    x_unit: str,
    title: str = "",
    width: int = 78,
    height: int = 12,
    y_end: float | None = None,
    ascii_only: bool = False,
) -> str:
    """One or two series as text of at most `width` columns: title, `height` rows, x axis with its two ends.

    Both axes are linear. The y axis starts at 0 and ends at the highest peak, or at `y_end` where charts are
    to be compared, written with an SI suffix (k is 1000). A column shows the largest value of its stretch of
    x. Of two series the lower stands in front; a legend says which is which. Without a title a single
    series' name is the title.

    Raises ValueError for x values that do not ascend, and y values that are negative or not finite.
    """
    drawn = [series] if other is None else [series, other]
    for each in drawn:
        _check(each)
    strokes = _PLAIN if ascii_only else _DRAWN
    peak = max((y for each in drawn for y in each.y), default=0.0) if y_end is None else y_end
    labels = {height: quantity(peak, y_unit), 0: "0"}
    if height >= 6 and height % 2 == 0 and peak > 0:
        labels[height // 2] = quantity(peak / 2, y_unit)
    margin = max(len(label) for label in labels.values()) + 1
    columns = max(width - margin - 1, 1)
    first = min((each.x[0] for each in drawn if len(each.x)), default=0)
    last = max((each.x[-1] for each in drawn if len(each.x)), default=0)
    bars = [_column_peaks(each, first, last, columns) for each in drawn]

    lines = _head(title, drawn, strokes, width)
    for row in range(height, 0, -1):
        label = labels.get(row, "")
        side = strokes.tick if label else strokes.side
        cells = "".join(_cell(values, peak, row, height, strokes) for values in zip(*bars, strict=True))
        lines.append(f"{label:>{margin - 1}} {side}{cells}".rstrip())
    lines.append(f"{labels[0]:>{margin - 1}} {strokes.corner}{strokes.floor * columns}")
    begins, ends = amount(first), quantity(last, x_unit)
    gap = max(columns - len(begins) - len(ends), 1)
    lines.append(f"{'':{margin}} {begins}{' ' * gap}{ends}")
    return "\n".join(lines)


def amount(value: float) -> str:
    """A number in few characters with an SI suffix: 0, 12, 3.456k, 818.5M."""
    power, scaled = 0, abs(value)
    while scaled >= 999.95 and power < len(_SUFFIXES) - 1:
        power += 1
        scaled = abs(value) / 1000**power
    sign = "-" if value < 0 else ""
    # Beyond the last suffix, and for what is next to nothing, only an exponent is short.
    if scaled >= 999.95 or 0 < scaled < 0.001:
        return f"{value:.3g}"
    return f"{sign}{round(scaled, 3):.4g}{_SUFFIXES[power]}"


def quantity(value: float, unit: str) -> str:
    """An amount with its unit; a unit that takes SI prefixes gets the suffix: 61.2 MB, but 5k runs."""
    text = amount(value)
    if unit == "B":
        digits = text.rstrip("".join(_SUFFIXES))
        return f"{digits} {text[len(digits) :]}B"
    return f"{text} {unit}".rstrip()


def _check(series: Series) -> None:
    if len(series.x) != len(series.y):
        raise ValueError(f"{series.name}: {len(series.x)} x values and {len(series.y)} y values")
    for before, after in zip(series.x, series.x[1:], strict=False):
        if after < before:
            raise ValueError(f"{series.name}: x goes back from {before} to {after}; it must ascend")
    for y in series.y:
        if y < 0 or not math.isfinite(y):
            raise ValueError(f"{series.name}: y is {y}; an area has no values below 0 and none without end")


def _head(title: str, drawn: list[Series], strokes: _Strokes, width: int) -> list[str]:
    if len(drawn) == 1:
        return [(title or drawn[0].name)[:width]]
    fills = strokes.steps[-1], strokes.other
    legend = "   ".join(f"{fill} {series.name}" for fill, series in zip(fills, drawn, strict=True))
    return [*([title[:width]] if title else []), legend[:width]]


def _column_peaks(series: Series, first: float, last: float, columns: int) -> list[float]:
    """The largest y in each column; a column without a point repeats the one before it, the first has 0."""
    span = last - first
    peaks: list[float | None] = [None] * columns
    for x, y in zip(series.x, series.y, strict=True):
        column = min(int((x - first) / span * columns), columns - 1) if span else 0
        seen = peaks[column]
        peaks[column] = y if seen is None or y > seen else seen
    filled: list[float] = []
    before = 0.0
    for value in peaks:
        before = before if value is None else value
        filled.append(before)
    return filled


def _cell(values: tuple[float, ...], peak: float, row: int, height: int, strokes: _Strokes) -> str:
    """The character of one column in a row (1 is the lowest): full steps for one series, fills for two."""
    if peak <= 0:
        return " "
    if len(values) == 1:
        return strokes.steps[_steps(values[0], peak, row, height, len(strokes.steps) - 1)]
    reaching = [(value, n) for n, value in enumerate(values) if _steps(value, peak, row, height, 1)]
    if not reaching:
        return " "
    return (strokes.steps[-1], strokes.other)[min(reaching)[1]]


def _steps(value: float, peak: float, row: int, height: int, count: int) -> int:
    """How many of a cell's `count` steps the bar of a value fills; what is not 0 fills at least one."""
    filled = value / peak * height - (row - 1)
    step = min(max(round(filled * count), 0), count)
    return max(step, 1) if row == 1 and value > 0 else step
