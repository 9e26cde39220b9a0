"""Findings are told worst first, with their lines of source."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from clsim.checks import Finding
from clsim.checks.finding import Place
from clsim.report import findings_text, live_objects_text, make_tolerant, wants_colour


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


def test_a_site_whose_source_is_gone_is_told_without_it() -> None:
    text = findings_text([finding("error", "unordered", Place("read", "no/such/file.py", 2, "main"))])
    assert text.splitlines()[2:4] == ["  read: no/such/file.py:2, in main", "  = add the edge"]


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colour_is_for_terminals_and_for_those_who_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert wants_colour(_Terminal())
    assert not wants_colour(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wants_colour(_Terminal())


def test_only_a_coloured_text_has_escape_sequences() -> None:
    found = [finding("error", "surely")]
    assert "\x1b" not in findings_text(found)
    assert "\x1b[1;31merror[race]\x1b[0m" in findings_text(found, colour=True)


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_a_tolerant_stream_takes_any_text(encoding: str) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    make_tolerant(stream)
    text = findings_text([finding("error", "a → b, \u6f22, \udce9 lost")])
    stream.write(text)
    stream.flush()
    assert len(raw.getvalue().decode(encoding)) == len(text)


def test_no_findings_are_said_to_be_none() -> None:
    assert findings_text([]) == "no findings"


def test_the_table_of_live_objects_lines_up() -> None:
    text = live_objects_text([{"kind": "event", "live": 200000, "peak": 200000, "total": 200000, "bytes": 5}])
    head, row = text.splitlines()
    assert head.index("live") + len("live") == row.index("200000") + len("200000")
