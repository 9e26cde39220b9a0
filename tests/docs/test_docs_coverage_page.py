"""The generated pages are what tools/generate_coverage.py finds out now."""

from __future__ import annotations

import subprocess
import sys

from docs_pages import DOCS, PROJECT

from clsim import api
from clsim.spec import entry_points


def test_the_generated_pages_are_current() -> None:
    done = subprocess.run(
        [sys.executable, "tools/generate_coverage.py", "--check"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_entry_point_of_the_core_has_one_line_with_a_state() -> None:
    text = (DOCS / "coverage.md").read_text(encoding="utf-8")
    for name in entry_points.SINCE:
        lines = [line for line in text.splitlines() if line.startswith(f"| `{name}` |")]
        assert len(lines) == 1, name
        assert lines[0].endswith(("implemented |", "refused |", "not there yet |"))
        assert lines[0].endswith("not there yet |") == (not hasattr(api, name)), name
