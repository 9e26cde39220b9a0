"""Memory of every space: layout, pointers, records, local memory of groups, arguments that overlap."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from vm_support import Local, bind, compile_module, ndrange, run_both

from clsim.vm import prepare


def test_local_memory_belongs_to_one_group() -> None:
    source = """kernel void k(global const float *a, global float *b) { local float t[16];
        int l = get_local_id(0);
        t[l] = a[get_global_id(0)]; barrier(CLK_LOCAL_MEM_FENCE); b[get_global_id(0)] = t[15 - l]; }"""
    a, b = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    run_both(source, [a, b], 64, 16)
    np.testing.assert_array_equal(b, a.reshape(4, 16)[:, ::-1].ravel())


def test_a_local_argument_reduces_a_group() -> None:
    source = """kernel void k(global const int *a, global int *b, local int *t) { int l = get_local_id(0);
        t[l] = a[get_global_id(0)]; barrier(CLK_LOCAL_MEM_FENCE);
        for (int s = get_local_size(0) / 2; s > 0; s >>= 1) {
            if (l < s) t[l] += t[l + s]; barrier(CLK_LOCAL_MEM_FENCE); }
        if (l == 0) b[get_group_id(0)] = t[0]; }"""
    a = np.random.default_rng(1).integers(-99, 99, 4096).astype(np.int32)
    b = np.zeros(128, np.int32)
    assert not run_both(source, [a, b, Local(128)], 4096, 32).faults
    np.testing.assert_array_equal(b, a.reshape(128, 32).sum(1))


def test_records_have_the_layout_of_c() -> None:
    source = """typedef struct { char c; short s[2]; double d; uchar tail; } R;
        kernel void k(global R *r) { int i = get_global_id(0); R mine = r[i]; mine.c += 1; mine.s[1] = i;
        mine.d *= 2; mine.tail ^= 255; r[i] = mine; r[i].s[0] = mine.s[i & 1]; }"""
    layout = struct.Struct("<b x h h 2x d B 7x")
    packed = b"".join(layout.pack(i, 10 * i, 20 * i, i / 4, i) for i in range(8))
    data = np.frombuffer(packed, np.uint8).copy()
    run_both(source, [data], 8, 4)
    for i, (c, s0, s1, d, tail) in enumerate(layout.iter_unpack(data.tobytes())):
        assert (c, s1, d, tail) == (i + 1, i, i / 2, i ^ 255)
        assert s0 == (i if i & 1 else 10 * i)


def test_a_union_shows_the_same_bytes_as_another_type() -> None:
    source = """typedef union { float f; int i; uchar b[4]; } U;
        kernel void k(global const float *a, global int *out) { int i = get_global_id(0); U u; u.f = a[i];
        u.b[3] ^= 0x80; out[i] = u.i + u.b[2]; }"""
    a, out = np.array([1.5, -2, 1e-3, 7e9], np.float32), np.zeros(4, np.int32)
    run_both(source, [a, out], 4, 4)
    bits = (-a).view(np.int32)
    np.testing.assert_array_equal(out, bits + ((bits >> 16) & 255))


def test_private_arrays_are_each_items_own() -> None:
    source = """kernel void k(global int *out) { int i = get_global_id(0); int t[8];
        for (int j = 0; j < 8; j++) t[j] = j * i; if (i & 1) t[i & 7] = -1;
        int s = 0; for (int j = 0; j < 8; j++) s = s * 3 + t[(j + i) & 7]; out[i] = s; }"""
    out = np.zeros(32, np.int32)
    run_both(source, [out], 32, 8)
    for i in range(32):
        t = [j * i for j in range(8)]
        if i & 1:
            t[i & 7] = -1
        s = 0
        for j in range(8):
            s = s * 3 + t[(j + i) & 7]
        assert out[i] == s


def test_a_byte_of_a_word_can_be_written() -> None:
    source = """kernel void k(global int *out) { int i = get_global_id(0); int t[3] = {1, 2, 3};
        ((uchar *)t)[i % 12] = 200; out[i] = t[0] ^ t[1] * 3 ^ t[2] * 5; }"""
    out = np.zeros(12, np.int32)
    run_both(source, [out], 12, 4)
    for i in range(12):
        data = bytearray(struct.pack("<3i", 1, 2, 3))
        data[i] = 200
        a, b, c = (np.int32(v) for v in struct.unpack("<3i", data))
        with np.errstate(over="ignore"):
            assert out[i] == a ^ b * np.int32(3) ^ c * np.int32(5)


def test_a_helper_changes_its_callers_array_through_a_pointer() -> None:
    source = """void add(int *p, int n) { for (int i = 0; i < n; i++) p[i] += i + 1; }
        kernel void k(global int *out) { int i = get_global_id(0); int t[4] = {0, 10, 20, i}; add(t, 4);
        add(&t[1], 1 + (i & 1)); out[i] = t[0] + t[1] * 100 + t[2] * 10000 + t[3] * 1000000; }"""
    out = np.zeros(8, np.int32)
    run_both(source, [out], 8, 4)
    for i in range(8):
        t = [1, 12, 23, i + 4]
        t[1] += 1
        if i & 1:
            t[2] += 2
        assert out[i] == t[0] + t[1] * 100 + t[2] * 10000 + t[3] * 1000000


def test_a_pointer_may_lead_to_one_of_two_buffers() -> None:
    source = """kernel void k(global int *a, global int *b, global int *out) { int i = get_global_id(0);
        global int *p = (i & 1) ? a : b; out[i] = p[i]; if (i & 2) p = a; *(p + i) = 100 + i; }"""
    a, b, out = np.arange(8, dtype=np.int32), np.arange(20, 28, dtype=np.int32), np.zeros(8, np.int32)
    run_both(source, [a, b, out], 8, 4)
    assert out.tolist() == [20, 1, 22, 3, 24, 5, 26, 7]
    assert a.tolist() == [0, 101, 102, 103, 4, 105, 106, 107]
    assert b.tolist() == [100, 21, 22, 23, 104, 25, 26, 27]


def test_a_pointer_walks_a_buffer() -> None:
    source = """kernel void k(global const int *a, global int *out) { int i = get_global_id(0);
        global const int *p = a + i, *end = a + 64; int s = 0; while (p < end) { s += *p; p += 16; }
        out[i] = s * 100 + (int)(p - end); }"""
    a, out = np.arange(64, dtype=np.int32), np.zeros(16, np.int32)
    assert not run_both(source, [a, out], 16, 4).faults
    assert out.tolist() == [int(a[i::16].sum()) * 100 + i for i in range(16)]


def test_pointers_can_be_kept_in_memory() -> None:
    source = """typedef struct { global int *where; int n; } R;
        kernel void k(global int *a, global int *b) { int i = get_global_id(0); R r[2]; r[0].where = a;
        r[1].where = b;
        r[0].n = 1; r[1].n = 2; r[i & 1].where[i] = r[i & 1].n; }"""
    a, b = np.zeros(8, np.int32), np.zeros(8, np.int32)
    assert not run_both(source, [a, b], 8, 4).faults
    assert a.tolist() == [1, 0] * 4
    assert b.tolist() == [0, 2] * 4


def test_a_record_argument_is_each_items_own_copy() -> None:
    source = """typedef struct { int a; float b; } R;
        kernel void k(R r, global float *out) { int i = get_global_id(0); r.a += i; out[i] = r.a * r.b; }"""
    out = np.zeros(8, np.float32)
    run_both(source, [struct.pack("<if", 3, 2.5), out], 8, 4)
    assert out.tolist() == [(3 + i) * 2.5 for i in range(8)]


def test_what_was_read_before_a_write_keeps_its_value() -> None:
    source = """kernel void k(global int *a, global int *b) { int i = get_global_id(0); int t = a[i];
        a[i] = b[i];
        b[i] = t; a[i] += t; int u = a[i]; for (int j = 0; j < 3; j++) { a[i] = u + a[i]; } b[i] += u; }"""
    a, b = np.arange(8, dtype=np.int32), np.arange(50, 58, dtype=np.int32)
    x, y = a.copy(), b.copy()
    run_both(source, [a, b], 8, 4)
    np.testing.assert_array_equal(a, 4 * (x + y))
    np.testing.assert_array_equal(b, x + (x + y))


def test_arguments_that_share_memory_see_each_others_writes() -> None:
    source = """kernel void k(global int *a, global int *b) { int i = get_global_id(0); int t = a[i];
        b[i] = 5;
        a[i] = t + a[i]; }"""
    kernel = prepare(compile_module(source), "k")
    memory = np.arange(16, dtype=np.int32)
    for launch in (kernel.launch, kernel.launch_scalar):
        data = memory.copy()
        launch(bind([data, data]), ndrange(16, 8))
        np.testing.assert_array_equal(data, memory + 5)


def test_a_copy_between_overlapping_views_reads_before_it_writes() -> None:
    source = "kernel void k(global int *a) { int i = get_global_id(0); int t = a[i + 1]; a[i] = t; }"
    data = np.arange(9, dtype=np.int32)
    prepare(compile_module(source), "k").launch(bind([data]), ndrange(8, 8))
    assert data.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 8]


def test_a_store_of_all_items_to_one_place_leaves_one_of_their_values() -> None:
    source = """kernel void k(global int *out) { local int t[2]; int l = get_local_id(0);
        if (l > 2 && l < 6) t[0] = l; t[1] = 100 + l; barrier(CLK_LOCAL_MEM_FENCE);
        if (l == 0) { out[2 * get_group_id(0)] = t[0]; out[2 * get_group_id(0) + 1] = t[1]; } }"""
    out = np.zeros(8, np.int32)
    run_both(source, [out], 32, 8)
    assert set(out[0::2].tolist()) <= {3, 4, 5}
    assert set(out[1::2].tolist()) <= set(range(100, 108))


def test_tables_of_the_program_can_be_looked_up() -> None:
    source = """constant float T[5] = {1, 2, 4, 8, 16}; constant char name[] = "abc";
        kernel void k(global const int *a, global float *out) { int i = get_global_id(0);
        out[i] = T[a[i]] + name[i & 3]; }"""
    a, out = np.array([4, 0, 2, 1], np.int32), np.zeros(4, np.float32)
    run_both(source, [a, out], 4, 4)
    assert out.tolist() == [16 + 97, 1 + 98, 4 + 99, 2]


@pytest.mark.parametrize(
    "type_", ["char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "float", "double"]
)
def test_every_scalar_type_goes_through_all_memory(type_: str) -> None:
    source = f"""kernel void k(global const {type_} *a, global {type_} *out, {type_} x) {{
        int i = get_global_id(0);
        local {type_} t[4]; {type_} p[2]; p[i & 1] = a[i]; p[1 - (i & 1)] = x; t[get_local_id(0)] = p[0];
        barrier(CLK_LOCAL_MEM_FENCE); out[i] = t[3 - get_local_id(0)] + p[1]; }}"""
    from clsim.vm.dtypes import NUMPY_CODES

    kind = np.dtype(NUMPY_CODES[type_])
    a, out = np.arange(3, 11).astype(kind), np.zeros(8, kind)
    run_both(source, [a, out, kind.type(90)], 8, 4)
    p = [[int(a[i]), 90] if i % 2 == 0 else [90, int(a[i])] for i in range(8)]
    wanted = [p[4 * (i // 4) + 3 - i % 4][0] + p[i][1] for i in range(8)]
    assert out.tolist() == np.array(wanted).astype(kind).tolist()
