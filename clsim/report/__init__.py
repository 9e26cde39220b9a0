"""The faces of ledger and findings: text for a terminal. Detection happens elsewhere."""

from __future__ import annotations

from clsim.report.chart import Series, area_chart
from clsim.report.streams import PLAIN, make_tolerant, printable
from clsim.report.text import findings_text, live_objects_text, wants_colour

__all__ = [
    "PLAIN",
    "Series",
    "area_chart",
    "findings_text",
    "live_objects_text",
    "make_tolerant",
    "printable",
    "wants_colour",
]
