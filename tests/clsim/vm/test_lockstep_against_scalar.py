"""The lockstep tier gives what the scalar tier, the yardstick, gives: same bytes, same faults."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clsim.clc import Target, compile_source
from clsim.vm import prepare
from clsim.vm.launch import BufferArgument, LocalArgument, NDRange, Region, ScalarArgument
from clsim.vm.scalar import ScalarProgram
from clsim.vm.scalar_run import ScalarLaunch

TARGET = Target(extensions=frozenset({"cl_khr_fp64"}))


def both(source: str, arguments: list[Any], size: tuple[int, ...], local: tuple[int, ...]) -> list[Any]:
    """Arrays after a launch on both tiers must be equal; returns the lockstep tier's."""
    result = compile_source(source, target=TARGET)
    assert result.module is not None, result.log
    (kernel,) = result.module.kernels.values()
    ndrange = NDRange(size, local, (0,) * len(size))
    outcomes = []
    for tier in ("scalar", "lockstep"):
        bound: list[Any] = []
        arrays = []
        for number, argument in enumerate(arguments):
            if isinstance(argument, np.ndarray):
                copy = argument.copy()
                arrays.append(copy)
                region = Region(copy.view(np.uint8).ravel(), 0x10000 * (number + 1), f"a{number}")
                bound.append(BufferArgument(region))
            elif isinstance(argument, bytes):
                bound.append(ScalarArgument(argument))
            else:
                bound.append(LocalArgument(argument))
        if tier == "scalar":
            report = ScalarLaunch(ScalarProgram(result.module, kernel), bound, ndrange, 1000).run()
        else:
            report = prepare(result.module, kernel.name).launch(bound, ndrange, loop_limit=1000)
        faults = {(f.kind, f.loc.line, f.argument, f.count, f.global_id) for f in report.faults}
        outcomes.append((arrays, faults))
    (expected, faults), (got, lockstep_faults) = outcomes
    for a, b in zip(expected, got, strict=True):
        np.testing.assert_array_equal(a, b)
    assert lockstep_faults == faults
    return got


BODIES = {
    "divergent branches": "int v = a[i]; if (v > 3) v = v * 2; else if (v < -2) v = -v; out[i] = v;",
    "early return": "if (i >= 40) return; out[i] = a[i] + 1;",
    "early return of a pattern": "if (i & 1) return; int v = a[i]; if (v < 0) return; out[i] = v;",
    "a loop of differing length": "int s = 0; for (int k = 0; k < (a[i] & 7); ++k) s += k * i; out[i] = s;",
    "break": "int s = 0; for (int k = 0; k < 20; ++k) { if (k == (a[i] & 15)) break; s += k; } out[i] = s;",
    "continue": """int s = 0;
        for (int k = 0; k < 9; ++k) { if ((k ^ a[i]) & 1) continue; s += k; } out[i] = s;""",
    "uniform break and continue": """int s = 0;
        for (int k = 0; k < n; ++k) { if (k == 2) continue; if (k == 7) break; s += k + i; } out[i] = s;""",
    "return inside a loop": """for (int k = 0; k < 9; ++k) { if (a[i] == k) { out[i] = k; return; } }
        out[i] = -7;""",
    "do while": "int s = a[i], k = 0; do { s = s / 2; k++; } while (s > 0); out[i] = k;",
    "switch": """int v = 0; switch (a[i] & 7) { case 0: v = 1; break; case 1: case 2: v = 2;
        case 3: v += 10; break; default: v = 99; } out[i] = v;""",
    "switch in a loop": """int v = 0; for (int k = 0; k < 5; ++k) { switch ((a[i] + k) & 3) {
        case 0: continue; case 1: v += 1; break; case 2: v += 100; } v += 1000; } out[i] = v;""",
    "guarded load": "out[i] = (i > 0 && a[i - 1] > 0) ? a[i - 1] : (i < 63 ? a[i + 1] : -1);",
    "short circuit with an effect": "int k = 0; if (a[i] > 0 && ++k) k += 10; out[i] = k;",
    "private array": """int t[8]; for (int k = 0; k < 8; ++k) t[k] = a[(i + k) & 63];
        int s = 0; for (int k = 0; k < 8; ++k) s = s * 3 + t[(k + i) & 7]; out[i] = s;""",
    "private array written under a mask": """int t[4] = {1, 2, 3, 4};
        if (a[i] > 0) t[i & 3] = a[i]; out[i] = t[0] + 10 * t[1] + 100 * t[2] + 1000 * t[3];""",
    "division": "out[i] = a[i] / (a[(i + 1) & 63]) + a[i] % 7 + (a[i] >> 1) - (a[i] << 3);",
    "unsigned": "uint u = (uint)a[i]; out[i] = (int)(u / 3u + u % 5u + (u >> 28) + u * 2654435761u);",
    "long arithmetic": "long x = (long)a[i] * 1000003 * 1000003; out[i] = (int)(x >> 13) ^ (int)x;",
    "narrow types": "char c = (char)a[i]; uchar d = c; short s = (short)(c * d); out[i] = s + c + d;",
    "floats": "float f = a[i] * 0.37f; f = fmax(f, -1.5f) * f + sqrt(fabs(f)); out[i] = (int)(f * 64.0f);",
    "vectors": "int4 v = (int4)(a[i], i, n, 7); v = v.wzyx * 3 - (v > 4); out[i] = v.x + v.y * v.z - v.w;",
    "ternary on vectors": "int2 v = (int2)(a[i], i); int2 w = v > 10 ? v : -v; out[i] = w.x * 31 + w.y;",
    "out of bounds": "out[i] = a[i + 60 * (i > 50)];",
    "out of bounds store": "out[i * 2] = a[i];",
    "atomic": "atomic_add(&out[a[i] & 3], i);",
    "uniform store": "if (i == 5) out[0] = 17; out[1] = n;",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_a_kernel_gives_the_same_on_both_tiers(body: str) -> None:
    source = (
        f"kernel void k(global const int *a, global int *out, int n) {{ int i = get_global_id(0); {body} }}"
    )
    a = np.random.default_rng(5).integers(-9, 10, 64).astype(np.int32)
    a[7] = 2**31 - 1
    a[9] = -(2**31)
    both(source, [a, np.full(64, -1, np.int32), struct.pack("<i", 9)], (64,), (8,))


def test_local_memory_and_barriers_in_two_dimensions() -> None:
    source = """
    kernel void k(global const float *a, global float *out, local float *t) {
        local float own[16];
        int x = get_local_id(0), y = get_local_id(1), w = get_local_size(0);
        t[y * w + x] = a[get_global_id(1) * get_global_size(0) + get_global_id(0)];
        own[y * w + x] = x;
        barrier(CLK_LOCAL_MEM_FENCE);
        float s = 0;
        for (int k = 0; k < w; ++k) s += t[y * w + k] * own[k * w + x & 15];
        barrier(CLK_LOCAL_MEM_FENCE);
        t[x * w + y] = s;
        barrier(CLK_LOCAL_MEM_FENCE);
        out[get_global_id(1) * get_global_size(0) + get_global_id(0)] = t[y * w + x] + get_group_id(1);
    }"""
    a = np.arange(16 * 12, dtype=np.float32)
    both(source, [a, np.zeros_like(a), 64], (16, 12), (4, 4))


def test_a_barrier_that_half_a_group_skips_is_the_same_fault() -> None:
    source = """kernel void k(global int *out) {
        if (get_local_id(0) < 2) return;
        barrier(CLK_LOCAL_MEM_FENCE);
        out[get_global_id(0)] = 1;
    }"""
    both(source, [np.zeros(8, np.int32)], (8,), (4,))


def test_helper_functions_are_inlined_with_their_returns() -> None:
    source = """
    int pick(int v, int n) {
        if (v < 0) return -1;
        for (int k = 0; k < n; ++k) if (k * k > v) return k;
        return n;
    }
    void put(global int *where, int v) { *where = v; }
    int twice(int v) { return 2 * v; }
    kernel void k(global const int *a, global int *out, int n) {
        int i = get_global_id(0);
        put(out + i, pick(a[i], n) + twice(i) + twice(n));
    }"""
    a = np.arange(-8, 24, dtype=np.int32)
    both(source, [a, np.zeros(32, np.int32), struct.pack("<i", 4)], (32,), (8,))


OPERATORS = st.sampled_from(["+", "-", "*", "/", "%", "&", "|", "^", "<", "==", "&&", "||"])
LEAVES = st.sampled_from(["i", "n", "a[i]", "a[(i * 3) & 15]", "3", "-7", "(i - 8)", "(int)b[i]", "x"])
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, OPERATORS, inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} ? {t[1]} : {t[2]})"),
        inner.map(lambda e: f"(~{e})"),
        inner.map(lambda e: f"((char)({e}))"),
        inner.map(lambda e: f"((int)((uint)({e}) >> 3))"),
        inner.map(lambda e: f"((int)max((long)({e}), (long)x))"),
    ),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(EXPRESSIONS, EXPRESSIONS, EXPRESSIONS, st.integers(0, 4))
def test_random_expressions_and_branches_agree(first: str, second: str, test: str, count: int) -> None:
    source = f"""kernel void k(global const int *a, global const uint *b, global int *out, int n) {{
        int i = get_global_id(0); int x = 1;
        x = {first};
        for (int k = 0; k < {count}; ++k) {{
            if ({test}) {{ x = {second}; if (x == 5) continue; }}
            x += k;
        }}
        out[i] = x;
    }}"""
    random = np.random.default_rng(1)
    a = random.integers(-20, 20, 16).astype(np.int32)
    b = random.integers(0, 2**32, 16).astype(np.uint32)
    both(source, [a, b, np.zeros(16, np.int32), struct.pack("<i", 3)], (16,), (4,))
