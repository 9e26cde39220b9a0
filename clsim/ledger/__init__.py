"""Every object's birth, call site, counts and bytes, and memory over time; bounded in size."""

from __future__ import annotations

from clsim.ledger.ledger import Account, Ledger, Tally
from clsim.ledger.sites import UNKNOWN, Site, SiteTable
from clsim.ledger.timeline import Point, Timeline

__all__ = ["UNKNOWN", "Account", "Ledger", "Point", "Site", "SiteTable", "Tally", "Timeline"]
