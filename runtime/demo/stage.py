"""Where the demo's acts are played: headings, plain words, verdicts, and the figures that they leave."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

from runtime.demo.children import LeftOut
from runtime.figures import Figure
from runtime.shell import WIDTH

INDENT = 2


class Stage:
    """A console with the story's manner of speaking. Text is never taken as markup."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.width = min(console.width, WIDTH)
        self.figures: list[Figure] = []
        self.left_out: list[str] = []
        self.started = time.perf_counter()

    @contextmanager
    def act(self, number: int, title: str) -> Iterator[None]:
        """A heading, and the act; what it cannot show is said, and the story goes on."""
        self.console.print()
        self.heading(Text.assemble((f"{number}  ", "bold cyan"), (title, "bold")))
        try:
            yield
        except LeftOut as reason:
            self.leave_out(f"act {number}", str(reason))

    def heading(self, text: Text) -> None:
        self.console.print(Rule(text, align="left", style="cyan"), width=self.width)

    def say(self, text: str, style: str = "") -> None:
        """A paragraph."""
        words = " ".join(text.split())
        for line in textwrap.wrap(words, self.width - INDENT, break_on_hyphens=False):
            self.console.print(Text(" " * INDENT + line, style))

    def show(self, thing: RenderableType) -> None:
        """A table, chart or listing, set off by empty lines."""
        self.console.print()
        self.console.print(Padding(thing, (0, 0, 0, INDENT), expand=False), width=self.width)
        self.console.print()

    def report(self, text: str) -> None:
        """A report of clsim's, with its own colours and width, set off by empty lines."""
        self.console.print()
        for line in text.splitlines():
            self.console.print(Text.from_ansi(line), soft_wrap=True)
        self.console.print()

    def lines(self, text: str, style: str = "") -> None:
        """Lines that keep their breaks."""
        for line in text.splitlines():
            self.console.print(Text(" " * INDENT + line, style), soft_wrap=True)

    def command(self, line: str, answer: str) -> None:
        """What one would type, and what came of it."""
        self.console.print(Text.assemble(" " * INDENT, ("$ ", "dim"), (line, "bold")), soft_wrap=True)
        self.lines(answer.rstrip(), "green")

    def verdict(self, figure: Figure, text: str) -> None:
        """Records a figure, and says in words whether it keeps its limit."""
        self.figures.append(figure)
        mark, style = ("\u2713", "green") if figure.passes else ("\u2717", "bold red")
        lines = textwrap.wrap(text, self.width - INDENT - 2, break_on_hyphens=False)
        for number, line in enumerate(lines):
            head = (f"{mark} ", style) if number == 0 else "  "
            self.console.print(Text.assemble(" " * INDENT, head, line))

    def leave_out(self, what: str, reason: str) -> None:
        """Says what is not shown, and why."""
        self.left_out.append(what)
        self.console.print()
        self.say(f"Left out, {what}: {reason}", "yellow")
