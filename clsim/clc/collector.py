"""The cycle collector, held off while a tree of many small objects is built.

Trees have no cycles to find, and looking for them in a growing one takes as long as building it.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """No automatic collection inside. Where two threads overlap, the first to leave ends the pause."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
