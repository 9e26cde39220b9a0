"""Errors, warnings and notes, collected and rendered as clang renders them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from clsim.clc.source import Sources

MAX_ERRORS = 20
_MAX_LINE = 400


class Problem(Exception):
    """An error that ends the construct it stands in; caught where the compiler can go on."""

    def __init__(self, pos: int, message: str, note: tuple[int, str] | None = None) -> None:
        super().__init__(message)
        self.pos = pos
        self.message = message
        self.note = note


class AlreadyTold(Problem):
    """A problem that follows from an error that was told before."""

    def __init__(self) -> None:
        super().__init__(-1, "")


class TooManyErrors(Exception):
    """Enough errors were told: the compilation stops."""


@dataclass(slots=True)
class Diagnostic:
    severity: str
    pos: int
    message: str


class Diagnostics:
    """What the compiler has to say about a program."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self.items: list[Diagnostic] = []
        self.errors = 0
        self.warnings = 0
        self.silence_warnings = False
        self.warnings_are_errors = False

    def error(self, pos: int, message: str, note: tuple[int, str] | None = None) -> None:
        """Record an error. Raises TooManyErrors after the twentieth."""
        self.items.append(Diagnostic("error", pos, message))
        self.errors += 1
        if note is not None:
            self.items.append(Diagnostic("note", *note))
        if self.errors >= MAX_ERRORS:
            self.items.append(
                Diagnostic("fatal error", -1, f"too many errors emitted ({MAX_ERRORS}), stopping now")
            )
            self.errors += 1
            raise TooManyErrors

    def report(self, problem: Problem) -> None:
        if not isinstance(problem, AlreadyTold):
            self.error(problem.pos, problem.message, problem.note)

    def fail(self, pos: int, message: str, note: tuple[int, str] | None = None) -> NoReturn:
        raise Problem(pos, message, note)

    def warn(self, pos: int, message: str, note: tuple[int, str] | None = None) -> None:
        if self.silence_warnings:
            return
        if self.warnings_are_errors:
            self.error(pos, f"{message} [-Werror]", note)
            return
        self.items.append(Diagnostic("warning", pos, message))
        self.warnings += 1
        if note is not None:
            self.items.append(Diagnostic("note", *note))

    def render(self) -> str:
        """The build log: each message with its line and a caret, then the count. Empty if all is well."""
        lines: list[str] = []
        for item in self.items:
            if item.pos < 0:
                lines.append(f"{item.severity}: {item.message}")
                continue
            loc = self.sources.loc(item.pos)
            lines.append(
                f"{self.sources.files[loc.file]}:{loc.line}:{loc.column}: {item.severity}: {item.message}"
            )
            text, line, column = self.sources.physical(item.pos)
            source = text.line(line)
            start = max(0, column - _MAX_LINE // 2) if len(source) > _MAX_LINE else 0
            shown = source[start : start + _MAX_LINE]
            lead = "".join("\t" if c == "\t" else " " for c in shown[: column - 1 - start])
            lines += [shown, lead + "^"]
        counts = [
            f"{n} {word}{'s' if n > 1 else ''}"
            for n, word in ((self.warnings, "warning"), (self.errors, "error"))
            if n
        ]
        if counts:
            lines.append(" and ".join(counts) + " generated.")
        return "\n".join(lines) + "\n" if lines else ""
