"""printf: C's formats and OpenCL's vectors, in order of work-item."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from vm_support import run_both


def printed(body: str, count: int = 1) -> str:
    return run_both(
        f"kernel void k() {{ int i = get_global_id(0); {body} }}", [], count, min(count, 2)
    ).printed


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (r'"%d|%5d|%-5d|%05d|%+d", 7, 7, 7, 7, 7', "7|    7|7    |00007|+7"),
        (r'"%i %u %x %X %#x %o %#o", -1, -1, 255, 255, 255, 8, 8', "-1 4294967295 ff FF 0xff 10 010"),
        (r'"%c%c %% %s", 65, 66, "text"', "AB % text"),
        (
            r'"%.2f %8.3f %e %g %G", 3.14159, 2.5, 12345.678, 0.0001, 1e20',
            "3.14    2.500 1.234568e+04 0.0001 1E+20",
        ),
        (r'"%hhd %hd %ld", 300, 70000, 5000000000L', "44 4464 5000000000"),
        (r'"%v4d", (int4)(1, 2, 3, 4)', "1,2,3,4"),
        (r'"%v2hhd|%v2hlx", (char2)(-1, 5), (int2)(255, 16)', "-1,5|ff,10"),
        (r'"%5.1v2hlf", (float2)(1.25f, -3)', "  1.2, -3.0"),
        (r'"%f %f %f", INFINITY, -INFINITY, NAN', "inf -inf nan"),
        (r'"no arguments\n"', "no arguments\n"),
        (r'"%5s|%-5s|", "ab", "cd"', "   ab|cd   |"),
    ],
)
def test_a_format_gives_what_c_gives(call: str, text: str) -> None:
    assert printed(f"printf({call});") == text


def test_lines_come_in_order_of_work_item() -> None:
    body = r'printf("a%d\n", i); if (i & 1) printf("b%d\n", i);'
    assert printed(body, 4) == "a0\na1\nb1\na2\na3\nb3\n"


def test_only_items_that_get_there_print() -> None:
    a: Any = np.array([3, -1, 2], np.int32)
    source = r"""kernel void k(global const int *a) { int i = get_global_id(0);
        for (int j = 0; j < a[i]; j++) if (j != 1) printf("%d.%d ", i, j); }"""
    assert run_both(source, [a], 3, 3).printed == "0.0 0.2 2.0 "
