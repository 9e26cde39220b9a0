"""Random kernels without undefined behaviour, the same for the same seed.

`program(seed)` takes `A` (64 ints), `O` (8 ints an item), `F` (4 floats an item) and `n`; 64 items in groups
of 16, or 8 by 8 in groups of 4 by 4 for `in_rows`. Every item writes only its own part of `O` and `F` and its
own slots of local memory.
"""

from __future__ import annotations

import random
from collections.abc import Callable

INTEGERS = ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong")
COMPARISONS = ("<", ">", "==", "!=", "<=", ">=")
LITERALS = (0, 1, 2, 3, 5, 7, 100, 127, 255, 1000, 32767, 65535)
FIXED = ("gid", "lid", "n", "x", "y")

HEAD = "#pragma OPENCL FP_CONTRACT OFF\ntypedef struct { uint a; ushort b[3]; } T;\n"
PLACE = "int gid = get_global_id(0), lid = get_local_id(0);"
PLACE_IN_ROWS = """int lx = get_local_id(0), ly = get_local_id(1), lid = 4 * ly + lx;
int gid = get_global_id(1) * 8 + get_global_id(0);"""
ENTRY = """ uint q = 3; T S = {1, {2, 3, 4}}; uint P[8] = {1, 2, 3};
local uint L[32]; L[lid] = lid; L[31 - lid] = 7; P[gid & 7] = gid;
"""


class Writer:
    def __init__(self, seed: int, with_double: bool, in_rows: bool) -> None:
        self.place = PLACE_IN_ROWS if in_rows else PLACE
        self.ids = ("lid", "lx", "ly") if in_rows else ("lid",)
        self.random = random.Random(seed)
        self.floats = ("float", "double") if with_double else ("float",)
        self.types = (*INTEGERS, *self.floats)
        self.variables: list[tuple[str, str]] = []
        self.count = 0
        self.in_function = False

    # ------------------------------------------------------------ expressions

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def literal(self, type_: str) -> str:
        if type_ in self.floats:
            return f"({type_}){self.random.choice((0, 1, -1, 0.5, 3.25, -7.75, 100))}"
        return f"({type_})({self.random.choice(LITERALS)})"

    def leaf(self, type_: str) -> str:
        names = [name for name, t in self.variables if t == type_]
        return self.random.choice(names) if names and self.random.random() < 0.75 else self.literal(type_)

    def expression(self, type_: str, depth: int) -> str:
        """Unsigned arithmetic throughout, so that nothing overflows; float to integer only saturated."""
        if depth <= 0 or self.random.random() < 0.15:
            return self.leaf(type_)
        e = lambda t=type_: self.expression(t, depth - 1)  # noqa: E731
        if type_ in self.floats:
            return self.random.choice(
                (
                    lambda: f"({e()} {self.pick('+', '-', '*')} {e()})",
                    lambda: f"{self.pick('fabs', 'floor', 'trunc')}({e()})",
                    lambda: f"({self.condition(depth - 1)} ? {e()} : {e()})",
                    lambda: f"({type_})({e('int')})",
                )
            )()
        wide = "ulong" if type_.endswith("long") else "uint"
        forms: tuple[Callable[[], str], ...] = (
            lambda: f"({type_})(({wide})({e()}) {self.pick('+', '-', '*', '&', '|', '^')} ({wide})({e()}))",
            lambda: f"({type_})(({wide})({e()}) {self.pick('<<', '>>')} ({e('uint')} & 7))",
            lambda: f"({type_})(({wide})({e()}) {self.pick('/', '%')} (({wide})({e()}) | 1))",
            lambda: (
                f"(({e()} & ({type_})127) {self.pick('/', '%')} ({type_})({self.pick('3', '7', '16', '1')}))"
            ),
            lambda: f"({self.condition(depth - 1)} ? {e()} : {e()})",
            lambda: f"({type_})(~{e()})",
            lambda: f"({type_})({self.condition(depth - 1)})",
            lambda: (
                f"{self.pick('max', 'min', 'add_sat', 'sub_sat', 'hadd', 'mul_hi', 'rotate')}"
                f"(({type_})({e()}), ({type_})({e()}))"
            ),
            lambda: f"convert_{type_}_sat({e(self.pick(*self.types))})",
            lambda: f"({type_})A[({e('uint')}) & 63]",
            lambda: f"({type_})({e(self.pick(*INTEGERS))})",
        )
        return self.random.choice(forms)()

    def condition(self, depth: int) -> str:
        kind = self.random.randrange(7)
        if kind == 0:
            bound = self.pick("n", "n * 2", "n - 3", str(self.random.randrange(-1, 18)))
            return f"({self.pick(*self.ids)} {self.pick(*COMPARISONS)} {bound})"
        if kind == 1 and depth > 0:
            return f"({self.condition(depth - 1)} {self.pick('&&', '||')} {self.condition(depth - 1)})"
        if kind == 2 and depth > 0:
            return f"!{self.condition(depth - 1)}"
        type_ = self.pick(*self.types)
        a, b = self.expression(type_, depth - 1), self.expression(type_, depth - 1)
        return f"({a} {self.pick(*COMPARISONS)} {b})"

    # ------------------------------------------------------------ statements

    def declare(self, type_: str, value: str) -> str:
        self.count += 1
        name = f"v{self.count}"
        self.variables.append((name, type_))
        return f"{type_} {name} = {value};"

    def scoped(self, count: int, depth: int, in_loop: bool) -> str:
        outer = list(self.variables)
        text = " ".join(self.statement(depth, in_loop) for _ in range(count))
        self.variables = outer
        return text

    def statement(self, depth: int, in_loop: bool) -> str:
        kind = self.random.randrange(14) if depth > 0 else 0
        few = self.random.randrange(1, 3)
        if kind < 4:
            return self.assignment()
        if kind < 6:
            then = self.scoped(few, depth - 1, in_loop)
            other = self.scoped(self.random.randrange(3), depth - 1, in_loop)
            return f"if ({self.condition(2)}) {{ {then} }}" + (f" else {{ {other} }}" if other else "")
        if kind < 8:
            return self.loop(depth)
        if kind == 8 and in_loop:
            return f"if ({self.condition(2)}) {self.pick('break', 'continue')};"
        if kind == 9:
            value = " " + self.expression("uint", 2) if self.in_function else ""
            return f"if ({self.condition(2)} && gid > 40) return{value};"
        if kind == 10:
            cases = (
                f"{'default' if v == 3 else f'case {v}'}: {{ {self.scoped(1, depth - 1, in_loop)} }}"
                + self.pick(" break;", " break;", "")
                for v in range(4)
            )
            return f"switch (({self.expression('uint', 2)}) & 3) {{ {' '.join(cases)} }}"
        if kind == 11:
            return self.declare("uint", f"P[({self.expression('uint', 2)}) & 7]")
        if self.in_function:
            return f"P[({self.expression('uint', 2)}) & 7] = {self.expression('uint', 2)};"
        return self.effect()

    def assignment(self) -> str:
        type_ = self.pick(*self.types)
        names = [name for name, t in self.variables if t == type_ and name not in FIXED and name[0] != "c"]
        value = self.expression(type_, 3)
        if names and self.random.random() < 0.6:
            return f"{self.random.choice(names)} = {value};"
        return self.declare(type_, value)

    def loop(self, depth: int) -> str:
        self.count += 1
        outer = list(self.variables)
        c = f"c{self.count}"
        self.variables.append((c, "int"))
        limit = self.pick(str(self.random.randrange(1, 5)), f"(int)(({self.expression('uint', 1)}) & 7)", "n")
        body = self.scoped(self.random.randrange(1, 3), depth - 1, True)
        test = self.condition(1)
        self.variables = outer
        return self.pick(
            f"for (int {c} = 0; {c} < {limit}; {c}++) {{ {body} }}",
            f"{{ int {c} = 0; while ({c} < {limit}) {{ {c}++; {body} }} }}",
            f"{{ int {c} = 0; do {{ {c}++; {body} }} while ({c} < {limit} && {test}); }}",
        )

    def effect(self) -> str:
        e = lambda: self.expression("uint", 2)  # noqa: E731
        return self.random.choice(
            (
                lambda: f"O[gid * 8 + {self.random.randrange(8)}] = (int)({e()});",
                lambda: f"F[gid * 4 + {self.random.randrange(4)}] = {self.expression('float', 2)};",
                lambda: f"P[({e()}) & 7] = {e()};",
                lambda: f"L[{self.pick('lid', '31 - lid')}] = {e()};",
                lambda: f"q += L[{self.pick('lid', '31 - lid')}];",
                lambda: f"S.a ^= {e()}; S.b[{self.random.randrange(3)}] += {self.expression('uchar', 1)};",
                lambda: f"q = f({e()}, {e()}, A, P, n);",
            )
        )()

    # ------------------------------------------------------------ programs

    def program(self) -> str:
        self.in_function = True
        self.variables = [("x", "uint"), ("y", "uint"), ("n", "int")]
        body = self.scoped(3, 2, False)
        text = f"{HEAD}uint f(uint x, uint y, global const int *A, uint *P, int n) {{\n"
        text += f"{self.place} {body}"
        text += f" return {self.expression('uint', 2)}; }}\n"
        self.in_function = False
        self.variables = [("gid", "int"), ("lid", "int"), ("n", "int"), ("q", "uint"), ("S.a", "uint")]
        text += "kernel void k(global const int *A, global int *O, global float *F, int n) {\n" + self.place
        text += ENTRY + "\n".join(self.statement(3, False) for _ in range(self.random.randrange(4, 9)))
        text += "\nO[gid * 8] += (int)(q + P[3] + S.a + S.b[2] + L[lid]);\n"
        for name, type_ in self.variables:
            if name[0] == "v":
                target = "F[gid * 4] += (float)" if type_ in self.floats else "O[gid * 8 + 1] ^= (int)"
                text += f"{target}({name}); "
        return text + "}\n"


def program(seed: int, *, with_double: bool = True, in_rows: bool = False) -> str:
    return Writer(seed, with_double, in_rows).program()
