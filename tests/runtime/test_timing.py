"""Figures of benchmarks and profiles, worked out by hand."""

from __future__ import annotations

import pytest

from runtime.timing import Benchmark, KernelRow, Profile

FIVE = Benchmark((4.0, 1.0, 3.0, 2.0, 10.0), number=7)


def test_a_benchmark_sums_up_its_repeats():
    assert FIVE.mean == 4.0
    assert FIVE.median == 3.0
    assert (FIVE.min, FIVE.max) == (1.0, 10.0)
    assert FIVE.std == pytest.approx(10**0.5)  # squares of 0, 3, 1, 2, 6 are 50; a fifth of it is 10


@pytest.mark.parametrize(
    ("percent", "seconds"), [(0, 1.0), (25, 2.0), (50, 3.0), (75, 4.0), (90, 7.6), (100, 10.0)]
)
def test_percentiles_are_interpolated_between_neighbours(percent, seconds):
    assert FIVE.percentile(percent) == pytest.approx(seconds)


@pytest.mark.parametrize("percent", [-1, 101])
def test_a_percentile_beyond_the_ends_is_refused(percent):
    with pytest.raises(ValueError, match="between 0 and 100"):
        FIVE.percentile(percent)


def test_one_repeat_is_enough():
    one = Benchmark((2.0,), number=1)
    assert (one.mean, one.median, one.std, one.percentile(99)) == (2.0, 2.0, 0.0, 2.0)


def test_a_benchmark_tells_its_figures_in_milliseconds():
    assert str(FIVE).startswith("mean 4000.000 ms, median 3000.000")
    assert str(FIVE).endswith("(5 repeats of 7 runs)")


def test_a_profile_tells_kernels_time_share_and_launches():
    rows = (KernelRow("conv2d", 2, 3_000_000, 0.75), KernelRow("add", 1, 1_000_000, 0.25))
    profile = Profile(rows, runs=1, dropped=0)
    assert (profile.launches, profile.total_ns) == (3, 4_000_000)
    assert rows[0].mean_ns == 1_500_000
    lines = str(profile).splitlines()
    assert lines[1].split() == ["conv2d", "3000.0", "75.0%", "2"]
    assert lines[-1].split() == ["all", "4000.0", "3"]


def test_a_profile_of_nothing_has_no_rows_and_no_share():
    profile = Profile((), runs=1, dropped=2)
    assert (profile.launches, profile.total_ns) == (0, 0)
    assert str(profile).splitlines()[-1] == "2 launches had no usable times"
