"""The machine and PoCL run the same kernels on the same bytes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

from clsim.clc import Target, compile_source
from clsim.vm import BufferArgument, LocalArgument, NDRange, Region, ScalarArgument, prepare
from runtime.cl.discovery import open_device

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "clsim" / "vm"))
from random_programs import program

TARGET = Target(extensions=frozenset(("cl_khr_fp64", "cl_khr_int64_base_atomics")))


@pytest.fixture(scope="module")
def queue() -> Any:
    native: Any = open_device("pocl")
    return cl.CommandQueue(cl.Context([native.native]))


def on_pocl(
    queue: Any, source: str, values: list[Any], size: tuple[int, ...], local: tuple[int, ...]
) -> list[Any]:
    """The arrays as PoCL leaves them; ints are bytes of local memory."""
    kernel = cl.Program(queue.context, source).build("-cl-std=CL1.2 -w").k
    held, arguments = [], []
    for value in values:
        if isinstance(value, np.ndarray):
            buffer = cl.Buffer(queue.context, cl.mem_flags.COPY_HOST_PTR, hostbuf=value)
            held.append((buffer, value))
            arguments.append(buffer)
        else:
            arguments.append(cl.LocalMemory(value) if isinstance(value, int) else value)
    kernel(queue, size, local, *arguments)
    results = []
    for buffer, value in held:
        result = np.empty_like(value)
        cl.enqueue_copy(queue, result, buffer)
        results.append(result)
    return results


def on_machine(source: str, values: list[Any], size: tuple[int, ...], local: tuple[int, ...]) -> list[Any]:
    compilation = compile_source(source, target=TARGET)
    assert compilation.module is not None, compilation.log
    arguments: list[Any] = []
    results = []
    for k, value in enumerate(values):
        if isinstance(value, np.ndarray):
            copy = value.copy()
            results.append(copy)
            region = Region(copy.reshape(-1).view(np.uint8), (k + 1) << 20, f"b{k}")
            arguments.append(BufferArgument(region))
        elif isinstance(value, int):
            arguments.append(LocalArgument(value))
        else:
            arguments.append(ScalarArgument(value.tobytes()))
    report = prepare(compilation.module, "k").launch(arguments, NDRange(size, local, (0,) * len(size)))
    assert not report.faults
    return results


def compare(
    queue: Any,
    source: str,
    values: list[Any],
    size: tuple[int, ...],
    local: tuple[int, ...],
    error: float = 0,
) -> None:
    for mine, theirs in zip(
        on_machine(source, values, size, local), on_pocl(queue, source, values, size, local), strict=True
    ):
        if error:
            np.testing.assert_allclose(mine, theirs, rtol=error, atol=error)
        else:
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("seed", range(100, 112))
def test_a_random_program_leaves_the_same(queue: Any, seed: int) -> None:
    random = np.random.default_rng(seed)
    values: list[Any] = [
        random.integers(-100, 100, 64).astype(np.int32),
        np.zeros(64 * 8, np.int32),
        np.zeros(64 * 4, np.float32),
        np.int32(random.integers(0, 9)),
    ]
    compare(queue, program(seed, with_double=False), values, (64,), (16,))


FUNCTIONS_OF_ONE = [
    "acos",
    "acosh",
    "acospi",
    "asin",
    "asinh",
    "asinpi",
    "atan",
    "atanh",
    "atanpi",
    "cbrt",
    "ceil",
    "cos",
    "cosh",
    "cospi",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "exp10",
    "expm1",
    "fabs",
    "floor",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "logb",
    "rint",
    "round",
    "rsqrt",
    "sin",
    "sinh",
    "sinpi",
    "sqrt",
    "tan",
    "tanh",
    "tanpi",
    "tgamma",
    "trunc",
    "degrees",
    "radians",
    "sign",
]


@pytest.mark.parametrize("type_", ["float", "double"])
def test_functions_of_one_number_agree_within_their_errors(queue: Any, type_: str) -> None:
    kind = np.float32 if type_ == "float" else np.float64
    random = np.random.default_rng(1)
    edges = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.5, np.inf, -np.inf, np.nan, 1e-30]
    a = np.concatenate([edges, random.uniform(-3, 3, 53)]).astype(kind)
    out = np.zeros(64 * len(FUNCTIONS_OF_ONE), kind)
    body = "".join(f"o[{k}] = {name}(x); " for k, name in enumerate(FUNCTIONS_OF_ONE))
    pragma = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" if type_ == "double" else ""
    source = f"""{pragma}kernel void k(global const {type_} *a, global {type_} *out) {{
        int i = get_global_id(0);
        {type_} x = a[i]; global {type_} *o = out + i * {len(FUNCTIONS_OF_ONE)}; {body} }}"""
    mine = on_machine(source, [a, out], (64,), (16,))[1].reshape(64, -1)
    theirs = on_pocl(queue, source, [a, out], (64,), (16,))[1].reshape(64, -1)
    for k, name in enumerate(FUNCTIONS_OF_ONE):
        error = 2e-5 if type_ == "float" else 1e-13
        if name == "lgamma":
            error = 1e-4
        np.testing.assert_allclose(mine[:, k], theirs[:, k], rtol=error, atol=error / 100, err_msg=name)


INTEGER_FUNCTIONS = (
    "abs(x) abs_diff(x, y) add_sat(x, y) clz(x) hadd(x, y) mad_hi(x, y, x) mad_sat(x, y, y) max(x, y)"
    " min(x, y) mul_hi(x, y) popcount(x) rhadd(x, y) rotate(x, y) sub_sat(x, y) clamp(x, (T)3, (T)90)"
)


@pytest.mark.parametrize("type_", ["char", "uchar", "short", "ushort", "int", "uint", "long", "ulong"])
def test_integer_functions_leave_the_same(queue: Any, type_: str) -> None:
    from clsim.vm.dtypes import NUMPY_CODES

    calls = INTEGER_FUNCTIONS.replace(") ", ")|").split("|")
    code = NUMPY_CODES[type_]
    info = np.iinfo(code)
    random = np.random.default_rng(2)
    a, b = (random.integers(info.min, info.max, 64, dtype=code, endpoint=True) for _ in "ab")
    a[:4] = info.min, info.max, 0, 1
    out = np.zeros(64 * len(calls), code)
    body = "".join(f"o[{k}] = {call}; " for k, call in enumerate(calls))
    source = f"""#define T {type_}
        kernel void k(global const T *a, global const T *b, global T *out) {{ int i = get_global_id(0);
        T x = a[i], y = b[i]; global T *o = out + i * {len(calls)}; {body} }}"""
    compare(queue, source, [a, b, out], (64,), (16,))


KERNELS = {
    "a tiled matrix product": (
        """kernel void k(global float *a, global float *b, global float *c, int n) {
        local float A[8][8], B[8][8];
        int x = get_global_id(0), y = get_global_id(1), u = get_local_id(0), v = get_local_id(1);
        float s = 0;
        for (int t = 0; t < n / 8; t++) { A[v][u] = a[y * n + t * 8 + u]; B[v][u] = b[(t * 8 + v) * n + x];
        barrier(CLK_LOCAL_MEM_FENCE); for (int k = 0; k < 8; k++) s += A[v][k] * B[k][u];
        barrier(CLK_LOCAL_MEM_FENCE); } c[y * n + x] = s; }""",
        lambda r: [
            r.random(1024, np.float32),
            r.random(1024, np.float32),
            np.zeros(1024, np.float32),
            np.int32(32),
        ],
        (32, 32),
        (8, 8),
        1e-5,
    ),
    "a prefix sum": (
        """kernel void k(global int *a, global int *b, local int *t) { int l = get_local_id(0);
        t[l] = a[get_global_id(0)];
        for (int d = 1; d < (int)get_local_size(0); d *= 2) { barrier(CLK_LOCAL_MEM_FENCE);
        int v = l >= d ? t[l - d] : 0; barrier(CLK_LOCAL_MEM_FENCE); t[l] += v; }
        b[get_global_id(0)] = t[l]; }""",
        lambda r: [r.integers(0, 99, 256).astype(np.int32), np.zeros(256, np.int32), 128],
        (256,),
        (32,),
        0,
    ),
    "a bitonic sort of each group": (
        """kernel void k(global uint *a) { local uint t[64]; int l = get_local_id(0);
        t[l] = a[get_global_id(0)];
        for (int k = 2; k <= 64; k *= 2) for (int j = k / 2; j > 0; j /= 2) { barrier(CLK_LOCAL_MEM_FENCE);
        int p = l ^ j; if (p > l && ((l & k) == 0) == (t[l] > t[p])) { uint v = t[l]; t[l] = t[p];
        t[p] = v; } }
        barrier(CLK_LOCAL_MEM_FENCE); a[get_global_id(0)] = t[l]; }""",
        lambda r: [r.integers(0, 2**32, 256).astype(np.uint32)],
        (256,),
        (64,),
        0,
    ),
    "mandelbrot": (
        """#pragma OPENCL FP_CONTRACT OFF
        kernel void k(global int *o) { int x = get_global_id(0), y = get_global_id(1);
        float cr = x * 0.0625f - 2, ci = y * 0.0625f - 1, zr = 0, zi = 0; int n = 0;
        while (n < 60 && zr * zr + zi * zi < 4) { float t = zr * zr - zi * zi + cr;
        zi = 2 * zr * zi + ci; zr = t; n++; }
        o[y * 32 + x] = n; }""",
        lambda r: [np.zeros(1024, np.int32)],
        (32, 32),
        (8, 8),
        0,
    ),
    "a hash of bytes": (
        """kernel void k(global const uchar *a, global uint *out) { int i = get_global_id(0);
        uint h = 2166136261u;
        for (int j = 0; j < 16; j++) { h ^= a[i * 16 + j]; h *= 16777619u;
        } out[i] = h ^ (h >> 15) ^ (h << (i & 31)); }""",
        lambda r: [r.integers(0, 256, 1024).astype(np.uint8), np.zeros(64, np.uint32)],
        (64,),
        (16,),
        0,
    ),
}


@pytest.mark.parametrize("name", KERNELS)
def test_a_classic_kernel_leaves_the_same(queue: Any, name: str) -> None:
    source, make, size, local, error = KERNELS[name]
    compare(queue, source, make(np.random.default_rng(3)), size, local, error)
