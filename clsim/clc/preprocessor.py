"""Directives, conditional inclusion and the stream of tokens that the parser reads (C99 6.10).

Output: two parallel lists, spellings and positions, closed by END.
"""

from __future__ import annotations

from collections.abc import Callable
from posixpath import dirname, join

from clsim.clc.condition import evaluate
from clsim.clc.diagnostics import Diagnostics, Problem
from clsim.clc.lexer import END, Tokens, is_name, is_number, split, string_bytes
from clsim.clc.macros import Expander, Macro, Token, parse_definition
from clsim.clc.source import Sources, Text

Reader = Callable[[str], "str | None"]
"""Gives the text of a header by its path, or None where there is none."""

_MAX_INCLUDE_DEPTH = 200
_QUERIES = ("__has_builtin", "__has_feature", "__has_extension", "__has_attribute", "__has_include")
"""What clang answers of itself; the answer here is always no."""
_KNOWN_PRAGMAS = frozenset({"unroll", "nounroll", "STDC", "clang", "GCC", "omp", "region", "endregion"})


class _Branch:
    """One `#if` that is open: whether a branch was taken, and whether this one is."""

    __slots__ = ("active", "had_else", "pos", "taken")

    def __init__(self, pos: int, active: bool) -> None:
        self.pos = pos
        self.active = self.taken = active
        self.had_else = False


class Preprocessor:
    """Turns a source text into tokens. `macros` holds the predefined ones and those of the options."""

    def __init__(
        self,
        sources: Sources,
        diagnostics: Diagnostics,
        macros: dict[str, Macro],
        reader: Reader,
        include_dirs: list[str],
        extensions: frozenset[str],
    ) -> None:
        self.sources = sources
        self.diagnostics = diagnostics
        self.macros = macros
        self.expander = Expander(macros)
        self.reader = reader
        self.include_dirs = include_dirs
        self.extensions = extensions
        self.spellings: list[str] = []
        self.positions: list[int] = []
        self.once: set[str] = set()
        self.depth = 0
        self.counter = 0
        macros["__LINE__"] = Macro("__LINE__", computed=lambda pos: str(sources.loc(pos).line))
        macros["__FILE__"] = Macro("__FILE__", computed=self._file_name)
        macros["__COUNTER__"] = Macro("__COUNTER__", computed=self._count)
        macros["_Pragma"] = Macro("_Pragma", parameters=["text"])
        for name in _QUERIES:
            macros[name] = Macro(name, "0", parameters=["what"])
        # A sentinel, so that one look-up a token finds both macros and directives.
        macros["#"] = Macro("#")

    def _file_name(self, pos: int) -> str:
        name = self.sources.files[self.sources.loc(pos).file]
        return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'

    def _count(self, pos: int) -> str:
        self.counter += 1
        return str(self.counter - 1)

    def run(self, name: str, text: str) -> tuple[list[str], list[int]]:
        """Preprocess the main text."""
        entry = self.sources.add(name, text)
        self._process(entry, split(entry))
        self.spellings.append(END)
        self.positions.append(entry.base + len(entry.cooked))
        return self.spellings, self.positions

    def _process(self, text: Text, tokens: Tokens) -> None:
        spellings, positions = tokens.spellings, tokens.positions
        out_s, out_p = self.spellings.append, self.positions.append
        macros = self.macros
        branches: list[_Branch] = []
        i = 0
        end = len(spellings) - 1
        while i < end:
            spelling = spellings[i]
            if spelling not in macros:
                out_s(spelling)
                out_p(positions[i])
                i += 1
                continue
            if spelling == "#":
                if not tokens.starts_line(i):
                    out_s(spelling)
                    out_p(positions[i])
                    i += 1
                else:
                    i = self._directive(text, tokens, i, branches)
                continue
            try:
                expansion, i = self.expander.expand_at(tokens, i)
            except Problem as problem:
                self._reset(problem)
                i += 1
                continue
            for item in expansion:
                out_s(item[0])
                out_p(item[1])
        for branch in branches:
            self.diagnostics.error(branch.pos, "unterminated conditional directive")

    def _reset(self, problem: Problem) -> None:
        """Report an error that left macros disabled in mid-expansion."""
        self.diagnostics.report(problem)
        for macro in self.macros.values():
            macro.disabled = False

    # ------------------------------------------------------------ directives

    def _directive(self, text: Text, tokens: Tokens, i: int, branches: list[_Branch]) -> int:
        """Carry out the directive whose `#` is token `i`; the index of the first token behind its line."""
        spellings = tokens.spellings
        j = i + 1
        while spellings[j] != END and not tokens.starts_line(j):
            j += 1
        pos = tokens.positions[i + 1] if j > i + 1 else tokens.positions[i]
        line: list[Token] = [
            (spellings[k], tokens.positions[k], bool(tokens.spaces[k])) for k in range(i + 2, j)
        ]
        name = spellings[i + 1] if j > i + 1 else ""
        active = all(branch.active for branch in branches)
        try:
            if name in ("if", "ifdef", "ifndef"):
                branches.append(_Branch(pos, active and self._test(name, line, pos)))
                if not active:
                    branches[-1].taken = True
            elif name in ("elif", "else", "endif"):
                self._continue_branch(name, line, pos, branches)
            elif active and name:
                self._plain(name, line, pos, text, tokens, i, j)
        except Problem as problem:
            self._reset(problem)
            if name in ("if", "ifdef", "ifndef"):
                branches.append(_Branch(pos, False))
                branches[-1].taken = True
        if branches and not branches[-1].active:
            return self._skip(tokens, j)
        return j

    @staticmethod
    def _skip(tokens: Tokens, i: int) -> int:
        """The next directive at or behind token `i`, or the end."""
        spellings = tokens.spellings
        while True:
            try:
                i = spellings.index("#", i)
            except ValueError:
                return len(spellings) - 1
            if tokens.starts_line(i):
                return i
            i += 1

    def _test(self, name: str, line: list[Token], pos: int) -> bool:
        if name == "if":
            return self._condition(line, pos)
        if not line or not is_name(line[0][0]):
            raise Problem(line[0][1] if line else pos, "macro name missing")
        if len(line) > 1:
            self.diagnostics.warn(line[1][1], f"extra tokens at end of #{name} directive")
        return (line[0][0] in self.macros) == (name == "ifdef")

    def _continue_branch(self, name: str, line: list[Token], pos: int, branches: list[_Branch]) -> None:
        if not branches:
            raise Problem(pos, f"#{name} without #if")
        branch = branches[-1]
        if name != "endif" and branch.had_else:
            raise Problem(pos, f"#{name} after #else")
        if name == "endif":
            branches.pop()
        elif name == "else":
            branch.had_else = True
            branch.active = not branch.taken
            branch.taken = True
        elif branch.taken:
            branch.active = False
        else:
            branch.active = branch.taken = self._condition(line, pos)
        if name != "elif" and line and branch.active:
            self.diagnostics.warn(line[0][1], f"extra tokens at end of #{name} directive")

    def _condition(self, line: list[Token], pos: int) -> bool:
        out: list[Token] = []
        k = 0
        while k < len(line):
            token = line[k]
            if token[0] != "defined":
                out.append(token)
                k += 1
                continue
            parenthesised = k + 1 < len(line) and line[k + 1][0] == "("
            at = k + 2 if parenthesised else k + 1
            if at >= len(line) or not is_name(line[at][0]):
                raise Problem(token[1], "macro name missing")
            if parenthesised and (at + 1 >= len(line) or line[at + 1][0] != ")"):
                raise Problem(token[1], "missing ')' after 'defined'")
            out.append(("1" if line[at][0] in self.macros else "0", token[1], token[2]))
            k = at + 2 if parenthesised else at + 1
        return evaluate(self.expander.expand_list(out), pos)

    def _plain(
        self, name: str, line: list[Token], pos: int, text: Text, tokens: Tokens, i: int, j: int
    ) -> None:
        if name == "define":
            self._define(line, pos)
        elif name == "undef":
            if not line or not is_name(line[0][0]):
                raise Problem(pos, "macro name missing")
            self.macros.pop(line[0][0], None)
        elif name == "include":
            self._include(line, pos, text)
        elif name in ("error", "warning"):
            start = tokens.positions[i + 1] - text.base + len(name)
            stop = text.cooked.find("\n", start)
            said = text.cooked[start : stop if stop >= 0 else None].strip()
            if name == "error":
                self.diagnostics.error(pos, said or "#error")
            else:
                self.diagnostics.warn(pos, said or "#warning")
        elif name == "line" or is_number(name):
            self._line(line if name == "line" else [(name, pos, True), *line], pos, text, tokens, j)
        elif name == "pragma":
            self._pragma(line, pos, text)
        else:
            raise Problem(pos, "invalid preprocessing directive")

    def _define(self, line: list[Token], pos: int) -> None:
        macro = parse_definition(line, pos)
        old = self.macros.get(macro.name)
        if old is not None and not old.same_as(macro):
            note = (old.pos, "previous definition is here") if old.pos >= 0 else None
            self.diagnostics.warn(macro.pos, f"'{macro.name}' macro redefined", note)
        self.macros[macro.name] = macro

    def _line(self, line: list[Token], pos: int, text: Text, tokens: Tokens, j: int) -> None:
        items = self.expander.expand_list(line)
        if not items or not items[0][0].isdigit() or len(items[0][0]) > 10:
            raise Problem(pos, "#line directive requires a positive integer argument")
        name = None
        if len(items) > 1:
            if items[1][0][:1] != '"':
                raise Problem(items[1][1], "invalid filename for #line directive")
            name = string_bytes(items[1][0]).decode("utf-8", "replace")
        line_of_directive = text.place(pos)[0]
        after = tokens.positions[j - 1] + len(tokens.spellings[j - 1])
        self.sources.rename(text, after, line_of_directive + 1, int(items[0][0]), name)

    def _include(self, line: list[Token], pos: int, text: Text) -> None:
        if line and line[0][0][:1] != '"' and line[0][0] != "<":
            line = self.expander.expand_list(line)
        if not line:
            raise Problem(pos, 'expected "FILENAME" or <FILENAME>')
        quoted = line[0][0][:1] == '"'
        if quoted and len(line[0][0]) > 1:
            name = line[0][0][1:-1]
        elif line[0][0] == "<" and any(item[0] == ">" for item in line):
            closing = next(k for k, item in enumerate(line) if item[0] == ">")
            name = "".join(
                (" " if space and k else "") + s for k, (s, _, space) in enumerate(line[1:closing])
            )
        else:
            raise Problem(line[0][1], 'expected "FILENAME" or <FILENAME>')
        if self.depth >= _MAX_INCLUDE_DEPTH:
            raise Problem(pos, "#include nested too deeply")
        places = [join(dirname(text.name), name)] if quoted else []
        places += [name, *(join(directory, name) for directory in self.include_dirs)]
        for path in dict.fromkeys(places):
            if path in self.once:
                return
            content = self.reader(path)
            if content is not None:
                break
        else:
            raise Problem(line[0][1], f"'{name}' file not found")
        entry = self.sources.add(path, content)
        self.depth += 1
        self._process(entry, split(entry))
        self.depth -= 1

    def _pragma(self, line: list[Token], pos: int, text: Text) -> None:
        word = line[0][0] if line else ""
        if word == "once":
            self.once.add(text.name)
        elif word == "OPENCL":
            self._opencl_pragma(line, pos)
        elif word == "pack":
            raise Problem(pos, "'#pragma pack' is not supported by clsim yet; use __attribute__((packed))")
        elif word not in _KNOWN_PRAGMAS:
            self.diagnostics.warn(line[0][1] if line else pos, "unknown pragma ignored")

    def _opencl_pragma(self, line: list[Token], pos: int) -> None:
        words = [item[0] for item in line]
        if len(words) > 1 and words[1] in ("FP_CONTRACT", "SELECT_ROUNDING_MODE"):
            return
        if len(words) < 5 or words[1] != "EXTENSION" or words[3] != ":":
            self.diagnostics.warn(pos, "expected 'EXTENSION name : behavior' - ignoring")
            return
        name, behaviour = words[2], words[4]
        if behaviour not in ("enable", "disable", "require", "warn"):
            self.diagnostics.warn(line[4][1], "expected 'enable' or 'disable' - ignoring")
        elif name == "all":
            if behaviour == "enable":
                self.diagnostics.warn(line[2][1], "expected 'disable' - ignoring")
        elif name not in self.extensions and behaviour != "disable":
            self.diagnostics.warn(line[2][1], f"unsupported OpenCL extension '{name}' - ignoring")
