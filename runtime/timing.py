"""What a graph's `profile` and `benchmark` answer: plain figures, and a table for people."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from runtime.profiling import ProfilingSession


@dataclass(frozen=True)
class KernelRow:
    """One kernel in a profile. `share` is its part of all device time, 0 to 1."""

    kernel: str
    launches: int
    total_ns: int
    share: float

    @property
    def mean_ns(self) -> float:
        return self.total_ns / self.launches


@dataclass(frozen=True)
class Profile:
    """Device times of some runs of a graph, the longest kernel first."""

    rows: tuple[KernelRow, ...]
    runs: int
    dropped: int
    """Launches whose times the device gave wrongly or not at all."""

    @classmethod
    def from_session(cls, session: ProfilingSession, runs: int) -> Profile:
        total_ns = session.total_ns
        rows = [
            KernelRow(name, k.launches, k.total_ns, k.total_ns / total_ns if total_ns else 0.0)
            for name, k in session.kernels.items()
        ]
        rows.sort(key=lambda row: (-row.total_ns, row.kernel))
        return cls(tuple(rows), runs, session.dropped)

    @property
    def launches(self) -> int:
        return sum(row.launches for row in self.rows)

    @property
    def total_ns(self) -> int:
        """Device time of all launches, without the gaps between them."""
        return sum(row.total_ns for row in self.rows)

    def __str__(self) -> str:
        width = max((len(row.kernel) for row in self.rows), default=6)
        lines = [f"{'kernel':<{width}}  {'time us':>12}  {'share':>6}  {'launches':>8}"]
        lines += [
            f"{row.kernel:<{width}}  {row.total_ns / 1e3:>12.1f}  {row.share:>6.1%}  {row.launches:>8}"
            for row in self.rows
        ]
        lines.append(f"{'all':<{width}}  {self.total_ns / 1e3:>12.1f}  {'':>6}  {self.launches:>8}")
        if self.dropped:
            lines.append(f"{self.dropped} launches had no usable times")
        return "\n".join(lines)


@dataclass(frozen=True)
class Benchmark:
    """Wall times of one run, in seconds: a mean over `number` runs for each repeat."""

    results: tuple[float, ...]
    number: int

    @property
    def mean(self) -> float:
        return statistics.fmean(self.results)

    @property
    def median(self) -> float:
        return statistics.median(self.results)

    @property
    def std(self) -> float:
        """Standard deviation of the repeats, as TVM's evaluator has it (of the whole population)."""
        return statistics.pstdev(self.results)

    @property
    def min(self) -> float:
        return min(self.results)

    @property
    def max(self) -> float:
        return max(self.results)

    def percentile(self, percent: float) -> float:
        """The time that `percent` of the repeats do not exceed, interpolated between neighbours."""
        return _percentile(sorted(self.results), percent)

    def __str__(self) -> str:
        return (
            f"mean {self.mean * 1e3:.3f} ms, median {self.median * 1e3:.3f}, std {self.std * 1e3:.3f}, "
            f"min {self.min * 1e3:.3f}, max {self.max * 1e3:.3f} "
            f"({len(self.results)} repeats of {self.number} runs)"
        )


def _percentile(ordered: Sequence[float], percent: float) -> float:
    if not 0 <= percent <= 100:
        raise ValueError(f"a percentile is between 0 and 100, not {percent}")
    position = (len(ordered) - 1) * percent / 100
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)
