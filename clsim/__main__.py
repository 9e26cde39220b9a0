"""`clsim`, also as `python -m clsim`."""

from __future__ import annotations

import importlib.util
import sys


def main() -> int:
    """Runs the command line and gives its exit code; says what to install where that is missing."""
    if importlib.util.find_spec("typer") is None or importlib.util.find_spec("rich") is None:
        print('clsim needs typer and rich: pip install "clsim[cli]"', file=sys.stderr)
        return 2
    from clsim.cli import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
