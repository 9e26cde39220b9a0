"""What a fork does: a child process gets every platform whole, with no command half done and no lock held."""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clsim.engine.agenda import Agenda

_engines: weakref.WeakValueDictionary[int, Agenda] = weakref.WeakValueDictionary()
_held: list[Agenda] = []
_count = 0


def watch(engine: Agenda) -> None:
    """Has forks wait for this engine."""
    global _count
    _count += 1
    _engines[_count] = engine


def _before() -> None:
    # In the order of their making, so that two threads that fork take the locks in the same order.
    for number in sorted(_engines.keys()):
        engine = _engines.get(number)
        if engine is not None:
            engine.before_fork()
            _held.append(engine)


def _after() -> None:
    while _held:
        _held.pop().after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
