"""The documentation as tests see it: pages, their fenced blocks, headings and links."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
DOCS = PROJECT / "docs"
PAGES = (PROJECT / "README.md", PROJECT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md")))

_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)(?P<rest>[^\n`]*)\n(?P<text>.*?)^(?P=indent)```", re.M | re.S
)
_TITLE = re.compile(r'title="([^"]+)"')
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_DOCUMENTED = re.compile(r"^::: ([\w.]+)$", re.M)
_HEADING = re.compile(r"^#+ +(.+?) *$", re.M)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the title of its fence line ("" for none), and its text."""

    line: int
    language: str
    title: str
    text: str


def name_of(page: Path) -> str:
    """How tests name a page."""
    return page.relative_to(PROJECT).as_posix()


def blocks(page: Path) -> list[Block]:
    """All fenced blocks of a page in order."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(text):
        title = _TITLE.search(match["rest"])
        found.append(
            Block(
                text.count("\n", 0, match.start("text")) + 1,
                match["language"],
                title[1] if title else "",
                textwrap.dedent(match["text"]),
            )
        )
    return found


def _without_blocks(page: Path) -> str:
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def links(page: Path) -> list[str]:
    """Targets of a page's links, without those in code."""
    return _LINK.findall(re.sub(r"`[^`\n]*`", "", _without_blocks(page)))


def anchors(page: Path) -> set[str]:
    """What a link can name behind a `#`: headings as Markdown's table of contents writes them, and what
    mkdocstrings puts there."""
    slugs = set(_DOCUMENTED.findall(page.read_text(encoding="utf-8")))
    for heading in _HEADING.findall(_without_blocks(page)):
        words = re.sub(r"[^\w\s-]", "", heading.replace("`", "")).strip().lower()
        slugs.add(re.sub(r"[-\s]+", "-", words))
    return slugs
