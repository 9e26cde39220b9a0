"""The integer expressions of `#if` and `#elif` (C99 6.10.1): 64-bit, signed unless an operand is not."""

from __future__ import annotations

from typing import NoReturn

from clsim.clc.diagnostics import Problem
from clsim.clc.lexer import BadLiteral, character, is_name, is_number, number
from clsim.clc.macros import Token

_PRECEDENCE = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, "<=": 7, ">": 7, ">=": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip
_MASK = (1 << 64) - 1
_MAX_DEPTH = 128


def evaluate(items: list[Token], pos: int) -> bool:
    """The truth of an expression whose macros and `defined` are already replaced."""
    return _Condition(items, pos).whole()


class _Condition:
    def __init__(self, items: list[Token], pos: int) -> None:
        self.items = [(str(spelling), where) for spelling, where, _ in items]
        self.end = items[-1][1] if items else pos
        self.items.append(("", self.end))
        self.i = 0
        self.depth = 0

    def whole(self) -> bool:
        if len(self.items) == 1:
            raise Problem(self.end, "expected value in preprocessor expression")
        value, _ = self.conditional(True)
        if self.items[self.i][0]:
            raise Problem(
                self.items[self.i][1], "token is not a valid binary operator in a preprocessor expression"
            )
        return value != 0

    def fail(self, message: str) -> NoReturn:
        raise Problem(self.items[self.i][1], message)

    def conditional(self, live: bool) -> tuple[int, bool]:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            self.fail("preprocessor expression is nested too deeply")
        test = self.binary(1, live)
        if self.items[self.i][0] == "?":
            self.i += 1
            a = self.conditional(live and test[0] != 0)
            if self.items[self.i][0] != ":":
                self.fail("expected ':' in preprocessor expression")
            self.i += 1
            b = self.conditional(live and test[0] == 0)
            unsigned = a[1] or b[1]
            test = ((a if test[0] else b)[0], unsigned)
        self.depth -= 1
        return test

    def binary(self, lowest: int, live: bool) -> tuple[int, bool]:
        left = self.unary(live)
        while True:
            op = self.items[self.i][0]
            precedence = _PRECEDENCE.get(op, 0)
            if precedence < lowest:
                return left
            pos = self.items[self.i][1]
            self.i += 1
            skip = (op == "&&" and not left[0]) or (op == "||" and left[0] != 0)
            right = self.binary(precedence + 1, live and not skip)
            left = self.apply(op, left, right, pos if live and not skip else -1)

    def apply(self, op: str, left: tuple[int, bool], right: tuple[int, bool], pos: int) -> tuple[int, bool]:
        """The result of an operator at `pos`, which is -1 where the result does not matter."""
        a, b = left[0], right[0]
        if op == "&&":
            return int(a != 0 and b != 0), False
        if op == "||":
            return int(a != 0 or b != 0), False
        unsigned = left[1] or right[1]
        if op in ("<<", ">>"):
            unsigned = left[1]
            return _wrap(a << (b & 63) if op == "<<" else a >> (b & 63), unsigned), unsigned
        if unsigned:
            a, b = a & _MASK, b & _MASK
        if op in ("/", "%"):
            if b == 0:
                if pos >= 0:
                    what = "division" if op == "/" else "remainder"
                    raise Problem(pos, f"{what} by zero in preprocessor expression")
                return 0, unsigned
            quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            return _wrap(quotient if op == "/" else a - quotient * b, unsigned), unsigned
        compared = {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}
        if op in compared:
            return int(compared[op]), False
        value = {"+": a + b, "-": a - b, "*": a * b, "&": a & b, "|": a | b, "^": a ^ b}[op]
        return _wrap(value, unsigned), unsigned

    def unary(self, live: bool) -> tuple[int, bool]:
        spelling, pos = self.items[self.i]
        self.i += 1
        if spelling in ("!", "~", "-", "+"):
            self.depth += 1
            if self.depth > _MAX_DEPTH:
                self.fail("preprocessor expression is nested too deeply")
            value, unsigned = self.unary(live)
            self.depth -= 1
            if spelling == "!":
                return int(value == 0), False
            changed = {"~": ~value, "-": -value, "+": value}[spelling]
            return _wrap(changed, unsigned), unsigned
        if spelling == "(":
            inner = self.conditional(live)
            if self.items[self.i][0] != ")":
                self.fail("expected ')' in preprocessor expression")
            self.i += 1
            return inner
        try:
            if is_number(spelling):
                kind, value_of = number(spelling)
                if isinstance(value_of, float):
                    raise Problem(pos, "floating point literal in preprocessor expression")
                return _wrap(value_of, kind == "ulong"), kind in ("uint", "ulong")
            if spelling[:1] == "'":
                return character(spelling), False
        except BadLiteral as bad:
            raise Problem(pos, str(bad)) from None
        if is_name(spelling):
            return 0, False
        self.i -= 1
        return self.fail(
            "expected value in preprocessor expression"
            if not spelling
            else "invalid token at start of a preprocessor expression"
        )


def _wrap(value: int, unsigned: bool) -> int:
    value &= _MASK
    return value if unsigned or value < 1 << 63 else value - (1 << 64)
