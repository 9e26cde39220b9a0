"""Modules as bytes: nothing is lost, and nothing hostile gets in."""

from __future__ import annotations

import json
import random
import zlib
from dataclasses import fields, is_dataclass
from typing import Any

import pytest
from clc_support import FULL, module_of
from hypothesis import given, settings
from hypothesis import strategies as st

from clsim.clc import FORMAT, compile_source, dump, ir, load
from clsim.clc.types import Record
from clsim.clc.verify import verify

PROGRAM = """
typedef struct N {int v; struct N *next; float4 w[2];} N;
typedef struct {int v; short w[3];} M;
union U {int i; float f;};
constant float table[4] = {1, 2, 3.5f, -0.0f};
constant char text[] = "hi";
float helper(global const float *p, N n, int k) {
  for (int i = 0; i < k; i++) { if (i == 3) continue; n.v += (int)p[i]; }
  return n.v + n.w[1].x;
}
N make(int x) { N n; n.v = x; n.next = 0; n.w[0] = 1; n.w[1] = (float4)(1, 2, 3, 4); return n; }
__attribute__((reqd_work_group_size(4, 1, 1)))
kernel void k(global float *a, local int *l, constant int *c, M by_value, int n, double d) {
  local float tile[16]; union U u; u.f = 1; int x = 3; int *p = &x;
  N m = make(n); *p += atomic_add(l, 2); barrier(CLK_LOCAL_MEM_FENCE);
  switch (n) { case 1: case 2: x = u.i; break; default: x = -1; }
  float whole, part = modf(a[0], &whole); printf("%d %s\\n", x, "end");
  float16 v = vload16(0, a); v.s5 = tile[x & 15]; a[1] = v.s5 + table[n & 3] + helper(a, m, n);
  do { n--; } while (n > 0 && a[n] > INFINITY); a[2] = n ? convert_float_rtz(d) : as_float(n); a[3] = NAN;
  if (isnan(a[3])) return; m.next = &m; a[4] = m.next->v + (text[0] == 'h') + by_value.v;
}
"""


def shape(x: Any, seen: dict[int, int] | None = None) -> Any:
    """Everything in a module; registers, memory objects and records are numbered where they are met."""
    seen = {} if seen is None else seen
    if is_dataclass(x) and not isinstance(x, type):
        if isinstance(x, ir.Loc):
            return (x.file, x.line, x.column)
        if isinstance(x, (ir.Var, ir.Memory, Record)):
            if id(x) in seen:
                return ("seen", seen[id(x)])
            seen[id(x)] = len(seen)
        return (type(x).__name__, *[shape(getattr(x, f.name), seen) for f in fields(x) if f.name != "lookup"])
    if isinstance(x, (tuple, list)):
        return tuple(shape(y, seen) for y in x)
    if isinstance(x, dict):
        return tuple((k, shape(v, seen)) for k, v in x.items())
    if isinstance(x, frozenset):
        return tuple(sorted(x))
    return repr(x)


@pytest.fixture(scope="module")
def data() -> bytes:
    return dump(module_of(PROGRAM, "-cl-denorms-are-zero -DX=1"))


def document(data: bytes) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(zlib.decompress(data[10:]))
    return parsed


def packed(text: bytes) -> bytes:
    return b"clsim-ir" + FORMAT.to_bytes(2, "little") + zlib.compress(text)


def test_a_module_comes_back_whole(data: bytes) -> None:
    made = module_of(PROGRAM, "-cl-denorms-are-zero -DX=1")
    assert shape(load(data)) == shape(made)


def test_the_same_module_always_gives_the_same_bytes(data: bytes) -> None:
    assert dump(module_of(PROGRAM, "-cl-denorms-are-zero -DX=1")) == data
    assert dump(load(data)) == data


def test_types_come_back_as_the_compilers_own_objects(data: bytes) -> None:
    from clsim.clc.types import DOUBLE, FLOAT, Pointer

    parameters = load(data).functions["k"].parameters
    assert isinstance(parameters[0].var.type, Pointer)
    assert parameters[0].var.type.pointee is FLOAT
    assert parameters[5].var.type is DOUBLE


def test_loading_is_faster_than_compiling(data: bytes) -> None:
    from time import process_time

    def best(work: Any) -> float:
        times = []
        for _ in range(5):
            start = process_time()
            work()
            times.append(process_time() - start)
        return min(times)

    source = PROGRAM + "".join(
        f"kernel void k{i}(global float *a) {{ for (int i = 0; i < 9; i++) a[i + {i}] += a[i] * {i}; }}\n"
        for i in range(200)
    )
    made = dump(module_of(source))
    assert best(lambda: load(made)) < 0.8 * best(lambda: compile_source(source, target=FULL))


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b"", "not a serialised clsim module"),
        (b"clsim-ir", "module has format 0"),
        (b"clsim-ir\xff\xff", "module has format 65535"),
        (b"clsim-ir" + FORMAT.to_bytes(2, "little") + b"junk", "does not inflate"),
        (packed(b"{}")[:-3], "truncated"),
        (packed(b"{}") + b"x", "truncated, too large, or followed by other bytes"),
        (packed(b"[]"), "module is no object"),
        (packed(b"{}"), "malformed"),
        (packed(b"nonsense"), "Expecting value"),
        (packed(b"[" * 100_000), "malformed"),
        (packed(b'{"files": 1}'), "1 is no list"),
        (packed(b'{"files": [' + b"9" * 5000 + b"]}"), "integer string conversion|is no text"),
    ],
)
def test_bytes_that_are_no_module_are_refused_with_the_reason(bad: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        load(bad)


def test_a_bomb_is_refused_before_it_fills_memory() -> None:
    deflater = zlib.compressobj(9)
    bomb = b"".join(deflater.compress(b" " * (1 << 20)) for _ in range(300)) + deflater.flush()
    with pytest.raises(ValueError, match="too large"):
        load(b"clsim-ir" + FORMAT.to_bytes(2, "little") + bomb)


def test_every_truncation_is_refused(data: bytes) -> None:
    for length in range(0, len(data), 7):
        with pytest.raises(ValueError):
            load(data[:length])


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_random_bytes_are_refused(noise: bytes) -> None:
    for bad in (noise, b"clsim-ir" + FORMAT.to_bytes(2, "little") + noise, packed(noise)):
        with pytest.raises(ValueError):
            load(bad)


def places(x: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths to every scalar and list in a document."""
    out = [path] if path else []
    if isinstance(x, dict):
        for k, v in x.items():
            out += places(v, (*path, k))
    elif isinstance(x, list):
        for k, v in enumerate(x):
            out += places(v, (*path, k))
    return out


ODD = [
    None,
    True,
    -1,
    0,
    1,
    3,
    10**6,
    2**63,
    1.5,
    float("nan"),
    "",
    "x y",
    "__import__('os')",
    "int",
    [],
    [0],
    {},
    [[]],
]


def test_a_document_changed_anywhere_loads_to_a_valid_module_or_is_refused(data: bytes) -> None:
    original = document(data)
    paths = places(original)
    rng = random.Random(5)
    refused = 0
    for _ in range(1500):
        changed = json.loads(json.dumps(original))
        for _ in range(rng.choice((1, 1, 2))):
            path = rng.choice(paths)
            target = changed
            try:
                for step in path[:-1]:
                    target = target[step]
                target[path[-1]] = rng.choice(ODD)
            except (KeyError, IndexError, TypeError):
                continue
        try:
            module = load(packed(json.dumps(changed).encode()))
        except ValueError:
            refused += 1
        else:
            verify(module)
            assert all(name.isidentifier() for name in module.functions)
    assert refused > 1000


def alter(data: bytes, path: tuple[Any, ...], value: Any) -> bytes:
    changed = document(data)
    target: Any = changed
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = value
    return packed(json.dumps(changed).encode())


def test_a_name_that_is_no_identifier_never_reaches_the_machine(data: bytes) -> None:
    evil = "x; import os"
    for path in (
        ("vars", 0, 0),
        ("memories", 0, 0),
        ("functions", 0, 0),
        ("records", 0, 0),
        ("records", 0, 4, 0, 0),
    ):
        with pytest.raises(ValueError, match=r"identifier|bad name"):
            load(alter(data, path, evil))


def test_an_operator_or_function_that_is_none_is_refused(data: bytes) -> None:
    for row, node in enumerate(document(data)["nodes"]):
        if node[0] in (6, 7, 8, 9):
            with pytest.raises(ValueError, match=r"has the (operator|comparison)"):
                load(alter(data, ("nodes", row, 1), "__class__"))
        elif node[0] == 15:
            with pytest.raises(ValueError, match="is no built-in function"):
                load(alter(data, ("nodes", row, 1), "eval"))


def test_a_node_may_only_name_earlier_nodes(data: bytes) -> None:
    row = next(k for k, node in enumerate(document(data)["nodes"]) if node[0] == 7)
    with pytest.raises(ValueError, match="malformed"):
        load(alter(data, ("nodes", row, 3), row))


def test_recursion_is_refused_in_bytes_too(data: bytes) -> None:
    nodes = document(data)["nodes"]
    row = next(k for k, node in enumerate(nodes) if node[0] == 21 and node[2] == "make")
    changed = document(data)
    changed["nodes"][row][2] = "make"
    make = next(f for f in changed["functions"] if f[0] == "make")
    make[3] = [row, *make[3]]
    with pytest.raises(ValueError):
        load(packed(json.dumps(changed).encode()))


def test_types_that_nest_without_end_or_measure_without_bound_are_refused(data: bytes) -> None:
    types = document(data)["types"]
    array = next(k for k, row in enumerate(types) if row[0] == "a")
    with pytest.raises(ValueError):
        load(alter(data, ("types", array, 2), 1 << 60))
    with pytest.raises(ValueError):
        load(alter(data, ("types", array, 1), array))
    with pytest.raises(ValueError):
        load(alter(data, ("records", 0, 1), 1))
