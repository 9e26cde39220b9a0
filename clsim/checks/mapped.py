"""Commands that touch a region while the host has it mapped (section 5.2.4: undefined)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clsim.ledger import Site
    from clsim.objects.memory import Buffer


def check(buffer: Buffer, start: int, stop: int, reads: bool, writes: bool, what: str, site: Site) -> None:
    """Reports a command that reads or writes bytes `start` to `stop` of a buffer while they are mapped."""
    storage = buffer.storage
    start += buffer.origin
    stop += buffer.origin
    for mapping in storage.mappings:
        first = mapping.buffer.origin + mapping.offset
        if start >= first + mapping.size or stop <= first:
            continue
        if writes or (reads and mapping.writes):
            purpose = "writing" if mapping.writes else "reading"
            buffer.platform.findings.add(
                "unmapped-access",
                "error",
                f"{what} {'writes' if writes else 'reads'} {buffer.label} while {mapping.size} bytes of it "
                f"are mapped for {purpose}",
                objects=(buffer.label,),
                sites=(("mapped", mapping.site), ("enqueued", site)),
                advice="unmap the region first (section 5.2.4)",
            )
            return
