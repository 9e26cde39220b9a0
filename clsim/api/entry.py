"""How an entry point is declared: its argument checks stand beside its signature.

    @entry(live("queue", CommandQueue), live("buffer", Buffer), same_context("queue", "buffer"))
    def clEnqueueFillBuffer(queue, buffer, ...): ...

Before the body runs, in this order: the call is counted and an injected fault raised, the clock moves on by
the cost of a call, and the checks run as they are declared. The standard fixes no precedence between errors;
ours is the order of the checks: handles, contexts, then values, and the wait list last. A check
or a body that raises changes nothing.

Everything runs under the engine's lock; the scheduler lets go of it while commands, callbacks and waits run.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

from clsim.checks import lifetime
from clsim.objects import CommandQueue, Device, Event, Platform
from clsim.objects.base import Counted
from clsim.spec import (
    CL_INVALID_CONTEXT,
    CL_INVALID_DEVICE,
    CL_INVALID_EVENT_WAIT_LIST,
    CL_INVALID_OPERATION,
    CL_INVALID_PLATFORM,
    CLError,
    SimulatorError,
)
from clsim.spec.entry_points import SINCE

P = ParamSpec("P")
R = TypeVar("R")


class Check(NamedTuple):
    """A test of some arguments: `test(routine, *values)` raises CLError."""

    names: tuple[str, ...]
    test: Callable[..., None]


def require_live(routine: str, name: str, value: object, cls: type[Counted], code: int = 0) -> None:
    """Raises the type's code (or `code`) unless `value` is an object of it with a client reference left."""
    if not isinstance(value, cls):
        what = "NULL" if value is None else f"a {type(value).__name__}"
        raise CLError(code or cls.invalid, routine, f"{name} is {what}, not a {cls.kind}")
    if value.references <= 0:
        reason = lifetime.use_after_release(value, routine)
        raise CLError(code or cls.invalid, routine, reason)


def live(name: str, cls: type[Counted]) -> Check:
    """The argument is an object of this type that was not released."""

    def test(routine: str, value: object) -> None:
        if type(value) is not cls or value.references <= 0:
            require_live(routine, name, value, cls)

    return Check((name,), test)


def device(name: str, optional: bool = False) -> Check:
    """The argument is a device."""

    def test(routine: str, value: object) -> None:
        if not isinstance(value, Device) and not (optional and value is None):
            what = "NULL" if value is None else f"a {type(value).__name__}"
            raise CLError(CL_INVALID_DEVICE, routine, f"{name} is {what}, not a device")

    return Check((name,), test)


def a_platform(name: str) -> Check:
    """The argument is a platform."""

    def test(routine: str, value: object) -> None:
        if not isinstance(value, Platform):
            what = "NULL" if value is None else f"a {type(value).__name__}"
            raise CLError(CL_INVALID_PLATFORM, routine, f"{name} is {what}, not a platform")

    return Check((name,), test)


def same_context(first: str, *others: str) -> Check:
    """All arguments are of one context."""

    def test(routine: str, value: Any, *more: Any) -> None:
        for name, other in zip(others, more, strict=True):
            if other.context is not value.context:
                raise CLError(
                    CL_INVALID_CONTEXT,
                    routine,
                    f"{first} is of {value.context.label}, {name} of {other.context.label}",
                )

    return Check((first, *others), test)


def wait_list(name: str = "event_wait_list", queue: str = "queue") -> Check:
    """The argument is None or a sequence of live events of the queue's context; empty is none."""

    def test(routine: str, events: Sequence[object] | None, queue_: CommandQueue) -> None:
        if not events:
            return
        if not isinstance(events, (list, tuple)):
            what = type(events).__name__
            raise CLError(CL_INVALID_EVENT_WAIT_LIST, routine, f"{name} is a {what}, not a list or tuple")
        for index, event in enumerate(events):
            if type(event) is not Event or event.references <= 0:
                require_live(routine, f"{name}[{index}]", event, Event, CL_INVALID_EVENT_WAIT_LIST)
                continue
            if event.context is not queue_.context:
                raise CLError(
                    CL_INVALID_CONTEXT,
                    routine,
                    f"{name}[{index}] is of {event.context.label}, the queue of {queue_.context.label}",
                )

    return Check((name, queue), test)


def entry(
    *checks: Check, subject: Callable[..., object] | None = None, name: str = ""
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declares an entry point. Its first argument, or what `subject` finds, leads to the platform.

    `subject` is called with all arguments in order. `name` is the entry point's, where the
    function has another.
    """

    def declare(body: Callable[P, R]) -> Callable[P, R]:
        routine = name or body.__name__
        since = SINCE.get(routine, (1, 0))
        signature = inspect.signature(body)
        names = list(signature.parameters)
        count = len(names)
        tests = [(check.test, tuple(names.index(name) for name in check.names)) for check in checks]
        defaults = tuple(p.default for p in signature.parameters.values())

        def arrange(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
            """All arguments by position, as the checks want them."""
            if kwargs:
                bound = signature.bind(*args, **kwargs)
                bound.apply_defaults()
                return tuple(bound.arguments.values())
            missing = defaults[len(args) :]
            if inspect.Parameter.empty in missing:
                signature.bind(*args)
            return args + missing

        def run_checks(values: tuple[Any, ...]) -> None:
            for test, indices in tests:
                if len(indices) == 1:
                    test(routine, values[indices[0]])
                else:
                    test(routine, *[values[i] for i in indices])

        @wraps(body)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            values = args if not kwargs and len(args) == count else arrange(args, kwargs)
            first = values[0] if subject is None else subject(*values)
            platform = getattr(first, "platform", first)
            if type(platform) is not Platform:
                run_checks(values)
                raise SimulatorError(f"{routine}: {first!r} leads to no platform and no check refused it")
            engine = platform.engine
            with engine.lock:
                if since > platform.version:
                    raise _too_new(platform, routine)
                if platform.faults:
                    inject(platform, routine)
                engine.now_ns += engine.costs.call_ns
                try:
                    run_checks(values)
                    return body(*values)  # type: ignore[call-arg]
                finally:
                    if engine.forgotten or engine.due:
                        engine.settle()

        return call

    return declare


def _too_new(platform: Platform, routine: str) -> CLError:
    """A loader would not find the entry point; the standard has no code for a call of it."""
    has, needs = (".".join(map(str, version)) for version in (platform.version, SINCE[routine]))
    return CLError(CL_INVALID_OPERATION, routine, f"came with OpenCL {needs}, the device has {has}")


def inject(platform: Platform, routine: str) -> None:
    """Counts a call, and raises where a fault is to be injected at it."""
    ordinal = platform.calls.get(routine, 0) + 1
    platform.calls[routine] = ordinal
    code = platform.faults.get((routine, ordinal))
    if code is not None:
        raise CLError(code, routine, f"injected fault at call {ordinal}")
