"""Every Python snippet of the documentation runs on the simulator and prints what the page says.

The snippets of a page run in order in one namespace, in a folder that has the model of the demo where a clone
has it. A `text` block titled "Output" right after one is what it prints. A titled snippet is written to
a file of that name first; those named `test_*.py` and `conftest.py` are run by pytest instead.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from docs_pages import PAGES, PROJECT, Block, blocks, name_of

from clsim.report import findings_text
from runtime import open_device
from runtime.demo import forgotten_edge

MODEL = "runtime/demo/data"
WITH_SNIPPETS = [page for page in PAGES if any(block.language == "python" for block in blocks(page))]


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with what snippets name by path; no device is preset."""
    shutil.copytree(PROJECT / MODEL, tmp_path / MODEL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CLRT_DEVICE", raising=False)
    return tmp_path


@pytest.mark.parametrize("page", WITH_SNIPPETS, ids=name_of)
def test_snippets_run_and_print_what_the_page_says(page: Path, clone: Path) -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    every = blocks(page)
    for block, following in zip(every, [*every[1:], None], strict=True):
        if block.language != "python":
            continue
        file = clone / (block.title or f"line_{block.line}.py")
        file.write_text(block.text, encoding="utf-8")
        if _is_for_pytest(block):
            continue
        printed = _run(file.name, block, namespace)
        if following is not None and following.title == "Output":
            where = f"{name_of(page)}, line {block.line}"
            assert _lines(printed) == _lines(following.text), f"{where} prints something else"
    if any(map(_is_for_pytest, every)):
        _run_pytest(clone)


@pytest.mark.parametrize("page", WITH_SNIPPETS, ids=name_of)
def test_an_output_stands_right_behind_its_snippet(page: Path) -> None:
    every = blocks(page)
    for before, block in zip([None, *every[:-1]], every, strict=True):
        if block.title == "Output":
            assert before is not None, f"line {block.line}: an output without a snippet"
            assert before.language == "python", f"line {block.line}: an output of no snippet"


def test_the_readme_shows_what_the_demo_finds() -> None:
    device = open_device("sim", order_checks=True)
    assert forgotten_edge.show_frames(device)
    forgotten_edge.events.clear()
    found = findings_text(device.native.platform.findings.of("race"))  # type: ignore[attr-defined]
    shown = next(block.text for block in blocks(PROJECT / "README.md") if "first act" in block.title)
    for line in re.sub(r"\S*forgotten_edge\.py", "forgotten_edge.py", found).splitlines():
        assert line in shown.splitlines() or line == "1 error"


def test_the_documentation_imports_no_opencl_binding() -> None:
    for page in WITH_SNIPPETS:
        for block in blocks(page):
            assert block.language != "python" or "import pyopencl" not in block.text


def _is_for_pytest(block: Block) -> bool:
    return block.language == "python" and (block.title.startswith("test_") or block.title == "conftest.py")


def _run(name: str, block: Block, namespace: dict[str, Any]) -> str:
    """What a snippet prints. Its file's name is relative, as findings show it."""
    linecache.checkcache()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block.text, name, "exec"), namespace)
    return printed.getvalue()


def _run_pytest(folder: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(PROJECT)}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]
