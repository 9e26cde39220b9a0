"""The package's own names: imported when used, and a clear end under an older Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import runtime

HEAVY = ("numpy", "pydantic", "pyopencl", "clsim", "runtime.graph")


def test_importing_the_package_imports_nothing_heavy():
    code = f"import sys, runtime; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", runtime.__all__)
def test_every_public_name_is_there_and_listed(name):
    assert getattr(runtime, name).__name__ == name
    assert name in dir(runtime)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'runtime' has no attribute 'nonsense'"):
        _ = runtime.nonsense


def test_an_older_python_ends_in_one_sentence():
    source = Path(runtime.__file__).read_text(encoding="utf-8")
    code = f"import sys; sys.version_info = (3, 9, 1, 'final', 0); exec({source!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "runtime needs Python 3.10 or later, but this is Python 3.9.\n"
