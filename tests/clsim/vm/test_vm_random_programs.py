"""Random kernels leave the same on both tiers, with the same faults."""

from __future__ import annotations

import numpy as np
import pytest
from random_programs import program
from vm_support import run_both


@pytest.mark.parametrize("seed", range(60))
def test_a_random_program_is_the_same_on_both_tiers(seed: int) -> None:
    in_rows = seed % 3 == 0
    random = np.random.default_rng(seed)
    values = [
        random.integers(-100, 100, 64).astype(np.int32),
        np.zeros(64 * 8, np.int32),
        np.zeros(64 * 4, np.float32),
        np.int32(random.integers(0, 9)),
    ]
    size, local = ((8, 8), (4, 4)) if in_rows else ((64,), (16,))
    run_both(program(seed, in_rows=in_rows), values, size, local)
