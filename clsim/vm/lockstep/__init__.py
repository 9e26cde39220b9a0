"""The lockstep tier: a kernel becomes one Python function that moves all work-items of a chunk at once.

`lower` turns the compiler's form into a graph of scalar values, `analyse` finds on which lane axes each
varies, `schedule` gives each its place, and `emit` writes the Python code.
"""

from __future__ import annotations
