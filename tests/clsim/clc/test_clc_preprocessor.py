"""The preprocessor: C99 6.10, and what OpenCL C 6.10 predefines."""

from __future__ import annotations

import pytest
from clc_support import FULL, PLAIN, constant_bytes, error_of, messages, module_of, values

from clsim.clc import Target, compile_source
from clsim.clc.diagnostics import Diagnostics
from clsim.clc.predefined import predefined
from clsim.clc.preprocessor import Preprocessor
from clsim.clc.source import Sources


def preprocess(text: str, headers: dict[str, str] | None = None, target: Target = PLAIN) -> str:
    """The tokens of a text, with spaces between."""
    sources = Sources()
    diagnostics = Diagnostics(sources)
    macros = predefined(target, (1, 2), False)
    reader = (headers or {}).get
    spellings, _ = Preprocessor(sources, diagnostics, macros, reader, ["inc"], frozenset()).run("p.cl", text)
    assert not diagnostics.errors, diagnostics.render()
    return " ".join(spellings).strip()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#define A 1\nA B", "1 B"),
        ("#define A\nxAy A z", "xAy z"),
        ("#define F(x) x+x\nF(2) F F (3)", "2 + 2 F 3 + 3"),
        ("#define F(x, y) x-y\nF((1,2), f(3,4))", "( 1 , 2 ) - f ( 3 , 4 )"),
        ("#define F() z\nF()", "z"),
        ("#define F(x) [x]\nF()", "[ ]"),
        ("#define S(x) #x\nS( a  +\n b )", '"a + b"'),
        ('#define S(x) #x\nS("a\\n" \'"\')', '"\\"a\\\\n\\" \'\\"\'"'),
        ("#define S(x) #x\n#define X(x) S(x)\n#define N 4\nS(N) X(N)", '"N" "4"'),
        ("#define C(a, b) a##b\nC(x, 1) C(, y) C(z,) C(,)", "x1 y z"),
        ("#define C(a, b) a##b\n#define N 4\nC(N, N)", "NN"),
        ("#define P(...) f(__VA_ARGS__)\nP() P(1) P(1, 2)", "f ( ) f ( 1 ) f ( 1 , 2 )"),
        ("#define P(f, ...) g(f, ##__VA_ARGS__)\nP(1) P(1, 2)", "g ( 1 ) g ( 1 , 2 )"),
        ("#define P(rest...) g(rest)\nP(1, 2)", "g ( 1 , 2 )"),
        ("#define A B\n#define B A\nA B", "A B"),
        ("#define f(x) f(x+1)\nf(f(1))", "f ( f ( 1 + 1 ) + 1 )"),
        ("#define EMPTY\n#define f(x) <x>\nf EMPTY (1)", "f ( 1 )"),
        ("#define g f\n#define f(x) <x>\ng(1)", "< 1 >"),
        ("#define A 1 \\\n + 2\nA", "1 + 2"),
        ("ab\\\ncd", "abcd"),
        ("a /* x\n y */ b // c\nd", "a b d"),
        ("#define A 1 /* over\ntwo lines */ + 2\nA", "1 + 2"),
        ("#define A(x) x\nA(\n1\n)", "1"),
        ("#undef A\n#define A 2\n#undef A\nA", "A"),
        ("#\n# define A 3\n  #  define B A\nB", "3"),
        ("__LINE__\n\n__LINE__ __FILE__", '1 3 "p.cl"'),
        ('#line 100 "q.cl"\n__LINE__ __FILE__', '100 "q.cl"'),
        ("__COUNTER__ __COUNTER__", "0 1"),
        ("a\r\nb\rc", "a b c"),
        ("#pragma unroll\nx\n#pragma OPENCL FP_CONTRACT OFF\ny", "x y"),
        ('_Pragma("unroll 4") x', "x"),
    ],
)
def test_a_text_becomes_the_tokens_that_the_standard_says(text: str, expected: str) -> None:
    assert preprocess(text) == expected


def test_the_example_of_c99_6_10_3_5_expands_as_printed_there() -> None:
    text = """#define x 3
#define f(a) f(x * (a))
#undef x
#define x 2
#define g f
#define z z[0]
#define h g(~
#define m(a) a(w)
#define w 0,1
#define t(a) a
#define p() int
#define q(x) x
#define r(x,y) x ## y
#define str(x) # x
f(y+1) + f(f(z)) % t(t(g)(0) + t)(1);
g(x+(3,4)-w) | h 5) & m
(f)^m(m);
p() i[q()] = { q(1), r(2,3), r(4,), r(,5), r(,) };
char c[2][6] = { str(hello), str() };"""
    expected = """f(2 * (y+1)) + f(2 * (f(2 * (z[0])))) % f(2 * (0)) + t(1);
f(2 * (2+(3,4)-0,1)) | f(2 * (~ 5)) & f(2 * (0,1))^m(0,1);
int i[] = { 1, 23, 4, 5, };
char c[2][6] = { "hello", "" };"""
    assert preprocess(text) == preprocess(expected)


@pytest.mark.parametrize(
    ("condition", "truth"),
    [
        ("1", True),
        ("0", False),
        ("defined A", False),
        ("defined(B)", True),
        ("!defined A && B", True),
        ("B == 3 || 1/0", True),
        ("1 ? 0 : 1", False),
        ("-1 < 0u", False),
        ("-1 >> 1 == -1", True),
        ("(2 + 3) * 4 % 7 == 6", True),
        ("0x10 == 16 && 010 == 8 && 'a' == 97", True),
        ("UNKNOWN", False),
        ("~0 == -1 && !0", True),
        ("__OPENCL_VERSION__ >= CL_VERSION_1_2", True),
        ("__has_builtin(__builtin_expect)", False),
    ],
)
def test_a_condition_of_if_is_evaluated_in_64_bits(condition: str, truth: bool) -> None:
    text = f"#define B 3\n#if {condition}\nyes\n#else\nno\n#endif"
    assert preprocess(text) == ("yes" if truth else "no")


def test_only_the_first_true_branch_of_a_chain_is_taken() -> None:
    text = "#if 0\na\n#elif 1\nb\n#elif 1\nc\n#else\nd\n#endif\n#ifdef X\n#if 1\ne\n#else\nf\n#endif\n#endif"
    assert preprocess(text) == "b"


def test_a_skipped_branch_may_hold_anything_but_its_conditionals_count() -> None:
    assert preprocess("#if 0\n#error no\nit's \"open\n#bogus\n#if 1\n#endif\n#else\nx\n#endif") == "x"


def test_headers_come_by_name_beside_the_includer_and_from_include_directories() -> None:
    headers = {"a.h": '#include "sub/b.h"\n', "sub/b.h": '#include "c.h"\nb', "sub/c.h": "c", "inc/d.h": "d"}
    assert preprocess('#include "a.h"\n#include <d.h>\n#define H "d.h"\n#include H', headers) == "c b d d"


def test_pragma_once_keeps_a_header_from_coming_twice() -> None:
    assert preprocess('#include "a.h"\n#include "a.h"', {"a.h": "#pragma once\nx"}) == "x"


def test_headers_given_in_memory_are_included() -> None:
    module = module_of(
        '#include "h.h"\nkernel void k(global int *o) { *o = N; }', headers={"h.h": "#define N 3\n"}
    )
    assert module.files == ("program.cl", "h.h")


@pytest.mark.parametrize(
    ("source", "line", "column", "text"),
    [
        ("#if 1\n", 1, 2, "unterminated conditional directive"),
        ("\n#else", 2, 2, "#else without #if"),
        ("#if 1\n#else\n#else\n#endif", 3, 2, "#else after #else"),
        ("#bogus", 1, 2, "invalid preprocessing directive"),
        ("#error it is so", 1, 2, "it is so"),
        ('#include "no.h"', 1, 10, "'no.h' file not found"),
        ("#define F(x) x\nF(1", 2, 1, "unterminated function-like macro invocation of 'F'"),
        ("#define F(x) x\nF(1, 2)", 2, 1, "too many arguments provided to function-like macro invocation"),
        ("#define F(x, y) x\nF(1)", 2, 1, "too few arguments provided to function-like macro invocation"),
        ("#define C(a, b) a##b\nC(+, /)", 2, 1, "pasting formed '+/', an invalid preprocessing token"),
        ("#if 1/0\n#endif", 1, 6, "division by zero in preprocessor expression"),
        ("#if 1 +\n#endif", 1, 7, "expected value in preprocessor expression"),
        (
            "#pragma pack(1)",
            1,
            2,
            "'#pragma pack' is not supported by clsim yet; use __attribute__((packed))",
        ),
    ],
)
def test_a_wrong_directive_is_told_with_its_place(source: str, line: int, column: int, text: str) -> None:
    first = messages(source)[0]
    assert (first.line, first.column, first.severity, first.text) == (line, column, "error", text)


def test_a_tower_of_doubling_macros_ends_in_an_error_not_in_memory() -> None:
    tower = "\n".join(f"#define A{k} A{k - 1} A{k - 1}" for k in range(1, 60))
    assert "macro expansion produces more than" in error_of(f"#define A0 x\n{tower}\nA59")


def test_a_header_that_includes_itself_ends_in_an_error() -> None:
    assert error_of('#include "a.h"', headers={"a.h": '#include "a.h"'}) == "#include nested too deeply"


@pytest.mark.parametrize(
    ("pragma", "text"),
    [
        ("OPENCL EXTENSION cl_khr_fp16 : enable", "unsupported OpenCL extension 'cl_khr_fp16' - ignoring"),
        ("whatever", "unknown pragma ignored"),
    ],
)
def test_a_pragma_without_effect_is_a_warning(pragma: str, text: str) -> None:
    (only,) = messages(f"#pragma {pragma}\n")
    assert (only.severity, only.text) == ("warning", text)


def test_a_pragma_for_an_extension_of_the_device_is_silent() -> None:
    assert (
        messages("#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n#pragma OPENCL EXTENSION all : disable")
        == []
    )


def test_limits_are_those_of_the_standard() -> None:
    # OpenCL C 6.15.3.1
    assert values("{CHAR_BIT, SCHAR_MIN, UCHAR_MAX, SHRT_MIN, INT_MAX, INT_MIN}") == (
        8, -128, 255, -32768, 2147483647, -2147483648,
    )  # fmt: skip
    assert values("{LONG_MIN, LONG_MAX}", "q") == (-(1 << 63), (1 << 63) - 1)
    assert values("{ULONG_MAX}", "Q") == ((1 << 64) - 1,)
    assert values("{FLT_MAX, FLT_MIN, FLT_EPSILON}", "f") == (3.4028234663852886e38, 2.0**-126, 2.0**-23)
    assert values("{DBL_MAX, DBL_MIN, DBL_EPSILON}", "d") == (1.7976931348623157e308, 2.0**-1022, 2.0**-52)
    assert constant_bytes("constant float x[] = {INFINITY, MAXFLOAT};").hex() == "0000807fffff7f7f"
    nan = constant_bytes("constant float x = NAN;")
    assert int.from_bytes(nan, "little") & 0x7FFFFFFF == 0x7FC00000


def test_versions_extensions_and_options_are_visible_to_the_preprocessor() -> None:
    target = Target(opencl_version=(2, 0), extensions=frozenset({"cl_khr_fp64"}), image_support=True)
    text = (
        "constant int x[] = {__OPENCL_VERSION__, __OPENCL_C_VERSION__, CL_VERSION_2_0, cl_khr_fp64,"
        " __IMAGE_SUPPORT__, __ENDIAN_LITTLE__, __FAST_RELAXED_MATH__};\n"
        "#ifdef CL_VERSION_2_1\n#error too new\n#endif\n"
        "#ifdef cl_khr_fp16\n#error no halves\n#endif"
    )
    data = constant_bytes(text, target, "-cl-fast-relaxed-math")
    assert [int.from_bytes(data[k : k + 4], "little") for k in range(0, 28, 4)] == [200, 120, 200, 1, 1, 1, 1]


def test_sources_joined_without_a_newline_after_a_directive_lose_what_follows() -> None:
    joined = "#define A 1" + "kernel void k(global int *o) { *o = A; }"
    made = compile_source(joined, target=FULL)
    assert made.module is not None
    assert made.module.kernels == {}
    assert list(module_of("#define A 1\nkernel void k(global int *o) { *o = A; }").kernels) == ["k"]
