"""Pages that list what the code has list all of it: findings, profiles, quirks, commands and options."""

from __future__ import annotations

import ast
import importlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main
from docs_pages import DOCS, PAGES, PROJECT, Block, blocks, name_of

import clsim.cli
import runtime.cli
from clsim import profiles
from clsim.checks import kernel_faults
from clsim.profiles.quirks import QUIRKS


def _kinds_in_code() -> set[str]:
    """First arguments of `findings.add(...)` outside of the machine, whose faults `kernel_faults` tells."""
    kinds = set(kernel_faults.MEMORY_FAULTS) | set(kernel_faults._ADVICE)
    for room in ("checks", "api", "objects", "engine"):
        for path in (PROJECT / "clsim" / room).glob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and _adds_a_finding(node):
                    kinds |= set(_constants(node.args[0]))
    return kinds


def _adds_a_finding(node: ast.Call) -> bool:
    function = node.func
    return (
        isinstance(function, ast.Attribute) and function.attr == "add" and _name(function.value) == "findings"
    )


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _constants(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _constants(node.body)
        yield from _constants(node.orelse)


def _first_cells(page: Path) -> set[str]:
    """What stands in code in the first column of a page's tables."""
    return set(re.findall(r"^\| `([^`]+)` \|", page.read_text(encoding="utf-8"), re.M))


def test_the_page_of_findings_lists_every_kind_and_no_other() -> None:
    assert _first_cells(DOCS / "reference" / "findings.md") == _kinds_in_code()


def test_the_page_of_profiles_lists_every_profile_and_every_quirk() -> None:
    assert _first_cells(DOCS / "reference" / "profiles.md") >= set(profiles.names()) | set(QUIRKS)


def _commands() -> Iterator[tuple[str, Block, list[str]]]:
    """Every command line of the documentation that starts one of the project's programs."""
    for page in PAGES:
        for block in blocks(page):
            if block.language != "console":
                continue
            for line in block.text.splitlines():
                if line.startswith("$ "):
                    for part in re.split(r"&&|\|", line[2:]):
                        words = shlex.split(part, comments=True)
                        while words and re.match(r"\w+=", words[0]):
                            words.pop(0)
                        if words and Path(words[0]).name in ("clsim", "clrt"):
                            yield name_of(page), block, [Path(words[0]).name, *words[1:]]


COMMANDS = list(_commands())


def _known(program: str) -> dict[str, set[str]]:
    """The subcommands of a program, and the options of each."""
    if program == "clrt":
        app = runtime.cli.app
    else:
        app = clsim.cli.app
        if "demo" not in {command.name for command in app.registered_commands}:
            app.command("demo")(importlib.import_module("runtime.demo.command").demo)
    group = typer.main.get_command(app)
    return {
        name: {option for parameter in command.params for option in parameter.opts} | {"--help", "-h"}
        for name, command in group.commands.items()  # type: ignore[attr-defined]
    }


@pytest.mark.parametrize(
    ("where", "words"),
    [pytest.param(page, words, id=f"{page}: {' '.join(words)}") for page, _, words in COMMANDS],
)
def test_commands_and_options_in_the_documentation_exist(where: str, words: list[str]) -> None:
    program, subcommand, *rest = words
    known = _known(program)
    assert subcommand in known, f"{where}: {program} has no command {subcommand}"
    if subcommand == "compile":
        return  # takes any build option
    given = {word.partition("=")[0] for word in rest if word.startswith("-") and word != "-"}
    assert given <= known[subcommand], f"{where}: {given - known[subcommand]}"


def test_environments_of_tox_in_the_documentation_exist() -> None:
    tox = (PROJECT / "tox.ini").read_text(encoding="utf-8")
    named = {name for page in PAGES for name in re.findall(r"tox -e (\w+)", page.read_text(encoding="utf-8"))}
    assert named
    for name in named:
        assert f"[testenv:{name}]" in tox


def test_the_page_of_commands_names_every_command_and_option() -> None:
    page = (DOCS / "reference" / "commands.md").read_text(encoding="utf-8")
    for program in ("clsim", "clrt"):
        for command, options in _known(program).items():
            assert f"`{program} {command}" in page
            for option in options - {"--help"}:
                if option.startswith("--"):
                    assert f"`{option}`" in page, f"{program} {command} {option}"
