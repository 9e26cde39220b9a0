"""Lifetimes: use after release, double release, what was forgotten, what is left at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clsim.checks import holders
from clsim.objects.base import Counted

if TYPE_CHECKING:
    from clsim.ledger import Account
    from clsim.objects.memory import Buffer
    from clsim.objects.platform import Platform


def use_after_release(item: Counted, routine: str) -> str:
    """Reports a call with an object that has no client reference left; the reason for the error."""
    platform = item.platform
    again = routine.startswith("clRelease")
    held = ", though the simulator still holds it" if item.holds else ""
    here = platform.site()
    platform.findings.add(
        "double-release" if again else "use-after-release",
        "error",
        f"{routine} on {item.label}, whose last reference was already given up{held}",
        objects=(item.label,),
        sites=(("created", item.birth), ("released", item.released_at), ("used again", here)),
        advice="release once for each create or retain"
        if again
        else "keep a reference as long as it is used",
    )
    if item.released_at.line:
        where = f"released at {item.released_at.file}:{item.released_at.line}"
        used = f", used at {here.file}:{here.line}" if here.line else ""
        return f"{item.label} was {where}{used}"
    return f"{item.label} was released before"


def dead_argument(kernel: Counted, index: int, name: str, buffer: Buffer) -> str:
    """Reports a launch with a memory argument that was released after it was set."""
    platform = kernel.platform
    platform.findings.add(
        "use-after-release",
        "error",
        f"argument {index} ('{name}') of {kernel.label} is {buffer.label}, whose last reference was given up",
        objects=(kernel.label, buffer.label),
        sites=(
            ("created", buffer.birth),
            ("released", buffer.released_at),
            ("launched", platform.site()),
        ),
        advice="a kernel does not keep its arguments alive (section 5.9.2): release after the last launch, "
        "or set the argument anew",
    )
    return f"argument {index} ('{name}') is {buffer.label}, which was released"


def released_before_user_event(item: Counted) -> None:
    """Reports the release of an object that a command gated by an unset user event still needs.

    The standard leaves this undefined (section 5.11, note to clSetUserEventStatus).
    """
    engine = item.platform.engine
    for event in engine.unset_user_events.values():
        command = event.command
        if command is None:
            continue
        for gated in command.dependents:
            if any(held is item for held in gated.holds):
                item.platform.findings.add(
                    "release-before-user-event",
                    "warning",
                    f"{item.label} is released while {gated.label} waits for {event.label}",
                    objects=(item.label, event.label),
                    sites=(
                        ("enqueued", gated.site),
                        ("released", item.released_at),
                        (f"{event.label} created", event.birth),
                    ),
                    advice="set the user event before releasing anything but events: the standard leaves "
                    "this undefined (section 5.11)",
                )
                return


def forgotten(platform: Platform, item: object) -> None:
    """Releases an object that its owner lost, and reports it. Runs under the engine's lock."""
    if not isinstance(item, Counted) or item.references == 0:
        return
    platform.findings.add(
        "forgotten",
        "warning",
        f"a {item.kind} was lost without being released",
        objects=(item.label,),
        sites=(("created", item.birth),),
        advice="call release, or use it in a with block",
    )
    item.release()


def leaks(platform: Platform) -> None:
    """Reports what is alive now, one finding a place and kind. For the end of a program."""
    for kind, tally in platform.ledger.tallies.items():
        if not tally.live:
            continue
        for account in platform.ledger.by_site(kind):
            if not account.live:
                continue
            size = f", {account.bytes} bytes" if account.bytes else ""
            held = _held_only(platform, account)
            platform.findings.add(
                "leak",
                "warning",
                f"{account.live} of {account.total} {kind}s made here are still alive{size}{held}",
                objects=(kind,),
                sites=(("created", account.site),),
                advice=_leak_advice(kind),
            )


def _held_only(platform: Platform, account: Account) -> str:
    """For objects that the program did release: what keeps them."""
    mine = [item for item in list(platform.objects.values()) if item.account is account]
    if not mine or any(item.references > 0 for item in mine):
        return ""
    reasons = holders.of(mine[0])
    return f"; released, but held by {', '.join(reasons)}" if reasons else "; released, but held"


def _leak_advice(kind: str) -> str:
    if kind == "event":
        return (
            "release an event once it was waited for or read; ask for none where nobody looks at it. "
            "A live event pins its queue and context"
        )
    return "release it when it is no longer used"


__all__ = [
    "dead_argument",
    "forgotten",
    "leaks",
    "released_before_user_event",
    "use_after_release",
]
