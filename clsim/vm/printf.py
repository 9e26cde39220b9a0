"""OpenCL C's printf (section 6.15.14): format strings parsed once, arguments formatted per work-item."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_SPEC = re.compile(
    rb"%(?P<flags>[-+ #0]*)(?P<width>\d*)(?:\.(?P<precision>\d*))?"
    rb"(?:v(?P<vector>2|3|4|8|16))?(?P<length>hh|hl|h|l)?(?P<type>[diouxXfFeEgGaAcsp%])"
)


@dataclass(frozen=True, slots=True)
class Piece:
    """Literal text, or a conversion with how many components it takes (0 for text)."""

    text: str
    kind: str = ""
    components: int = 0
    length: str = ""


def parse(template: bytes) -> tuple[Piece, ...]:
    """Split a format string; what is no conversion stays as it stands."""
    pieces: list[Piece] = []
    at = 0
    for match in _SPEC.finditer(template):
        if match.start() > at:
            pieces.append(Piece(template[at : match.start()].decode("latin-1")))
        at = match.end()
        kind = match["type"].decode()
        if kind == "%":
            pieces.append(Piece("%"))
            continue
        precision = "" if match["precision"] is None else "." + match["precision"].decode()
        text = "%" + match["flags"].decode() + match["width"].decode() + precision
        length = (match["length"] or b"").decode()
        pieces.append(Piece(text, kind, int(match["vector"] or 1), length))
    if at < len(template):
        pieces.append(Piece(template[at:].decode("latin-1")))
    return tuple(pieces)


def format_pieces(pieces: Sequence[Piece], args: Sequence[Any]) -> str:
    """`args` has one entry a conversion: a str for a string literal, else a tuple of components."""
    out: list[str] = []
    rest = iter(args)
    for piece in pieces:
        if not piece.kind:
            out.append(piece.text)
            continue
        arg = next(rest, None)
        if arg is None:
            continue
        if piece.kind == "s":
            out.append((piece.text + "s") % (arg if isinstance(arg, str) else "(null)"))
        else:
            out.append(",".join(_one(piece, x) for x in arg[: piece.components]))
    return "".join(out)


def _one(piece: Piece, x: Any) -> str:
    kind = piece.kind
    if kind == "p":
        return (piece.text + "s") % (hex(int(x)) if x else "(nil)")
    if kind == "c":
        return (piece.text + "c") % chr(int(x) & 255)
    if kind in "diouxX":
        return _integer(piece, int(x))
    value = float(x)
    if value != value or value in (float("inf"), float("-inf")):
        return _not_finite(piece, value)
    if kind in "aA":
        return _hexadecimal(piece, value)
    return (piece.text + kind) % value


_BITS = {"hh": 8, "h": 16, "l": 64}


def _integer(piece: Piece, value: int) -> str:
    bits = _BITS.get(piece.length, 32)
    value &= (1 << bits) - 1
    if piece.kind in "di" and value >> (bits - 1):
        value -= 1 << bits
    if piece.kind == "o" and "#" in piece.text:
        return (piece.text.replace("#", "") + "s") % ("0" + format(value, "o") if value else "0")
    if piece.kind in "xX" and "#" in piece.text and not value:
        return (piece.text.replace("#", "") + piece.kind) % value
    return (piece.text + ("d" if piece.kind == "u" else piece.kind)) % value


def _not_finite(piece: Piece, value: float) -> str:
    text = "nan" if value != value else "inf"
    sign = "-" if struct.pack(">d", value)[0] & 0x80 else "+" if "+" in piece.text else ""
    plain = re.sub(r"\.\d*$", "", piece.text).replace("0", "", 1) if "%0" in piece.text else piece.text
    plain = re.sub(r"\.\d*$", "", plain)
    flags = plain.replace("+", "").replace("#", "")
    result = (flags + "s") % (sign + text)
    return result.upper() if piece.kind.isupper() else result


def _hexadecimal(piece: Piece, value: float) -> str:
    mantissa, exponent = value.hex().split("p")
    head, _, digits = mantissa.partition(".")
    digits = digits.rstrip("0")
    text = head + ("." + digits if digits else "") + "p" + exponent
    result = (re.sub(r"\.\d*$", "", piece.text) + "s") % text
    return result.upper() if piece.kind.isupper() else result


class Printer:
    """What the work-items of one launch printed, put in order of work-item at the end."""

    __slots__ = ("_lines",)

    def __init__(self) -> None:
        self._lines: list[tuple[int, int, str]] = []

    def add(self, order: int, text: str) -> None:
        """`order` is the work-item's place; lines of one work-item keep the order they came in."""
        self._lines.append((order, len(self._lines), text))

    def text(self) -> str:
        return "".join(line for _, _, line in sorted(self._lines))
