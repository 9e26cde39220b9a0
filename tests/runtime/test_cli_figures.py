"""The rows that a script judges a command by."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from runtime.figures import Figure, dumps, write


@pytest.mark.parametrize(
    ("figure", "passes"),
    [
        (Figure("no_limit", 3.0), True),
        (Figure("at_its_upper_limit", 10.0, "s", 10.0), True),
        (Figure("over_its_upper_limit", 10.1, "s", 10.0), False),
        (Figure("at_its_lower_limit", 30.0, "times", 30.0, rule="at least"), True),
        (Figure("under_its_lower_limit", 29.9, "times", 30.0, rule="at least"), False),
        (Figure("exactly_its_limit", 200_000, "", 200_000, rule="exactly"), True),
        (Figure("not_exactly_its_limit", 199_999, "", 200_000, rule="exactly"), False),
        (Figure("not_measured", None, "s", 10.0), False),
        (Figure("not_measured_nor_promised", None, "s"), True),
        (Figure("not_a_number", math.nan, "", 1e-5), False),
        (Figure("not_a_number_from_below", math.nan, "", 1e-5, rule="at least"), False),
        (Figure("text_as_wanted", "right", "", "right"), True),
        (Figure("another_text", "wrong", "", "right"), False),
        (Figure("text_where_a_number_was_promised", "12", "", 12.0), False),
    ],
    ids=lambda value: value.name if isinstance(value, Figure) else "",
)
def test_a_figure_passes_when_it_keeps_its_limit(figure: Figure, passes: bool) -> None:
    assert figure.passes is passes
    assert figure.row["pass"] is passes


def test_rows_have_the_five_fields_and_are_ascii(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"

    write([Figure("gr\u00f6\u00dfe", 2, "\u00b5s"), Figure("seconds", 0.5, "s", 10.0)], str(file))

    assert file.read_bytes().isascii()
    assert json.loads(file.read_bytes()) == [
        {"name": "gr\u00f6\u00dfe", "value": 2, "unit": "\u00b5s", "limit": None, "pass": True},
        {"name": "seconds", "value": 0.5, "unit": "s", "limit": 10.0, "pass": True},
    ]


def test_numbers_that_json_lacks_are_null() -> None:
    rows = json.loads(dumps([Figure("nan", math.nan), Figure("infinite", math.inf, "", 1.0)]))

    assert [row["value"] for row in rows] == [None, None]
    assert [row["pass"] for row in rows] == [True, False]


def test_no_figures_are_an_empty_list() -> None:
    assert json.loads(dumps([])) == []


def test_a_dash_writes_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    write([Figure("one", 1)], "-")

    assert json.loads(capsys.readouterr().out)[0]["name"] == "one"
