"""Source texts and positions.

Every place in every text of a compilation is one integer, so that tokens and syntax nodes stay small. A
text is kept twice: as it was given (for messages), and with its line splices taken out (what is lexed).
`Sources.loc` turns a position back into file, line and column, as `#line` renames them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate

from clsim.clc.ir import Loc

_SPLICE = re.compile(r"\\[ \t]*\n")
_MAX_PRESUMED_LINE = 1_000_000


class Text:
    """One source text. `base` is the position of its first character."""

    __slots__ = ("_line_starts", "base", "cooked", "name", "original", "splice_at", "splice_sum")

    def __init__(self, name: str, original: str, base: int) -> None:
        if "\r" in original:
            original = original.replace("\r\n", "\n").replace("\r", "\n")
        self.name = name
        self.original = original
        self.base = base
        self.splice_at: list[int] = []
        self.splice_sum: list[int] = []
        self.cooked = original
        self._line_starts: list[int] | None = None
        if "\\" in original:
            self._take_out_splices()

    def _take_out_splices(self) -> None:
        pieces: list[str] = []
        last = removed = 0
        for match in _SPLICE.finditer(self.original):
            pieces.append(self.original[last : match.start()])
            last = match.end()
            removed += match.end() - match.start()
            self.splice_at.append(last - removed)
            self.splice_sum.append(removed)
        if pieces:
            pieces.append(self.original[last:])
            self.cooked = "".join(pieces)

    @property
    def line_starts(self) -> list[int]:
        if self._line_starts is None:
            lengths = (len(line) + 1 for line in self.original.split("\n"))
            self._line_starts = [0, *accumulate(lengths)]
        return self._line_starts

    def place(self, pos: int) -> tuple[int, int]:
        """The physical line and column, both from 1."""
        offset = pos - self.base
        if self.splice_at:
            k = bisect_right(self.splice_at, offset)
            if k:
                offset += self.splice_sum[k - 1]
        starts = self.line_starts
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def line(self, number: int) -> str:
        starts = self.line_starts
        if not 1 <= number < len(starts):
            return ""
        return self.original[starts[number - 1] : starts[number] - 1]


class Sources:
    """All texts of one compilation."""

    def __init__(self) -> None:
        self._texts: list[Text] = []
        self._next = 0
        self._segment_starts: list[int] = []
        self._segments: list[tuple[Text, int, int]] = []
        self._file_index: dict[tuple[str, str | None], int] = {}
        self._renamed: dict[int, dict[int, str]] = {}
        self.files: list[str] = []
        self._file_texts: list[str] = []
        self._locs: dict[int, Loc] = {}

    def add(self, name: str, text: str) -> Text:
        """Take in a text; the same file included again keeps its index among `files`."""
        entry = Text(name, text, self._next)
        self._next += len(entry.cooked) + 2
        self._texts.append(entry)
        self._start_segment(entry, entry.base, self._file(name, entry.original), 0)
        return entry

    def rename(self, text: Text, pos: int, physical_line: int, line: int, name: str | None) -> None:
        """From `pos` on, `physical_line` is called `line`, and the file `name` if that is given (`#line`)."""
        if name is None:
            name = self.files[self._segment(pos)[1]]
        index = self._file(name, None)
        self._start_segment(text, pos, index, line - physical_line)

    def _file(self, name: str, text: str | None) -> int:
        key = (name, text)
        index = self._file_index.get(key)
        if index is None:
            index = self._file_index[key] = len(self.files)
            self.files.append(name)
            self._file_texts.append(text or "")
            if text is None:
                self._renamed[index] = {}
        return index

    def _start_segment(self, text: Text, pos: int, index: int, delta: int) -> None:
        k = bisect_right(self._segment_starts, pos)
        self._segment_starts.insert(k, pos)
        self._segments.insert(k, (text, index, delta))

    def _segment(self, pos: int) -> tuple[Text, int, int]:
        return self._segments[bisect_right(self._segment_starts, pos) - 1]

    def loc(self, pos: int) -> Loc:
        """Where a position is, for people: the presumed file and line."""
        found = self._locs.get(pos)
        if found is None:
            text, index, delta = self._segment(pos)
            line, column = text.place(pos)
            found = self._locs[pos] = Loc(index, line + delta, column)
            renamed = self._renamed.get(index)
            if renamed is not None and found.line not in renamed:
                renamed[found.line] = text.line(line)
        return found

    def physical(self, pos: int) -> tuple[Text, int, int]:
        """The text a position is in, its physical line and column."""
        text = self._segment(pos)[0]
        return (text, *text.place(pos))

    def texts(self) -> tuple[str, ...]:
        """The text of each of `files`; of a renamed file those lines that some `Loc` speaks of."""
        out = list(self._file_texts)
        for index, lines in self._renamed.items():
            known = {n: s for n, s in lines.items() if 1 <= n <= _MAX_PRESUMED_LINE}
            out[index] = "\n".join(known.get(n, "") for n in range(1, max(known, default=0) + 1))
        return tuple(out)
