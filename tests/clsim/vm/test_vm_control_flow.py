"""Divergent control flow: what each work-item does is its own affair."""

from __future__ import annotations

import numpy as np
import pytest
from vm_support import run_both

A = np.random.default_rng(3).integers(-60, 60, 64).astype(np.int32)


def per_item(body: str, helpers: str = "") -> list[int]:
    """What `out` holds after `body` ran for each element `x = a[i]`, on both tiers."""
    source = f"{helpers} kernel void k(global const int *a, global int *out, int n) {{"
    source += f" int i = get_global_id(0); int x = a[i]; {body} }}"
    out = np.zeros(64, np.int32)
    report = run_both(source, [A, out, np.int32(64)], 64, 16)
    assert not report.faults
    return out.tolist()


def expected(function) -> list[int]:  # type: ignore[no-untyped-def]
    return [function(i, int(x)) for i, x in enumerate(A)]


def test_each_side_of_a_branch_keeps_its_own_values() -> None:
    assert per_item("int r = 1; if (x > 0) r = x; else if (x < -9) r = -x; out[i] = r;") == expected(
        lambda i, x: x if x > 0 else -x if x < -9 else 1
    )


def test_a_loop_runs_as_often_as_each_item_needs() -> None:
    assert per_item("int s = 0; for (int j = 0; j < (x & 15); j++) s += j * i; out[i] = s;") == expected(
        lambda i, x: sum(j * i for j in range(x & 15))
    )


def test_break_and_continue_leave_only_the_items_that_took_them() -> None:
    def one(i: int, x: int) -> int:
        s = 0
        j = 0
        for j in range(51):
            if j == 50 or j > x:
                break
            if j % 3 == 0:
                continue
            s += j
        return s + 1000 * j

    body = """int s = 0, j; for (j = 0; j < 50; j++) { if (j > x) break; if (j % 3 == 0) continue; s += j; }
        out[i] = s + 1000 * j;"""
    assert per_item(body) == expected(one)


def test_a_do_while_runs_once_at_least() -> None:
    def one(i: int, x: int) -> int:
        n = 0
        while True:
            n += 1
            x = int(x / 2)
            if x == 0:
                return n

    assert per_item("int m = 0; do { m++; x /= 2; } while (x != 0); out[i] = m;") == expected(one)


def test_continue_in_a_do_while_still_tests() -> None:
    body = "int m = 0, s = 0; do { m++; if (m & 1) continue; s += m; } while (m < (x & 7)); out[i] = s;"

    def one(i: int, x: int) -> int:
        n = s = 0
        while True:
            n += 1
            if not n & 1:
                s += n
            if not n < (x & 7):
                return s

    assert per_item(body) == expected(one)


def test_a_return_ends_one_item_and_not_its_neighbours() -> None:
    body = "if (i >= 50) return; if (x < 0) { out[i] = 7; return; } out[i] = x;"
    assert per_item(body) == expected(lambda i, x: 0 if i >= 50 else 7 if x < 0 else x)


def test_a_helper_returns_from_inside_its_loops() -> None:
    helper = """int f(int x) { for (int j = 0; j < 9; j++) {
        while (1) { if (x < j) return j; break; } x--; } return -x; }"""

    def one(i: int, x: int) -> int:
        for j in range(9):
            if x < j:
                return j
            x -= 1
        return -x

    assert per_item("out[i] = f(x) + 2 * f(i);", helper) == expected(lambda i, x: one(i, x) + 2 * one(i, i))


def test_a_switch_falls_through_until_a_break() -> None:
    body = """int r = 0; switch (x & 7) { case 0: r = 1; break; case 1: r = 2; case 2: r += 3; break;
        case 3: case 4: r = 9; default: r += 100; } out[i] = r;"""
    table = {0: 1, 1: 5, 2: 3, 3: 109, 4: 109}
    assert per_item(body) == expected(lambda i, x: table.get(x & 7, 100))


def test_a_default_in_the_middle_is_entered_where_nothing_matches() -> None:
    body = "int r = 0; switch (x & 3) { case 1: r = 1; break; default: r = 5; case 2: r += 10; } out[i] = r;"
    table = {1: 1, 2: 10}
    assert per_item(body) == expected(lambda i, x: table.get(x & 3, 15))


def test_continue_leaves_a_switch_inside_a_loop() -> None:
    body = """int r = 0; for (int j = 0; j < 6; j++) { switch ((x + j) & 3) { case 0: continue;
        case 1: r += 1;
        break; case 2: r += 10; if (r > 15) break; r += 100; } r += 1000; } out[i] = r;"""

    def one(i: int, x: int) -> int:
        r = 0
        for j in range(6):
            k = (x + j) & 3
            if k == 0:
                continue
            if k == 1:
                r += 1
            elif k == 2:
                r += 10
                if r <= 15:
                    r += 100
            r += 1000
        return r

    assert per_item(body) == expected(one)


def test_a_guard_keeps_later_operands_from_being_read() -> None:
    out = np.zeros(64, np.int32)
    source = """kernel void k(global const int *a, global int *out, int n) { int i = get_global_id(0);
        out[i] = (2 * i < n && a[2 * i] > 0) ? a[2 * i] : (i & 1 ? -1 : a[i]); }"""
    report = run_both(source, [A, out, np.int32(64)], 64, 16)
    assert not report.faults
    wanted = [int(A[2 * i]) if 2 * i < 64 and A[2 * i] > 0 else -1 if i & 1 else int(A[i]) for i in range(64)]
    assert out.tolist() == wanted


def test_nested_loops_with_exits_at_both_levels() -> None:
    body = """int s = 0; for (int j = 0; j < (i & 7); j++) { for (int l = 0; l < j; l++) {
        if ((l + x) % 3 == 0) continue; s += l; if (s > 5) break; } if (s > 9) break; s += 1;
        } out[i] = s;"""

    def one(i: int, x: int) -> int:
        s = 0
        for j in range(i & 7):
            for m in range(j):
                if int(np.fmod(m + x, 3)) == 0:
                    continue
                s += m
                if s > 5:
                    break
            if s > 9:
                break
            s += 1
        return s

    assert per_item(body) == expected(one)


@pytest.mark.parametrize(
    "test", ["l < n", "n <= l", "l == n", "l > 5", "2 * l < n", "3 - l < 0", "n > l + 1"]
)
@pytest.mark.parametrize("n", [-1, 0, 3, 7, 8, 20])
def test_a_run_of_local_ids_is_the_same_as_a_mask(test: str, n: int) -> None:
    source = f"""kernel void k(global const int *a, global int *out, int n) {{
        int i = get_global_id(0), l = get_local_id(0); local int t[8]; t[l] = a[i]; int r = 5, q = i;
        if ({test}) {{ r = t[l] + q; t[l] = r * 2; for (int j = 0; j < (a[i] & 3); j++) r += j + q; }}
        else {{ q = r - t[l]; }}
        out[i] = r * 100 + q + t[l]; }}"""
    out = np.zeros(64, np.int32)
    report = run_both(source, [A, out, np.int32(n)], 64, 8)
    assert not report.faults
    for i in range(64):
        t, r, q = int(A[i]), 5, i
        if eval(test, {"l": i % 8, "n": n}):
            r = t + q
            t = r * 2
            for j in range(int(A[i]) & 3):
                r += j + q
        else:
            q = r - t
        assert out[i] == r * 100 + q + t


def test_runs_of_local_ids_nest_in_two_dimensions() -> None:
    source = """kernel void k(global int *out) { int x = get_local_id(0), y = get_local_id(1); int r = 0;
        if (x < 6) { r = 1; if (y >= 2) { r += 10 * x; if (x > 2) r += 100 * y; else r -= 1; } }
        out[get_global_id(1) * 16 + get_global_id(0)] = r; }"""
    out = np.zeros(16 * 8, np.int32)
    run_both(source, [out], (16, 8), (8, 4))
    for gy in range(8):
        for gx in range(16):
            x, y = gx % 8, gy % 4
            r = 0
            if x < 6:
                r = 1
                if y >= 2:
                    r += 10 * x
                    r += 100 * y if x > 2 else -1
            assert out[gy * 16 + gx] == r


def test_a_loop_without_end_is_cut_off_and_reported() -> None:
    from vm_support import bind, compile_module, ndrange

    from clsim.vm import prepare

    source = """kernel void k(global int *out) { int i = get_global_id(0); int n = 0;
        while (i != 3 || n < 4) { n++; if (i == 5 && n == 9) break; } out[i] = n; }"""
    kernel = prepare(compile_module(source), "k")
    out = np.zeros(8, np.int32)
    report = kernel.launch(bind([out]), ndrange(8, 4), loop_limit=100)
    (fault,) = report.faults
    assert (fault.kind, fault.loc.line, fault.count, fault.global_id) == ("loop-limit", 2, 6, (0,))
    assert out[3] == 4
    assert out[5] == 9
