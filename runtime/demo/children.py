"""Child processes of the demo: for real devices, whose drivers may end a process, and for soaks."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

from runtime._closing import Closing

CHILD_SECONDS = 240
"""How long a child may take; the longest, squeezenet from source on PoCL, takes some 35 s on a free core."""

_ROOT = Path(__file__).resolve().parents[2]


class LeftOut(Exception):
    """A part of the demo that cannot be shown here; the message says why, for people."""


class Child(Closing):
    """A Python process with empty caches of compiled programs; leaving the block ends it."""

    def __init__(self, arguments: Sequence[str]) -> None:
        """Starts it with what follows `python`. Raises LeftOut where no process can be had."""
        self._caches = tempfile.TemporaryDirectory(prefix="clsim-demo-", ignore_cleanup_errors=True)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        self._late = False
        try:
            self._process = subprocess.Popen(
                [sys.executable, *arguments],
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                encoding="utf-8",
                errors="replace",
            )
        except OSError as error:
            self._errors.close()
            self._caches.cleanup()
            raise LeftOut(f"no process could be started: {error}") from None
        self._timer = threading.Timer(CHILD_SECONDS, self._too_late)
        self._timer.daemon = True
        self._timer.start()

    def line(self) -> str:
        """The next line that it prints. Raises LeftOut where it ends without one."""
        assert self._process.stdout is not None, "it was asked for"
        text = self._process.stdout.readline()
        if not text:
            self.rest()
            raise LeftOut("the process ended before it said what it measured")
        return text

    def rest(self, *, may_fail: bool = False) -> str:
        """All it prints from now on, once it has ended; `may_fail` takes exit code 1 for an answer.

        Raises LeftOut where it failed.
        """
        assert self._process.stdout is not None, "it was asked for"
        text = self._process.stdout.read()
        code = self._process.wait()
        if self._late:
            raise LeftOut(f"it took more than {CHILD_SECONDS} s")
        if code == 0 or (may_fail and code == 1 and text):
            return text
        self._errors.seek(0)
        said = self._errors.read().decode("utf-8", "replace").strip().splitlines() or ["it said nothing"]
        raise LeftOut(f"the process ended with code {code}: {said[-1]}")

    def close(self) -> None:
        """Ends the process if it still runs, and removes its caches."""
        self._timer.cancel()
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._errors.close()
        self._caches.cleanup()

    def _environment(self) -> dict[str, str]:
        paths = [str(_ROOT), os.environ.get("PYTHONPATH", "")]
        return os.environ | {
            "POCL_CACHE_DIR": self._caches.name,
            "CUDA_CACHE_DISABLE": "1",
            "PYOPENCL_NO_CACHE": "1",
            "PYTHONPATH": os.pathsep.join(path for path in paths if path),
            "PYTHONIOENCODING": "utf-8",
        }

    def _too_late(self) -> None:
        self._late = True
        self._process.kill()


def run_child(arguments: Sequence[str], *, may_fail: bool = False) -> str:
    """What a child prints. Raises LeftOut where it fails; `may_fail` takes exit code 1 for an answer."""
    with Child(arguments) as child:
        return child.rest(may_fail=may_fail)
