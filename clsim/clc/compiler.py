"""The whole way from source text to a module."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clsim.clc import ir
from clsim.clc.analysis import analyse, call_order
from clsim.clc.collector import paused
from clsim.clc.diagnostics import Diagnostic, Diagnostics, Problem, TooManyErrors
from clsim.clc.functions import Functions
from clsim.clc.lexer import split_fragment
from clsim.clc.macros import Macro, parse_definition
from clsim.clc.options import OptionError, Options, parse_options
from clsim.clc.parser import Parser
from clsim.clc.predefined import predefined
from clsim.clc.preprocessor import Preprocessor, Reader
from clsim.clc.recursion import deep_recursion
from clsim.clc.source import Sources
from clsim.clc.target import Target

MAIN_FILE = "program.cl"
_MAX_HEADER_BYTES = 1 << 26


@dataclass(slots=True)
class Compilation:
    """What came of a compilation.

    `module` is None when there were errors or the options are not valid. `option_error` says why they are
    not (CL_INVALID_BUILD_OPTIONS, CL_INVALID_COMPILER_OPTIONS); nothing was compiled then. `log` is the build
    log, as clang writes it.
    """

    module: ir.Module | None
    log: str
    option_error: str | None = None
    errors: int = 0
    warnings: int = 0


def compile_source(
    source: str,
    options: str = "",
    *,
    target: Target,
    headers: Mapping[str, str] | None = None,
    read_file: Reader | None = None,
    name: str = MAIN_FILE,
) -> Compilation:
    """Compile a program.

    `headers` maps names for `#include` to texts and comes before the directories of `-I`, which are read
    through `read_file` (the file system, unless given). `name` is what diagnostics call the source.
    """
    try:
        parsed = parse_options(options)
    except OptionError as problem:
        return Compilation(None, "", str(problem))
    sources = Sources()
    diagnostics = Diagnostics(sources)
    diagnostics.silence_warnings = "-w" in parsed.flags
    diagnostics.warnings_are_errors = "-Werror" in parsed.flags
    standard = parsed.standard or min(target.c_version, (1, 2))
    module: ir.Module | None = None
    if not target.accepts(standard):
        version = "{}.{}".format(*standard)
        diagnostics.errors += 1
        log = f"error: OpenCL C {version} (-cl-std=CL{version}) is not supported by device '{target.name}'\n"
        return Compilation(None, log + diagnostics.render(), None, 1, 0)
    known = dict(headers or {})
    on_disk = read_file or _read_file

    def reader(path: str) -> str | None:
        return known[path] if path in known else on_disk(path)

    with deep_recursion(), paused():
        try:
            module = _compile(source, name, parsed, options, target, standard, reader, sources, diagnostics)
        except TooManyErrors:
            pass
        except RecursionError:
            diagnostics.items.append(_too_deep())
            diagnostics.errors += 1
    if diagnostics.errors:
        module = None
    return Compilation(module, diagnostics.render(), None, diagnostics.errors, diagnostics.warnings)


def _compile(
    source: str,
    name: str,
    options: Options,
    option_text: str,
    target: Target,
    standard: tuple[int, int],
    reader: Reader,
    sources: Sources,
    diagnostics: Diagnostics,
) -> ir.Module | None:
    macros = predefined(target, standard, "-cl-fast-relaxed-math" in options.flags)
    _define(options, macros, diagnostics)
    preprocessor = Preprocessor(sources, diagnostics, macros, reader, options.include_dirs, target.extensions)
    spellings, positions = preprocessor.run(name, source)
    parser = Parser(spellings, positions, diagnostics)
    lowering = Functions(sources, diagnostics, target, options, standard)
    for node in parser.program():
        lowering.external(node)
    lowering.check_calls()
    if diagnostics.errors:
        return None
    places = {name: f.pos for name, f in lowering.defined.items()}
    order = call_order(lowering.functions, diagnostics, places)
    if diagnostics.errors:
        return None
    analyse(lowering.functions, order)
    return ir.Module(
        lowering.functions, tuple(lowering.constants), tuple(sources.files), sources.texts(), option_text,
        "-cl-denorms-are-zero" in options.flags,
    )  # fmt: skip


def _define(options: Options, macros: dict[str, Macro], diagnostics: Diagnostics) -> None:
    for name, text in options.defines:
        if text is None:
            macros.pop(name, None)
            continue
        items = [(s, -1, space) for s, space in split_fragment(f"{name} {text}")]
        try:
            macro = parse_definition(items, -1)
        except Problem as problem:
            diagnostics.report(problem)
            continue
        macros[macro.name] = macro


def _read_file(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(_MAX_HEADER_BYTES)
    except (OSError, ValueError):
        return None


def _too_deep() -> Diagnostic:
    return Diagnostic("error", -1, "the program is nested too deeply")
