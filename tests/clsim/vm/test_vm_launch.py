"""Index spaces of every shape, many launches, many threads, and what `prepare` refuses."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from vm_support import bind, compile_module, ndrange, run_both

from clsim.vm import NotSupported, prepare

PLACES = """kernel void k(global int *out) { size_t i = 0;
    for (uint d = get_work_dim(); d-- > 0;) i = i * get_global_size(d) + get_global_id(d) -
        get_global_offset(d);
    global int *p = out + i * 8; p[0] = get_global_id(0) + 100 * get_global_id(1) + 10000 *
        get_global_id(2);
    p[1] = get_local_id(0) + 10 * get_local_id(1) + 100 * get_local_id(2);
    p[2] = get_group_id(0) + 10 * get_group_id(1) + 100 * get_group_id(2);
    p[3] = get_num_groups(0) * 100 + get_num_groups(1) * 10 + get_num_groups(2);
    p[4] = get_local_size(0) * 100 + get_local_size(1) * 10 + get_local_size(2);
    p[5] = get_global_size(0) + get_global_size(1) * 100 + get_global_size(7);
    p[6] = get_work_dim(); p[7] = get_global_id(5) + get_local_size(4); }"""


@pytest.mark.parametrize(
    ("size", "local", "offset"),
    [
        ((12,), (4,), (0,)),
        ((12,), (1,), (5,)),
        ((1,), (1,), (0,)),
        ((6, 4), (3, 2), (0, 0)),
        ((6, 4), (1, 4), (2, 1)),
        ((4, 3, 2), (2, 1, 2), (0, 0, 0)),
        ((4, 3, 2), (4, 3, 2), (1, 2, 3)),
        ((4, 1, 6), (2, 1, 3), (0, 0, 0)),
    ],
)
def test_every_item_knows_its_place(
    size: tuple[int, ...], local: tuple[int, ...], offset: tuple[int, ...]
) -> None:
    total = int(np.prod(size))
    out = np.zeros(8 * total, np.int32)
    run_both(PLACES, [out], size, local, offset=offset)
    full = lambda t, fill: (*t, *[fill] * (3 - len(t)))  # noqa: E731
    (sx, sy, sz), (lx, ly, lz), (ox, oy, oz) = full(size, 1), full(local, 1), full(offset, 0)
    rows = out.reshape(total, 8)
    for i in range(total):
        x, y, z = i % sx, i // sx % sy, i // sx // sy
        assert rows[i].tolist() == [
            x + ox + 100 * (y + oy) + 10000 * (z + oz),
            x % lx + 10 * (y % ly) + 100 * (z % lz),
            x // lx + 10 * (y // ly) + 100 * (z // lz),
            sx // lx * 100 + sy // ly * 10 + sz // lz,
            lx * 100 + ly * 10 + lz,
            sx + sy * 100 + 1,
            len(size),
            1,
        ]


def test_the_last_groups_are_smaller_where_sizes_do_not_divide() -> None:
    source = """kernel void k(global int *out) { int x = get_global_id(0), y = get_global_id(1);
        out[y * 10 + x] = get_local_size(0) * 1000 + get_enqueued_local_size(0) * 100 + get_group_id(0) * 10
            + get_local_size(1); }"""
    out = np.zeros(70, np.int32)
    run_both(source, [out], (10, 7), (4, 3), options="-cl-std=CL2.0")
    for y in range(7):
        for x in range(10):
            assert out[y * 10 + x] == (2 if x >= 8 else 4) * 1000 + 400 + x // 4 * 10 + (1 if y == 6 else 3)


def test_a_large_range_is_cut_into_chunks_of_whole_groups() -> None:
    n = 3 * (1 << 18) + 256
    source = """kernel void k(global const int *a, global int *b, global int *sums) { local int t[256];
        int l = get_local_id(0), i = get_global_id(0); t[255 - l] = a[i]; barrier(CLK_LOCAL_MEM_FENCE);
        b[i] = t[l] + 1; if (l == 0) { int s = 0; for (int j = 0; j < 256; j++) s += t[j];
        sums[get_group_id(0)] = s; } }"""
    a = np.random.default_rng(1).integers(0, 100, n).astype(np.int32)
    b, sums = np.zeros(n, np.int32), np.zeros(n // 256, np.int32)
    prepare(compile_module(source), "k").launch(bind([a, b, sums]), ndrange(n, 256))
    np.testing.assert_array_equal(b, a.reshape(-1, 256)[:, ::-1].ravel() + 1)
    np.testing.assert_array_equal(sums, a.reshape(-1, 256).sum(1))


def test_a_large_two_dimensional_range_is_cut_too() -> None:
    source = """kernel void k(global const float *a, global float *b, int w) { int x = get_global_id(0),
        y = get_global_id(1); b[x * 1024 + y] = a[y * w + x] + get_group_id(0) * 0.5f + get_group_id(1);
        }"""
    a = np.arange(1 << 20, dtype=np.float32)
    b = np.zeros(1 << 20, np.float32)
    prepare(compile_module(source), "k").launch(bind([a, b, np.int32(1024)]), ndrange((1024, 1024), (16, 8)))
    y, x = np.indices((1024, 1024))
    expected = a.reshape(1024, 1024) + (x // 16) * np.float32(0.5) + (y // 8)
    np.testing.assert_array_equal(b.reshape(1024, 1024), expected.T)


@pytest.mark.parametrize("n", [3, 300, 70000, 2**31 - 1, -5])
def test_the_size_of_an_argument_never_changes_what_is_right(n: int) -> None:
    source = """kernel void k(global const int *a, global int *out, int n, uint u) {
        uint i = get_global_id(0);
        out[i] = ((int)i < n ? a[(i * u) & 15] : 0) + (i + u < i) + (int)((i - 2u) >> 3); }"""
    a, out = np.arange(16, dtype=np.int32), np.zeros(16, np.int32)
    u = n % 2**32
    run_both(source, [a, out, np.int32(n), np.uint32(u)], 16, 4)
    for i in range(16):
        first = int(a[i * u % 2**32 & 15]) if i < n else 0
        wrapped = ((i - 2) % 2**32) >> 3
        assert out[i] == first + ((i + u) % 2**32 < i) + wrapped


def test_an_unsigned_index_that_wraps_leads_where_c_says() -> None:
    source = """kernel void k(global const int *a, global int *out, uint n) { uint i = get_global_id(0);
        out[i] = a[i * n + 10u]; }"""
    a, out = np.arange(16, dtype=np.int32), np.zeros(8, np.int32)
    assert not run_both(source, [a, out, np.uint32(2**32 - 1)], 8, 4).faults
    assert out.tolist() == [10, 9, 8, 7, 6, 5, 4, 3]


def test_threads_may_launch_one_kernel_at_once() -> None:
    source = """kernel void k(global int *a, int n) { int i = get_global_id(0); local int t[8]; int s = i;
        for (int j = 0; j < n; j++) { t[get_local_id(0)] = s; barrier(CLK_LOCAL_MEM_FENCE);
        s = t[7 - get_local_id(0)] + 1; barrier(CLK_LOCAL_MEM_FENCE); } a[i] = s; }"""
    kernel = prepare(compile_module(source), "k")
    results: list[list[int]] = [[] for _ in range(6)]

    def work(k: int) -> None:
        for _ in range(20):
            data = np.zeros(64 + 8 * k, np.int32)
            kernel.launch(bind([data, np.int32(k)]), ndrange(64 + 8 * k, 8))
            results[k] = data.tolist()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k, got in enumerate(results):
        assert got == [(i if k % 2 == 0 else i // 8 * 8 + 7 - i % 8) + k for i in range(64 + 8 * k)]


def test_a_repeated_small_launch_is_cheap() -> None:
    source = """kernel void k(global const float *a, global float *b, int n) { int i = get_global_id(0);
        float x = a[i]; float y = x * 2; y = y + x; y = y * y; y -= 1; y = fabs(y); y = sqrt(y); x = y + 1;
        if (i < n) b[i] = x; }"""
    kernel = prepare(compile_module(source), "k")
    arguments = bind([np.ones(64, np.float32), np.zeros(64, np.float32), np.int32(64)])
    where = ndrange(64, 16)
    best = 1.0
    for _ in range(300):
        start = time.perf_counter()
        kernel.launch(arguments, where)
        best = min(best, time.perf_counter() - start)
    assert best < 300e-6  # some 35 us on the machine it was written on


def test_what_is_not_supported_is_refused_by_name_and_place() -> None:
    from clsim.clc import ir
    from clsim.clc.types import INT, UINT, VOID

    loc = ir.Loc(0, 7, 3)
    call = ir.Assign(ir.Var("x", INT), ir.Builtin("get_image_width", INT, (ir.Const(UINT, 0),), loc))
    kernel = ir.Function("k", (), VOID, (call,), True, ir.Attributes(), (), loc)
    with pytest.raises(
        NotSupported, match=r"kernel k: the built-in get_image_width .* line 7, column 3"
    ) as info:
        prepare(ir.Module({"k": kernel}), "k")
    assert (info.value.kernel, info.value.loc) == ("k", loc)


def test_importing_the_package_does_not_import_the_machine() -> None:
    code = "import sys, clsim; print([m for m in sys.modules if m.startswith('clsim.vm.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
