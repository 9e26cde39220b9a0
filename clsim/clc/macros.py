"""Macros: what a definition is, and how an invocation expands (C99 6.10.3).

A token here is (spelling, position, space before it). Tokens from a macro's body get the position of the
outermost invocation, an argument's tokens keep their own. A macro is disabled while its own expansion is
rescanned; its name met there is painted and never expands again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from clsim.clc.diagnostics import Problem
from clsim.clc.lexer import END, Tokens, is_name, split_fragment

Token: TypeAlias = "tuple[str, int, bool]"

_MAX_EXPANSION = 4_000_000
"""Tokens that the macros of one program may expand to: a bound for `#define A B B` towers."""


class Painted(str):
    """The name of a macro that must not expand any more."""

    __slots__ = ()


@dataclass(slots=True, eq=False)
class Macro:
    """A macro. `parameters` is None for an object-like one; `computed` makes `__LINE__` and its like."""

    name: str
    text: str | None = None
    body: list[tuple[str, bool]] = field(default_factory=list)
    parameters: list[str] | None = None
    variadic: bool = False
    pos: int = -1
    disabled: bool = False
    computed: Callable[[int], str] | None = None

    def tokens(self) -> list[tuple[str, bool]]:
        """The body, lexed on first use."""
        if self.text is not None:
            self.body = split_fragment(self.text)
            self.text = None
        return self.body

    def same_as(self, other: Macro) -> bool:
        return (
            self.parameters == other.parameters
            and self.variadic == other.variadic
            and [s for s, _ in self.tokens()] == [s for s, _ in other.tokens()]
        )


class _Frame:
    """A list of tokens that is being rescanned, and the macro it came from."""

    __slots__ = ("index", "items", "owner")

    def __init__(self, items: list[Token], owner: Macro | None) -> None:
        self.items = items
        self.index = 0
        self.owner = owner


class Expander:
    """Expands macro invocations that begin in a lexed text."""

    def __init__(self, macros: dict[str, Macro]) -> None:
        self.macros = macros
        self.produced = 0

    def expand_at(self, tokens: Tokens, i: int) -> tuple[list[Token], int]:
        """The expansion of the macro name at token `i`, and the index behind the invocation."""
        first = (tokens.spellings[i], tokens.positions[i], bool(tokens.spaces[i]))
        return self._rescan([_Frame([first], None)], tokens, i + 1)

    def expand_list(self, items: list[Token]) -> list[Token]:
        """The expansion of tokens that stand alone (an argument, a directive's line)."""
        return self._rescan([_Frame(items, None)], None, 0)[0]

    def _rescan(self, frames: list[_Frame], tokens: Tokens | None, i: int) -> tuple[list[Token], int]:
        out: list[Token] = []
        macros = self.macros
        while frames:
            frame = frames[-1]
            if frame.index == len(frame.items):
                self._pop(frames)
                continue
            token = frame.items[frame.index]
            frame.index += 1
            spelling, pos, space = token
            macro = macros.get(spelling)
            if macro is None or type(spelling) is Painted:
                out.append(token)
                continue
            if macro.disabled:
                out.append((Painted(spelling), pos, space))
                continue
            if macro.parameters is None:
                body = self._object_body(macro, pos, space)
            else:
                if not self._paren_follows(frames, tokens, i):
                    out.append(token)
                    continue
                arguments, i = self._arguments(macro, frames, tokens, i, pos)
                body = self._substitute(macro, arguments, pos, space)
            self.produced += len(body)
            if self.produced > _MAX_EXPANSION:
                raise Problem(pos, f"macro expansion produces more than {_MAX_EXPANSION} tokens")
            macro.disabled = True
            frames.append(_Frame(body, macro))
        return out, i

    @staticmethod
    def _pop(frames: list[_Frame]) -> None:
        owner = frames.pop().owner
        if owner is not None:
            owner.disabled = False

    @staticmethod
    def _paren_follows(frames: list[_Frame], tokens: Tokens | None, i: int) -> bool:
        for frame in reversed(frames):
            if frame.index < len(frame.items):
                return frame.items[frame.index][0] == "("
        return tokens is not None and tokens.spellings[i] == "("

    def _arguments(
        self, macro: Macro, frames: list[_Frame], tokens: Tokens | None, i: int, pos: int
    ) -> tuple[list[list[Token]], int]:
        parameters = macro.parameters
        assert parameters is not None
        arguments: list[list[Token]] = [[]]
        depth = 0
        fixed = len(parameters) - 1 if macro.variadic else -1
        while True:
            while frames and frames[-1].index == len(frames[-1].items):
                self._pop(frames)
            if frames:
                frame = frames[-1]
                token = frame.items[frame.index]
                frame.index += 1
            else:
                if tokens is None or tokens.spellings[i] == END:
                    raise Problem(pos, f"unterminated function-like macro invocation of '{macro.name}'")
                token = (tokens.spellings[i], tokens.positions[i], bool(tokens.spaces[i]))
                if token[0] == "#" and tokens.starts_line(i):
                    raise Problem(
                        token[1], "a directive inside macro arguments is not supported by clsim yet"
                    )
                i += 1
            spelling = token[0]
            if spelling == "(":
                depth += 1
                if depth == 1:
                    continue
            elif spelling == ")":
                depth -= 1
                if depth == 0:
                    break
            elif spelling == "," and depth == 1 and len(arguments) - 1 != fixed:
                arguments.append([])
                continue
            arguments[-1].append(token)
        if not parameters and len(arguments) == 1 and not arguments[0]:
            arguments = []
        if macro.variadic and len(arguments) == len(parameters) - 1:
            arguments.append([])
        if len(arguments) != len(parameters):
            few = len(arguments) < len(parameters)
            raise Problem(
                pos, f"too {'few' if few else 'many'} arguments provided to function-like macro invocation"
            )
        return arguments, i

    @staticmethod
    def _object_body(macro: Macro, pos: int, space: bool) -> list[Token]:
        if macro.computed is not None:
            return [(Painted(macro.computed(pos)), pos, space)]
        body = macro.tokens()
        out = [(spelling, pos, before) for spelling, before in body]
        if any(spelling == "##" for spelling, _ in body):
            out = _paste_all(out, pos)
        if out:
            out[0] = (out[0][0], pos, space)
        return out

    def _substitute(self, macro: Macro, arguments: list[list[Token]], pos: int, space: bool) -> list[Token]:
        body = macro.tokens()
        index = {name: k for k, name in enumerate(macro.parameters or ())}
        expanded: dict[int, list[Token]] = {}
        out: list[Token] = []
        pasting = False
        k = 0
        while k < len(body):
            spelling, before = body[k]
            follows_paste = k + 1 < len(body) and body[k + 1][0] == "##"
            k += 1
            if spelling == "##" and out:
                pasting = True
                continue
            if spelling == "#" and k < len(body) and body[k][0] in index:
                piece = [(_stringify(arguments[index[body[k][0]]]), pos, before)]
                k += 1
            elif spelling in index:
                which = index[spelling]
                argument = arguments[which]
                if pasting and macro.variadic and which == len(arguments) - 1 and out[-1][0] == ",":
                    # GNU's comma: it goes when there are no variable arguments, else nothing is pasted.
                    pasting = False
                    if not argument:
                        out.pop()
                        continue
                if pasting or follows_paste:
                    piece = argument or [("", pos, before)]
                else:
                    if which not in expanded:
                        expanded[which] = self.expand_list(argument)
                    piece = expanded[which]
                if piece and piece[0][2] != before:
                    piece = [(piece[0][0], piece[0][1], before), *piece[1:]]
            else:
                piece = [(spelling, pos, before)]
            if pasting:
                pasting = False
                out[-1] = _paste(out[-1], piece[0], pos)
                piece = piece[1:]
            out += piece
        out = [token for token in out if token[0]]
        if out:
            out[0] = (out[0][0], out[0][1], space)
        return out


def _paste_all(items: list[Token], pos: int) -> list[Token]:
    out: list[Token] = []
    k = 0
    while k < len(items):
        if items[k][0] == "##" and out and k + 1 < len(items):
            out[-1] = _paste(out[-1], items[k + 1], pos)
            k += 2
        else:
            out.append(items[k])
            k += 1
    return out


def _paste(a: Token, b: Token, pos: int) -> Token:
    spelling = str(a[0]) + str(b[0])
    if a[0] and b[0] and len(split_fragment(spelling)) != 1:
        raise Problem(pos, f"pasting formed '{spelling}', an invalid preprocessing token")
    return (spelling, a[1], a[2])


def _stringify(items: list[Token]) -> str:
    out: list[str] = []
    for k, (spelling, _, space) in enumerate(items):
        if k and space:
            out.append(" ")
        if spelling[0] in "\"'":
            spelling = spelling.replace("\\", "\\\\").replace('"', '\\"')
        out.append(spelling)
    return '"' + "".join(out) + '"'


def parse_definition(items: list[Token], pos: int) -> Macro:
    """The macro that the tokens behind `#define` define."""
    if not items:
        raise Problem(pos, "macro name missing")
    name, name_pos, _ = items[0]
    if not is_name(name):
        raise Problem(name_pos, "macro name must be an identifier")
    if name == "defined":
        raise Problem(name_pos, "'defined' cannot be used as a macro name")
    macro = Macro(name, pos=name_pos)
    k = 1
    if len(items) > 1 and items[1][0] == "(" and not items[1][2]:
        k = _parse_parameters(macro, items)
    macro.body = [(str(spelling), space) for spelling, _, space in items[k:]]
    if macro.body and (macro.body[0][0] == "##" or macro.body[-1][0] == "##"):
        raise Problem(items[k][1], "'##' cannot appear at either end of a macro expansion")
    return macro


def _parse_parameters(macro: Macro, items: list[Token]) -> int:
    names: list[str] = []
    k = 2
    while True:
        if k >= len(items):
            raise Problem(items[-1][1], "missing ')' in macro parameter list")
        spelling, pos, _ = items[k]
        if spelling == ")" and not names:
            break
        if spelling == "...":
            names.append("__VA_ARGS__")
            macro.variadic = True
            k += 1
        elif is_name(spelling):
            if spelling in names:
                raise Problem(pos, f"duplicate macro parameter name '{spelling}'")
            names.append(str(spelling))
            k += 1
            if k < len(items) and items[k][0] == "...":
                macro.variadic = True
                k += 1
        else:
            raise Problem(pos, "invalid token in macro parameter list")
        if k < len(items) and items[k][0] == ")":
            break
        if macro.variadic or k >= len(items) or items[k][0] != ",":
            raise Problem(items[min(k, len(items) - 1)][1], "missing ')' in macro parameter list")
        k += 1
    macro.parameters = names
    return k + 1
