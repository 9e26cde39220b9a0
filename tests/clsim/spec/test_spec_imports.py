"""Facts are cheap: importing them takes nothing else along."""

from __future__ import annotations

import subprocess
import sys


def test_spec_imports_nothing_else_of_clsim_and_no_numpy_or_pydantic() -> None:
    code = (
        "import clsim, sys; before = set(sys.modules); import clsim.spec, clsim.spec.info;"
        "print('\\n'.join(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    added = done.stdout.split()
    assert {"clsim.spec", "clsim.spec.constants"} <= set(added)
    assert not [m for m in added if m.startswith(("numpy", "pydantic"))]
    assert not [m for m in added if m.startswith("clsim.") and not m.startswith("clsim.spec")]
