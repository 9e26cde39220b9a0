"""Kernel objects shared between threads (section 5.9.2: setting arguments is not thread-safe).

One thread may hand a kernel to another. What mixes arguments is two threads that take turns with no launch
in between: A sets, B sets, then A goes on as if its arguments were still there.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clsim.ledger import Site
    from clsim.objects.kernel import Kernel


def argument_set(kernel: Kernel) -> None:
    """Notes who sets an argument."""
    thread = threading.get_ident()
    setters = kernel.setters
    if not setters:
        setters[thread] = kernel.platform.site()
        return
    if next(reversed(setters)) == thread:
        return
    here = kernel.platform.site()
    if thread in setters:
        _report(kernel, setters, here)
        setters.clear()
    setters[thread] = here


def launched(kernel: Kernel) -> None:
    """A launch captures the arguments: whoever comes next may set them anew."""
    setters = kernel.setters
    if len(setters) > 1:
        thread = threading.get_ident()
        if thread in setters and next(reversed(setters)) != thread:
            _report(kernel, setters, kernel.platform.site())
    setters.clear()


def _report(kernel: Kernel, setters: dict[int, Site], here: Site) -> None:
    other = next(reversed(setters.values()))
    kernel.platform.findings.add(
        "shared-kernel",
        "error",
        f"two threads set arguments of {kernel.label} in turns with no launch in between: they mix",
        objects=(kernel.label,),
        sites=(("set on one thread", other), ("goes on on another", here)),
        advice="give each thread a kernel object of its own, or lock around setting and launching",
    )
