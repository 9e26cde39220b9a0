"""What a user meets first: an old Python, a missing extra, the price of `import clsim`."""

from __future__ import annotations

import subprocess
import sys


def _run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )


def test_an_older_python_ends_in_one_sentence() -> None:
    done = _run("import sys; sys.version_info = (3, 7, 16, 'final', 0); import clsim")
    assert done.returncode == 1
    assert done.stderr == "clsim needs Python 3.10 or later, but this is Python 3.7.\n"


def test_the_check_of_the_version_comes_before_any_syntax_that_python_2_lacks() -> None:
    import ast
    from pathlib import Path

    import clsim

    assert clsim.__file__ is not None
    tree = ast.parse(Path(clsim.__file__).read_text(encoding="utf-8"))
    new = (ast.AnnAssign, ast.JoinedStr, ast.AsyncFunctionDef, ast.NamedExpr, ast.Match)
    assert not [node for node in ast.walk(tree) if isinstance(node, new)]
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert all(f.returns is None and all(a.annotation is None for a in f.args.args) for f in functions)
    assert not [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module == "__future__"]


def test_without_typer_the_command_says_what_to_install() -> None:
    done = _run("import sys; sys.modules['typer'] = None; from clsim.__main__ import main; sys.exit(main())")
    assert done.returncode == 2
    assert done.stderr == 'clsim needs typer and rich: pip install "clsim[cli]"\n'


def test_importing_clsim_imports_nothing_heavy() -> None:
    done = _run("import clsim, sys; print(*sys.modules)")
    heavy = {"numpy", "pydantic", "typer", "rich", "pyopencl", "runtime"}
    assert not heavy & set(done.stdout.split())


def test_a_name_that_clsim_does_not_have_is_an_attribute_error() -> None:
    done = _run("import clsim; clsim.no_such_name")
    assert "AttributeError: module 'clsim' has no attribute 'no_such_name'" in done.stderr
