"""Call sites: where in the user's program an object was made or a command enqueued.

A site is found by walking the stack past the frames of clsim, of the runtime and of the binding. The walk
compares file names that are already hashed and makes nothing but one dictionary look-up a frame, so that it
can be done for every command.
"""

from __future__ import annotations

import os
import sys
from types import CodeType, FrameType

_PACKAGES = tuple(
    os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), package)
    + os.sep
    for package in ("clsim", "runtime")
)
_PROGRAMS = tuple(os.path.join(package, "demo") + os.sep for package in _PACKAGES)  # users like any other
_BINDING = f"{os.sep}pyopencl{os.sep}"


class Site:
    """A place in a program: file, line and function. Equal places are one object within a platform."""

    __slots__ = ("file", "function", "line")

    def __init__(self, file: str, line: int, function: str) -> None:
        self.file = file
        self.line = line
        self.function = function

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}"

    def __repr__(self) -> str:
        return f"Site({self})"


UNKNOWN = Site("<unknown>", 0, "<unknown>")
"""The site of a call that did not come from Python, or of any call where sites are off."""

# Shared by all platforms: whether a file belongs to the machinery between the program and the simulator.
_internal: dict[str, bool] = {}


def _is_internal(file: str) -> bool:
    known = _internal.get(file)
    if known is None:
        known = (file.startswith(_PACKAGES) and not file.startswith(_PROGRAMS)) or _BINDING in file
        _internal[file] = known
    return known


class SiteTable:
    """The sites of one platform. Its size is that of the program's text, not of its run."""

    __slots__ = ("_by_code", "enabled")

    def __init__(self, enabled: bool = True) -> None:
        self.enabled = enabled
        # Keyed by id, because hashing a code object hashes all it contains; the value keeps it alive.
        self._by_code: dict[int, tuple[CodeType, dict[int, Site]]] = {}

    def here(self, depth: int = 1) -> Site:
        """The innermost frame outside clsim, the runtime and the binding, `depth` frames up or more."""
        if not self.enabled:
            return UNKNOWN
        frame: FrameType | None = sys._getframe(depth)
        outermost = frame
        internal = _internal
        while frame is not None:
            file = frame.f_code.co_filename
            known = internal.get(file)
            if known is None:
                known = _is_internal(file)
            if not known:
                return self._site(frame)
            outermost = frame
            frame = frame.f_back
        # All of the stack is ours (a command of the project itself): the outermost frame says most.
        return UNKNOWN if outermost is None else self._site(outermost)

    def _site(self, frame: FrameType) -> Site:
        code = frame.f_code
        entry = self._by_code.get(id(code))
        if entry is None:
            entry = (code, {})
            self._by_code[id(code)] = entry
        sites = entry[1]
        site = sites.get(frame.f_lasti)
        if site is None:
            line = frame.f_lineno
            # Several instructions of one line are one site.
            site = next((s for s in sites.values() if s.line == line), None)
            if site is None:
                name = getattr(code, "co_qualname", code.co_name)
                site = Site(code.co_filename, line or 0, name)
            sites[frame.f_lasti] = site
        return site
