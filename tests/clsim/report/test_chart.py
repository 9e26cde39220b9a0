"""The chart shows the shape of a run whatever the numbers and wherever it is printed."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clsim.report import Series, area_chart, printable
from clsim.report.chart import amount, quantity


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


def test_of_two_series_the_lower_stands_in_front_and_the_legend_tells_them_apart() -> None:
    kept = Series("events kept", range(101), range(101))
    released = Series("events released", range(101), [10] * 101)
    text = area_chart(kept, released, y_unit="", x_unit="runs", title="a soak", height=10, ascii_only=True)
    assert text.splitlines()[:2] == ["a soak", "# events kept   . events released"]
    columns = list(zip(*(row.ljust(100) for row in reversed(rows(text))), strict=True))
    assert columns[60][0] == "."  # the flat series' lowest row hides the growing one
    assert columns[60][3] == "#"  # above it only the growing one reaches
    assert columns[60][9] == " "
    assert columns[0][0] == "#"  # where the growing one is the lower, it stands in front


def test_a_shorter_series_keeps_its_last_value_and_a_later_one_starts_at_nothing() -> None:
    early, late = Series("early", [0, 50], [1, 1]), Series("late", [50, 100], [2, 2])
    text = area_chart(early, late, y_unit="", x_unit="", height=2, ascii_only=True)
    upper, lower = rows(text)
    assert upper.strip() == "." * len(upper.strip())
    assert upper.startswith(" " * 30)
    assert set(lower) == {"#"}


def test_the_axes_begin_at_zero_and_end_at_the_peak_and_the_last_x() -> None:
    lines = area_chart(
        Series("bytes", [0, 5000], [0, 818_500_000]), y_unit="B", x_unit="runs", ascii_only=True
    ).splitlines()
    assert lines[1].startswith("818.5 MB |")
    assert lines[-2].split("+")[0].strip() == "0"
    assert lines[-1].split() == ["0", "5k", "runs"]


def test_what_is_small_beside_the_peak_is_still_seen() -> None:
    text = area_chart(Series("s", [0, 1, 2], [1, 1, 10**6]), y_unit="", x_unit="")
    assert "▁" in text.splitlines()[-3]


@pytest.mark.parametrize(
    ("series", "words"),
    [
        (Series("s", [1, 0], [1, 1]), "must ascend"),
        (Series("s", [0], [-1]), "below 0"),
        (Series("s", [0], [float("nan")]), "y is nan"),
        (Series("s", [0], [float("inf")]), "y is inf"),
    ],
)
def test_points_that_no_area_has_are_refused(series: Series, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        area_chart(series, y_unit="", x_unit="")


@pytest.mark.parametrize("points", [[], [5], [0, 0, 0], [10**30, 1]])
def test_odd_runs_are_drawn_too(points: list[int]) -> None:
    text = area_chart(Series("odd", range(len(points)), points), y_unit="B", x_unit="runs")
    assert text.startswith("odd\n")


@given(
    st.lists(st.floats(0, 1e300), max_size=300),
    st.lists(st.floats(0, 1e300), max_size=30),
    st.integers(20, 120),
    st.booleans(),
)
def test_no_line_is_wider_than_asked(
    points: list[float], others: list[float], width: int, ascii_only: bool
) -> None:
    text = area_chart(
        Series("a name", range(len(points)), points),
        Series("another name", range(len(others)), others) if others else None,
        y_unit="B",
        x_unit="r",
        width=width,
        ascii_only=ascii_only,
    )
    assert text.isascii() or not ascii_only
    assert max(len(line) for line in text.splitlines()) <= width


def test_a_series_with_unequal_lengths_is_refused() -> None:
    with pytest.raises(ValueError, match="2 x values and 1 y"):
        area_chart(Series("s", [1, 2], [1]), y_unit="", x_unit="")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (12, "12"),
        (999, "999"),
        (1000, "1k"),
        (3456, "3.456k"),
        (818_500_000, "818.5M"),
        (2e5, "200k"),
        (999_999, "1M"),
        (-1500, "-1.5k"),
        (0.25, "0.25"),
        (1e30, "1e+30"),
        (1e-9, "1e-09"),
    ],
)
def test_amounts_are_short(value: float, text: str) -> None:
    assert amount(value) == text


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_a_chart_can_be_printed_on_any_pipe(encoding: str) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    chart = area_chart(Series("s →", range(9), range(9)), y_unit="B", x_unit="runs")
    stream.write(printable(stream, chart))
    stream.flush()


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(61_210_000, "B", "61.21 MB"), (0, "B", "0 B"), (5000, "runs", "5k runs"), (12, "", "12")],
)
def test_bytes_take_the_suffix_as_a_prefix_and_counts_keep_theirs(value: float, unit: str, text: str) -> None:
    assert quantity(value, unit) == text


def test_charts_can_share_a_scale() -> None:
    flat = Series("released", [0, 100], [50, 50])

    half = area_chart(flat, y_unit="", x_unit="runs", height=8, width=20, y_end=100, ascii_only=True)

    rows = half.splitlines()[1:9]
    assert rows[0].startswith("100 |")
    assert [row.count("#") > 0 for row in rows] == [False] * 4 + [True] * 4
