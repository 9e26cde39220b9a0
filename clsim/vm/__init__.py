"""The machine that runs compiled kernels on NumPy, all work-items of a chunk in lockstep."""

from __future__ import annotations
