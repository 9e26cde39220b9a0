"""What the compiler finds out about a program without running it: reads, writes, costs."""

from __future__ import annotations

import pytest
from clc_support import module_of

HELPERS = """
typedef struct {global float *where; int n;} Box;
void put(global float *p, float x) {p[0] = x;}
float get(global const float *p) {return p[1];}
global float *pick(global float *p, global float *q, int n) {return n ? p : q;}
void unused(global float *p) {}
void twice(global float *p) {put(p + 1, 2);}
"""


@pytest.mark.parametrize(
    ("body", "reads", "writes"),
    [
        ("", "", ""),
        ("a[0] = 1;", "", "a"),
        ("a[0] = b[0];", "b", "a"),
        ("a[0] += b[0];", "ab", "a"),
        ("if (n) a[0] = 1; else b[0] = 1;", "", "ab"),
        ("global float *p = a; p++; *p = c[0];", "c", "a"),
        ("global float *p = a; if (n) p = b; *p = 1;", "", "ab"),
        ("global float *p; p = n ? a : b; float x = *p;", "ab", ""),
        ("for (global float *p = a; p < b; p++) *p = 1;", "", "a"),
        ("put(a, get(b));", "b", "a"),
        ("put(pick(a, b, n), 1);", "", "ab"),
        ("unused(a);", "", ""),
        ("twice(a);", "", "a"),
        ("vstore4(vload4(0, a), 0, b);", "a", "b"),
        ("atomic_xchg(a, 1.0f);", "a", "a"),
        ("global int *p = (global int *)a; p[0] = 1;", "", "a"),
        ("float x = 1; float *p = &x; *p = a[0];", "a", ""),
        ("global float *p[2] = {a, b}; p[n][0] = 1;", "", "ab"),
        ("Box x = {a, 1}; x.where[0] = 1;", "", "a"),
        ("Box x = {a, 1}; Box y = x; float z = y.where[0];", "a", ""),
        ("global float *p = (global float *)((size_t)a + 4); *p = 1;", "", "abc"),
        ("float i; a[0] = modf(b[0], &c[1]);", "b", "ac"),
        (
            "local float l[4]; event_t e = async_work_group_copy(l, a, 4, 0); wait_group_events(1, &e);",
            "a",
            "",
        ),
        (
            "local float l[4]; event_t e = async_work_group_copy(a, l, 4, 0); wait_group_events(1, &e);",
            "",
            "a",
        ),
        ("if (a == b) n = 1; size_t s = a - b; prefetch(c, 4);", "", ""),
        ("if (0) a[0] = 1;", "", ""),
        ('printf("%f", a[0]);', "a", ""),
    ],
)
def test_what_a_kernel_may_read_and_write_follows_from_its_data_flow(
    body: str, reads: str, writes: str
) -> None:
    source = HELPERS + (
        "kernel void k(global float *a, global float *b, global float *c, int n) {" + body + "}"
    )
    parameters = module_of(source).functions["k"].parameters[:3]
    assert "".join(p.var.name for p in parameters if p.may_read) == reads
    assert "".join(p.var.name for p in parameters if p.may_write) == writes


def test_const_is_not_what_decides() -> None:
    source = "kernel void k(global const float *a) {*(global float *)a = 1;}"
    (parameter,) = module_of(source).functions["k"].parameters
    assert parameter.may_write
    assert not parameter.may_read


def test_a_record_that_is_copied_out_and_in_counts_as_read_and_written() -> None:
    source = "typedef struct {int x[4];} S; kernel void k(global S *a, global S *b) {S s = a[0]; b[0] = s;}"
    a, b = module_of(source).functions["k"].parameters
    assert (a.may_read, a.may_write, b.may_read, b.may_write) == (True, False, False, True)


def cost(body: str) -> tuple[int, int]:
    kernel = module_of("kernel void k(global float *a, int n) {" + body + "}").functions["k"]
    return kernel.operations, kernel.bytes_moved


def test_bytes_moved_count_global_memory_once_an_access() -> None:
    assert cost("a[0] = a[1];")[1] == 8
    assert cost("float x[4]; x[0] = 1; a[0] = x[n];")[1] == 4
    assert cost("vstore3(vload3(0, a), 1, a);")[1] == 24


def test_loops_with_known_bounds_are_multiplied_out_and_others_guessed() -> None:
    assert cost("for (int i = 0; i < 10; i++) a[i] = 1;")[1] == 40
    assert cost("for (int i = 10; i >= 2; i -= 4) a[i] = 1;")[1] == 12
    assert cost("for (int i = 0; i < 4; ++i) for (int j = 0; j < 8; ++j) a[i] = a[j];")[1] == 4 * 8 * 8
    assert cost("for (int i = 0; i < n; i++) a[i] = 1;")[1] == 16 * 4


def test_the_dearer_side_of_a_branch_counts() -> None:
    assert cost("if (n) {a[0] = 1; a[1] = 2;} else a[2] = 3;")[1] == 8


def test_operations_grow_with_the_work() -> None:
    few, many = cost("a[0] = n + 1.0f;")[0], cost("a[0] = sin(n + 1.0f) * cos(n * 2.0f);")[0]
    assert 0 < few < many


def test_a_call_costs_what_its_function_costs() -> None:
    source = (
        "void f(global float *a) {for (int i = 0; i < 5; i++) a[i] = 1;}"
        "kernel void k(global float *a) {f(a); f(a);}"
    )
    assert module_of(source).functions["k"].bytes_moved == 40
