"""Types, their sizes and layout (OpenCL C 6.3), literals and constant expressions (6.1.5, 6.2, C99 6.6)."""

from __future__ import annotations

import math
import struct

import pytest
from clc_support import FULL, HALF, PLAIN, constant_bytes, error_of, kernel_of, messages, module_of, values

# Table 4 of the standard, with 64-bit addresses.
SCALARS = {
    "bool": 1, "char": 1, "signed char": 1, "unsigned char": 1, "uchar": 1, "short": 2, "unsigned short": 2,
    "ushort": 2, "short int": 2, "int": 4, "signed": 4, "unsigned": 4, "unsigned int": 4, "uint": 4,
    "long": 8,
    "long int": 8, "unsigned long int": 8, "int unsigned long": 8, "ulong": 8, "float": 4, "double": 8,
    "size_t": 8, "ptrdiff_t": 8, "intptr_t": 8, "uintptr_t": 8, "half": 2,
}  # fmt: skip
ELEMENTS = {"char": 1, "uchar": 1, "short": 2, "ushort": 2, "int": 4, "uint": 4, "long": 8, "ulong": 8,
            "float": 4, "double": 8}  # fmt: skip


@pytest.mark.parametrize(("name", "size"), SCALARS.items())
def test_a_scalar_has_the_size_of_the_table(name: str, size: int) -> None:
    assert values(f"{{sizeof({name}), __alignof__({name})}}") == (size, size)


@pytest.mark.parametrize(("name", "size"), ELEMENTS.items())
@pytest.mark.parametrize("width", [2, 3, 4, 8, 16])
def test_a_vector_is_aligned_to_its_size_and_three_take_the_room_of_four(
    name: str, size: int, width: int
) -> None:
    expected = size * (4 if width == 3 else width)
    vector = f"{name}{width}"
    assert values(f"{{sizeof({vector}), __alignof__({vector}), vec_step({vector})}}") == (
        expected, expected, 4 if width == 3 else width,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("expression", "size"),
    [
        ("1", 4), ("1u", 4), ("1l", 8), ("1ul", 8), ("'a'", 4), ("1.0f", 4), ("1.0", 8), ('"abc"', 4),
        ("(char)1", 1), ("(char)1 + (char)1", 4), ("1 < 2", 4), ("!1.0", 4), ("(bool)1", 1),
        ("1 ? 1 : 2l", 8),
        ("1.0f + 1", 4), ("1 + 1.0", 8), ("1u << 2l", 4), ("(float3)(0)", 16), ("((float4)(0)).xy", 8),
        ("(int2)(1) < (int2)(2)", 8), ("(char4)(1) == (char4)(2)", 4), ("0x80000000", 4), ("2147483648", 8),
        ("0xffffffffff", 8), ("sizeof(int)", 8), ("1, 2l", 8),
    ],
)  # fmt: skip
def test_an_expression_has_the_size_of_its_type(expression: str, size: int) -> None:
    assert values(f"{{sizeof({expression})}}") == (size,)


@pytest.mark.parametrize(
    ("body", "size", "align"),
    [
        ("{char a; int b; char c;}", 12, 4),
        ("{char a; double b; char c;}", 24, 8),
        ("{float3 a; float b;}", 32, 16),
        ("{char a; char3 b; short c;}", 12, 4),
        ("{char a; float4 b[2];}", 48, 16),
        ("{char a; struct {short b; char c;} d; char e;}", 8, 2),
        ("{char a; union {int b; char c[5];} d;}", 12, 4),
        ("__attribute__((packed)) {char a; int b; double c;}", 13, 1),
        ("{char a; int b;} __attribute__((packed))", 5, 1),
        ("{char a; int b __attribute__((packed)); char c;}", 6, 1),
        ("{char a; char b __attribute__((aligned(16)));}", 32, 16),
        ("__attribute__((aligned(32))) {int a;}", 32, 32),
        ("__attribute__((packed, aligned(4))) {char a; short b; char c;}", 4, 4),
    ],
)
def test_a_structure_is_laid_out_as_in_c(body: str, size: int, align: int) -> None:
    kind, _, rest = ("struct " + body).partition(" ")
    attributes, brace, fields = rest.partition("{")
    declaration = f"{kind} {attributes} S {brace}{fields};"
    source = declaration + "constant int x[] = {sizeof(struct S), __alignof__(struct S)};"
    assert struct.unpack("<2i", constant_bytes(source)) == (size, align)


def test_a_union_is_as_large_as_its_largest_member() -> None:
    source = (
        "union U {char a[5]; int b; short c;}; constant int x[] = {sizeof(union U), __alignof__(union U)};"
    )
    assert struct.unpack("<2i", constant_bytes(source)) == (8, 4)


@pytest.mark.parametrize(
    ("literal", "code", "value"),
    [
        ("42", "i", 42), ("052", "i", 42), ("0x2A", "i", 42), ("0b101", "i", 5), ("42u", "I", 42),
        ("0xffffffffffffffffUL", "Q", 2**64 - 1), ("'A'", "i", 65), ("'\\n'", "i", 10), ("'\\x41'", "i", 65),
        ("'\\101'", "i", 65), ("'\\0'", "i", 0), ("'\\xff'", "i", -1), ("1.5f", "f", 1.5), (".5", "d", 0.5),
        ("1e3", "d", 1000.0), ("0x1.8p3f", "f", 12.0), ("0x.8p0", "d", 0.5), ("1.f", "f", 1.0),
        ("1e400", "d", math.inf), ("1e40f", "f", math.inf),
        ("0.1f", "f", struct.unpack("f", struct.pack("f", 0.1))[0]),
    ],
)  # fmt: skip
def test_a_literal_has_its_value(literal: str, code: str, value: float) -> None:
    assert values(f"{{{literal}}}", code) == (value,)


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        ("09", "invalid digit '9' in octal constant"),
        ("1.0q", "invalid number '1.0q'"),
        ("1uu", "invalid suffix 'uu' on integer constant"),
        ("18446744073709551616", "integer literal is too large to be represented in any integer type"),
        ("''", "empty character constant"),
        ("'\\q'", "unknown escape sequence '\\q'"),
        ("'\\xfff'", "escape sequence '\\xfff' out of range"),
        ("1.0L", "'long double' is not supported in OpenCL C"),
        ("1.0h", "half precision constant requires cl_khr_fp16"),
    ],
)
def test_a_wrong_literal_is_refused(literal: str, text: str) -> None:
    assert error_of(f"constant int x = {literal};") == text


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("7 / 2", 3), ("-7 / 2", -3), ("-7 % 2", -1), ("7 % -2", 1), ("-7 >> 1", -4), ("1 << 33", 2),
        ("2147483647 + 1", -2147483648), ("~5", -6), ("-(-3)", 3), ("!3", 0), ("!0", 1), ("3 && 0", 0),
        ("0 || 2", 1), ("1 ? 5 : 6", 5), ("(char)200", -56), ("(uchar)-1", 255), ("(int)2.9f", 2),
        ("(int)-2.9f", -2), ("(bool)7", 1), ("(-1 < 1u)", 0), ("(char)-1 < (uchar)1", 1),
        ("5 & 3 | 8 ^ 1", 9),
        ("1 == 1.0", 1), ("1 ? 2 : 1 / 0", 2), ("0 && 1 / 0", 0), ("(1, 2)", 2),
        ("sizeof(int) * 2", 8), ("'a' + 1", 98), ("(short)0x18000", -32768),
    ],
)  # fmt: skip
def test_a_constant_expression_is_folded_as_c_computes_it(expression: str, value: int) -> None:
    assert values(f"{{{expression}}}") == (value,)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("16777217", 16777216.0),
        ("1 / 3.0f", struct.unpack("<f", struct.pack("<f", 1 / 3))[0]),
        ("1.0f / 0", math.inf),
        ("-1.0f / 0.0f", -math.inf),
        ("(float)0xffffffffffffffffUL", 2.0**64),
        # Twice rounded, by way of a double, this would be 2^54 + 2^31.
        ("0x40000040000001L", 2.0**54 + 2.0**31),
        ("3.4e38f * 10", math.inf),
        # Just above and below halfway between two floats, by less than a double can tell.
        ("1.000000059604644775390625000000000000000001f", 1 + 2.0**-23),
        ("1.000000059604644775390625f", 1.0),
        ("1.000000178813934326171874999999999999999999f", 1 + 2.0**-23),
        ("0x1.00000100000000000001p0f", 1 + 2.0**-23),
    ],
)
def test_a_float_constant_is_rounded_once_to_its_type(expression: str, value: float) -> None:
    assert values(f"{{{expression}}}", "f") == (value,)


def test_an_enumeration_counts_on_from_the_last_value() -> None:
    source = "enum e {A, B = 5, C, D = B - 10, E}; constant int x[] = {A, B, C, D, E, sizeof(enum e)};"
    assert struct.unpack("<6i", constant_bytes(source)) == (0, 5, 6, -5, -4, 4)


@pytest.mark.parametrize(
    ("declaration", "data"),
    [
        ("constant int x[3] = {1};", struct.pack("<3i", 1, 0, 0)),
        ("constant int x[] = {[2] = 5, [0] = 1, 7};", struct.pack("<3i", 1, 7, 5)),
        ("constant int x[2][2] = {1, 2, 3};", struct.pack("<4i", 1, 2, 3, 0)),
        ("constant int x[][2] = {{1}, {2, 3}};", struct.pack("<4i", 1, 0, 2, 3)),
        ("constant char x[] = \"ab\";", b"ab\0"),
        ("constant char x[2] = \"ab\";", b"ab"),
        ("constant char x[5] = {\"a\" \"b\"};", b"ab\0\0\0"),
        ("constant char x[][3] = {\"a\", \"bc\"};", b"a\0\0bc\0"),
        ("constant float4 x = (float4)(1, 2, 3, 4);", struct.pack("<4f", 1, 2, 3, 4)),
        ("constant float4 x = {1, 2, 3, 4};", struct.pack("<4f", 1, 2, 3, 4)),
        ("constant int2 x = 7;", struct.pack("<2i", 7, 7)),
        ("constant int4 x = (int4)((int2)(1, 2) + 1, -(int2)(3));", struct.pack("<4i", 2, 3, -3, -3)),
        ("constant float3 x = (float3)(1, 2, 3);", struct.pack("<3fI", 1, 2, 3, 0)),
        ("typedef struct {char a; int b[2];} S; constant S x = {1, {2}};", struct.pack("<b3xii", 1, 2, 0)),
        ("typedef struct {char a; int b[2];} S; constant S x = {.b[1] = 9, .a = 3};",
         struct.pack("<b3xii", 3, 0, 9)),
        ("typedef struct {int a, b;} S; constant S x[2] = {1, 2, {.b = 4}};", struct.pack("<4i", 1, 2, 0, 4)),
        ("typedef struct {int a; struct {int b, c;} d;} S; constant S x = {1, 2, 3};",
         struct.pack("<3i", 1, 2, 3)),
        ("union U {int a; float b;}; constant union U x = {.b = 1};", struct.pack("<f", 1)),
        ("union U {int a; float b;}; constant union U x = {1};", struct.pack("<i", 1)),
        ("constant int x = sizeof(int) == 4 ? 10 : 20;", struct.pack("<i", 10)),
        ("constant int n = 3; constant int x[n] = {n, n * 2};", struct.pack("<3i", 3, 6, 0)),
        ("constant double x = 0.1;", struct.pack("<d", 0.1)),
        ("constant int * constant x = 0;", bytes(8)),
        ("constant bool x = 5;", b"\1"),
    ],
)  # fmt: skip
def test_program_scope_data_has_the_bytes_that_its_initialiser_says(declaration: str, data: bytes) -> None:
    assert constant_bytes(declaration) == data


def test_two_string_literals_of_one_text_are_one_object() -> None:
    module = module_of(
        'kernel void k() { printf("%s", "a"); constant char *p = "x"; constant char *q = "x"; }'
    )
    assert [m.initial for m in module.constants] == [b"x\0"]


@pytest.mark.parametrize("name", ["double", "double4"])
def test_double_needs_its_extension(name: str) -> None:
    assert error_of(f"kernel void k() {{ {name} x; }}") == ""
    expected = f"use of type '{name}' requires cl_khr_fp64 support"
    assert error_of(f"kernel void k() {{ {name} x; }}", target=PLAIN) == expected


def test_a_double_literal_is_a_float_with_a_warning_where_there_are_no_doubles() -> None:
    (only,) = messages("constant int s = sizeof(1.0);", target=PLAIN)
    assert only.text == "double precision constant requires cl_khr_fp64, casting to single precision"
    assert constant_bytes("constant int s = sizeof(1.0);", PLAIN) == b"\4\0\0\0"


def test_half_is_only_for_storage_without_its_extension() -> None:
    for body in ("half x;", "half a[2];", "half2 v;", "*h = 1;", "float x = *h;", "float x = h[1];"):
        assert "cl_khr_fp16" in error_of(f"kernel void k(global half *h) {{ {body} }}")
    assert (
        error_of("kernel void k(global half *h) { float x = vload_half(0, h); vstore_half(x, 1, h); }") == ""
    )
    assert error_of("kernel void k(global half *h) { half x = h[0] * 2.0h; h[1] = x; }", target=HALF) == ""


def test_a_typedef_carries_its_address_space_and_qualifiers() -> None:
    kernel = module_of("typedef const global float *ptr; kernel void k(ptr p) { float x = *p; }").functions[
        "k"
    ]
    assert str(kernel.parameters[0].var.type) == "__global const float *"


def test_a_variable_whose_address_is_taken_lives_in_memory_and_others_in_registers() -> None:
    kernel = kernel_of("int a = 1, b = 2; int *p = &a; b += *p;")
    assert [m.name for m in kernel.memories] == ["a"]


def test_the_target_decides_not_the_text() -> None:
    assert FULL.has_double
    assert not PLAIN.has_double
    assert HALF.has_half
