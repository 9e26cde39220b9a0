"""What the objects of the pyopencl implementation share: one owned reference, errors, wait lists.

pyopencl's objects give up their reference when Python destroys them, and most have no `release`. So a
wrapper here keeps the only Python reference of its pyopencl object, and giving up the one gives up the
other at once. For that to hold while an exception travels (its traceback keeps local variables alive), no
function keeps a pyopencl object in a local variable across a call that may fail.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, ClassVar, Generic, TypeVar, cast

import pyopencl as cl

from runtime.cl._wrapper import Wrapper
from runtime.cl.codes import ErrorCode
from runtime.cl.interface import CLError, Event

T = TypeVar("T")

_STANDARD_ROUTINES = {
    # pyopencl names some routines after its own classes and functions.
    "Context": "clCreateContext",
    "CommandQueue": "clCreateCommandQueueWithProperties",
    "UserEvent": "clCreateUserEvent",
    "create_buffer": "clCreateBuffer",
    "Buffer": "clCreateBuffer",
    "create_program_with_binary": "clCreateProgramWithBinary",
    "enqueue_nd_range_kernel": "clEnqueueNDRangeKernel",
}


class Owned(Wrapper):
    """A wrapper whose `_raw` is a pyopencl object that owns a reference; None once released."""

    __slots__ = ()

    _count_query: ClassVar[int]
    _count_routine: ClassVar[str]

    def __init__(self, raw: Any, *, borrowed: bool = False) -> None:
        self._raw = raw
        self._borrowed = borrowed

    @property
    def handle(self) -> int:
        return cast(int, self.live("handle").int_ptr)

    @property
    def refcount(self) -> int:
        with calling(self._count_routine):
            return cast(int, self.live(self._count_routine).get_info(self._count_query))

    def release(self) -> None:
        self.check_release()
        self._raw = None


class WeakMembers(Generic[T]):
    """Objects that are not kept alive by being listed; may be used from several threads."""

    __slots__ = ("_members",)

    def __init__(self) -> None:
        self._members: weakref.WeakValueDictionary[int, T] = weakref.WeakValueDictionary()

    def add(self, member: T) -> None:
        self._members[id(member)] = member

    def discard(self, member: T) -> None:
        self._members.pop(id(member), None)

    def alive(self) -> list[T]:
        # The references are copied in one step: other threads may add and discard meanwhile.
        return [member for reference in self._members.valuerefs() if (member := reference()) is not None]


class calling:  # noqa: N801 - reads as a word of a `with` statement
    """Turns pyopencl's errors of the block into `CLError`, with a reason made only when one is raised."""

    __slots__ = ("_reason", "_routine")

    def __init__(self, routine: str, reason: Callable[[], str] | None = None) -> None:
        self._routine = routine
        self._reason = reason

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, cl.Error):
            reason = self._reason() if self._reason is not None else ""
            raise translated(error, self._routine, reason) from None


def translated(error: cl.Error, routine: str, reason: str = "") -> CLError:
    """pyopencl's error as the interface's; `reason` stands before what pyopencl itself has to say."""
    record: Any = error.args[0] if error.args else None
    if not hasattr(record, "code"):
        return CLError(ErrorCode.CL_INVALID_VALUE, routine, str(error))
    said = str(record.what()).strip()
    named = str(record.routine())
    routine = named if named.startswith("cl") else _STANDARD_ROUTINES.get(named, routine)
    return CLError(int(record.code()), routine, ": ".join(part for part in (reason, said) if part))


def code_of(error: cl.Error) -> int:
    """The error code that pyopencl's error carries, 0 for one that carries none."""
    record: Any = error.args[0] if error.args else None
    return int(record.code()) if hasattr(record, "code") else 0


def wait_list(events: Iterable[Event], routine: str) -> list[Any] | None:
    """The pyopencl events of a wait list; None where there is none to wait for.

    Raises CL_INVALID_EVENT_WAIT_LIST for a released event, TypeError for what is no event of this
    implementation.
    """
    raws = [_waitable(event, routine, ErrorCode.CL_INVALID_EVENT_WAIT_LIST) for event in events]
    return raws or None


def _waitable(event: object, routine: str, code: ErrorCode) -> Any:
    if isinstance(event, Owned) and isinstance(event, Event):
        return event.live(routine, code)
    raise TypeError(f"{routine}: a wait list holds events of the same implementation, not {event!r}")


def events_to_wait_for(events: Iterable[Event]) -> list[Any]:
    """The pyopencl events for `clWaitForEvents`, which has a code of its own for a released one."""
    return [_waitable(event, "clWaitForEvents", ErrorCode.CL_INVALID_EVENT) for event in events]
