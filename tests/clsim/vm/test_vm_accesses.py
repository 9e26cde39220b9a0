"""With recording on, a launch tells which bytes of each argument it touched."""

from __future__ import annotations

from typing import Any

import numpy as np
from vm_support import bind, compile_module, ndrange

from clsim.vm import Access, prepare


def touched(
    source: str, values: list[Any], size: int, local: int | None = None
) -> dict[tuple[int, bool], set[int]]:
    """Byte sets by (argument, written), which must be the same on both tiers."""
    kernel = prepare(compile_module(source), "k")
    where = ndrange(size, local)
    sets = []
    for launch in (kernel.launch, kernel.launch_scalar):
        copies = [v.copy() if isinstance(v, np.ndarray) else v for v in values]
        report = launch(bind(copies), where, record_accesses=True)
        assert report.accesses is not None
        assert all(a.exact for a in report.accesses)
        sets.append(bytes_of(report.accesses))
    assert sets[0] == sets[1]
    return sets[0]


def bytes_of(accesses: list[Access]) -> dict[tuple[int, bool], set[int]]:
    result: dict[tuple[int, bool], set[int]] = {}
    for a in accesses:
        found = result.setdefault((a.argument, a.write), set())
        for k in range(a.count):
            found.update(range(a.start + k * a.stride, a.start + k * a.stride + a.size))
    return result


def elements(indices: Any, size: int = 4) -> set[int]:
    return {size * int(i) + k for i in indices for k in range(size)}


def test_an_affine_access_is_one_piece() -> None:
    kernel = prepare(
        compile_module("kernel void k(global int *a) { int i = get_global_id(0); a[2 * i + 1] = i; }"), "k"
    )
    report = kernel.launch(bind([np.zeros(64, np.int32)]), ndrange(20, 5), record_accesses=True)
    assert report.accesses == [Access(0, True, 4, 4, 8, 20, True)]


def test_reads_and_writes_are_told_apart() -> None:
    source = (
        "kernel void k(global const int *a, global int *b) { int i = get_global_id(0); b[i] = a[i + 3]; }"
    )
    sets = touched(source, [np.zeros(64, np.int32), np.zeros(64, np.int32)], 32, 8)
    assert sets == {(0, False): elements(range(3, 35)), (1, True): elements(range(32))}


def test_a_gather_is_exact() -> None:
    index = np.random.default_rng(1).integers(0, 64, 32).astype(np.int32)
    source = """kernel void k(global const int *at, global float4 *a, global float *b) {
        int i = get_global_id(0);
        b[at[i]] = a[at[i] & 7].y; }"""
    sets = touched(source, [index, np.zeros(32, np.float32), np.zeros(64, np.float32)], 32, 8)
    assert sets[0, False] == elements(range(32))
    assert sets[1, False] == {16 * int(i & 7) + k for i in index for k in range(16)}
    assert sets[2, True] == elements(index)


def test_masked_items_touch_nothing() -> None:
    source = """kernel void k(global int *a, int n) { int i = get_global_id(0);
        if (i < n && (i & 1)) a[i] += 1;
        if (i == 3) a[60 + get_local_id(0)] = 0; }"""
    sets = touched(source, [np.zeros(64, np.int32), np.int32(10)], 32, 8)
    assert sets == {(0, False): elements([1, 3, 5, 7, 9]), (0, True): elements([1, 3, 5, 7, 9, 63])}


def test_what_is_out_of_bounds_is_not_touched() -> None:
    source = "kernel void k(global int *a) { int i = get_global_id(0); a[i] = a[i + 8]; }"
    sets = touched(source, [np.zeros(12, np.int32)], 16, 8)
    assert sets == {(0, True): elements(range(12)), (0, False): elements(range(8, 12))}


def test_an_atomic_reads_and_writes() -> None:
    source = "kernel void k(global int *a) { atomic_inc(a + (get_global_id(0) & 3) * 2); }"
    sets = touched(source, [np.zeros(16, np.int32)], 16, 8)
    assert sets == {(0, True): elements([0, 2, 4, 6]), (0, False): elements([0, 2, 4, 6])}


def test_loops_and_pointers_count_as_well() -> None:
    source = """kernel void k(global int *a, global int *b, int n) { int i = get_global_id(0);
        global int *p = i & 1 ? a : b; for (int j = 0; j < n; j++) *(p + i + 16 * j) = j; }"""
    sets = touched(source, [np.zeros(64, np.int32), np.zeros(64, np.int32), np.int32(3)], 8, 4)
    assert sets == {
        (0, True): elements(i + 16 * j for i in range(1, 8, 2) for j in range(3)),
        (1, True): elements(i + 16 * j for i in range(0, 8, 2) for j in range(3)),
    }


def test_nothing_is_recorded_unless_asked() -> None:
    kernel = prepare(compile_module("kernel void k(global int *a) { a[get_global_id(0)] = 1; }"), "k")
    assert kernel.launch(bind([np.zeros(8, np.int32)]), ndrange(8)).accesses is None
