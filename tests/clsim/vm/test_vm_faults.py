"""What a kernel does wrong is suppressed and reported once a place, and the run goes on."""

from __future__ import annotations

from typing import Any

import numpy as np
from vm_support import ReadOnly, run_both

from clsim.vm import Fault


def only(report: Any) -> Fault:
    (fault,) = report.faults
    assert isinstance(fault, Fault)
    return fault


def test_a_read_past_the_end_gives_zero_and_says_where() -> None:
    a, out = np.arange(1, 11, dtype=np.int32), np.full(16, 7, np.int32)
    source = (
        "kernel void k(global const int *a, global int *out) {\n int i = get_global_id(0);\n out[i] = a[i]; }"
    )
    report = run_both(source, [a, out], 16, 4)
    assert out.tolist() == [*range(1, 11), 0, 0, 0, 0, 0, 0]
    fault = only(report)
    assert (fault.kind, fault.kernel, fault.argument) == ("out-of-bounds-read", "k", "a")
    assert (fault.loc.line, fault.offset, fault.extent, fault.size) == (3, 40, 40, 4)
    assert (fault.global_id, fault.count) == ((10,), 6)


def test_a_write_past_the_end_changes_nothing_else() -> None:
    memory = np.zeros(12, np.int32)
    report = run_both(
        "kernel void k(global int *a) { int i = get_global_id(0); a[i - 2] = i; }", [memory], 16, 8
    )
    assert memory.tolist() == list(range(2, 14))
    kinds = {(f.kind, f.offset, f.count) for f in report.faults}
    assert kinds == {("out-of-bounds-write", -8, 4)}


def test_only_items_that_get_there_are_counted() -> None:
    a, out = np.arange(8, dtype=np.int32), np.zeros(32, np.int32)
    source = """kernel void k(global int *a, global int *out) { int i = get_global_id(0);
        if (i & 1) out[i] = a[i]; }"""
    fault = only(run_both(source, [a, out], 32, 8))
    assert (fault.count, fault.global_id, fault.offset) == (12, (9,), 36)


def test_null_is_neither_read_nor_written() -> None:
    out = np.full(8, 3, np.int32)
    source = (
        "kernel void k(global int *p, global int *out) { int i = get_global_id(0); out[i] = p[i]; p[i] = 1; }"
    )
    report = run_both(source, [None, out], 8, 4)
    assert out.tolist() == [0] * 8
    assert {(f.kind, f.argument, f.count) for f in report.faults} == {
        ("null-read", "p", 8),
        ("null-write", "p", 8),
    }


def test_a_null_pointer_compares_equal_to_zero() -> None:
    out = np.zeros(4, np.int32)
    source = (
        "kernel void k(global int *p, global int *out) { out[get_global_id(0)] = p ? 1 : (p == 0 ? 2 : 3); }"
    )
    assert not run_both(source, [None, out], 4, 4).faults
    assert out.tolist() == [2, 2, 2, 2]


def test_read_only_memory_stays_as_it_is() -> None:
    a = np.arange(8, dtype=np.int32)
    source = (
        "kernel void k(global int *a, int n) { int i = get_global_id(0); if (i < n) a[i] = 9; a[0] += a[i]; }"
    )
    report = run_both(source, [ReadOnly(a), np.int32(3)], 8, 4)
    assert a.tolist() == list(range(8))
    assert [(f.kind, f.count) for f in report.faults] == [
        ("write-to-read-only", 3),
        ("write-to-read-only", 8),
    ]


def test_private_and_local_arrays_have_ends_too() -> None:
    out = np.zeros(8, np.int32)
    source = """kernel void k(global int *out) { int i = get_global_id(0); int t[4] = {1, 2, 3, 4};
        local int s[4];
        s[i & 3] = i & 3; barrier(CLK_LOCAL_MEM_FENCE); out[i] = t[i] + s[i]; t[i + 1] = 0;
        s[-1 - i] = 5; }"""
    report = run_both(source, [out], 8, 8)
    assert out.tolist() == [1, 3, 5, 7, 0, 0, 0, 0]
    assert {(f.kind, f.argument, f.offset, f.count) for f in report.faults} == {
        ("out-of-bounds-read", "t", 16, 4),
        ("out-of-bounds-read", "s", 16, 4),
        ("out-of-bounds-write", "t", 16, 5),
        ("out-of-bounds-write", "s", -4, 8),
    }


def test_a_vector_that_does_not_fit_is_suppressed_as_a_whole() -> None:
    a, out = np.arange(10, dtype=np.float32), np.full(16, -1, np.float32)
    source = """kernel void k(global const float *a, global float *out) { int i = get_global_id(0);
        vstore4(vload4(i, a), i, out); }"""
    report = run_both(source, [a, out], 5, 5)
    assert out.tolist() == [*range(8), 0, 0, 0, 0, 0, 0, 0, 0]
    assert {(f.kind, f.offset, f.size, f.count) for f in report.faults} == {
        ("out-of-bounds-read", 32, 16, 3),
        ("out-of-bounds-write", 64, 16, 1),
    }


def test_an_address_that_is_not_aligned_is_told_and_used() -> None:
    a, out = np.arange(32, dtype=np.uint8), np.zeros(4, np.int32)
    source = """kernel void k(global uchar *a, global int *out) { int i = get_global_id(0);
        out[i] = *(global int *)(a + 5 * i); }"""
    report = run_both(source, [a, out], 4, 4)
    assert out.tolist() == [int.from_bytes(bytes(range(5 * i, 5 * i + 4)), "little") for i in range(4)]
    assert (only(report).kind, only(report).count) == ("misaligned", 3)


def test_a_place_is_reported_once_over_all_chunks() -> None:
    n = 1 << 19
    a, out = np.zeros(10, np.uint8), np.zeros(n, np.uint8)
    from vm_support import bind, compile_module, ndrange

    from clsim.vm import prepare

    source = """kernel void k(global const uchar *a, global uchar *out) { size_t i = get_global_id(0);
        out[i] = a[i]; }"""
    report = prepare(compile_module(source), "k").launch(bind([a, out]), ndrange(n, 256))
    assert (only(report).count, only(report).global_id) == (n - 10, (10,))


def test_a_barrier_that_some_items_of_a_group_miss_is_divergent() -> None:
    source = "kernel void k(global int *out) { int i = get_global_id(0);\n if (i % 8 < 5)\n"
    source += "barrier(CLK_LOCAL_MEM_FENCE); out[i] = 1; }"
    report = run_both(source, [np.zeros(16, np.int32)], 16, 8, check_faults=False)
    assert (only(report).kind, only(report).loc.line, only(report).count) == ("divergent-barrier", 3, 10)


def test_a_barrier_that_whole_groups_skip_is_not() -> None:
    source = """kernel void k(global int *out) { local int t[8]; int l = get_local_id(0); t[l] = l;
        if (get_group_id(0) & 1) { barrier(CLK_LOCAL_MEM_FENCE); out[get_global_id(0)] = t[7 - l]; } }"""
    out = np.zeros(32, np.int32)
    assert not run_both(source, [out], 32, 8).faults
    assert out[8:16].tolist() == [7, 6, 5, 4, 3, 2, 1, 0]


def test_a_program_scope_constant_has_an_end() -> None:
    source = """constant int T[4] = {1, 2, 3, 4};
        kernel void k(global int *out) { int i = get_global_id(0); out[i] = T[i + 1]; }"""
    out = np.zeros(4, np.int32)
    fault = only(run_both(source, [out], 4, 4))
    assert (fault.kind, fault.argument) == ("out-of-bounds-read", "T")
    assert out.tolist() == [2, 3, 4, 0]
