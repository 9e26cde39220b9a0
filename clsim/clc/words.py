"""The words of the language: keywords, type names, qualifiers (OpenCL C 6.1.9, 6.3)."""

from __future__ import annotations

from clsim.clc.types import (
    BOOL,
    CHAR,
    DOUBLE,
    FLOAT,
    HALF,
    INT,
    LONG,
    SCALARS,
    SHORT,
    UCHAR,
    UINT,
    ULONG,
    USHORT,
    VOID,
    Opaque,
    Scalar,
    Type,
    Vector,
    vector,
)  # fmt: skip

WIDTHS = (2, 3, 4, 8, 16)

VECTOR_NAMES: dict[str, Vector] = {
    f"{name}{width}": vector(scalar, width)
    for name, scalar in SCALARS.items()
    if scalar is not BOOL
    for width in WIDTHS
}

EVENT = Opaque("event_t")
SAMPLER = Opaque("sampler_t")
OPAQUES: dict[str, Opaque] = {
    "event_t": EVENT,
    "sampler_t": SAMPLER,
    **{
        name: Opaque(name)
        for name in (
            "image1d_t", "image1d_array_t", "image1d_buffer_t", "image2d_t", "image2d_array_t",
            "image2d_depth_t", "image2d_array_depth_t", "image2d_msaa_t", "image2d_array_msaa_t",
            "image2d_msaa_depth_t", "image2d_array_msaa_depth_t", "image3d_t", "queue_t", "ndrange_t",
            "clk_event_t", "reserve_id_t", "cl_mem_fence_flags",
        )
    },
}  # fmt: skip
del OPAQUES["cl_mem_fence_flags"]

SCALAR_ALIASES: dict[str, Scalar] = {
    "size_t": ULONG, "ptrdiff_t": LONG, "intptr_t": LONG, "uintptr_t": ULONG,
    "uchar": UCHAR, "ushort": USHORT, "uint": UINT, "ulong": ULONG, "cl_mem_fence_flags": UINT,
    "memory_order": INT, "memory_scope": INT,
}  # fmt: skip

SINGLE_WORD_TYPES: dict[str, Type] = {**VECTOR_NAMES, **SCALAR_ALIASES, **OPAQUES}
"""Types of one word; the C keywords that combine ('unsigned', 'int' ...) are in `COMBINATIONS`."""

_COMBINATIONS: dict[Type, str] = {
    VOID: "void",
    BOOL: "bool|_Bool",
    CHAR: "char|signed char",
    UCHAR: "unsigned char",
    SHORT: "short|short int|signed short|signed short int",
    USHORT: "unsigned short|unsigned short int",
    INT: "int|signed|signed int",
    UINT: "unsigned|unsigned int",
    LONG: "long|long int|signed long|signed long int|long long|long long int|signed long long"
    "|signed long long int",
    ULONG: "unsigned long|unsigned long int|unsigned long long|unsigned long long int",
    HALF: "half",
    FLOAT: "float",
    DOUBLE: "double",
}
COMBINATIONS: dict[tuple[str, ...], Type] = {
    tuple(sorted(spelling.split())): type_
    for type_, text in _COMBINATIONS.items()
    for spelling in text.split("|")
}
COMBINING = frozenset(word for key in COMBINATIONS for word in key)

SPACES = {
    f"{lead}{name}": name
    for name in ("global", "local", "constant", "private", "generic")
    for lead in ("", "__")
}
del SPACES["generic"]
ACCESS = {f"{lead}{name}": name for name in ("read_only", "write_only", "read_write") for lead in ("", "__")}
QUALIFIERS = {
    "const": "const", "__const": "const", "volatile": "volatile", "__volatile__": "volatile",
    "__volatile": "volatile",
    "restrict": "restrict", "__restrict": "restrict", "__restrict__": "restrict",
    "inline": "inline", "__inline": "inline", "__inline__": "inline",
    "kernel": "kernel", "__kernel": "kernel",
    "static": "static", "extern": "extern", "typedef": "typedef", "register": "register", "auto": "auto",
    **ACCESS,
}  # fmt: skip
TYPEOF = frozenset({"typeof", "__typeof", "__typeof__"})

RESERVED = {
    "goto": "not supported by clsim yet",
    "asm": "not allowed in OpenCL C",
    "__asm__": "not allowed in OpenCL C",
    "__asm": "not allowed in OpenCL C",
    "_Complex": "not allowed in OpenCL C",
    "_Imaginary": "not allowed in OpenCL C",
    "_Thread_local": "not allowed in OpenCL C",
    "_Atomic": "not supported by clsim yet",
    "_Generic": "not allowed in OpenCL C",
    **{
        f"atomic_{name}": "not supported by clsim yet (C11 atomics)"
        for name in (
            "int", "uint", "long", "ulong", "float", "double", "flag", "size_t", "ptrdiff_t", "intptr_t",
            "uintptr_t",
        )
    },
}  # fmt: skip

TYPE_STARTERS = frozenset(
    {
        *SINGLE_WORD_TYPES, *COMBINING, *SPACES, *QUALIFIERS, *TYPEOF, "struct", "union", "enum",
        "__attribute__", "__attribute", "__extension__",
    }
) | (frozenset(RESERVED) - {"goto", "asm", "__asm", "__asm__", "_Generic"})  # fmt: skip
"""Words with which a declaration or a type name may begin."""

KEYWORDS = TYPE_STARTERS | frozenset(
    {
        "if", "else", "for", "while", "do", "switch", "case", "default", "break", "continue", "return",
        "goto", "sizeof", "__alignof__", "__alignof", "_Alignof", "vec_step", "asm", "__asm", "__asm__",
        "_Generic", "_Static_assert",
    }
)  # fmt: skip
