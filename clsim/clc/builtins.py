"""The built-in functions, as one table of names and typing rules (OpenCL C 6.15).

A row is: which element types the generic type runs over, which widths, its signatures, its names. A
signature is the result and the parameters, each a rule:

    G   the generic type            S   its element, where G is a vector
    U   unsigned, as wide as G      J   signed integer, as wide as G
    i   int, with G's width         I   int itself, where G is a vector
    R   a relational result: int for scalars, J for vectors
    W   an integer twice as wide    e   the element type           n   int
    G*, i*  a pointer to these in any address space
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from clsim.clc.rules import same_pointee, shaped, signed, unsigned
from clsim.clc.types import (
    CHAR,
    DOUBLE,
    FLOAT,
    HALF,
    INT,
    LONG,
    SHORT,
    UCHAR,
    UINT,
    ULONG,
    USHORT,
    Pointer,
    Scalar,
    Space,
    Type,
    Vector,
)  # fmt: skip

_INTS = (CHAR, UCHAR, SHORT, USHORT, INT, UINT, LONG, ULONG)
_FLOATS = (FLOAT, DOUBLE, HALF)
_FAMILIES: dict[str, tuple[Scalar, ...]] = {
    "float": _FLOATS,
    "single": (FLOAT,),
    "int": _INTS,
    "signed": (CHAR, SHORT, INT, LONG),
    "narrow": _INTS[:6],
    "int32": (INT, UINT),
    "any": (*_FLOATS, *_INTS),
}
_ALL = (1, 2, 3, 4, 8, 16)

_ROWS: tuple[tuple[str, tuple[int, ...], str, str], ...] = (
    # Math, 6.15.2
    ("float", _ALL, "G G", "acos acosh acospi asin asinh asinpi atan atanh atanpi cbrt ceil cos cosh cospi"
     " erf erfc exp exp2 exp10 expm1 fabs floor lgamma log log2 log10 log1p logb rint round rsqrt sin sinh"
     " sinpi sqrt tan tanh tanpi tgamma trunc degrees radians sign"),
    ("float", _ALL, "G G G", "atan2 atan2pi copysign fdim fmod hypot maxmag minmag nextafter pow powr"
     " remainder"),
    ("float", _ALL, "G G G | G G S", "fmax fmin"),
    ("float", _ALL, "G G G G", "fma mad"),
    ("float", _ALL, "G G i | G G I", "ldexp"),
    ("float", _ALL, "G G i", "pown rootn"),
    ("float", _ALL, "i G", "ilogb"),
    ("float", _ALL, "G U", "nan"),
    ("float", _ALL, "G G G*", "fract modf sincos"),
    ("float", _ALL, "G G i*", "frexp lgamma_r"),
    ("float", _ALL, "G G G i*", "remquo"),
    ("single", _ALL, "G G", "half_cos half_exp half_exp2 half_exp10 half_log half_log2 half_log10 half_recip"
     " half_rsqrt half_sin half_sqrt half_tan native_cos native_exp native_exp2 native_exp10 native_log"
     " native_log2 native_log10 native_recip native_rsqrt native_sin native_sqrt native_tan"),
    ("single", _ALL, "G G G", "half_divide half_powr native_divide native_powr"),
    # Integer, 6.15.3
    ("int", _ALL, "U G", "abs"),
    ("int", _ALL, "U G G", "abs_diff"),
    ("int", _ALL, "G G G", "add_sat hadd mul_hi rhadd rotate sub_sat"),
    ("int", _ALL, "G G", "clz ctz popcount"),
    ("int", _ALL, "G G G G", "mad_hi mad_sat"),
    ("narrow", _ALL, "W G U", "upsample"),
    ("int32", _ALL, "G G G G", "mad24"),
    ("int32", _ALL, "G G G", "mul24"),
    # Common, 6.15.4
    ("any", _ALL, "G G G G | G G S S", "clamp"),
    ("any", _ALL, "G G G | G G S", "max min"),
    ("float", _ALL, "G G G G | G G G S", "mix"),
    ("float", _ALL, "G G G | G S G", "step"),
    ("float", _ALL, "G G G G | G S S G", "smoothstep"),
    # Geometric, 6.15.5
    ("float", (3, 4), "G G G", "cross"),
    ("float", (1, 2, 3, 4), "e G G", "dot distance"),
    ("single", (1, 2, 3, 4), "e G G", "fast_distance"),
    ("float", (1, 2, 3, 4), "e G", "length"),
    ("single", (1, 2, 3, 4), "e G", "fast_length"),
    ("float", (1, 2, 3, 4), "G G", "normalize"),
    ("single", (1, 2, 3, 4), "G G", "fast_normalize"),
    # Relational, 6.15.6
    ("float", _ALL, "R G G", "isequal isnotequal isgreater isgreaterequal isless islessequal islessgreater"
     " isordered isunordered"),
    ("float", _ALL, "R G", "isfinite isinf isnan isnormal signbit"),
    ("signed", _ALL, "n G", "any all"),
    ("any", _ALL, "G G G G", "bitselect"),
    ("any", _ALL, "G G G J | G G G U", "select"),
)  # fmt: skip

TABLE: dict[str, tuple[str, tuple[int, ...], tuple[tuple[str, ...], ...]]] = {}
for _family, _widths, _rules, _names in _ROWS:
    for _name in _names.split():
        TABLE[_name] = (_family, _widths, tuple(tuple(rule.split()) for rule in _rules.split(" | ")))

WRITES_LAST = frozenset({"fract", "modf", "sincos", "frexp", "lgamma_r", "remquo"})
"""Functions that also write through their last argument: `ir.BuiltinCall`."""

IN_IR_AS: dict[str, str] = {
    **{name: name.split("_", 1)[1] for name in TABLE if name.startswith(("half_", "native_", "fast_"))},
}
"""Names that reach the machine as another: the relaxed variants give the precise result."""

WORK_ITEM: dict[str, tuple[Scalar, bool, tuple[int, int]]] = {
    "get_work_dim": (UINT, False, (1, 0)),
    "get_global_size": (ULONG, True, (1, 0)),
    "get_global_id": (ULONG, True, (1, 0)),
    "get_local_size": (ULONG, True, (1, 0)),
    "get_enqueued_local_size": (ULONG, True, (2, 0)),
    "get_local_id": (ULONG, True, (1, 0)),
    "get_num_groups": (ULONG, True, (1, 0)),
    "get_group_id": (ULONG, True, (1, 0)),
    "get_global_offset": (ULONG, True, (1, 1)),
    "get_global_linear_id": (ULONG, False, (2, 0)),
    "get_local_linear_id": (ULONG, False, (2, 0)),
}
"""Work-item functions: the result, whether they take a dimension, the version that brought them."""

LOWERED = frozenset(
    ["mul24", "mad24", "isequal", "isnotequal", "isgreater", "isgreaterequal", "isless", "islessequal"]
)
"""Functions that become plain operators."""

PURE_NAMES = (
    frozenset(TABLE) - WRITES_LAST - frozenset(IN_IR_AS) - LOWERED
    | frozenset(WORK_ITEM)
    | {"shuffle", "shuffle2"}
)
"""Every name that `ir.Builtin` may bear."""


@dataclass(frozen=True, slots=True)
class Overload:
    """The overload chosen for a call. `wide` is the type each argument has in the IR, scalars splatted."""

    result: Type
    parameters: tuple[Type, ...]
    wide: tuple[Type, ...]


class NoMatch(Exception):
    """No overload fits; or, if `ambiguous`, several do equally well."""

    def __init__(self, ambiguous: bool = False) -> None:
        super().__init__()
        self.ambiguous = ambiguous


@lru_cache(maxsize=4096)
def resolve(name: str, arguments: tuple[Type, ...], has_double: bool, has_half: bool) -> Overload:
    """Choose among a table function's overloads as C++ does. Raises NoMatch."""
    candidates: list[tuple[tuple[int, ...], Overload]] = []
    for overload in _overloads(name, has_double, has_half):
        if len(overload.parameters) != len(arguments):
            continue
        ranks = tuple(rank(a, p) for a, p in zip(arguments, overload.parameters, strict=True))
        if -1 not in ranks:
            candidates.append((ranks, overload))
    best = [
        overload
        for ranks, overload in candidates
        if not any(better(other, ranks) for other, _ in candidates if other is not ranks)
    ]
    if len(best) != 1:
        raise NoMatch(ambiguous=bool(candidates))
    chosen = best[0]
    if any(isinstance(p, Pointer) for p in chosen.parameters):
        # The parameter stands for a pointer in any address space: it is the argument's own.
        parameters = tuple(
            a if isinstance(p, Pointer) else p for a, p in zip(arguments, chosen.parameters, strict=True)
        )
        chosen = Overload(chosen.result, parameters, parameters)
    return chosen


@lru_cache(maxsize=512)
def _overloads(name: str, has_double: bool, has_half: bool) -> tuple[Overload, ...]:
    family, widths, signatures = TABLE[name]
    out: list[Overload] = []
    for elem in _FAMILIES[family]:
        if (elem is DOUBLE and not has_double) or (elem is HALF and not has_half):
            continue
        for width in widths:
            for rules in signatures:
                if width == 1 and ("S" in rules or "I" in rules):
                    continue
                types = tuple(_type(rule, elem, width) for rule in rules)
                wide = tuple(_type({"S": "G", "I": "i"}.get(rule, rule), elem, width) for rule in rules)
                out.append(Overload(types[0], types[1:], wide[1:]))
    return tuple(out)


def _type(rule: str, elem: Scalar, width: int) -> Type:
    if rule == "G":
        return shaped(elem, width)
    if rule in ("S", "e"):
        return elem
    if rule == "U":
        return shaped(unsigned(elem), width)
    if rule == "J":
        return shaped(signed(elem), width)
    if rule == "i":
        return shaped(INT, width)
    if rule in ("I", "n"):
        return INT
    if rule == "R":
        return INT if width == 1 else shaped(signed(elem), width)
    if rule == "W":
        wider = {CHAR: SHORT, UCHAR: USHORT, SHORT: INT, USHORT: UINT, INT: LONG, UINT: ULONG}
        return shaped(wider[elem], width)
    return Pointer(_type(rule[0], elem, width), Space.PRIVATE)


def rank(argument: Type, parameter: Type) -> int:
    """How well an argument fits: 0 exactly, 1 promoted, 2 converted, 3 splatted, -1 not at all."""
    if argument is parameter:
        return 0
    if isinstance(parameter, Scalar):
        if not isinstance(argument, Scalar):
            return -1
        promoted = (parameter is INT and argument.rank < INT.rank) or (
            parameter is DOUBLE and argument is FLOAT
        )
        return 1 if promoted else 2
    if isinstance(parameter, Vector):
        return 3 if isinstance(argument, Scalar) else -1
    if argument == parameter:
        return 0
    if isinstance(parameter, Pointer) and isinstance(argument, Pointer):
        if argument.const or argument.space is Space.CONSTANT:
            return -1
        if argument.pointee is parameter.pointee:
            return 0
        return 2 if same_pointee(argument.pointee, parameter.pointee) else -1
    return -1


def better(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return a != b and all(x <= y for x, y in zip(a, b, strict=True))


_IMAGES = (
    "read_imagef read_imagei read_imageui read_imageh write_imagef write_imagei write_imageui write_imageh"
    " get_image_width get_image_height get_image_depth get_image_channel_data_type get_image_channel_order"
    " get_image_dim get_image_array_size get_image_num_mip_levels get_image_num_samples"
)
_GROUPS = " ".join(
    f"{scope}_{what}"
    for scope in ("work_group", "sub_group")
    for what in [
        "all",
        "any",
        "broadcast",
        "reduce_add",
        "reduce_min",
        "reduce_max",
        "scan_exclusive_add",
        "scan_exclusive_min",
        "scan_exclusive_max",
        "scan_inclusive_add",
        "scan_inclusive_min",
        "scan_inclusive_max",
    ]
)
_OTHERS = (
    "get_sub_group_size get_max_sub_group_size get_num_sub_groups get_enqueued_num_sub_groups"
    " get_sub_group_id"
    " get_sub_group_local_id sub_group_barrier to_global to_local to_private get_fence enqueue_kernel"
    " get_default_queue ndrange_1D ndrange_2D ndrange_3D enqueue_marker retain_event release_event"
    " create_user_event is_valid_event set_user_event_status capture_event_profiling_info read_pipe"
    " write_pipe"
    " reserve_read_pipe reserve_write_pipe commit_read_pipe commit_write_pipe is_valid_reserve_id"
    " get_pipe_num_packets get_pipe_max_packets atomic_init atomic_work_item_fence atomic_flag_test_and_set"
    " atomic_flag_clear atomic_flag_test_and_set_explicit atomic_flag_clear_explicit"
    " dot_4x8packed_uu_uint dot_4x8packed_ss_int dot_acc_sat dot_4x8packed_su_int dot_4x8packed_us_int"
)
_C11_ATOMICS = " ".join(
    f"atomic_{what}{explicit}"
    for what in [
        "store",
        "load",
        "exchange",
        "compare_exchange_strong",
        "compare_exchange_weak",
        "fetch_add",
        "fetch_sub",
        "fetch_or",
        "fetch_xor",
        "fetch_and",
        "fetch_min",
        "fetch_max",
    ]
    for explicit in ("", "_explicit")
)
NOT_YET = frozenset(f"{_IMAGES} {_GROUPS} {_OTHERS} {_C11_ATOMICS}".split())
"""Names of the standard that the compiler knows only to refuse."""
