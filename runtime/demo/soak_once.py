"""A soak in a process of its own, so that its memory is nobody else's.

    python -m runtime.demo.soak_once MODEL RUNS [--keep-events]

Prints what it found as JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from runtime.artifact import Artifact
from runtime.cl.discovery import open_device
from runtime.demo.children import run_child
from runtime.soak import Sample, SoakResult, soak


def in_a_child(model: Path, runs: int, *, keep_events: bool) -> SoakResult:
    """Soaks a model on a simulated device that accounts for everything and computes nothing."""
    command = ["-m", "runtime.demo.soak_once", str(model), str(runs)]
    values = json.loads(run_child([*command, "--keep-events"] if keep_events else command))
    samples = tuple(Sample(**sample) for sample in values.pop("samples"))
    return SoakResult(samples=samples, **values)


def _main() -> None:
    parser = argparse.ArgumentParser(description="soak a model on a simulated device that computes nothing")
    parser.add_argument("model", type=Path)
    parser.add_argument("runs", type=int)
    parser.add_argument("--keep-events", action="store_true", help="keep the event of every launch")
    options = parser.parse_args()
    device = open_device("sim", execution="none")
    found = soak(Artifact.load(options.model), device, runs=options.runs, keep_events=options.keep_events)
    json.dump(asdict(found), sys.stdout)


if __name__ == "__main__":
    _main()
