"""A simulated platform: its devices and everything that watches over them.

Each platform has its own scheduler, clock, ledger and findings; two platforms share nothing.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from clsim.checks import Findings
from clsim.engine.costs import Costs
from clsim.engine.scheduler import SCHEDULES, Engine
from clsim.ledger import Ledger, Site
from clsim.objects.device import Device
from clsim.spec import CL_INVALID_PLATFORM

if TYPE_CHECKING:
    from clsim.objects.base import Counted
    from clsim.profiles.schema import Profile

Execution = Literal["normal", "none"]
Schedule = Literal["fifo", "late", "random"]

_FIRST_ADDRESS = 0x1_0000_0000
_ADDRESS_STEP = 0x1000


class Platform:
    """A simulated OpenCL platform of one or more equal devices.

    `profile` is a profile or the name of one. `execution="none"` runs no kernel bodies. `schedule`, `seed`
    and `strict` are those of the scheduler (rules 5 and 6 of the architecture). `call_sites` records where
    objects are made. `faults` maps (entry point, ordinal from 1) to the error code to raise there. With
    `order_checks` every command is checked against those it is not ordered with. `claims="honest"` hides
    what the profile claims but clsim does not run.
    """

    __slots__ = (
        "call_sites",
        "calls",
        "claims",
        "devices",
        "engine",
        "epoch",
        "execution",
        "faults",
        "findings",
        "in_place",
        "label",
        "ledger",
        "next_address",
        "objects",
        "output",
        "profile",
        "seed",
        "strict",
        "version",
    )

    kind = "platform"
    invalid = CL_INVALID_PLATFORM

    def __init__(
        self,
        profile: Profile | str = "generic",
        devices: int = 1,
        *,
        execution: Execution = "normal",
        schedule: Schedule = "fifo",
        seed: int = 0,
        strict: bool = False,
        call_sites: bool = True,
        faults: Mapping[tuple[str, int], int] | None = None,
        order_checks: bool = False,
        claims: Literal["board", "honest"] = "board",
    ) -> None:
        if devices < 1:
            raise ValueError(f"a platform has at least one device, not {devices}")
        if execution not in ("normal", "none"):
            raise ValueError(f"execution is 'normal' or 'none', not {execution!r}")
        if schedule not in SCHEDULES:
            raise ValueError(f"schedule is one of {', '.join(SCHEDULES)}, not {schedule!r}")
        if claims not in ("board", "honest"):
            raise ValueError(f"claims is 'board' or 'honest', not {claims!r}")
        if isinstance(profile, str):
            from clsim import profiles

            profile = profiles.load(profile)
        if claims == "honest":
            profile = profile.honest()
        self.profile = profile
        self.label = f"platform {profile.platform_name}"
        self.execution = execution
        self.strict = strict
        self.seed = seed
        self.call_sites = call_sites
        self.claims = claims
        self.faults = dict(faults or {})
        self.calls: dict[str, int] = {}
        """Calls so far by entry point; counted only where faults are injected."""
        self.epoch = 0
        """Changes when memory, a kernel or a queue is released, or memory mapped or unmapped: what was
        checked for a launch before is checked again."""
        self.findings = Findings()
        self.engine = Engine(
            Costs.of(profile),
            self.findings,
            schedule=schedule,
            seed=seed,
            strict=strict,
            in_order_failure=str(profile.quirks.get("in_order_failure", "continue")),
        )
        self.objects: weakref.WeakValueDictionary[int, Counted] = weakref.WeakValueDictionary()
        """What lives, but events, by identity."""
        self.ledger = Ledger(lambda: self.engine.now_ns, call_sites)
        self.devices: Sequence[Device] = tuple(Device(self, profile, n + 1) for n in range(devices))
        self.in_place = profile.quirks.get("use_host_ptr", "in_place") == "in_place"
        """Whether CL_MEM_USE_HOST_PTR shares memory (or works on a copy)."""
        self.output: Callable[[str], object] = lambda text: print(text, end="")
        """Where the text of a kernel's printf goes."""
        self.version = profile.version
        """The version of OpenCL that the devices have."""
        self.next_address = _FIRST_ADDRESS
        if order_checks:
            from clsim.checks.order import OrderCheck

            self.engine.order = OrderCheck(self.findings)

    def site(self) -> Site:
        """Where in the program the present call stands."""
        return self.ledger.sites.here(2)

    def event_bytes(self, profiling: bool) -> int:
        """Bytes that a live event takes by the profile's retention model."""
        return self.profile.retention.event_bytes(profiling)

    def allocate_address(self, size: int) -> int:
        """A device address for `size` bytes; never reused, with a gap after each object."""
        address = self.next_address
        self.next_address += -(-size // _ADDRESS_STEP) * _ADDRESS_STEP + _ADDRESS_STEP
        return address

    def report_leaks(self) -> None:
        """Enters what is still alive as findings, once what was submitted has come to its end.

        For the end of a program; takes no notice of what was never flushed.
        """
        from clsim.checks import lifetime

        with self.engine.lock:
            self.engine.drain()
            self.engine.settle()
            lifetime.leaks(self)

    def forget(self, item: object) -> None:
        """Releases an object that its owner lost without releasing it, and reports that.

        For finalisers: may be called on any thread at any moment; takes effect with the next call.
        """
        from clsim.checks import lifetime

        self.engine.forgotten.append(lambda: lifetime.forgotten(self, item))

    def __repr__(self) -> str:
        return f"<{self.label}, {len(self.devices)} device(s)>"
