"""Build options: the string that a host passes to clBuildProgram, taken apart (OpenCL API 5.8.6)."""

from __future__ import annotations

from dataclasses import dataclass, field

_FLAGS = frozenset(
    {
        "-cl-single-precision-constant", "-cl-denorms-are-zero", "-cl-fp32-correctly-rounded-divide-sqrt",
        "-cl-opt-disable", "-cl-strict-aliasing", "-cl-uniform-work-group-size", "-cl-no-subgroup-ifp",
        "-cl-mad-enable", "-cl-no-signed-zeros", "-cl-unsafe-math-optimizations", "-cl-finite-math-only",
        "-cl-fast-relaxed-math", "-cl-kernel-arg-info", "-w", "-Werror", "-g",
    }
)  # fmt: skip
_STANDARDS = {
    "CL1.0": (1, 0), "CL1.1": (1, 1), "CL1.2": (1, 2), "CL2.0": (2, 0), "CL3.0": (3, 0),
}  # fmt: skip


class OptionError(ValueError):
    """The options are not valid: CL_INVALID_BUILD_OPTIONS, or CL_INVALID_COMPILER_OPTIONS."""


@dataclass(slots=True)
class Options:
    """Parsed options. `defines` are (name or name(parameters), text) in order; a text of None undefines."""

    defines: list[tuple[str, str | None]] = field(default_factory=list)
    include_dirs: list[str] = field(default_factory=list)
    standard: tuple[int, int] | None = None
    flags: frozenset[str] = frozenset()


def split_options(text: str) -> list[str]:
    """Words, split at white space outside quotes.

    Quotes group and vanish. A backslash makes a following quote, backslash or space literal and is itself
    kept before anything else, so that `C:\\dir` stays a path.
    """
    words: list[str] = []
    word: list[str] = []
    started = False
    quote = ""
    i = 0
    while i < len(text):
        c = text[i]
        following = text[i + 1 : i + 2]
        if c == "\\" and following and (following in "\"'\\" or (following.isspace() and not quote)):
            word.append(following)
            started = True
            i += 1
        elif quote:
            if c == quote:
                quote = ""
            else:
                word.append(c)
        elif c in "\"'":
            quote = c
            started = True
        elif c.isspace():
            if started:
                words.append("".join(word))
            word = []
            started = False
        else:
            word.append(c)
            started = True
        i += 1
    if quote:
        raise OptionError(f"build options: unterminated {quote} in {text!r}")
    if started:
        words.append("".join(word))
    return words


def parse_options(text: str) -> Options:
    """Take the options apart. Raises OptionError for an unknown or malformed one."""
    options = Options()
    flags: set[str] = set()
    words = iter(split_options(text))
    for word in words:
        head, rest = word[:2], word[2:]
        if head in ("-D", "-I", "-U"):
            value = rest or next(words, None)
            if not value:
                raise OptionError(f"build options: {head} needs a {'directory' if head == '-I' else 'name'}")
            if head == "-I":
                options.include_dirs.append(value)
            else:
                options.defines.append(_definition(value) if head == "-D" else (value, None))
        elif word.startswith("-cl-std="):
            if word[8:] not in _STANDARDS:
                raise OptionError(
                    f"build options: invalid value {word[8:]!r} in {word!r}; use {', '.join(_STANDARDS)}"
                )
            options.standard = _STANDARDS[word[8:]]
        elif word in _FLAGS:
            flags.add(word)
        else:
            raise OptionError(f"build options: unknown option {word!r}")
    options.flags = frozenset(flags)
    return options


def _definition(value: str) -> tuple[str, str]:
    name, equals, text = value.partition("=")
    bare = name.partition("(")[0]
    if not (bare.isascii() and bare.isidentifier()):
        raise OptionError(f"build options: macro name must be an identifier in -D {value!r}")
    return name, text.split("\n")[0] if equals else "1"
