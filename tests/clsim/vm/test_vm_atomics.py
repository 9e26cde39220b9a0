"""Atomic operations: sums are right, old values are each other's, and waiting loops end."""

from __future__ import annotations

import numpy as np
import pytest
from vm_support import bind, compile_module, ndrange, run_both

from clsim.vm import prepare

A = np.random.default_rng(2).integers(-1000, 1000, 256).astype(np.int32)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("atomic_add", int(A.sum())),
        ("atomic_sub", -int(A.sum())),
        ("atomic_min", min(0, int(A.min()))),
        ("atomic_max", max(0, int(A.max()))),
        ("atomic_and", 0),
        ("atomic_or", int(np.bitwise_or.reduce(A))),
        ("atomic_xor", int(np.bitwise_xor.reduce(A))),
    ],
)
def test_every_items_operation_counts(name: str, expected: int) -> None:
    total = np.zeros(1, np.int32)
    source = f"kernel void k(global const int *a, global int *t) {{ {name}(t, a[get_global_id(0)]); }}"
    run_both(source, [A, total], 256, 32)
    assert total[0] == expected


def test_old_values_are_all_different() -> None:
    counter, seen = np.zeros(1, np.int32), np.zeros(256, np.int32)
    source = """kernel void k(global int *c, global int *seen) { int old = atomic_inc(c); seen[old] += 1; }"""
    run_both(source, [counter, seen], 256, 32)
    assert counter[0] == 256
    assert (seen == 1).all()


def test_old_values_chain_at_each_address() -> None:
    totals, olds = np.zeros(4, np.int32), np.zeros(256, np.int32)
    source = """kernel void k(global const int *a, global int *t, global int *olds) {
        int i = get_global_id(0);
        if (i % 3) olds[i] = atomic_add(t + (i & 3), a[i]); }"""
    kernel = prepare(compile_module(source), "k")
    kernel.launch(bind([A, totals, olds]), ndrange(256, 32))
    for address in range(4):
        lanes = [i for i in range(256) if i % 3 and i & 3 == address]
        assert totals[address] == A[lanes].sum()
        # Each old value plus its item's amount is the next item's old value, from 0 to the total.
        after = sorted(int(olds[i] + A[i]) for i in lanes)
        before = sorted([*(int(olds[i]) for i in lanes), int(totals[address])])
        before.remove(0)
        assert after == before


def test_a_histogram_in_local_memory() -> None:
    out = np.zeros(16, np.int32)
    source = """kernel void k(global const int *a, global int *out) { local int h[16];
        int l = get_local_id(0);
        if (l < 16) h[l] = 0; barrier(CLK_LOCAL_MEM_FENCE); atomic_inc(&h[a[get_global_id(0)] & 15]);
        barrier(CLK_LOCAL_MEM_FENCE); if (l < 16) atomic_add(&out[l], h[l]); }"""
    run_both(source, [A, out], 256, 64)
    assert out.tolist() == np.bincount(A & 15, minlength=16).tolist()


def test_compare_and_exchange_lets_one_item_win() -> None:
    lock, winners = np.zeros(4, np.int32), np.zeros(64, np.int32)
    source = """kernel void k(global int *lock, global int *win) { int i = get_global_id(0);
        win[i] = atomic_cmpxchg(lock + (i & 3), 0, i + 1) == 0; }"""
    run_both(source, [lock, winners], 64, 16)
    assert winners.reshape(16, 4).sum(0).tolist() == [1, 1, 1, 1]
    assert all(winners[value - 1] for value in lock)


def test_a_retry_loop_adds_floats() -> None:
    total = np.zeros(1, np.float32)
    source = """void add(volatile global float *p, float v) { union { float f; uint u; } old, new;
        do { old.f = *p; new.f = old.f + v; }
        while (atomic_cmpxchg((volatile global uint *)p, old.u, new.u) != old.u); }
        kernel void k(global float *t) { add(t, (float)get_global_id(0)); }"""
    run_both(source, [total], 64, 16)
    assert total[0] == sum(range(64))


def test_retry_loops_at_many_addresses_lose_nothing() -> None:
    at = np.random.default_rng(4).integers(0, 9, 2048).astype(np.int32)
    totals = np.zeros(9, np.int32)
    source = """kernel void k(global const int *at, global int *t) {
        int i = get_global_id(0), old, seen = t[at[i]];
        while ((old = atomic_cmpxchg(t + at[i], seen, seen + (i & 3))) != seen) seen = old; }"""
    run_both(source, [at, totals], 2048, 64)
    assert totals.tolist() == [sum(i & 3 for i in range(2048) if at[i] == place) for place in range(9)]


def test_a_lock_that_looks_like_a_retry_is_run_again_in_turn() -> None:
    memory = np.zeros(2, np.int32)
    source = """kernel void k(global int *m, int taken) {
        while (atomic_cmpxchg(m, 0, taken) != 0) ;
        m[1] += 1; atomic_xchg(m, 0); }"""
    run_both(source, [memory, np.int32(1)], 64, 16)
    assert memory.tolist() == [0, 64]


def test_a_lock_lets_items_in_one_after_another() -> None:
    memory = np.zeros(2, np.int32)
    source = (
        """kernel void k(global int *m) { while (atomic_xchg(m, 1) == 1) ; m[1] += 1; atomic_xchg(m, 0); }"""
    )
    run_both(source, [memory], 64, 16)
    assert memory.tolist() == [0, 64]


def test_exchange_passes_every_value_on() -> None:
    slot, got = np.full(1, -1, np.int32), np.zeros(64, np.int32)
    source = (
        "kernel void k(global int *s, global int *g) { int i = get_global_id(0); g[i] = atomic_xchg(s, i); }"
    )
    prepare(compile_module(source), "k").launch(bind([slot, got]), ndrange(64, 16))
    assert sorted([*got.tolist(), int(slot[0])]) == [-1, *range(64)]


def test_long_atomics_count_beyond_32_bits() -> None:
    total = np.zeros(1, np.int64)
    source = """#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
        kernel void k(global long *t) { atom_add(t, 3000000000L); }"""
    run_both(source, [total], 64, 16)
    assert total[0] == 64 * 3000000000


def test_an_atomic_out_of_bounds_is_a_fault() -> None:
    memory = np.zeros(4, np.int32)
    report = run_both("kernel void k(global int *m) { atomic_inc(m + get_global_id(0)); }", [memory], 8, 4)
    assert memory.tolist() == [1, 1, 1, 1]
    assert [(f.kind, f.count, f.offset) for f in report.faults] == [("out-of-bounds-write", 4, 16)]
