"""What a detector says: one finding a fault and place, however often it happened."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from clsim.ledger import Site

Severity = Literal["error", "warning", "possible"]


class Place(NamedTuple):
    """A call site in a finding, with what happened there."""

    label: str
    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.label}: {self.file}:{self.line} in {self.function}"


@dataclass(frozen=True)
class Finding:
    """A fault of the program under test.

    `kind` is the detector's name of it ("use-after-release", "race", ...). `severity` is "error" for
    what the standard forbids or leaves undefined, "warning" for what it allows only some implementations,
    "possible" for what could not be confirmed. `count` says how often it was seen at these places.
    """

    kind: str
    severity: Severity
    message: str
    objects: tuple[str, ...]
    sites: tuple[Place, ...]
    advice: str
    count: int = 1

    def __str__(self) -> str:
        times = f" ({self.count} times)" if self.count > 1 else ""
        lines = [f"{self.severity}: {self.kind}: {self.message}{times}"]
        lines += [f"  {place}" for place in self.sites]
        if self.advice:
            lines.append(f"  -> {self.advice}")
        return "\n".join(lines)


class Findings:
    """The findings of one platform, in the order in which they were first seen; bounded."""

    def __init__(self, limit: int = 1000) -> None:
        self.limit = limit
        self.dropped = 0
        """Findings at further places that came after `limit` of them."""
        self._entries: dict[tuple[object, ...], tuple[Finding, list[int]]] = {}

    def add(
        self,
        kind: str,
        severity: Severity,
        message: str,
        *,
        objects: Iterable[str] = (),
        sites: Iterable[tuple[str, Site]] = (),
        advice: str = "",
    ) -> None:
        """Enters a finding, or counts it where the same kind was seen at the same places before."""
        places = tuple(Place(label, site.file, site.line, site.function) for label, site in sites)
        # Without places (call sites off, or a C host) the message tells faults apart.
        known = any(place.line for place in places)
        key: tuple[object, ...] = (kind, severity, places if known else message)
        entry = self._entries.get(key)
        if entry is not None:
            entry[1][0] += 1
        elif len(self._entries) >= self.limit:
            self.dropped += 1
        else:
            finding = Finding(kind, severity, message, tuple(objects), places, advice)
            self._entries[key] = (finding, [1])

    def __iter__(self) -> Iterator[Finding]:
        for finding, count in list(self._entries.values()):
            if count[0] == 1:
                yield finding
            else:
                yield Finding(
                    finding.kind,
                    finding.severity,
                    finding.message,
                    finding.objects,
                    finding.sites,
                    finding.advice,
                    count[0],
                )

    def __len__(self) -> int:
        return len(self._entries)

    def of(self, kind: str) -> list[Finding]:
        """The findings of one kind."""
        return [finding for finding in self if finding.kind == kind]

    def clear(self) -> None:
        self._entries.clear()
        self.dropped = 0
