"""Commands, the graph of their dependencies, the scheduler and the virtual clock."""

from __future__ import annotations
