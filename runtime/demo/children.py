"""Child processes of the demo: for real devices, whose drivers may end a process, and for soaks."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

CHILD_SECONDS = 180
"""How long a child may take; squeezenet from source on PoCL takes some 12 s on a free core."""

_ROOT = Path(__file__).resolve().parents[2]


class LeftOut(Exception):
    """A part of the demo that cannot be shown here; the message says why, for people."""


def run_child(arguments: Sequence[str], *, may_fail: bool = False) -> str:
    """What a Python child prints, run on empty caches of compiled programs.

    `may_fail` takes an exit code of 1 for an answer. Raises LeftOut where the child fails.
    """
    with tempfile.TemporaryDirectory(prefix="clsim-demo-", ignore_cleanup_errors=True) as caches:
        environment = os.environ | {
            "POCL_CACHE_DIR": caches,
            "CUDA_CACHE_DISABLE": "1",
            "PYOPENCL_NO_CACHE": "1",
            "PYTHONPATH": os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH", "")])),
            "PYTHONIOENCODING": "utf-8",
        }
        command = [sys.executable, *arguments]
        try:
            done = subprocess.run(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=CHILD_SECONDS,
            )
        except subprocess.TimeoutExpired:
            raise LeftOut(f"it took more than {CHILD_SECONDS} s") from None
        except OSError as error:
            raise LeftOut(f"no process could be started: {error}") from None
    if done.returncode == 0 or (may_fail and done.returncode == 1 and done.stdout):
        return done.stdout
    said = done.stderr.strip().splitlines() or ["it said nothing"]
    raise LeftOut(f"the process ended with code {done.returncode}: {said[-1]}")
