"""What is refused, with the words and the place (most cases were checked against clang through PoCL)."""

from __future__ import annotations

import pytest
from clc_support import FULL, KERNEL, body_error, error_of, messages

from clsim.clc import compile_source


def test_the_log_looks_like_clangs() -> None:
    source = (
        "kernel void k(global int *o) {\n\to[0] = foo;\n  int x = 1;\n  int x = 2;\n}\n#pragma nonsense\n"
    )
    made = compile_source(source, target=FULL)
    assert made.log == (
        "program.cl:6:9: warning: unknown pragma ignored\n"
        "#pragma nonsense\n"
        "        ^\n"
        "program.cl:2:9: error: use of undeclared identifier 'foo'\n"
        "\to[0] = foo;\n"
        "\t       ^\n"
        "program.cl:4:7: error: redefinition of 'x'\n"
        "  int x = 2;\n"
        "      ^\n"
        "program.cl:3:7: note: previous definition is here\n"
        "  int x = 1;\n"
        "      ^\n"
        "1 warning and 2 errors generated.\n"
    )
    assert (made.errors, made.warnings, made.module) == (2, 1, None)


def test_a_program_without_fault_has_an_empty_log() -> None:
    made = compile_source("kernel void k(global int *o) { o[0] = 1; }", target=FULL)
    assert made.log == ""
    assert made.module is not None


def test_a_warning_does_not_stop_a_build() -> None:
    made = compile_source("kernel void k(global int *o) { global float *f = o; }", target=FULL)
    assert made.module is not None
    assert made.log.endswith("1 warning generated.\n")


def test_errors_in_several_statements_and_functions_are_told_at_once() -> None:
    source = (
        "int f(int a) {\n  a = b;\n  a = (1;\n  return c;\n}\nint g(\nkernel void k() {\n  d();\n"
        "  if (e) { g; } else h;\n}\n"
    )
    assert [(m.line, m.text) for m in messages(source)] == [
        (3, "expected ')'"),
        (2, "use of undeclared identifier 'b'"),
        (4, "use of undeclared identifier 'c'"),
        (7, "expected ')'"),
    ]


def test_a_place_inside_a_macro_is_where_the_macro_is_used() -> None:
    (only,) = messages("#define BAD(x) nope + x\nkernel void k(global int *o) {\n  o[0] = BAD(1);\n}")
    assert (only.line, only.column, only.text) == (3, 10, "use of undeclared identifier 'nope'")
    (only,) = messages("#define ID(x) (x)\nkernel void k(global int *o) {\n  o[0] = ID( nope);\n}")
    assert (only.line, only.column) == (3, 14)


def test_a_line_directive_renames_the_place_and_the_line_is_still_shown() -> None:
    log = compile_source('#line 40 "gen.py"\nkernel void k() { nope; }', target=FULL).log
    assert log.startswith(
        "gen.py:40:19: error: use of undeclared identifier 'nope'\nkernel void k() { nope; }\n"
    )


def test_a_place_in_a_header_names_the_header() -> None:
    made = compile_source('\n#include "h.h"\n', target=FULL, headers={"h.h": "int f() {\n  return nope;\n}"})
    assert made.log.startswith(
        "h.h:2:10: error: use of undeclared identifier 'nope'\n  return nope;\n         ^\n"
    )


def test_a_column_after_a_line_splice_is_that_of_the_second_line() -> None:
    (only,) = messages("kernel void k() { int x = \\\n  nope; }")
    assert (only.line, only.column) == (2, 3)


def test_the_twentieth_error_is_the_last() -> None:
    made = compile_source("kernel void k() {" + "nope;" * 50 + "}", target=FULL)
    assert made.log.count("use of undeclared identifier") == 20
    assert "fatal error: too many errors emitted (20), stopping now" in made.log


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("nope;", "use of undeclared identifier 'nope'"),
        ("nope(1);", "implicit declaration of function 'nope' is invalid in OpenCL"),
        ("n(1);", "called object type 'int' is not a function or function pointer"),
        ("int n = 1;", "redefinition of 'n'"),
        ("1 = n;", "expression is not assignable"),
        ("n + 1 = 2;", "expression is not assignable"),
        ("const int c = 1; c = 2;", "cannot assign to a variable with const-qualified type 'const int'"),
        ("const global float *p = g; *p = 1;",
         "read-only variable is not assignable (type '__global const float')"),
        ("constant int c = 1; c = 2;", "read-only variable is not assignable (type '__constant const int')"),
        ("f4[0].xx = f4[0].xy;", "vector is not assignable (contains duplicate components)"),
        ("int a[2]; a = a;", "array type 'int[2]' is not assignable"),
        ("n++++;", "expression is not assignable"),
        ("f4[0]++;", "cannot increment value of type 'float4'"),
        ("&1;", "cannot take the address of an rvalue"),
        ("float4 v; float *p = &v.x;", "address of vector element requested"),
        ("*n = 1;", "indirection requires pointer operand ('int' invalid)"),
        ("n[0] = 1;", "subscripted value is not an array, pointer, or vector"),
        ("g[1.5f] = 1;", "array subscript is not an integer"),
        ("n.x = 1;", "member reference base type 'int' is not a structure or union"),
        ("n->x = 1;", "member reference type 'int' is not a pointer"),
        ("struct {int a;} s; s.b = 1;", "no member named 'b' in 'struct (anonymous)'"),
        ("f4[0].foo;", "illegal vector component name 'f' in 'foo'"),
        ("f4[0].xyzwx;", "vector component access has invalid length 5. Supported: 1,2,3,4,8,16."),
        ("f4[0].s4;", "vector component access exceeds type 'float4'"),
        ("float2 v; v.z = 1;", "vector component access exceeds type 'float2'"),
        ("f4[0] = i4[0];", "assigning to 'float4' from incompatible type 'int4'"),
        ("f4[0] = (float4)i4[0];",
         "invalid conversion between ext-vector type 'float4' and 'int4'; use convert_float4 or as_float4"),
        ("float4 v = (float4)(1, 2, 3);",
         "too few elements in vector initialization (expected 4 elements, have 3)"),
        ("float4 v = (float4)(i4[0].xy, 1, 2);",
         "initializing 'float' with an expression of incompatible type 'int2'"),
        ("float x = f4[0];", "initializing 'float' with an expression of incompatible type 'float4'"),
        ("u4[0] = u4[1] * 2;",
         "scalar operand type has greater rank than the type of the vector element ('uchar4' and 'int')"),
        ("i4[0] = i4[1] + f4[0];", "invalid operands to binary expression ('int4' and 'float4')"),
        ("n = n % 2.0f;", "invalid operands to binary expression ('int' and 'float')"),
        ("g[0] = ~g[0];", "invalid argument type 'float' to unary expression"),
        ("ip = ip + ip;", "invalid operands to binary expression ('__global int *' and '__global int *')"),
        ("if (i4[0]) n = 1;", "statement requires expression of scalar type ('int4' invalid)"),
        ("switch (g[0]) {}", "statement requires expression of integer type ('float' invalid)"),
        ("switch (n) {case 1: case 1: n = 2;}", "duplicate case value '1'"),
        ("switch (n) {default: default: n = 2;}", "multiple default labels in one switch"),
        ("switch (n) {case n: n = 2;}", "expression is not an integer constant expression"),
        ("case 1: n = 2;", "'case' statement not in switch statement"),
        ("break;", "'break' statement not in loop or switch statement"),
        ("switch (n) {case 1: continue;}", "'continue' statement not in loop statement"),
        ("return 1;", "void function 'k' should not return a value"),
        ("float *p = g;",
         "initializing 'float *' with an expression of type '__global float *' changes address space"
         " of pointer"),
        ("constant float *p = g;",
         "initializing '__constant float *' with an expression of type '__global float *' changes"
         " address space of pointer"),
        ("local float *p = (local float *)g;",
         "casting '__global float *' to type '__local float *' changes address space of pointer"),
        ("local int x = 1;", "'__local' variable cannot have an initializer"),
        ("if (n) {local int x;}",
         "variables in the local address space can only be declared in the outermost scope of a"
         " kernel function"),
        ("global int x;", "variables in function scope cannot be declared in the global address space"),
        ("static int x;", "variables in function scope cannot be declared static"),
        ("constant int x;", "variable in constant address space must be initialized"),
        ("register int x;", "OpenCL C version 1.2 does not support the 'register' storage class specifier"),
        ("int a[n];", "variable length arrays are not supported in OpenCL"),
        ("int a[-1];", "array size is negative"),
        ("int a[];", "definition of variable with array type needs an explicit size or an initializer"),
        ("void x;", "variable 'x' has incomplete type 'void'"),
        ("struct nope s;", "variable 's' has incomplete type 'struct nope'"),
        ("struct {int a : 3;} s;", "bit-fields are not supported in OpenCL"),
        ("int (*p)(int);", "pointers to functions are not allowed in OpenCL C"),
        ("sizeof(void);", "invalid application of 'sizeof' to a void type"),
        ("max(1, 2u);", "call to 'max' is ambiguous (arguments 'int', 'uint')"),
        ("sqrt(2);", "call to 'sqrt' is ambiguous (arguments 'int')"),
        ("pow(f4[0], i4[0]);", "no matching function for call to 'pow' (arguments 'float4', 'int4')"),
        ("get_global_id();", "too few arguments to function call, expected 1, have 0"),
        ("as_int(f4[0]);", "invalid reinterpretation: sizes of 'int' and 'float4' must match"),
        ("convert_int4(n);", "no matching function for call to 'convert_int4' (argument 'int')"),
        ("convert_float_sat(n);",
         "implicit declaration of function 'convert_float_sat' is invalid in OpenCL"),
        ("k(g, ip, u4, f4, i4, n);", "recursion is not allowed in OpenCL C ('k' calls itself)"),
        ("n = 1", "expected ';' after expression"),
        ("int x = ;", "expected expression"),
        ("(n;", "expected ')'"),
        ("n = 'a;", "missing terminating ' character"),
        ("n = \u00e9;", "unexpected character <U+00E9>"),
        ("goto x;", "'goto' is not supported by clsim yet"),
        ("x: n = 1;", "labels are not supported by clsim yet"),
        ("n = $;", "unexpected character <U+0024>"),
        ("__generic int *p;", "the generic address space is not supported by clsim yet"),
        ("image2d_t i;", "type 'image2d_t' is not supported by clsim yet"),
        ("sampler_t s = 0;", "type 'sampler_t' is not supported by clsim yet"),
        ("work_group_reduce_add(n);", "function 'work_group_reduce_add' is not supported by clsim yet"),
        ("read_imagef(1);", "function 'read_imagef' is not supported by clsim yet"),
        ("atomic_fetch_add(ip, 1);", "function 'atomic_fetch_add' is not supported by clsim yet"),
        ("switch (n) {case 1: if (n) {case 2: n = 1;}}",
         "a case label inside a nested statement is not supported by clsim yet"),
        ("global int *p; atomic_add(&n, 1);",
         "no matching function for call to 'atomic_add': 'int *' is not writable global or local memory"),
    ],
)  # fmt: skip
def test_a_statement_is_refused_with_these_words(body: str, text: str) -> None:
    assert body_error(body) == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("kernel int k() {return 1;}", "kernel must have void return type"),
        ("kernel void k(int *p) {}",
         "pointer arguments to kernel functions must reside in '__global', '__constant' or '__local'"
         " address space"),
        ("kernel void k(global int **p) {}", "kernel parameter cannot be declared as a pointer to a pointer"),
        ("kernel void k(global int * global *p) {}",
         "kernel parameter cannot be declared as a pointer to a pointer"),
        ("kernel void k(bool b) {}", "'bool' cannot be used as the type of a kernel parameter"),
        ("kernel void k(size_t s) {}", "'size_t' cannot be used as the type of a kernel parameter"),
        ("kernel void k(event_t e) {}", "'event_t' cannot be used as the type of a kernel parameter"),
        ("struct s {global int *p;}; kernel void k(struct s x) {}",
         "struct kernel parameters may not contain pointers"),
        ("kernel void k(int a, float a) {}", "redefinition of parameter 'a'"),
        ("kernel void k(int) {}", "parameter name omitted"),
        ("kernel void k() {} kernel void k() {}", "redefinition of 'k'"),
        ("int f(int); float f(int a) {return a;}", "conflicting types for 'f'"),
        ("int f(int); kernel void k() {f(1);}", "undefined function 'f' is called"),
        ("int f(int a) {return a;} kernel void k() {f();}",
         "too few arguments to function call, expected 1, have 0"),
        ("int f(int a) {return a;} kernel void k() {f(1, 2);}",
         "too many arguments to function call, expected 1, have 2"),
        ("int f() {return;}", "non-void function 'f' should return a value"),
        ("int f(int a) {return g(a);} int g(int a) {return f(a);}",
         "implicit declaration of function 'g' is invalid in OpenCL"),
        ("int g(int); int f(int a) {return g(a);} int g(int a) {return f(a);}",
         "recursion is not allowed in OpenCL C ('f' calls itself)"),
        ("void f() {local int x;}", "non-kernel function variable cannot be declared in local address space"),
        ("void f(int a, ...) {}", "variadic functions are not allowed in OpenCL C"),
        ("int x = 1;", "program scope variable must reside in constant address space"),
        ("global int x;", "program scope variable must reside in constant address space"),
        ("constant int x = y;", "use of undeclared identifier 'y'"),
        ("constant float x = sqrt(2.0f);", "initializer element is not a compile-time constant"),
        ("constant int x = 1; constant int x = 2;", "redefinition of 'x'"),
        ("kernel void k(pipe int p) {}", "pipes are not supported by clsim yet"),
        ("foo *p;", "unknown type name 'foo'"),
        ("kernel void k(foo *p) {}", "unknown type name 'foo'"),
        ("unsigned float x;", "'unsigned float' is not a type"),
        ("typedef int a; typedef float a;", "redefinition of 'a'"),
        ("typedef float uint;", "typedef redefinition with different types ('float' vs 'uint')"),
        ("struct s {int a; float a;};", "duplicate member 'a'"),
        ("struct s {int a;}; struct s {int b;};", "redefinition of 's'"),
        ("struct s {struct s a;};", "field has incomplete type 'struct s'"),
        ("enum e {A, A};", "redefinition of 'A'"),
        ("global local int *p;", "multiple address spaces specified for type"),
        ("__attribute__((reqd_work_group_size(1, 2))) kernel void k() {}",
         "'reqd_work_group_size' attribute requires exactly 3 arguments"),
        ("__attribute__((reqd_work_group_size(0, 1, 1))) kernel void k() {}",
         "'reqd_work_group_size' attribute must be greater than 0"),
        ("kernel void k() {", "expected '}'"),
        ("}", "extraneous closing brace ('}')"),
        ("/* open", "expected a type, not '/* open'"),
        ("kernel void k() { int a[3] = {[5] = 1}; }", "array designator index (5) exceeds array bounds (3)"),
        ("struct s {int a;}; kernel void k() { struct s x = {.b = 1}; }",
         "field designator 'b' does not refer to any field in 'struct s'"),
        ("constant int x[1 << 28] = {1};", "constant 'x' has 1073741824 bytes, more than 16777216"),
    ],
)  # fmt: skip
def test_a_program_is_refused_with_these_words(source: str, text: str) -> None:
    assert error_of(source) == text


@pytest.mark.parametrize(
    "body",
    [
        "f4[0] = i4[0] ? f4[1] : f4[2]; f4[0] = n ? f4[1] : f4[2]; f4[0] = i4[0] ? f4[0] : 2.0f;",
        "float4 v = 1; f4[0] = n; f4[0] = (float4)n; v = (float4)(f4[0].xy, n, 1);",
        "f4[0].lo = f4[1].hi; f4[0].even.x = 1; f4[0].rgba = f4[1]; float2 b = f4[0].xyz.hi;",
        "i4[0] = i4[1] << n; i4[0] = i4[1] << i4[2]; i4[0] = i4[1] << 1L;",
        "int x = max(1, 2); float y = pow(g[0], 2); float4 z = max(f4[0], 1.0); z = pow(f4[0], 2.0f);",
        "float4 x = fma(f4[0], 2.0f, f4[1]); x = mix(f4[0], f4[1], 0.5); float s = smoothstep(0, 1, g[0]);",
        "int x = select(1, 2, n > 3); float4 y = select(f4[0], f4[1], f4[0] > f4[1]); x = any(n > 1);",
        "float x, y = fract(g[0], &x); int e; y = frexp(g[0], &e); float4 v = modf(f4[0], &f4[1]);",
        "int x = atomic_add(ip, 1); atomic_inc(ip); atom_add(ip, 1); atomic_xchg(g, 1.0f);",
        "int x = atomic_cmpxchg((volatile global int *)ip, 1, 2); atomic_add((global uint *)ip, -1);",
        "int *p = 0; int *q = NULL; void *v = &n; q = v; if (p == 0 || !q) n = 1;",
        "const int m = 3; int a[m]; volatile int y = 1; long long z = 1LL; unsigned char c = 'a';",
        "int a[] = {1, 2, 3}, b[2][3] = {1, 2, 3, 4, 5, 6}, *c = a, *d[2] = {a}; int (*e)[3] = b;",
        "struct s {int x; struct s *next;} a; a.next = &a; n = a.next->next->x;",
        "__attribute__((opencl_unroll_hint(4))) for (int i = 0, j = 1; i < 4; i++, j--) n += i;",
        "typedef float4 V; V v = (V)(1, 2, 3, 4); typedef int myint; myint x = sizeof(myint);",
        "size_t s = get_global_id(0) + get_work_dim(); n = sizeof n + sizeof(int[3]);",
        "n = ({int t = n; t + 1;}); n = __builtin_expect(n > 1, 0);",
        "char4 x = u4[0] > u4[1]; int4 y = f4[0] > 1.0f; double d = 1.0; d *= 2;",
    ],
)
def test_what_clang_accepts_is_accepted(body: str) -> None:
    assert [m for m in messages(KERNEL % body) if m.severity == "error"] == []


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("global int *p = g;",
         "incompatible pointer types initializing '__global int *' with an expression of type"
         " '__global float *'"),
        ("const global float *p = g; global float *q = p;",
         "initializing '__global float *' with an expression of type '__global const float *'"
         " discards qualifiers"),
        ("int *p = n;",
         "incompatible integer to pointer conversion initializing 'int *' with an expression of type 'int'"),
        ("n = ip == 1;", "comparison between pointer and integer ('__global int *' and 'int')"),
        ("n = 5 / 0;", "division by zero is undefined"),
        ("int a[2] = {1, 2, 3};", "excess elements in array initializer"),
        ("__attribute__((foo)) int x;", "unknown attribute 'foo' ignored"),
    ],
)  # fmt: skip
def test_what_clang_warns_of_is_a_warning(body: str, text: str) -> None:
    (only,) = messages(KERNEL % body)
    assert (only.severity, only.text) == ("warning", text)


@pytest.mark.parametrize(
    "source",
    [
        "kernel void k() {" + "(" * 300 + "1" + ")" * 300 + ";}",
        "kernel void k() {" + "{" * 300 + "}" * 300 + "}",
        "kernel void k(int n) {" + "if (n) " * 300 + ";}",
        "kernel void k(int n) {n = " + "- " * 301 + "n;}",
        "kernel void k(int n) {n = " + "n ? 1 : " * 300 + "2;}",
        "constant int x = " + "{" * 300 + "1" + "}" * 300 + ";",
        "int " + "(" * 300 + "f" + ")" * 300 + "();",
    ],
)
def test_nesting_beyond_any_sense_is_an_error_not_a_crash(source: str) -> None:
    assert "nesting level exceeded maximum of 256" in error_of(source)


def test_a_long_chain_of_operators_is_no_nesting() -> None:
    assert (
        error_of("kernel void k(global int *o) {*o = " + " + ".join(f"o[{i}]" for i in range(5000)) + ";}")
        == ""
    )
