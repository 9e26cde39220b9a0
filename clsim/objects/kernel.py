"""A kernel object: a function of a program, and the argument values of its next launch.

The values are captured when a launch is enqueued. A kernel does not keep its memory arguments alive
(section 5.9.2): a buffer that is only a kernel's argument ends when it is released.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from clsim.ledger import Site
from clsim.objects.base import Counted
from clsim.objects.memory import Buffer
from clsim.spec import CL_INVALID_KERNEL

if TYPE_CHECKING:
    from clsim.clc.ir import Function, Parameter
    from clsim.objects.context import Context
    from clsim.objects.launch import Captured, Plan
    from clsim.objects.program import Program


class ParameterKind(Enum):
    """What a kernel parameter takes."""

    BUFFER = "a buffer"
    LOCAL = "a size of local memory"
    VALUE = "a value"
    IMAGE = "an image"
    SAMPLER = "a sampler"


class ParameterInfo(NamedTuple):
    """A parameter as `clSetKernelArg` sees it: `size` is that of a value, in bytes."""

    name: str
    kind: ParameterKind
    size: int
    type_name: str
    may_read: bool
    may_write: bool
    constant: bool


class LocalSize(NamedTuple):
    """The value of a `__local` argument."""

    size: int


class Unset:
    """The value of an argument that was never set."""

    __slots__ = ()


UNSET = Unset()

Value: TypeAlias = "Buffer | LocalSize | bytes | Unset | None"


def describe(parameter: Parameter) -> ParameterInfo:
    """What a parameter of a compiled kernel takes."""
    from clsim.clc.types import Opaque, Pointer, Space

    type_ = parameter.var.type
    size = 8
    if parameter.record is not None:
        kind = ParameterKind.VALUE
        size = parameter.record.size
    elif isinstance(type_, Pointer):
        kind = ParameterKind.LOCAL if type_.space is Space.LOCAL else ParameterKind.BUFFER
    elif isinstance(type_, Opaque):
        kind = ParameterKind.SAMPLER if type_.name == "sampler_t" else ParameterKind.IMAGE
    else:
        kind = ParameterKind.VALUE
        size = type_.size
    return ParameterInfo(
        parameter.var.name,
        kind,
        size,
        parameter.type_name,
        parameter.may_read,
        parameter.may_write,
        isinstance(type_, Pointer) and type_.space is Space.CONSTANT,
    )


class Kernel(Counted):
    """A kernel object (section 5.9). It holds its program, and nothing of its arguments.

    `setters` are the threads that set arguments since the last launch, and where (see
    `clsim.checks.threads`); `plans` the index spaces it was launched over, checked.
    """

    __slots__ = (
        "arguments",
        "captured",
        "function",
        "name",
        "parameters",
        "plans",
        "program",
        "setters",
        "version",
    )

    kind = "kernel"
    invalid = CL_INVALID_KERNEL

    def __init__(self, program: Program, site: Site, function: Function) -> None:
        super().__init__(program.platform, site)
        self.program = program
        program.hold()
        program.attached += 1
        self.function = function
        self.name = function.name
        self.parameters = tuple(describe(parameter) for parameter in function.parameters)
        self.arguments: list[Value] = [UNSET] * len(self.parameters)
        self.version = 0
        """Counts changes of arguments."""
        self.captured: tuple[int, int, Plan, Captured] | None = None
        """The last capture of the arguments: their version, the platform's epoch, the plan it is for."""
        self.setters: dict[int, Site] = {}
        self.plans: dict[tuple[object, ...], Plan] = {}

    @property
    def context(self) -> Context:
        return self.program.context

    @property
    def label(self) -> str:
        return f"kernel '{self.name}' #{self.number}"

    def _released(self) -> None:
        self.platform.epoch += 1

    def holds_object(self, item: Counted) -> bool:
        return item is self.program

    def end(self) -> None:
        super().end()
        self.program.attached -= 1
        self.program.drop()
