"""What a stream can carry: no report may die of a character that a pipe's encoding lacks."""

from __future__ import annotations

from typing import TextIO

_PLAIN = str.maketrans(
    {"→": "->", "×": "x", "—": "-", "–": "-", "…": "...", "µ": "u", "│": "|", "─": "-", "└": "+", "┼": "+"}
    | {"┤": "+", "✓": "ok", "✗": "no", "≤": "<=", "≥": ">="}
    | dict.fromkeys("▁▂▃▄", ".")
    | dict.fromkeys("▅▆▇", ":")
    | {"█": "#"}
)


def supports(stream: TextIO, text: str) -> bool:
    """Whether the stream's encoding has every character of the text."""
    try:
        text.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def printable(stream: TextIO, text: str) -> str:
    """The text as the stream can carry it: lines and arrows become ASCII, what is left becomes `?`."""
    if supports(stream, text):
        return text
    encoding = getattr(stream, "encoding", None) or "ascii"
    return text.translate(_PLAIN).encode(encoding, "replace").decode(encoding)
