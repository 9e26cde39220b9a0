"""The built-in functions: the types they take and give (OpenCL C 6.15)."""

from __future__ import annotations

import re

import pytest
from clc_support import FULL, HALF, PLAIN, body_error, error_of, kernel_of, module_of

from clsim.clc import ir
from clsim.clc.builtins import (
    IN_IR_AS,
    LOWERED,
    NOT_YET,
    PURE_NAMES,
    TABLE,
    WORK_ITEM,
    WRITES_LAST,
    NoMatch,
    resolve,
)
from clsim.clc.types import CHAR, DOUBLE, FLOAT, INT, LONG, SHORT, UCHAR, UINT, ULONG, USHORT, Type, vector
from clsim.clc.types import HALF as HALF_TYPE

F4, I4, U4, D4, UC4 = vector(FLOAT, 4), vector(INT, 4), vector(UINT, 4), vector(DOUBLE, 4), vector(UCHAR, 4)


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        ("sin", (FLOAT,), FLOAT), ("sin", (F4,), F4), ("sin", (DOUBLE,), DOUBLE), ("ilogb", (F4,), I4),
        ("ilogb", (D4,), I4), ("nan", (UINT,), FLOAT), ("nan", (ULONG,), DOUBLE), ("fmax", (F4, FLOAT), F4),
        ("ldexp", (F4, INT), F4), ("ldexp", (F4, I4), F4), ("pown", (F4, I4), F4),
        ("pow", (FLOAT, INT), FLOAT),
        ("fma", (F4, FLOAT, F4), F4), ("abs", (INT,), UINT), ("abs", (vector(CHAR, 2),), vector(UCHAR, 2)),
        ("abs_diff", (SHORT, SHORT), USHORT), ("upsample", (CHAR, UCHAR), SHORT),
        ("upsample", (UINT, UINT), ULONG),
        ("upsample", (vector(INT, 2), vector(UINT, 2)), vector(LONG, 2)), ("clamp", (I4, INT, INT), I4),
        ("max", (UC4, UCHAR), UC4), ("mix", (F4, F4, FLOAT), F4), ("step", (FLOAT, F4), F4),
        ("smoothstep", (FLOAT, FLOAT, F4), F4), ("dot", (F4, F4), FLOAT), ("dot", (FLOAT, FLOAT), FLOAT),
        ("length", (vector(DOUBLE, 3),), DOUBLE), ("cross", (vector(FLOAT, 3),) * 2, vector(FLOAT, 3)),
        ("isequal", (FLOAT, FLOAT), INT), ("isequal", (F4, F4), I4), ("isnan", (DOUBLE,), INT),
        ("isnan", (vector(DOUBLE, 2),), vector(LONG, 2)), ("any", (I4,), INT),
        ("all", (vector(CHAR, 16),), INT),
        ("bitselect", (F4, F4, F4), F4), ("select", (F4, F4, I4), F4), ("select", (F4, F4, U4), F4),
        ("select", (INT, INT, INT), INT), ("select", (LONG, LONG, LONG), LONG), ("clz", (UC4,), UC4),
        ("mad_sat", (INT, INT, INT), INT), ("mul24", (INT, INT), INT), ("half_sin", (F4,), F4),
        ("max", (CHAR, CHAR), CHAR), ("max", (INT, INT), INT), ("popcount", (LONG,), LONG),
    ],
)  # fmt: skip
def test_an_overload_is_found_and_gives_its_result(
    name: str, arguments: tuple[Type, ...], result: Type
) -> None:
    assert resolve(name, arguments, True, True).result is result


@pytest.mark.parametrize(
    ("name", "arguments", "ambiguous"),
    [
        ("sin", (INT,), True), ("max", (INT, UINT), True), ("max", (FLOAT, INT), True), ("sin", (), False),
        ("sin", (FLOAT, FLOAT), False), ("dot", (vector(FLOAT, 8),) * 2, False),
        ("cross", (vector(FLOAT, 2),) * 2, False),
        ("pow", (F4, I4), False), ("any", (U4,), False), ("upsample", (LONG, ULONG), True),
        ("fmax", (F4, D4), False),
        ("select", (F4, F4, vector(LONG, 4)), False), ("half_sin", (DOUBLE,), None),
        ("mul24", (F4, F4), False),
    ],
)  # fmt: skip
def test_a_call_that_fits_no_overload_or_several_is_told_apart(
    name: str, arguments: tuple[Type, ...], ambiguous: bool | None
) -> None:
    if ambiguous is None:
        assert resolve(name, arguments, True, True).parameters == (FLOAT,)
        return
    with pytest.raises(NoMatch) as caught:
        resolve(name, arguments, True, True)
    assert caught.value.ambiguous == ambiguous


def test_without_doubles_a_whole_number_means_a_float() -> None:
    assert error_of("kernel void k(global float *g) {g[0] = sqrt(2);}", target=PLAIN) == ""
    assert "ambiguous" in error_of("kernel void k(global float *g) {g[0] = sqrt(2);}", target=FULL)


def test_halves_have_overloads_only_with_the_extension() -> None:
    assert resolve("sin", (HALF_TYPE,), False, True).result is HALF_TYPE
    source = "kernel void k(global half4 *h) {h[0] = fma(h[1], h[2], sin(h[3]));}"
    assert error_of(source, target=HALF) == ""


def test_every_name_of_the_table_has_an_overload_of_each_width_it_claims() -> None:
    for name, (_, widths, _) in TABLE.items():
        from clsim.clc.builtins import _overloads

        found = {getattr(o.parameters[0], "width", 1) for o in _overloads(name, True, True)}
        assert found == set(widths), name


def test_the_table_and_what_is_refused_have_no_name_in_common() -> None:
    assert not (set(TABLE) | set(WORK_ITEM)) & NOT_YET
    assert not set(IN_IR_AS) & PURE_NAMES
    assert not LOWERED & PURE_NAMES
    assert not WRITES_LAST & PURE_NAMES


@pytest.mark.parametrize("name", sorted(NOT_YET))
def test_a_function_that_is_not_there_yet_is_refused_by_name(name: str) -> None:
    assert body_error(f"{name}(n);") == f"function '{name}' is not supported by clsim yet"


def test_a_function_of_the_program_may_bear_a_built_in_functions_name() -> None:
    module = module_of("float mix(float a) {return a;} kernel void k(global float *g) {g[0] = mix(1);}")
    assert "mix" in module.functions


OVERLOADS = """
typedef struct {float r, i;} C;
float __attribute__((overloadable)) sq(float x);
float __attribute__((overloadable)) sq(float x) {return x * x;}
C __attribute__((overloadable)) sq(C x) {return x;}
int __attribute__((overloadable)) sq(int x) {return x * x;}
float __attribute__((overloadable)) sq(global float *p) {return sq(*p);}
C __attribute__((overloadable)) max(C a, C b) {return a.r > b.r ? a : b;}
"""


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("n = sq(3); n = sq((char)3); g[0] = sq(1.5f); g[0] = sq(g);", ""),
        ("C c = {1, 2}; c = sq(c); c = max(c, c); n = max(1, 2); g[0] = max(1.0f, g[0]);", ""),
        ("sq(n, n);", "no matching function for call to 'sq' (arguments 'int', 'int')"),
        ("sq(1u);", "call to 'sq' is ambiguous (arguments 'uint')"),
        ("sq(ip);", "no matching function for call to 'sq' (arguments '__global int *')"),
    ],
)
def test_functions_of_the_program_may_be_overloaded(call: str, error: str) -> None:
    assert (
        error_of(OVERLOADS + "kernel void k(global float *g, global int *ip, int n) {" + call + "}") == error
    )


TYPES = ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "float", "double")


@pytest.mark.parametrize("to", TYPES)
def test_conversions_exist_between_all_types_in_all_modes(to: str) -> None:
    integer = to not in ("float", "double")
    calls = []
    for of in TYPES:
        for width in ("", "2", "3", "16"):
            for saturate in ("", "_sat") if integer else ("",):
                for rounding in ("", "_rte", "_rtz", "_rtp", "_rtn"):
                    calls.append(
                        f"{{{of}{width} x; {to}{width} y = convert_{to}{width}{saturate}{rounding}(x);}}"
                    )
    kernel_of("".join(calls))


@pytest.mark.parametrize(
    ("to", "of", "fits"),
    [
        ("int", "float", True), ("float4", "int4", True), ("int3", "float4", True), ("float4", "int3", True),
        ("uchar4", "int", True), ("short8", "int4", True), ("short8", "int3", True), ("int", "long", False),
        ("int2", "double", True), ("double", "float", False), ("size_t", "long", True),
        ("float2", "float4", False),
    ],
)  # fmt: skip
def test_a_reinterpretation_needs_the_same_size(to: str, of: str, fits: bool) -> None:
    assert (body_error(f"{of} x; as_{to}(x);") == "") == fits


@pytest.mark.parametrize(
    ("call", "needs"),
    [
        ("atom_add((global long *)ip, 1)", "cl_khr_int64_base_atomics"),
        ("atom_max((global ulong *)ip, 1)", "cl_khr_int64_extended_atomics"),
    ],
)
def test_atomics_on_64_bits_need_their_extension(call: str, needs: str) -> None:
    assert body_error(f"{call};") == ""
    assert needs in body_error(f"{call};", target=PLAIN)


def test_a_mask_of_shuffle_is_unsigned_and_as_wide_as_the_element() -> None:
    assert body_error("float4 a; a = shuffle(a, (uint4)(0)); float8 b = shuffle2(a, a, (uint8)(0));") == ""
    assert (
        body_error("float4 a; a = shuffle(a, (int4)(0));") == "mask of 'shuffle' must be a vector of 'uint'"
    )
    assert re.match("no matching function", body_error("float4 a; a = shuffle(a, 0);"))


def test_arguments_reach_the_machine_with_the_types_of_the_overload() -> None:
    kernel = kernel_of("f4[0] = smoothstep(0, 1, f4[1]); f4[1] = ldexp(f4[2], 2); g[0] = pow(g[1], 2);")
    from clc_support import every_expression

    calls = {e.name: [a.type for a in e.args] for e in every_expression(kernel) if isinstance(e, ir.Builtin)}
    assert calls == {"smoothstep": [F4] * 3, "ldexp": [F4, I4], "pow": [FLOAT, FLOAT]}
