"""Programs that the lockstep tier once got wrong, with the values that the standard gives."""

from __future__ import annotations

import numpy as np
from vm_support import run_both

PACKED = "struct __attribute__((packed)) P { char a; int b; short c; long d; };"


def test_members_of_a_packed_struct_lie_between_elements() -> None:
    out = np.zeros(6, np.int32)
    source = f"""{PACKED}
    kernel void k(global int *out) {{
        struct P p;
        p.a = 1; p.b = 2; p.c = 3; p.d = 4;
        char *bytes = (char *)&p;
        out[0] = p.a + p.b * 10 + p.c * 100 + (int)p.d * 1000;
        out[1] = bytes[1];
        out[2] = bytes[5];
        out[3] = bytes[7];
        out[4] = bytes[0];
        out[5] = sizeof(p);
    }}"""
    run_both(source, [out], 1)
    assert out.tolist() == [4321, 2, 3, 4, 1, 15]


def test_each_lane_has_its_own_packed_struct() -> None:
    out = np.zeros(8, np.int32)
    source = f"""{PACKED}
    kernel void k(global int *out) {{
        int i = get_global_id(0);
        struct P p;
        p.a = 1; p.b = i * 1000; p.c = i; p.d = 7L * i;
        struct P q = p;
        if (i & 1) q.b += 3;
        p = q;
        char *bytes = (char *)&p;
        bytes[5] += 1;
        out[i] = p.b + p.c + (int)p.d + p.a;
    }}"""
    report = run_both(source, [out], 8, 4)
    assert out.tolist() == [i * 1008 + 3 * (i & 1) + 2 for i in range(8)]
    assert not report.faults


def test_packed_structs_in_local_memory_are_shared_whole() -> None:
    out = np.zeros(6, np.int32)
    source = f"""{PACKED}
    kernel void k(global int *out) {{
        local struct P p[2];
        if (get_local_id(0) == 0) {{
            p[1].a = 1; p[1].b = 77 + get_group_id(0); p[1].c = 3; p[1].d = 5;
            p[0] = p[1];
        }}
        barrier(CLK_LOCAL_MEM_FENCE);
        out[get_global_id(0)] = p[0].a + p[0].b * 10 + p[1].c * 1000 + (int)p[0].d * 10000;
    }}"""
    run_both(source, [out], 6, 2)
    assert out.tolist() == [53771, 53771, 53781, 53781, 53791, 53791]


def test_a_word_read_across_the_words_of_private_memory_keeps_its_bytes() -> None:
    """A fault, since the address is not aligned, but the bytes are there."""
    out = np.zeros(8, np.uint32)
    source = """kernel void k(global uint *out) {
        uint i = get_global_id(0);
        uchar t[16];
        for (uint j = 0; j < 16; ++j) t[j] = j + i;
        out[i] = *(uint *)(t + 1 + (i & 3));
        *(uint *)(t + 6) = 0;
        out[i] += t[5] + t[10];
    }"""
    report = run_both(source, [out], 8, 4)
    starts = [1 + (i & 3) + i for i in range(8)]
    assert out.tolist() == [s * 0x01010101 + 0x03020100 + 15 + 2 * i for i, s in enumerate(starts)]
    assert {f.kind for f in report.faults} == {"misaligned"}


def test_an_unsigned_value_taken_as_signed_is_compared_as_signed() -> None:
    out = np.zeros(8, np.int32)
    source = """kernel void k(global int *out) {
        ulong id = get_global_id(0), shifted = id << 61, before = id - 5;
        int v = 0;
        if ((long)shifted < 0) v |= 1;
        if ((long)before < 0) v |= 2;
        if ((long)(before * 0x4000000000000000UL) < 0) v |= 4;
        if (before < 2) v |= 8;
        if ((long)(id * 5 - 9) < 3) v |= 16;
        out[id] = v;
    }"""
    run_both(source, [out], 8, 4)
    assert out.tolist() == [
        1 * (i & 4 > 0) | 2 * (i < 5) | 4 * ((i - 5) & 3 >= 2) | 8 * (5 <= i < 7) | 16 * (5 * i - 9 < 3)
        for i in range(8)
    ]


def test_a_vector_read_in_stride_from_an_unaligned_place_is_a_fault() -> None:
    """Section 6.2.5: a pointer to a vector must be aligned to the vector's size."""
    data, out = np.arange(40, dtype=np.int32), np.zeros(8, np.int32)
    source = """kernel void k(global const int *data, global int *out) {
        size_t i = get_global_id(0);
        out[i] = ((global const int4 *)(data + 1))[i].y + ((global const int2 *)(data + i))->x;
    }"""
    report = run_both(source, [data, out], 8, 4)
    assert out.tolist() == [4 * i + 2 + i for i in range(8)]
    assert sorted((f.kind, f.size, f.count) for f in report.faults) == [
        ("misaligned", 8, 4),
        ("misaligned", 16, 8),
    ]


def test_a_loop_in_a_branch_varies_as_the_branch_does() -> None:
    """Lanes of the rows that take the branch all write the same; the loop itself varies by column only."""
    rows = np.array([0, 1, 1, 0], np.int32)
    out, shared = np.full(4, -1, np.int32), np.zeros(16, np.int32)
    source = """kernel void k(global const int *rows, global int *out, global int *shared) {
        int x = get_local_id(0), y = get_local_id(1);
        local int sums[4];
        if (rows[y] > 0) {
            int sum = 0;
            for (int j = 0; j < x + 1; ++j) {
                sum += j * 3 + x;
                if (j == 2) break;
            }
            out[x] = sum;
            sums[x] = sum;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        shared[4 * y + x] = sums[x];
    }"""
    run_both(source, [rows, out, shared], (4, 4), (4, 4))
    assert out.tolist() == [0, 5, 15, 18]
    assert shared.tolist() == [0, 5, 15, 18] * 4
