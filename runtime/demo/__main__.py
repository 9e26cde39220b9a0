"""`clsim demo`, also as `python -m runtime.demo`."""

from __future__ import annotations

import sys

import typer

from runtime.demo.command import demo
from runtime.shell import run_app

if __name__ == "__main__":
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.command()(demo)
    sys.exit(run_app(app, "clsim demo"))
