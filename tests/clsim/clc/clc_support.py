"""What the compiler's tests share: compiling a snippet, and looking at what came out."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from clsim.clc import Target, compile_source, ir
from clsim.clc.verify import verify
from clsim.clc.walk import expressions, statements, subexpressions

FULL = Target(
    "tests",
    extensions=frozenset(
        {
            "cl_khr_fp64",
            "cl_khr_byte_addressable_store",
            "cl_khr_global_int32_base_atomics",
            "cl_khr_int64_base_atomics",
            "cl_khr_int64_extended_atomics",
        }
    ),
)
PLAIN = Target("plain")
HALF = Target("half", extensions=frozenset({"cl_khr_fp16"}))

KERNEL = (
    "kernel void k(global float *g, global int *ip, global uchar4 *u4, global float4 *f4, global int4 *i4,"
    " int n) {%s}"
)


@dataclass
class Message:
    line: int
    column: int
    severity: str
    text: str


_MESSAGE = re.compile(r"^(\S+?):(\d+):(\d+): (error|warning|note): (.*)$", re.MULTILINE)


def module_of(source: str, options: str = "", target: Target = FULL, **kwargs: Any) -> ir.Module:
    """Compile, which must succeed, and check the rules of the IR."""
    made = compile_source(source, options, target=target, **kwargs)
    assert made.module is not None, made.log or made.option_error
    verify(made.module)
    return made.module


def kernel_of(body: str, options: str = "", target: Target = FULL) -> ir.Function:
    """The kernel with this body and the parameters of KERNEL."""
    return module_of(KERNEL % body, options, target).functions["k"]


def messages(source: str, options: str = "", target: Target = FULL, **kwargs: Any) -> list[Message]:
    """What the compiler has to say, in order."""
    log = compile_source(source, options, target=target, **kwargs).log
    return [Message(int(m[2]), int(m[3]), m[4], m[5]) for m in _MESSAGE.finditer(log)]


def error_of(source: str, options: str = "", target: Target = FULL, **kwargs: Any) -> str:
    """The first error's text; '' if the program compiles."""
    return next((m.text for m in messages(source, options, target, **kwargs) if m.severity == "error"), "")


def body_error(body: str, target: Target = FULL) -> str:
    return error_of(KERNEL % body, target=target)


def constant_bytes(declaration: str, target: Target = FULL, options: str = "") -> bytes:
    """The bytes of the last program-scope constant of a program."""
    data = module_of(declaration, options, target).constants[-1].initial
    assert data is not None
    return data


def values(expression: str, code: str = "i", target: Target = FULL, options: str = "") -> tuple[Any, ...]:
    """A brace list of constant expressions, as the numbers they come to; `code` as in `struct`."""
    name = {"i": "int", "I": "uint", "q": "long", "Q": "ulong", "f": "float", "d": "double", "b": "char",
            "B": "uchar", "h": "short", "H": "ushort"}[code]  # fmt: skip
    data = constant_bytes(f"constant {name} x[] = {expression};", target, options)
    return struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data)


def every_statement(function: ir.Function) -> list[ir.Statement]:
    return list(statements(function.body))


def every_expression(function: ir.Function) -> Iterator[ir.Expr]:
    for statement in statements(function.body):
        for value in expressions(statement):
            yield from subexpressions(value)


def found(function: ir.Function, kind: type) -> list[Any]:
    """All statements or expressions of one class."""
    of_statements = [s for s in every_statement(function) if isinstance(s, kind)]
    return of_statements or [e for e in every_expression(function) if isinstance(e, kind)]
