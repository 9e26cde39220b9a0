"""Tokens: how a text falls into them, and what number, character and string tokens stand for.

A token is its spelling. `split` gives three parallel lists (spelling, space before it, position) because a
list of strings is several times cheaper than a list of objects. OpenCL C 6.1.5, C99 6.4.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import lru_cache

from clsim.clc.constants import round_to
from clsim.clc.source import Text
from clsim.clc.types import FLOAT

_TOKEN = re.compile(
    r"""((?:[ \t\n\f\v]+|//[^\n]*|/\*[\s\S]*?\*/)*)
    ([A-Za-z_][A-Za-z0-9_]*
    |\.?[0-9](?:[eEpP][+-]|[A-Za-z0-9_.])*
    |"(?:[^"\\\n]|\\.)*"
    |'(?:[^'\\\n]|\\.)*'
    |\.\.\.|<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\#\#|/\*[\s\S]*
    |[^ \t\n\f\v]|)""",
    re.VERBOSE,
)
_BLOCK_COMMENT = re.compile(r"/\*[\s\S]*?\*/")
NAME_START = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
DIGITS = frozenset("0123456789")

END = ""
"""The spelling of the token behind the last one."""


class Tokens:
    """A lexed text. `spaces[i]` is the white space and comments before token `i`."""

    __slots__ = ("positions", "spaces", "spellings")

    def __init__(self, spellings: list[str], spaces: list[str], positions: list[int]) -> None:
        self.spellings = spellings
        self.spaces = spaces
        self.positions = positions

    def starts_line(self, i: int) -> bool:
        """Whether a new line begins between the tokens `i - 1` and `i`."""
        space = self.spaces[i]
        if i == 0:
            return True
        if "\n" not in space:
            return False
        return "/*" not in space or "\n" in _BLOCK_COMMENT.sub("", space)


def split(text: Text) -> Tokens:
    """Lex a whole text. The last token is END."""
    pairs = _TOKEN.findall(text.cooked)
    spaces = [space for space, _ in pairs]
    spellings = [spelling for _, spelling in pairs]
    positions: list[int] = []
    append = positions.append
    pos = text.base
    for space, spelling in pairs:
        pos += len(space)
        append(pos)
        pos += len(spelling)
    # A text that ends in white space gives an END of its own before the empty match at the very end.
    while len(spellings) > 1 and spellings[-2] == END:
        del spellings[-1], spaces[-1], positions[-1]
    return Tokens(spellings, spaces, positions)


def split_fragment(text: str) -> list[tuple[str, bool]]:
    """Lex a piece of text (a macro body from an option): spellings, and whether space stands before each."""
    return [(spelling, bool(space)) for space, spelling in _TOKEN.findall(text) if spelling]


def is_name(spelling: str) -> bool:
    return spelling[:1] in NAME_START


def is_number(spelling: str) -> bool:
    return spelling[:1] in DIGITS or (spelling[:1] == "." and spelling[1:2] in DIGITS)


# ---------------------------------------------------------------- literals

_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|[0-9]+)([uUlL]*)\Z")
_FLOAT = re.compile(
    r"((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
    r"|0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)([fFhHlL]?)\Z"
)
_SUFFIXES = frozenset({"", "u", "l", "ul", "lu", "ll", "ull", "llu"})


class BadLiteral(ValueError):
    """A token that looks like a literal and is none; the message is the diagnostic's."""


@lru_cache(maxsize=4096)
def number(spelling: str) -> tuple[str, int | float]:
    """The type ('int', 'uint', 'long', 'ulong', 'half', 'float', 'double') and value of a number token."""
    match = _INTEGER.match(spelling)
    if match:
        return _integer(match[1], match[2])
    match = _FLOAT.match(spelling)
    if match is None:
        raise BadLiteral(f"invalid number '{spelling}'")
    digits, suffix = match[1], match[2].lower()
    if suffix == "l":
        raise BadLiteral("'long double' is not supported in OpenCL C")
    try:
        value = float.fromhex(digits) if digits[:2] in ("0x", "0X") else float(digits)
    except OverflowError:
        value = float("inf")
    if suffix == "f":
        return "float", _nearest_single(digits, value)
    return {"h": "half", "": "double"}[suffix], value


def _nearest_single(digits: str, value: float) -> float:
    """A double that rounds to the float nearest to `digits`: `value`, unless rounding put it halfway."""
    single = round_to(value, FLOAT)
    if math.isinf(single) or value == single:
        return value
    other = single + 2 * (value - single)
    if round_to(other, FLOAT) != other:
        return value
    exact = _exact(digits)
    if exact == value:
        return value
    return math.nextafter(value, math.inf if exact > value else -math.inf)


def _exact(digits: str) -> Fraction:
    if digits[:2] not in ("0x", "0X"):
        return Fraction(digits)
    mantissa, _, exponent = digits[2:].lower().partition("p")
    whole, _, fraction = mantissa.partition(".")
    return Fraction(int(whole + fraction, 16)) * Fraction(2) ** (int(exponent) - 4 * len(fraction))


def _integer(digits: str, suffix: str) -> tuple[str, int]:
    key = suffix.lower()
    if key not in _SUFFIXES:
        raise BadLiteral(f"invalid suffix '{suffix}' on integer constant")
    if len(digits) > 80:
        raise BadLiteral("integer literal is too large to be represented in any integer type")
    decimal = digits[0] != "0"
    if digits[:2] in ("0x", "0X"):
        value = int(digits[2:], 16)
    elif digits[:2] in ("0b", "0B"):
        value = int(digits[2:], 2)
    elif decimal:
        value = int(digits)
    else:
        if digits.strip("01234567"):
            raise BadLiteral(f"invalid digit '{digits.strip('01234567')[0]}' in octal constant")
        value = int(digits, 8)
    if value >= 1 << 64:
        raise BadLiteral("integer literal is too large to be represented in any integer type")
    unsigned, long = "u" in key, "l" in key
    if not long and not unsigned and value < 1 << 31:
        return "int", value
    if not long and (unsigned or not decimal) and value < 1 << 32:
        return "uint", value
    if not unsigned and value < 1 << 63:
        return "long", value
    return "ulong", value


_ESCAPES = {"n": 10, "t": 9, "v": 11, "b": 8, "r": 13, "f": 12, "a": 7, "\\": 92, "?": 63, "'": 39, '"': 34}
_ESCAPE = re.compile(r"\\([0-7]{1,3}|x[0-9a-fA-F]*|.)", re.DOTALL)


def string_bytes(spelling: str) -> bytes:
    """The bytes of a string or character token, without its quotes and without a closing zero."""
    body = spelling[1:-1]
    if "\\" not in body:
        return body.encode("utf-8", "surrogatepass")
    out = bytearray()
    last = 0
    for match in _ESCAPE.finditer(body):
        out += body[last : match.start()].encode("utf-8", "surrogatepass")
        last = match.end()
        escape = match[1]
        if escape[0] in "01234567":
            value = int(escape, 8)
        elif escape[0] == "x":
            if len(escape) == 1:
                raise BadLiteral("\\x used with no following hex digits")
            value = int(escape[1:], 16) if len(escape) < 20 else 256
        elif escape in _ESCAPES:
            value = _ESCAPES[escape]
        else:
            raise BadLiteral(f"unknown escape sequence '\\{escape}'")
        if value > 255:
            raise BadLiteral(f"escape sequence '\\{escape}' out of range")
        out.append(value)
    out += body[last:].encode("utf-8", "surrogatepass")
    return bytes(out)


def character(spelling: str) -> int:
    """The value of a character token, an int as in C; several characters make one number as clang does."""
    data = string_bytes(spelling)
    if not data:
        raise BadLiteral("empty character constant")
    if len(data) > 4:
        raise BadLiteral("character constant too long for its type")
    if len(data) == 1:
        return data[0] - 256 if data[0] > 127 else data[0]
    value = int.from_bytes(data, "big")
    return value - (1 << 32) if value >= 1 << 31 else value
