"""`clrt`, also as `python -m runtime`."""

from __future__ import annotations

import importlib.util
import sys


def main() -> int:
    """Runs the command line and gives its exit code; says what to install where that is missing."""
    if importlib.util.find_spec("typer") is None or importlib.util.find_spec("rich") is None:
        print('clrt needs typer and rich: pip install "clsim[cli]"', file=sys.stderr)
        return 2
    try:
        from runtime.cli import main as run

        return run()
    except KeyboardInterrupt:  # while modules are imported; later ones are the command line's
        return 130


if __name__ == "__main__":
    sys.exit(main())
