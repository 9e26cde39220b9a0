"""What a stream can carry: no report may die of a character that a pipe's encoding lacks."""

from __future__ import annotations

import codecs
import io
from typing import TextIO

PLAIN = "clsim.plain"
"""Name of the encoding error handler that writes drawn characters as ASCII, one for one."""

_ASCII = str.maketrans(
    {"…": ".", "×": "x", "−": "-", "–": "-", "—": "-", "·": "-", "•": "*", "→": ">", "←": "<", "↑": "^"}
    | {"↓": "v", "≥": ">", "≤": "<", "≈": "~", "✓": "+", "✗": "x", "µ": "u", "μ": "u", "‘": "'", "’": "'"}
    | {"“": '"', "”": '"', "▶": ">", "●": "*"}
)


def printable(stream: TextIO, text: str) -> str:
    """The text as the stream's encoding can carry it, of the same length."""
    encoding = getattr(stream, "encoding", None) or "ascii"
    return text.encode(encoding, PLAIN).decode(encoding)


def make_tolerant(stream: TextIO) -> None:
    """From now on the stream writes what its encoding lacks as ASCII instead of raising."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors=PLAIN)


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    bad = error.object[error.start : error.end]
    return "".join(_in_ascii(character) for character in bad), error.end


def _in_ascii(character: str) -> str:
    if character in "│┃║":
        return "|"
    if "\u2500" <= character <= "\u257f":  # box drawing
        return "-"
    if "\u2581" <= character <= "\u259f" or "\u2801" <= character <= "\u28ff":  # blocks, braille
        return "#" if character >= "\u2584" else "."
    plain = character.translate(_ASCII)
    return plain if plain.isascii() else "?"


codecs.register_error(PLAIN, _plain)
