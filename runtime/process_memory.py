"""How much memory this process has to itself."""

from __future__ import annotations

from pathlib import Path

_ROLLUP = Path("/proc/self/smaps_rollup")  # Linux 4.14 and later


def private_bytes() -> int | None:
    """Bytes that the process wrote and nobody shares; None where neither Linux nor psutil tells.

    Not the resident set size, which counts pages shared with other processes too. Nor clean private pages:
    those of a library's file are shared, and become private when the last other process that uses the
    library ends: the process would seem to grow by megabytes at a moment when it did nothing.
    """
    try:
        text = _ROLLUP.read_text(encoding="ascii")
    except OSError:
        return _by_psutil()
    # Private_Hugetlb is left out: nothing here asks for huge pages of that kind.
    return sum(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Private_Dirty:"))


def _by_psutil() -> int | None:
    try:
        import psutil
    except ImportError:
        return None
    return int(psutil.Process().memory_full_info().uss)
