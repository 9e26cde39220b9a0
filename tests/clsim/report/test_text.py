"""Findings are told worst first, with their lines of source."""

from __future__ import annotations

from pathlib import Path

from clsim.checks import Finding
from clsim.checks.finding import Place
from clsim.report import findings_text, live_objects_text


def finding(severity: str, message: str, *sites: Place) -> Finding:
    return Finding("race", severity, message, (), sites, "add the edge", 1)  # type: ignore[arg-type]


def test_the_worst_finding_comes_first_and_the_counts_last() -> None:
    text = findings_text([finding("possible", "perhaps"), finding("error", "surely")])
    assert text.index("surely") < text.index("perhaps")
    assert text.splitlines()[-1] == "1 error, 1 possible fault"


def test_a_site_shows_its_source_line(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text("first()\nqueue.enqueue_read(b, out)\n")
    text = findings_text([finding("error", "unordered", Place("read", str(file), 2, "main"))])
    assert "program.py:2, in main" in text
    assert "| queue.enqueue_read(b, out)" in text


def test_long_messages_stay_within_80_columns() -> None:
    text = findings_text([finding("error", "word " * 60)])
    assert max(len(line) for line in text.splitlines()) <= 80


def test_no_findings_are_said_to_be_none() -> None:
    assert findings_text([]) == "no findings"


def test_the_table_of_live_objects_lines_up() -> None:
    text = live_objects_text([{"kind": "event", "live": 200000, "peak": 200000, "total": 200000, "bytes": 5}])
    head, row = text.splitlines()
    assert head.index("live") + len("live") == row.index("200000") + len("200000")
