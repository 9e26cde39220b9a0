"""What every reference-counted object has: two counts, a birth and an end.

*References* are the client's: made by creating and retaining, given up by releasing. *Holds* are the
simulator's own: a queue is held by its events, memory by the commands that use it, a context by everything
in it. At zero references the handle is dead for the client; the object itself ends when both are zero.

    created --retain/release--> references > 0 : alive
    references == 0, holds > 0                 : released, but held
    references == 0, holds == 0                : ended (`end` ran, once)

All of it happens under the engine's lock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from clsim.ledger import UNKNOWN, Account, Site

if TYPE_CHECKING:
    from clsim.objects.platform import Platform


class Counted:
    """A reference-counted object. Subclasses name their `kind` and the error code of an invalid handle."""

    __slots__ = (
        "__weakref__",
        "account",
        "birth",
        "holds",
        "number",
        "platform",
        "references",
        "released_at",
        "size_bytes",
    )

    kind: ClassVar[str]
    invalid: ClassVar[int]
    """The error code for a handle of this type that is not valid."""

    platform: Platform
    account: Account
    birth: Site
    """Where the program made it."""
    released_at: Site
    """Where the program gave up its last reference."""

    def __init__(self, platform: Platform, site: Site, size_bytes: int = 0) -> None:
        ledger = platform.ledger
        self.platform = platform
        self.references = 1
        self.holds = 0
        self.birth = site
        self.released_at = UNKNOWN
        self.size_bytes = size_bytes
        self.account = ledger.account(self.kind, site)
        self.number = ledger.born(self.account, size_bytes)
        platform.objects[id(self)] = self

    @property
    def label(self) -> str:
        """How messages name it."""
        return f"{self.kind} #{self.number}"

    def __repr__(self) -> str:
        return f"<{self.label}, references {self.references}, holds {self.holds}>"

    def retain(self) -> None:
        self.references += 1

    def release(self, site: Site = UNKNOWN) -> None:
        """Gives up one client reference; `site` is remembered if it was the last."""
        self.references -= 1
        if self.references == 0:
            self.released_at = site
            # Held meanwhile: what `_released` sets going may drop the last hold.
            self.holds += 1
            self._released()
            self.drop()

    def hold(self) -> None:
        self.holds += 1

    def drop(self) -> None:
        self.holds -= 1
        if self.holds == 0 and self.references == 0:
            self.end()

    def holds_object(self, item: Counted) -> bool:
        """Whether this object is one of the reasons why `item` lives."""
        return False

    def _released(self) -> None:
        """The last client reference is gone."""

    def end(self) -> None:
        """Both counts are zero: leaves the ledger. Subclasses drop what they hold."""
        self.platform.ledger.died(self.account, self.size_bytes)
        self.platform.objects.pop(id(self), None)
