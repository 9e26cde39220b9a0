"""Plain Python numbers as bytes of the type that a kernel parameter declares."""

from __future__ import annotations

import struct

from runtime.cl.codes import ErrorCode
from runtime.cl.interface import CLError

_FORMATS = {
    # OpenCL C's scalar types (section 6.3.1 of the C language) as formats of `struct`.
    "bool": "?",
    "char": "b",
    "uchar": "B",
    "unsigned char": "B",
    "short": "h",
    "ushort": "H",
    "unsigned short": "H",
    "int": "i",
    "uint": "I",
    "unsigned int": "I",
    "unsigned": "I",
    "long": "q",
    "ulong": "Q",
    "unsigned long": "Q",
    "half": "e",
    "float": "f",
    "double": "d",
}


def packed_as(declared: str, number: int | float, where: str) -> struct.Struct:
    """How to pack for a parameter of the type `declared`; CL_INVALID_ARG_VALUE for one that is no scalar."""
    format_ = _FORMATS.get(declared)
    if format_ is None:
        reason = (
            f"{where} is the plain number {number!r}, but the parameter's type is {declared}: "
            "give bytes, a NumPy scalar or a ctypes value"
        )
        raise CLError(ErrorCode.CL_INVALID_ARG_VALUE, "clSetKernelArg", reason)
    return struct.Struct(f"={format_}")


def pack(packer: struct.Struct, number: int | float, where: str) -> bytes:
    """A number's bytes; CL_INVALID_ARG_VALUE where it does not fit the type."""
    try:
        return packer.pack(number)
    except (struct.error, OverflowError) as error:
        reason = f"{where} is {number!r}: {error}"
        raise CLError(ErrorCode.CL_INVALID_ARG_VALUE, "clSetKernelArg", reason) from None
