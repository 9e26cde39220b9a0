"""How memory developed over a run, in a fixed number of points.

Points are taken every `stride` changes. When the list is full every second point goes and the stride
doubles, so that a run of any length keeps between `capacity / 2` and `capacity` points, evenly spread.
"""

from __future__ import annotations

from typing import NamedTuple


class Point(NamedTuple):
    """The ledger at one moment; `memory_bytes` are those of memory objects, `change` counts changes."""

    time_ns: int
    change: int
    live_events: int
    total_events: int
    event_bytes: int
    memory_bytes: int


class Timeline:
    """A bounded series of points."""

    __slots__ = ("capacity", "next_change", "points", "stride")

    def __init__(self, capacity: int = 512) -> None:
        self.capacity = capacity
        self.stride = 1
        self.next_change = 0
        self.points: list[Point] = []

    def add(self, point: Point) -> None:
        """Takes a point; the caller asks only once `change` has reached `next_change`."""
        points = self.points
        points.append(point)
        if len(points) >= self.capacity:
            del points[1::2]
            self.stride *= 2
        self.next_change = points[-1].change + self.stride
