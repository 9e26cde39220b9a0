"""What the objects of the simulated implementation share: one client reference of a clsim object."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, ClassVar, NamedTuple, cast

from clsim import spec
from runtime.cl._wrapper import Wrapper
from runtime.cl.codes import ErrorCode
from runtime.cl.interface import CLError, Device, Event


class Calls(NamedTuple):
    """clsim's calls for one type of object."""

    retain: Callable[[Any], None]
    release: Callable[[Any], None]
    info: Callable[[Any, int], Any]
    count_query: int


class Simulated(Wrapper):
    """A wrapper whose `_raw` is a clsim object of which it owns a client reference.

    It leads to its object also after release: clsim itself refuses an object whose last reference was given
    up, and its finding names both places in the program.
    """

    __slots__ = ("_gone",)

    _calls: ClassVar[Calls]

    def __init__(self, raw: Any, *, borrowed: bool = False) -> None:
        self._raw = raw
        self._borrowed = borrowed
        self._gone = False

    def live(self, routine: str, code: ErrorCode | None = None) -> Any:
        raw = self._raw
        if self._gone and raw.references > 0:
            raise self.used_after_release(routine, code)
        return raw

    @property
    def native(self) -> Any:
        if self._gone:
            raise self.used_after_release("native")
        return self._raw

    @property
    def handle(self) -> int:
        if self._gone:
            raise self.used_after_release("handle")
        return id(self._raw)

    @property
    def refcount(self) -> int:
        return cast(int, self.info(self._calls.count_query))

    def info(self, query: int) -> Any:
        """The answer to the type's query of that number."""
        ask = self._calls.info
        with calling():
            return ask(self.live(ask.__name__), query)

    @property
    def released(self) -> bool:
        return self._gone

    def add_reference(self) -> Any:
        """Retains the object for another wrapper; the object."""
        retain = self._calls.retain
        with calling():
            raw = self.live(retain.__name__)
            retain(raw)
        return raw

    def release(self) -> None:
        if self._borrowed:
            self.check_release()
        release = self._calls.release
        with calling():
            release(self.live(release.__name__))
        self._gone = True

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        # Collected without a release. What is left when the interpreter ends is no matter of collection.
        if not self._gone and not self._borrowed and not is_finalizing():
            self._raw.platform.forget(self._raw)


class calling:  # noqa: N801 - reads as a word of a `with` statement
    """Turns clsim's errors of the block into the interface's."""

    __slots__ = ()

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, spec.CLError):
            raise translated(error) from None


def translated(error: spec.CLError) -> CLError:
    """clsim's error as the interface's."""
    return CLError(error.code, error.routine, error.reason)


def wait_list(events: Iterable[Event], routine: str, code: ErrorCode) -> list[Any]:
    """The clsim events of a wait list; `code` is the routine's for a released one.

    Raises TypeError for what is no event of this implementation.
    """
    raws = []
    for event in events:
        if not isinstance(event, Simulated) or not isinstance(event, Event):
            message = f"{routine}: a wait list holds events of the same implementation, not {event!r}"
            raise TypeError(message)
        raws.append(event.live(routine, code))
    return raws


def raw_device(device: Device) -> Any:
    """What clsim takes for a device; clsim refuses one that is not its own."""
    return device.native
