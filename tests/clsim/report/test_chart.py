"""The chart shows the shape of a run whatever the numbers and wherever it is printed."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clsim.report import Series, area_chart, printable
from clsim.report.chart import amount


def rows(text: str) -> list[str]:
    """The plot's own rows, without title and axis."""
    return [line.split("|", 1)[1] for line in text.splitlines() if "|" in line]


def test_a_linear_growth_fills_the_lower_right_triangle() -> None:
    text = area_chart(
        Series("events", range(101), range(101)), y_unit="", x_unit="runs", height=4, ascii_only=True
    )
    heights = [sum(row.ljust(80)[column] == "#" for row in rows(text)) for column in range(70)]
    assert heights == sorted(heights)
    assert heights[0] == 0
    assert heights[-1] >= 3


def test_a_flat_run_fills_every_row_of_every_column() -> None:
    text = area_chart(Series("bytes", range(50), [7] * 50), y_unit="B", x_unit="runs", ascii_only=True)
    assert set(rows(text)) == {"#" * len(rows(text)[0])}


@pytest.mark.parametrize("points", [[], [5], [0, 0, 0], [10**30, 1]])
def test_odd_runs_are_drawn_too(points: list[int]) -> None:
    text = area_chart(Series("odd", range(len(points)), points), y_unit="B", x_unit="runs")
    assert text.startswith("odd\n")


@given(st.lists(st.floats(0, 1e18), max_size=300), st.integers(20, 120), st.booleans())
def test_no_line_is_wider_than_asked(points: list[float], width: int, ascii_only: bool) -> None:
    text = area_chart(
        Series("s", range(len(points)), points), y_unit="B", x_unit="r", width=width, ascii_only=ascii_only
    )
    assert max(len(line) for line in text.splitlines()) <= width


def test_a_series_with_unequal_lengths_is_refused() -> None:
    with pytest.raises(ValueError, match="2 x values and 1 y"):
        area_chart(Series("s", [1, 2], [1]), y_unit="", x_unit="")


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (12, "12"), (999, "999"), (1000, "1k"), (3456, "3.46k"), (818_500_000, "818M"), (2e5, "200k")],
)
def test_amounts_are_short(value: float, text: str) -> None:
    assert amount(value) == text


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_a_chart_can_be_printed_on_any_pipe(encoding: str) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    chart = area_chart(Series("s →", range(9), range(9)), y_unit="B", x_unit="runs")
    stream.write(printable(stream, chart))
    stream.flush()
