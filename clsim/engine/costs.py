"""The cost model: how long things take on the virtual clock, in integer nanoseconds.

It promises order and plausible sizes, not a board's timing. The numbers are the profile's.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clsim.profiles.schema import Profile


@dataclass(frozen=True, slots=True)
class Costs:
    """`call_ns`: any host call; `enqueue_ns`: one that enqueues (`enqueue_profiling_ns` on a profiling
    queue); `poll_ns`: a status query; `submit_ns`: from flush to the earliest start; `launch_ns` and
    `transfer_ns`: the least a kernel and a transfer take; then picoseconds per byte and per operation.
    """

    call_ns: int
    poll_ns: int
    enqueue_ns: int
    enqueue_profiling_ns: int
    submit_ns: int
    launch_ns: int
    transfer_ns: int
    transfer_ps_per_byte: int
    device_ps_per_byte: int
    device_ps_per_operation: int
    build_ns: int

    @classmethod
    def of(cls, profile: Profile) -> Costs:
        """The profile's numbers in a form that is quick to read."""
        return cls(*(getattr(profile.cost, field.name) for field in fields(cls)))

    def host_transfer(self, size: int) -> int:
        """A read, write, map or unmap of `size` bytes."""
        return self.transfer_ns + size * self.transfer_ps_per_byte // 1000

    def device_transfer(self, size: int) -> int:
        """A copy or fill of `size` bytes within the device."""
        return self.transfer_ns + size * self.device_ps_per_byte // 1000

    def kernel(self, work_items: int, operations: int, bytes_moved: int) -> int:
        """A launch of so many work-items, each of so many operations and bytes."""
        work_ps = work_items * operations * self.device_ps_per_operation
        traffic_ps = work_items * bytes_moved * self.device_ps_per_byte
        return self.launch_ns + max(work_ps, traffic_ps) // 1000
