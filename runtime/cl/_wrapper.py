"""What the wrappers of both implementations share: one reference, and what is refused once it is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from runtime.cl.codes import ErrorCode
from runtime.cl.interface import CLError, CLObject

if TYPE_CHECKING:
    from typing_extensions import Buffer as HostMemory

_STANDARD_NAMES = {"queue": "CommandQueue", "buffer": "MemObject", "user event": "Event"}


class Wrapper(CLObject):
    """A wrapper of the implementation's object in `_raw`.

    It owns one reference, or is `_borrowed`: then the object it was got from does, and it cannot be
    released. Subclasses say what `_kind` they are and which code means a released one.
    """

    __slots__ = ("_borrowed", "_raw")

    _raw: Any
    _borrowed: bool
    _kind: ClassVar[str]
    _invalid: ClassVar[ErrorCode]

    def live(self, routine: str, code: ErrorCode | None = None) -> Any:
        """The implementation's object; raises `code` (the type's own if None) where it was released."""
        if self._raw is None:
            raise self.used_after_release(routine, code)
        return self._raw

    def used_after_release(self, routine: str, code: ErrorCode | None = None) -> CLError:
        return CLError(code or self._invalid, routine, f"this {self._kind} was released")

    def check_release(self) -> None:
        """Raises the type's code where this wrapper has no reference to give up."""
        routine = f"clRelease{_STANDARD_NAMES.get(self._kind, self._kind.capitalize())}"
        if self.released:
            raise self.used_after_release(routine)
        if self._borrowed:
            reason = f"this {self._kind} is borrowed from the object it was got from; retain it to keep it"
            raise CLError(self._invalid, routine, reason)

    @property
    def native(self) -> Any:
        return self.live("native")

    @property
    def released(self) -> bool:
        return self._raw is None

    def __repr__(self) -> str:
        where = "released" if self.released else f"at {self.handle:#x}"
        return f"<{type(self).__module__.rpartition('.')[2].strip('_')} {self._kind} {where}>"


def at_least(value: int, lowest: int, what: str, routine: str, code: ErrorCode) -> None:
    """Raises `code` where `value` is below `lowest`."""
    if value < lowest:
        raise CLError(code, routine, f"{what} is {value}, but must be {lowest} or more")


def host_view(memory: HostMemory, routine: str, *, writable: bool = False) -> memoryview:
    """A view of host memory.

    Raises TypeError for what is none, BufferError where it is not C-contiguous, or is to be written and
    cannot.
    """
    view = memoryview(memory)
    if not view.c_contiguous:
        raise BufferError(f"{routine}: the host memory is not C-contiguous")
    if writable and view.readonly:
        raise BufferError(f"{routine}: the host memory is read-only, but is to be written")
    return view
