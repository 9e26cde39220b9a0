"""Build options: how drivers split them, what the standard lists (OpenCL API 5.8.6), what is refused."""

from __future__ import annotations

import pytest
from clc_support import FULL, constant_bytes, error_of, messages, module_of

from clsim.clc import Target, compile_source
from clsim.clc.options import OptionError, parse_options, split_options


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("  -a \t -b\n", ["-a", "-b"]),
        ('-I "dir a/inc"', ["-I", "dir a/inc"]),
        ("-I 'dir a/inc'", ["-I", "dir a/inc"]),
        ("-Idir/x-g", ["-Idir/x-g"]),
        ('-I"dir a"/b', ["-Idir a/b"]),
        ("-I dir\\ a", ["-I", "dir a"]),
        ('-D S="\\"x y\\""', ["-D", 'S="x y"']),
        ("-D ARR={0,1}", ["-D", "ARR={0,1}"]),
        ("-I C:\\inc\\cl", ["-I", "C:\\inc\\cl"]),
        ('""', [""]),
    ],
)
def test_options_are_split_at_spaces_outside_quotes(text: str, words: list[str]) -> None:
    assert split_options(text) == words


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("-D N=3", "N", "3"),
        ("-DN=3", "N", "3"),
        ("-D F", "F", "1"),
        ("-DF", "F", "1"),
        ("-D E=", "E", ""),
        ("-D 'M(x)=x + 1'", "M(x)", "x + 1"),
        ("-D A=1\n2", "A", "1"),
        ("-D T=a=b", "T", "a=b"),
    ],
)
def test_a_definition_takes_every_shape(text: str, name: str, value: str) -> None:
    assert parse_options(text.replace("\n", "\\\n") if "\n" in text else text).defines == [(name, value)]


def test_a_definition_is_cut_at_a_newline() -> None:
    assert parse_options("-D 'A=1\n2'").defines == [("A", "1")]


def test_definitions_reach_the_program() -> None:
    source = (
        "constant int a[] = ARR;\nkernel void k(global int *o) { *o = F + a[N]; }\nconstant char s[] = S;\n"
        "constant int m = TWICE(4);"
    )
    options = '-D ARR={5,6} -DN=1 -D F -D S="\\"x y\\"" -D "TWICE(x)=2*x" -DU -UU'
    module = module_of(source + "\n#ifdef U\n#error defined\n#endif", options)
    assert [m.initial for m in module.constants] == [
        b"\x05\0\0\0\x06\0\0\0", b"x y\0", b"\x08\0\0\0",
    ]  # fmt: skip


def test_the_letter_g_inside_a_path_is_no_flag() -> None:
    options = parse_options("-Idir/x-g -I inc-w")
    assert options.include_dirs == ["dir/x-g", "inc-w"]
    assert options.flags == frozenset()


@pytest.mark.parametrize(
    "flag",
    [
        "-cl-single-precision-constant", "-cl-denorms-are-zero", "-cl-fp32-correctly-rounded-divide-sqrt",
        "-cl-opt-disable", "-cl-uniform-work-group-size", "-cl-no-subgroup-ifp", "-cl-mad-enable",
        "-cl-no-signed-zeros", "-cl-unsafe-math-optimizations", "-cl-finite-math-only",
        "-cl-fast-relaxed-math", "-cl-kernel-arg-info", "-w", "-Werror", "-g", "-cl-strict-aliasing",
    ],
)  # fmt: skip
def test_every_flag_of_the_standard_is_taken(flag: str) -> None:
    assert parse_options(flag).flags == {flag}
    assert compile_source("kernel void k() {}", flag, target=FULL).module is not None


@pytest.mark.parametrize(
    "text",
    [
        "-unknown",
        "-I dir a/inc",
        "file.cl",
        "-cl-bogus",
        "-cl-std=CL9.9",
        "-D",
        "-I",
        "-D 3=4",
        "-D 'x",
        "-O3",
    ],
)
def test_what_no_standard_lists_is_an_option_error_and_nothing_is_compiled(text: str) -> None:
    with pytest.raises(OptionError, match="build options"):
        parse_options(text)
    made = compile_source("syntax error", text, target=FULL)
    assert made.option_error is not None
    assert (made.module, made.log, made.errors) == (None, "", 0)


@pytest.mark.parametrize(
    ("option", "target", "accepted"),
    [
        ("CL1.0", Target(c_version=(1, 2)), True),
        ("CL1.2", Target(c_version=(1, 2)), True),
        ("CL2.0", Target(c_version=(1, 2)), False),
        ("CL3.0", Target(opencl_version=(3, 0), c_version=(1, 2)), True),
        ("CL3.0", Target(opencl_version=(1, 2), c_version=(1, 2)), False),
        ("CL1.2", Target(opencl_version=(1, 1), c_version=(1, 1)), False),
    ],
)
def test_a_version_of_the_language_that_the_device_lacks_fails_the_build(
    option: str, target: Target, accepted: bool
) -> None:
    made = compile_source("kernel void k() {}", f"-cl-std={option}", target=target)
    assert (made.module is not None) == accepted
    assert made.option_error is None
    if not accepted:
        assert "not supported by device" in made.log


def test_the_version_chosen_is_the_version_seen() -> None:
    text = "constant int v = __OPENCL_C_VERSION__;"
    for option, version in (("", 120), ("-cl-std=CL1.1", 110), ("-cl-std=CL3.0", 300)):
        assert int.from_bytes(constant_bytes(text, options=option), "little") == version


def test_w_silences_warnings_and_werror_makes_errors_of_them() -> None:
    source = "#pragma nonsense\nkernel void k() {}"
    assert [m.severity for m in messages(source)] == ["warning"]
    assert messages(source, "-w") == []
    assert error_of(source, "-Werror") == "unknown pragma ignored [-Werror]"


def test_denormal_flushing_is_noted_in_the_module() -> None:
    assert module_of("kernel void k() {}", "-cl-denorms-are-zero").denormals_are_zero
    assert not module_of("kernel void k() {}").denormals_are_zero


def test_single_precision_constants_are_floats() -> None:
    assert "greater rank" in error_of("kernel void k(global float4 *f) { *f *= 2.0; }")
    assert error_of("kernel void k(global float4 *f) { *f *= 2.0; }", "-cl-single-precision-constant") == ""
