"""Program binaries that are none, tried in a process of their own: some drivers die of them.

A child process loads them one after another and tells each outcome; where it dies, another one goes on.
PoCL unpacks what it loads into its cache, so the children have a cache of their own.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

_ROOT = str(Path(__file__).resolve().parents[2])


def load_each(device_name: str, binaries: Sequence[bytes]) -> list[str]:
    """What came of each binary: `built`, the error code's name, or `died`."""
    outcomes: list[str] = []
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "CLRT_PROBE": "0", "POCL_CACHE_DIR": cache}
        while len(outcomes) < len(binaries):
            left = [base64.b64encode(binary).decode() for binary in binaries[len(outcomes) :]]
            child = subprocess.run(
                [sys.executable, "-c", f"import sys; sys.path[:0] = {[_ROOT, str(Path(__file__).parent)]!r}; "
                 f"from hostile import main; main({device_name!r})"],
                input=json.dumps(left),
                capture_output=True,
                text=True,
                timeout=240,
                env=environment,
            )  # fmt: skip
            told = [line.removeprefix("outcome ") for line in child.stdout.splitlines() if "outcome " in line]
            outcomes += told
            if len(told) < len(left):
                assert child.returncode != 1, f"the child failed by itself: {child.stderr}"
                outcomes.append("died")
    return outcomes


def main(device_name: str) -> None:
    """The child: reads a list of binaries from standard input, tells one outcome a line."""
    from runtime.cl.discovery import open_device
    from runtime.cl.interface import CLError

    device = open_device(device_name)
    context = device.platform.create_context([device])
    for text in json.load(sys.stdin):
        try:
            program = context.program_from_binaries({device: base64.b64decode(text)})
            program.build()
            outcome = "built"
        except CLError as error:
            outcome = error.name
        print(f"outcome {outcome}", flush=True)
    os._exit(0)  # what a driver does at its end is no part of the question
