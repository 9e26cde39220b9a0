"""The bytes of constant expressions, vectors among them, for program-scope data."""

from __future__ import annotations

from clsim.clc import constants, ir
from clsim.clc.constants import Number
from clsim.clc.types import Pointer, Scalar, Vector


class NotConstant(Exception):
    """The expression has no value at compile time."""


def constant_bytes(value: ir.Expr) -> bytes:
    """The value's bytes, little-endian; a vector of three gives three components. Raises NotConstant."""
    type_ = value.type
    if isinstance(type_, Pointer):
        if isinstance(value, ir.Const) and value.value == 0:
            return bytes(8)
        raise NotConstant
    elem = type_.elem if isinstance(type_, Vector) else type_
    if not isinstance(elem, Scalar):
        raise NotConstant
    return b"".join(constants.to_bytes(item, elem) for item in components(value))


def components(value: ir.Expr) -> list[Number]:
    """The components of a constant; a scalar has one."""
    type_ = value.type
    if isinstance(value, ir.Const):
        return [value.value]
    elem = type_.elem if isinstance(type_, Vector) else type_
    if not isinstance(elem, Scalar):
        raise NotConstant
    if isinstance(value, ir.Build):
        out = [item for part in value.parts for item in components(part)]
        return out * value.type.width if len(out) == 1 else out
    if isinstance(value, ir.Extract):
        whole = components(value.a)
        return [whole[i] for i in value.indices]
    if isinstance(value, ir.Unary):
        return [constants.unary(value.op, elem, item) for item in components(value.a)]
    if isinstance(value, ir.Convert) and not value.saturate and not value.rounding:
        return [constants.convert(item, elem) for item in components(value.a)]
    if isinstance(value, ir.Cond):
        return components(value.a if components(value.test)[0] else value.b)
    if isinstance(value, (ir.Binary, ir.Compare)):
        return _pairwise(value, elem)
    raise NotConstant


def _pairwise(value: ir.Binary | ir.Compare, elem: Scalar) -> list[Number]:
    out: list[Number] = []
    for a, b in zip(components(value.a), components(value.b), strict=True):
        if isinstance(value, ir.Compare):
            truth = constants.compare(value.op, a, b)
            out.append(-int(truth) if isinstance(value.type, Vector) else truth)
            continue
        result = constants.binary(value.op, elem, a, b)
        if result is None:
            raise NotConstant
        out.append(result)
    return out
