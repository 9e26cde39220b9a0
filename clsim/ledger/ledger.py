"""The books of one platform: what lives, how much of it, who made it where.

Two levels. A `Tally` a kind of object ("event", "buffer", ...) holds the totals. Below it an `Account` holds
what one call site made of one kind (for events: on one queue, by one type of command). Making or destroying
an object changes one account and one tally and nothing else; whatever is asked by site, queue or command
type is summed up from the accounts when it is asked. There are as many accounts as places in the program;
those of a queue that is gone are folded into one a place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from clsim.ledger.sites import UNKNOWN, Site, SiteTable
from clsim.ledger.timeline import Point, Timeline


@dataclass(slots=True)
class Tally:
    """Counts of one kind of object. `bytes` are those of the live ones."""

    live: int = 0
    peak: int = 0
    total: int = 0
    bytes: int = 0
    peak_bytes: int = 0


class Account:
    """What one place made of one kind. `queue` is the number of the events' queue, 0 for other kinds and
    for queues that no longer exist; `detail` is the command type of events."""

    __slots__ = ("bytes", "detail", "kind", "live", "peak", "queue", "site", "tally", "total")

    def __init__(self, kind: str, tally: Tally, site: Site, queue: int = 0, detail: int = 0) -> None:
        self.kind = kind
        self.tally = tally
        self.site = site
        self.queue = queue
        self.detail = detail
        self.live = 0
        self.peak = 0
        self.total = 0
        self.bytes = 0

    def __repr__(self) -> str:
        return (
            f"Account({self.kind} at {self.site}: live {self.live}, total {self.total}, bytes {self.bytes})"
        )


class Ledger:
    """The books of one platform. Methods that change it are called under the engine's lock."""

    __slots__ = ("_accounts", "_changes", "_now", "commands", "launches", "sites", "tallies", "timeline")

    def __init__(self, now: Callable[[], int], call_sites: bool = True, capacity: int = 512) -> None:
        self.sites = SiteTable(call_sites)
        self.timeline = Timeline(capacity)
        self.tallies: dict[str, Tally] = {}
        self.commands: dict[int, int] = {}
        """Commands enqueued so far, by command type."""
        self.launches: dict[str, int] = {}
        """Kernel launches enqueued so far, by kernel name."""
        self._accounts: dict[tuple[str, int, int, int], Account] = {}
        self._changes = 0
        self._now = now

    # ------------------------------------------------------------ questions

    def live(self, kind: str) -> int:
        """Objects of a kind that exist now, be it only because something holds them."""
        return self.tallies[kind].live if kind in self.tallies else 0

    def peak(self, kind: str) -> int:
        """The most objects of a kind that existed at one time."""
        return self.tallies[kind].peak if kind in self.tallies else 0

    def total(self, kind: str) -> int:
        """Objects of a kind made so far."""
        return self.tallies[kind].total if kind in self.tallies else 0

    def bytes(self, kind: str) -> int:
        """Bytes that the live objects of a kind take, by the profile's retention model for events."""
        return self.tallies[kind].bytes if kind in self.tallies else 0

    def peak_bytes(self, kind: str) -> int:
        return self.tallies[kind].peak_bytes if kind in self.tallies else 0

    def by_site(self, kind: str) -> list[Account]:
        """The accounts of a kind, those with most live objects first."""
        found = [a for a in self._accounts.values() if a.kind == kind]
        return sorted(found, key=lambda a: (-a.live, -a.total, a.site.file, a.site.line))

    def live_by(self, kind: str, key: Callable[[Account], object]) -> dict[object, int]:
        """Live objects of a kind summed by any property of their accounts, such as `lambda a: a.queue`."""
        sums: dict[object, int] = {}
        for account in self._accounts.values():
            if account.kind == kind and account.live:
                sums[key(account)] = sums.get(key(account), 0) + account.live
        return sums

    @property
    def account_count(self) -> int:
        return len(self._accounts)

    # ------------------------------------------------------------ entries

    def account(self, kind: str, site: Site = UNKNOWN, queue: int = 0, detail: int = 0) -> Account:
        key = (kind, queue, detail, id(site))
        account = self._accounts.get(key)
        if account is None:
            account = Account(kind, self.tally(kind), site, queue, detail)
            self._accounts[key] = account
        return account

    def tally(self, kind: str) -> Tally:
        tally = self.tallies.get(kind)
        if tally is None:
            tally = self.tallies[kind] = Tally()
        return tally

    def born(self, account: Account, size: int) -> int:
        """Enters a new object; its number, counted a kind from 1."""
        account.live += 1
        account.total += 1
        account.bytes += size
        if account.live > account.peak:
            account.peak = account.live
        tally = account.tally
        tally.live += 1
        tally.total += 1
        tally.bytes += size
        if tally.live > tally.peak:
            tally.peak = tally.live
        if tally.bytes > tally.peak_bytes:
            tally.peak_bytes = tally.bytes
        self._changes += 1
        if self._changes >= self.timeline.next_change:
            self.sample()
        return tally.total

    def died(self, account: Account, size: int) -> None:
        account.live -= 1
        account.bytes -= size
        tally = account.tally
        tally.live -= 1
        tally.bytes -= size
        self._changes += 1
        if self._changes >= self.timeline.next_change:
            self.sample()

    def queue_gone(self, queue: int) -> None:
        """Folds the accounts of a queue that no longer exists: sessions that re-create queues add nothing."""
        gone = [key for key, account in self._accounts.items() if account.queue == queue]
        for key in gone:
            old = self._accounts.pop(key)
            into = self.account(old.kind, old.site, 0, old.detail)
            into.total += old.total
            into.peak = max(into.peak, old.peak)

    def sample(self) -> None:
        """Puts the present state on the timeline."""
        self.timeline.add(
            Point(
                self._now(),
                self._changes,
                self.live("event"),
                self.total("event"),
                self.bytes("event"),
                self.bytes("buffer") + self.bytes("image"),
            )
        )

    def snapshot(self, kinds: Iterable[str] | None = None) -> dict[str, int]:
        """Live objects by kind, for comparing before and after."""
        wanted = self.tallies if kinds is None else kinds
        return {kind: self.live(kind) for kind in wanted}
