"""Atomic operations of many lanes at once, in the order of lanes."""

from __future__ import annotations

from typing import Any

import numpy as np


class Livelock(Exception):
    """Lanes in lockstep wait for each other; nothing that they do changes that."""


_UFUNCS: dict[str, Any] = {
    "add": np.add,
    "sub": np.subtract,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def apply(op: str, memory: Any, index: Any, args: tuple[Any, ...], wanted: bool) -> Any:
    """Do the operation at `memory[index]` for each lane in turn; the old values, where they are wanted.

    `memory` is a flat array, `index` and each of `args` one entry a lane.
    """
    if op == "load":
        return memory[index]
    if op == "cmpxchg":
        return _compare_exchange(memory, index, *args)
    if not wanted:
        if op in ("xchg", "store"):
            memory[index] = args[0]
        else:
            _UFUNCS[op].at(memory, index, args[0])
        return None
    values = args[0]
    if index.size and (index == index[0]).all():
        return _one_address(op, memory, int(index[0]), values)
    order = np.argsort(index, kind="stable")
    places = index[order]
    starts = np.flatnonzero(np.r_[True, places[1:] != places[:-1]])
    old = np.empty_like(values)
    if starts.size == places.size:
        found = memory[places]
        memory[places] = _after(op, found, values[order])
        old[order] = found
        return old
    sizes = np.diff(np.r_[starts, places.size])
    if starts.size <= sizes.max():
        for start, size in zip(starts, sizes, strict=True):
            lanes = order[start : start + size]
            old[lanes] = _one_address(op, memory, int(places[start]), values[lanes])
        return old
    for turn in range(int(sizes.max())):
        lanes = order[starts[sizes > turn] + turn]
        found = memory[index[lanes]]
        memory[index[lanes]] = _after(op, found, values[lanes])
        old[lanes] = found
    return old


def _after(op: str, old: Any, values: Any) -> Any:
    return values if op in ("xchg", "store") else _UFUNCS[op](old, values)


def _one_address(op: str, memory: Any, place: int, values: Any) -> Any:
    """All lanes at one address: a running result."""
    first = memory[place : place + 1]
    if op in ("xchg", "store"):
        chain = np.concatenate([first, values])
    elif op == "sub":
        chain = np.add.accumulate(np.concatenate([first, np.negative(values)]), dtype=memory.dtype)
    else:
        chain = _UFUNCS[op].accumulate(np.concatenate([first, values]), dtype=memory.dtype)
    memory[place] = chain[-1]
    return chain[:-1]


def _compare_exchange(memory: Any, index: Any, expected: Any, new: Any) -> Any:
    """At each address the first lane that finds what it expects, and changes it, wins.

    Lanes that change nothing have come before it. The others find what it left; one that expects just that,
    too, is taken to have come before.
    """
    current = memory[index]
    old = current.copy()
    changing = (current == expected) & (new != current)
    candidates = np.flatnonzero(changing)
    if candidates.size:
        places, first = np.unique(index[candidates], return_index=True)
        winners = candidates[first]
        memory[places] = new[winners]
        changing[winners] = False
        old[changing] = memory[index[changing]]
    return old
