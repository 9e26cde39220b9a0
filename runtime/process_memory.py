"""How much memory this process has to itself."""

from __future__ import annotations

from pathlib import Path

_ROLLUP = Path("/proc/self/smaps_rollup")  # Linux 4.14 and later


def private_bytes() -> int | None:
    """Bytes that would be free if the process ended; None where neither Linux nor psutil tells.

    Not the resident set size: that counts pages which are shared with other processes, too.
    """
    try:
        text = _ROLLUP.read_text(encoding="ascii")
    except OSError:
        return _by_psutil()
    # Private_Hugetlb is left out: nothing here asks for huge pages of that kind.
    return sum(
        int(line.split()[1]) * 1024
        for line in text.splitlines()
        if line.startswith(("Private_Clean:", "Private_Dirty:"))
    )


def _by_psutil() -> int | None:
    try:
        import psutil
    except ImportError:
        return None
    return int(psutil.Process().memory_full_info().uss)
