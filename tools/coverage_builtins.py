"""Trial calls of every built-in function of OpenCL C, for the page of coverage.

A call is compiled and prepared for the machine; what comes of it is the function's state.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from clsim import vm
from clsim.clc import Target, compile_source
from clsim.clc.builtins import TABLE, WORK_ITEM
from clsim.profiles import abilities

IMPLEMENTED, REFUSED = "implemented", "refused"

TARGET = Target(
    opencl_version=(3, 0),
    c_version=(2, 0),
    extensions=abilities.EXTENSIONS,
    features=abilities.C_FEATURES,
)

_ELEMENTS = {
    "float": ("float", "double", "half"),
    "single": ("float",),
    "int": ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong"),
    "signed": ("char", "short", "int", "long"),
    "narrow": ("char", "uchar", "short", "ushort", "int", "uint"),
    "int32": ("int", "uint"),
    "any": ("float", "double", "half", "char", "uchar", "short", "ushort", "int", "uint", "long", "ulong"),
}
_INTEGER_OF_SIZE = {"char": 1, "short": 2, "int": 4, "long": 8}
_SIZES = {
    **_INTEGER_OF_SIZE,
    **{f"u{name}": size for name, size in _INTEGER_OF_SIZE.items()},
    "half": 2,
    "float": 4,
    "double": 8,
}
_SIGNED_OF_SIZE = {size: name for name, size in _INTEGER_OF_SIZE.items()}
_WIDER = {
    "char": "short",
    "uchar": "ushort",
    "short": "int",
    "ushort": "uint",
    "int": "long",
    "uint": "ulong",
}

_POINTS = ("2", "3", "4", "8", "16")
_MODES = ("", "_rte", "_rtz", "_rtp", "_rtn")
_ATOMICS = {
    "add": "1", "sub": "1", "xchg": "1", "inc": "", "dec": "", "cmpxchg": "1, 2", "min": "1", "max": "1",
    "and": "1", "or": "1", "xor": "1",
}  # fmt: skip


def table_functions() -> Iterator[tuple[str, ...]]:
    for (family, widths, signatures), names in itertools.groupby(TABLE, TABLE.__getitem__):
        by_state: dict[str, list[str]] = {}
        for name in names:
            calls = [
                _call(name, rules, element, width)
                for element in _ELEMENTS[family]
                for width in widths
                for rules in signatures
                if width > 1 or not {"S", "I"} & set(rules)
            ]
            by_state.setdefault(_state(calls), []).append(name)
        for state, found in by_state.items():
            yield (
                ", ".join(f"`{name}`" for name in found),
                ", ".join(_ELEMENTS[family]),
                ", ".join(map(str, widths)),
                state,
            )


def _call(name: str, rules: tuple[str, ...], element: str, width: int) -> str:
    """A kernel that calls a function of the table, by its rules (see clsim/clc/builtins.py)."""
    result, *parameters = (_c_type(rule, element, width) for rule in rules)
    lines, arguments = [], []
    for number, parameter in enumerate(parameters):
        pointee = parameter.removesuffix(" *")
        lines.append(f"{pointee} a{number} = ({pointee})(1);")
        arguments.append(f"{'&' if pointee != parameter else ''}a{number}")
    return f"global {result} *out) {{ {' '.join(lines)} *out = {name}({', '.join(arguments)}); }}"


def _c_type(rule: str, element: str, width: int) -> str:
    if rule.endswith("*"):
        return _c_type(rule[:-1], element, width) + " *"
    suffix = "" if width == 1 or rule in ("S", "e", "I", "n") else str(width)
    signed = _SIGNED_OF_SIZE[_SIZES[element]]
    names = {
        "U": f"u{signed}", "J": signed, "i": "int", "I": "int", "n": "int",
        "R": "int" if width == 1 else signed, "W": _WIDER.get(element, ""),
    }  # fmt: skip
    return names.get(rule, element) + suffix


def special_functions() -> Iterator[tuple[str, str]]:
    scalars = _ELEMENTS["any"]
    types = [f"{scalar}{width}" for scalar in scalars for width in ("", *_POINTS)]

    def row(names: str, calls: Iterable[str]) -> tuple[str, str]:
        return names, _state(calls)

    for name, (_, takes_dimension, _) in WORK_ITEM.items():
        yield row(f"`{name}`", [f"global ulong *out) {{ *out = {name}({'0' if takes_dimension else ''}); }}"])
    yield row(
        "`convert_T`, `convert_T_sat`, with `_rte`, `_rtz`, `_rtp`, `_rtn`",
        (
            f"global {to} *out) {{ float{to.lstrip('abcdefghijklmnopqrstuvwxyz')} a = 1; "
            f"*out = convert_{to}{saturated}{mode}(a); }}"
            for to in types
            for saturated in (("", "_sat") if to.rstrip("0123456789") in _ELEMENTS["int"] else ("",))
            for mode in _MODES
        ),
    )
    yield row(
        "`as_T`",
        (f"global {to} *out, {to} a) {{ *out = as_{to}(as_{_unsigned_like(to)}(a)); }}" for to in types),
    )
    yield row(
        "`vload{n}`, `vstore{n}`",
        (
            f"global {scalar} *out) {{ vstore{n}(vload{n}(0, out), 1, out); }}"
            for scalar in scalars
            for n in _POINTS
        ),
    )
    yield row(
        "`vload_half{n}`, `vloada_half{n}`, `vstore_half{n}`, `vstorea_half{n}`, with rounding modes",
        (
            f"global half *out) {{ vstore{a}_half{n}{mode}(vload{a}_half{n}(0, out), 1, out); }}"
            for a, n in [("", ""), *itertools.product(("", "a"), _POINTS)]
            for mode in _MODES
        ),
    )
    yield row(
        "`shuffle`, `shuffle2`",
        [
            "global float4 *out, uint4 mask) { *out = shuffle(*out, mask); }",
            "global float4 *out, uint4 mask) { *out = shuffle2(*out, *out, mask); }",
        ],
    )
    yield row("`barrier`", ["local int *x) { barrier(CLK_LOCAL_MEM_FENCE); }"])
    yield row(
        "`work_group_barrier` (OpenCL C 2.0)", ["local int *x) { work_group_barrier(CLK_LOCAL_MEM_FENCE); }"]
    )
    for name in ("mem_fence", "read_mem_fence", "write_mem_fence"):
        yield row(f"`{name}`", [f"local int *x) {{ {name}(CLK_LOCAL_MEM_FENCE); }}"])
    yield row("`prefetch`", ["global int *x) { prefetch(x, 1); }"])
    yield row(
        "`async_work_group_copy`, `async_work_group_strided_copy`, `wait_group_events`",
        [
            "global int *x, local int *y) { event_t e = async_work_group_copy(y, x, 4, 0);"
            " e = async_work_group_strided_copy(x, y, 2, 2, e); wait_group_events(1, &e); }"
        ],
    )
    yield row("`printf`", ['global int *x) { printf("%d\\n", *x); }'])
    for prefix, types_of in (("atomic", ("int", "uint")), ("atom", ("int", "uint", "long", "ulong"))):
        yield row(
            ", ".join(f"`{prefix}_{operation}`" for operation in _ATOMICS) + f" on {', '.join(types_of)}",
            (
                f"{space} {name} *x, global {name} *out) {{ *out = {prefix}_{operation}"
                f"(x{', ' if values else ''}{values}); }}"
                for operation, values in _ATOMICS.items()
                for name in types_of
                for space in ("global", "local")
            ),
        )
    yield row(
        "`atomic_xchg` on float", ["global float *x, global float *out) { *out = atomic_xchg(x, 1.0f); }"]
    )
    yield row("`vec_step`", ["global int *out, float4 x) { *out = vec_step(x); }"])


def _unsigned_like(name: str) -> str:
    element = name.rstrip("0123456789")
    return f"u{_SIGNED_OF_SIZE[_SIZES[element]]}{name[len(element) :]}"


def _state(bodies: Iterable[str]) -> str:
    """Whether the kernels, told by what follows `kernel void name(`, compile and can be run."""
    kernels = [f"kernel void k{number}({body}" for number, body in enumerate(bodies)]
    compiled = compile_source("\n".join(kernels), "-cl-std=CL2.0", target=TARGET)
    if compiled.module is None:
        return f"{REFUSED}: {_first_error(compiled.log)}"
    try:
        for name in compiled.module.kernels:
            vm.prepare(compiled.module, name)
    except vm.NotSupported as error:
        return f"{REFUSED}: {error}"
    return IMPLEMENTED


def _first_error(log: str) -> str:
    return next(line.split("error: ", 1)[1] for line in log.splitlines() if "error: " in line)
