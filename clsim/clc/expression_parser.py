"""Parsing expressions (OpenCL C 6.3, C99 6.5), one method a nonterminal.

The grammar's one hard thing: `(x)(y)` is a cast, a vector literal or a call, depending on whether `x` names
a type, and a vector type at that. So the parser keeps the scopes of typedef names; `types` maps a name to
'' (an ordinary name that hides a type), 'type' or 'vector'.
"""

from __future__ import annotations

from typing import NoReturn

from clsim.clc import syntax as ast
from clsim.clc.diagnostics import Diagnostics, Problem
from clsim.clc.lexer import DIGITS, END, NAME_START, BadLiteral, string_bytes
from clsim.clc.words import KEYWORDS, RESERVED, TYPE_STARTERS, VECTOR_NAMES

MAX_NESTING = 256

_PRECEDENCE = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, "<=": 7, ">": 7, ">=": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip
_ASSIGNMENTS = {op + "=": op for op in ("", "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>")}
_PREFIXES = frozenset({"+", "-", "!", "~", "*", "&", "++", "--"})
_POSTFIXES = frozenset({"[", "(", ".", "->", "++", "--"})
_SIZE_WORDS = {
    "sizeof": "sizeof", "__alignof__": "alignof", "__alignof": "alignof", "_Alignof": "alignof",
    "vec_step": "vec_step",
}  # fmt: skip


class ExpressionParser:
    """The token stream and the expression rules."""

    def __init__(self, spellings: list[str], positions: list[int], diagnostics: Diagnostics) -> None:
        self.spellings = spellings
        self.positions = positions
        self.diagnostics = diagnostics
        self.i = 0
        self.nesting = 0
        self.types: list[dict[str, str]] = [{}]
        self.taken: set[str] = set()
        self.subscripted: set[str] = set()

    # ------------------------------------------------------------ tokens

    @property
    def pos(self) -> int:
        return self.positions[self.i]

    def fail(self, message: str, pos: int | None = None) -> NoReturn:
        raise Problem(self.pos if pos is None else pos, message)

    def expect(self, spelling: str, note: str = "") -> int:
        """Take the token, which must be `spelling`; its position."""
        if self.spellings[self.i] != spelling:
            # As clang does, a missing token is told where it should have stood.
            at = self.positions[self.i]
            if spelling in (";", ")", "]") and self.i:
                at = self.positions[self.i - 1] + len(self.spellings[self.i - 1])
            raise Problem(at, f"expected '{spelling}'{note}")
        self.i += 1
        return self.positions[self.i - 1]

    def accept(self, spelling: str) -> bool:
        if self.spellings[self.i] == spelling:
            self.i += 1
            return True
        return False

    def enter(self) -> None:
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            self.nesting = 0
            self.fail(f"nesting level exceeded maximum of {MAX_NESTING}")

    def type_kind(self, spelling: str) -> str:
        """What an identifier means here: 'type', 'vector', or '' for anything else."""
        for scope in reversed(self.types):
            kind = scope.get(spelling)
            if kind is not None:
                return kind
        return ""

    def starts_type(self, spelling: str) -> bool:
        return spelling in TYPE_STARTERS or (spelling not in KEYWORDS and self.type_kind(spelling) != "")

    def type_name(self) -> ast.TypeName:
        raise NotImplementedError

    def initialiser_list(self) -> ast.InitList:
        raise NotImplementedError

    def compound(self) -> ast.Compound:
        raise NotImplementedError

    # ------------------------------------------------------------ expressions

    def expression(self) -> ast.Expression:
        left = self.assignment()
        while self.spellings[self.i] == ",":
            pos = self.positions[self.i]
            self.i += 1
            left = ast.Comma(pos, left, self.assignment())
        return left

    def assignment(self) -> ast.Expression:
        left = self.binary(1)
        spelling = self.spellings[self.i]
        if spelling == "?":
            left = self.conditional_rest(left)
            spelling = self.spellings[self.i]
        op = _ASSIGNMENTS.get(spelling)
        if op is None:
            return left
        pos = self.positions[self.i]
        self.i += 1
        self.enter()
        right = self.assignment()
        self.nesting -= 1
        return ast.Assign(pos, op, left, right)

    def conditional(self) -> ast.Expression:
        left = self.binary(1)
        if self.spellings[self.i] == "?":
            return self.conditional_rest(left)
        return left

    def conditional_rest(self, test: ast.Expression) -> ast.Expression:
        pos = self.expect("?")
        self.enter()
        a = self.expression()
        self.expect(":")
        b = self.conditional()
        self.nesting -= 1
        return ast.Conditional(pos, test, a, b)

    def binary(self, lowest: int) -> ast.Expression:
        left = self.cast()
        spellings = self.spellings
        while True:
            op = spellings[self.i]
            precedence = _PRECEDENCE.get(op, 0)
            if precedence < lowest:
                return left
            pos = self.positions[self.i]
            self.i += 1
            left = ast.Binary(pos, op, left, self.binary(precedence + 1))

    def cast(self) -> ast.Expression:
        """A cast, a vector or compound literal, a unary or a postfix expression."""
        i = self.i
        spelling = self.spellings[i]
        pos = self.positions[i]
        if spelling == "(":
            self.enter()
            if self.starts_type(self.spellings[i + 1]):
                out = self.parenthesised_type(pos)
            else:
                self.i = i + 1
                if self.spellings[self.i] == "{":
                    out = ast.StatementExpression(pos, self.compound())
                else:
                    out = self.expression()
                self.expect(")")
                out = self.postfix(out)
            self.nesting -= 1
            return out
        if spelling in _PREFIXES:
            self.i = i + 1
            self.enter()
            operand = self.cast()
            self.nesting -= 1
            if spelling == "&" and isinstance(operand, ast.Name):
                self.taken.add(operand.name)
            return ast.Unary(pos, spelling, operand)
        if spelling in _SIZE_WORDS:
            return self.size_of(_SIZE_WORDS[spelling])
        return self.postfix(self.primary(spelling, pos))

    def parenthesised_type(self, pos: int) -> ast.Expression:
        self.expect("(")
        is_vector = self.names_vector()
        named = self.type_name()
        self.expect(")")
        following = self.spellings[self.i]
        if following == "{":
            return self.postfix(ast.CompoundLiteral(pos, named, self.initialiser_list()))
        if following == "(" and is_vector and not named.declarator.pointers:
            self.i += 1
            items = [self.assignment()]
            while self.accept(","):
                items.append(self.assignment())
            self.expect(")")
            return self.postfix(ast.VectorLiteral(pos, named, items))
        return ast.Cast(pos, named, self.cast())

    def names_vector(self) -> bool:
        """Whether the type that begins here is a vector type: one of its words says so."""
        i = self.i
        while True:
            spelling = self.spellings[i]
            if spelling in VECTOR_NAMES or self.type_kind(spelling) == "vector":
                return True
            if spelling not in TYPE_STARTERS:
                return False
            i += 1

    def size_of(self, operator: str) -> ast.Expression:
        pos = self.pos
        self.i += 1
        if self.spellings[self.i] == "(" and self.starts_type(self.spellings[self.i + 1]):
            start = self.i
            self.i += 1
            named = self.type_name()
            self.expect(")")
            if self.spellings[self.i] in ("{", "("):
                self.i = start
                return ast.SizeOf(pos, operator, self.cast())
            return ast.SizeOf(pos, operator, named)
        self.enter()
        operand = self.cast()
        self.nesting -= 1
        return ast.SizeOf(pos, operator, operand)

    def primary(self, spelling: str, pos: int) -> ast.Expression:
        first = spelling[:1]
        if first in NAME_START and spelling not in KEYWORDS:
            self.i += 1
            return ast.Name(pos, spelling)
        if first in DIGITS or (first == "." and spelling[1:2] in DIGITS):
            self.i += 1
            return ast.Number(pos, spelling)
        if first == '"' and len(spelling) > 1:
            return self.string(pos)
        if first == "'" and len(spelling) > 1:
            self.i += 1
            return ast.Character(pos, spelling)
        if spelling in RESERVED:
            self.fail(f"'{spelling}' is {RESERVED[spelling]}")
        if spelling[:2] == "/*":
            self.fail("unterminated /* comment")
        if first in ('"', "'"):
            self.fail(f"missing terminating {first} character")
        if first == "^" and self.spellings[self.i + 1] in ("(", "{"):
            self.fail("blocks are not supported by clsim yet")
        if spelling != END and (not spelling.isascii() or first in "$@`#\\"):
            self.fail(f"unexpected character <U+{ord(first):04X}>")
        return self.fail("expected expression")

    def string(self, pos: int) -> ast.Expression:
        data = b""
        while self.spellings[self.i][:1] == '"' and len(self.spellings[self.i]) > 1:
            try:
                data += string_bytes(self.spellings[self.i])
            except BadLiteral as bad:
                self.fail(str(bad))
            self.i += 1
        return ast.String(pos, data)

    def postfix(self, left: ast.Expression) -> ast.Expression:
        spellings = self.spellings
        while True:
            spelling = spellings[self.i]
            if spelling not in _POSTFIXES:
                return left
            pos = self.positions[self.i]
            self.i += 1
            if spelling == "[":
                self.enter()
                base, left = left, ast.Index(pos, left, self.expression())
                self.expect("]")
                if isinstance(base, ast.Name) and not isinstance(left.index, ast.Number):
                    self.subscripted.add(base.name)
                self.nesting -= 1
            elif spelling == "(":
                self.enter()
                left = ast.Call(left.pos, left, self.arguments())
                self.nesting -= 1
            elif spelling in ("++", "--"):
                left = ast.PostStep(pos, spelling, left)
            else:
                name = spellings[self.i]
                if name[:1] not in NAME_START or (name in KEYWORDS and name not in VECTOR_NAMES):
                    self.fail("expected identifier")
                left = ast.Member(self.positions[self.i], left, name, spelling == "->")
                self.i += 1

    def arguments(self) -> list[ast.Expression]:
        if self.accept(")"):
            return []
        args = [self.assignment()]
        while self.accept(","):
            args.append(self.assignment())
        self.expect(")")
        return args
