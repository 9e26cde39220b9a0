"""The typed form that programs become: what the machine relies on (see `clsim.clc.ir`)."""

from __future__ import annotations

import pytest
from clc_support import (
    FULL,
    HALF,
    constant_bytes,
    every_expression,
    every_statement,
    found,
    kernel_of,
    module_of,
)

from clsim.clc import Target, compile_source, ir
from clsim.clc.types import BOOL, FLOAT, INT, UINT, ULONG, Pointer, Space, vector
from clsim.clc.types import HALF as HALF_TYPE


def only_store(body: str) -> ir.Store:
    (store,) = found(kernel_of(body), ir.Store)
    return store


def test_an_index_stays_plain_arithmetic_on_ids_and_variables() -> None:
    store = only_store("int i = get_global_id(0); g[i * 4 + n] = 1;")
    at = store.pointer
    assert isinstance(at, ir.Offset)
    assert at.stride == 4
    assert isinstance(at.pointer, ir.Read)
    assert isinstance(at.index, ir.Binary)
    assert (at.index.op, at.index.type) == ("add", INT)
    assert isinstance(at.index.a, ir.Binary)
    assert (at.index.a.op, at.index.a.type) == ("mul", INT)
    assert isinstance(at.index.a.b, ir.Const)
    assert at.index.a.b.value == 4


def test_a_comparison_in_a_condition_is_a_bool_without_conversions() -> None:
    kernel = kernel_of("if (n < 3 && g[n] > 0 || !n) n = 1; while (n) n--; for (int i = 0; i < n; i++) ;")
    tests = [s.test for s in every_statement(kernel) if isinstance(s, (ir.If, ir.Loop))]
    assert all(t is not None and t.type is BOOL for t in tests)
    converted = [e for e in every_expression(kernel) if isinstance(e, ir.Convert) and e.type is BOOL]
    assert converted == []


def test_a_comparison_used_as_a_number_becomes_an_int() -> None:
    (assign,) = [s for s in every_statement(kernel_of("n = (n > 1) + (n < 3);")) if isinstance(s, ir.Assign)]
    assert isinstance(assign.value, ir.Binary)
    assert assign.value.type is INT
    assert all(isinstance(x, ir.Convert) and x.a.type is BOOL for x in (assign.value.a, assign.value.b))


def test_a_load_behind_a_guard_stays_behind_it() -> None:
    kernel = kernel_of("int i = get_global_id(0); if (i < n && g[i] > 0) ip[i] = i < n ? ip[i] : 0;")
    (logical,) = found(kernel, ir.Logical)
    assert isinstance(logical.b, ir.Compare)
    assert isinstance(logical.b.a, ir.Load)
    (cond,) = found(kernel, ir.Cond)
    assert isinstance(cond.a, ir.Load)


def test_an_effect_behind_a_guard_becomes_an_if() -> None:
    kernel = kernel_of("int m = n > 0 && n++ > 3; m = n ? n++ : n--;")
    assert found(kernel, ir.Logical) == []
    assert found(kernel, ir.Cond) == []
    ifs = found(kernel, ir.If)
    assert len(ifs) == 2
    assert any(isinstance(s, ir.Assign) for s in ifs[0].then)
    assert ifs[0].otherwise == ()


def test_a_postfix_step_keeps_the_old_value() -> None:
    kernel = kernel_of("ip[0] = n++;")
    store = found(kernel, ir.Store)[0]
    assert isinstance(store.value, ir.Read)
    assert store.value.var.is_temporary


def test_an_address_with_a_load_in_it_is_computed_once_in_a_compound_assignment() -> None:
    kernel = kernel_of("g[ip[n]] += 1;")
    loads = [e for e in every_expression(kernel) if isinstance(e, ir.Load) and e.type is INT]
    assert len({id(e) for e in loads}) == 1


def test_a_plain_address_in_a_compound_assignment_stays_visible() -> None:
    store = only_store("g[get_global_id(0) * 2 + n] += 1;")
    assert isinstance(store.pointer, ir.Offset)
    assert isinstance(store.pointer.index, ir.Binary)


def test_operands_have_the_type_of_the_operation() -> None:
    (store,) = found(kernel_of("g[0] = n * 2.0f + (uchar)n;"), ir.Store)
    assert isinstance(store.value, ir.Binary)
    assert store.value.type is FLOAT
    assert store.value.a.type is store.value.b.type is FLOAT


def test_scalars_meet_vectors_as_splats() -> None:
    store = only_store("f4[0] = f4[1] * 2;")
    assert isinstance(store.value, ir.Binary)
    assert isinstance(store.value.b, ir.Build)
    assert [p.type for p in store.value.b.parts] == [FLOAT]
    (call,) = [
        e for e in every_expression(kernel_of("f4[0] = max(f4[1], 0.0f);")) if isinstance(e, ir.Builtin)
    ]
    assert [a.type for a in call.args] == [vector(FLOAT, 4)] * 2


def test_a_swizzle_is_an_extract_and_a_write_to_components_a_build() -> None:
    kernel = kernel_of("float4 v = f4[0]; v.zx = v.xy; f4[1] = v;")
    assign = [s for s in every_statement(kernel) if isinstance(s, ir.Assign)][-1]
    assert isinstance(assign.value, ir.Build)
    assert sum(1 if not hasattr(p.type, "width") else p.type.width for p in assign.value.parts) == 4
    stores = found(kernel_of("f4[0].zx = (float2)(1, 2);"), ir.Store)
    assert [(s.pointer.index.value, s.value.value) for s in stores] == [(2, 1.0), (0, 2.0)]


def test_writing_one_of_sixteen_components_keeps_the_others_in_pieces_that_are_vectors() -> None:
    kernel = kernel_of(
        "int16 v = (int16)(n); v.s5 = 1; v.s038 = v.s123; ip[0] = v.s0;".replace("s038", "s03").replace(
            "s123", "s12"
        )
    )
    for build in (e for e in every_expression(kernel) if isinstance(e, ir.Build)):
        assert all(getattr(p.type, "width", 1) in (1, 2, 3, 4, 8, 16) for p in build.parts)


def test_vload_and_vstore_promise_only_an_elements_alignment() -> None:
    store = only_store("vstore3(vload3(n, g), 2, g);")
    assert isinstance(store.value, ir.Load)
    assert (store.value.type, store.value.align, store.align) == (vector(FLOAT, 3), 4, 4)
    assert isinstance(store.pointer, ir.Offset)
    assert store.pointer.stride == 12
    aligned = only_store("f4[0] = f4[1];")
    assert (aligned.align, aligned.value.align) == (16, 16)  # type: ignore[union-attr]


def test_halves_in_memory_convert_with_the_rounding_asked_for() -> None:
    source = (
        "kernel void k(global half *h, float x, float4 v) {"
        "vstore_half_rtz(vload_half(3, h), 1, h); vstorea_half3(v.xyz, 2, h);}"
    )
    first, second = found(module_of(source).functions["k"], ir.Store)
    assert isinstance(first.value, ir.Convert)
    assert (first.value.type, first.value.rounding) == (HALF_TYPE, "rtz")
    assert isinstance(first.value.a, ir.Convert)
    assert isinstance(first.value.a.a, ir.Load)
    assert (second.pointer.stride, second.align) == (8, 8)  # type: ignore[union-attr]


def test_a_loop_has_its_step_apart_so_that_continue_reaches_it() -> None:
    kernel = kernel_of("for (int i = 0; i < n; i++) { if (i == 3) continue; g[i] = 1; }")
    (loop,) = found(kernel, ir.Loop)
    assert loop.test_first
    assert loop.before == ()
    assert [type(s) for s in loop.after] == [ir.Assign]
    (do,) = found(kernel_of("do n--; while (n > 0);"), ir.Loop)
    assert not do.test_first
    (endless,) = found(kernel_of("for (;;) break;"), ir.Loop)
    assert endless.test is None
    (counting,) = found(kernel_of("while (n--) g[0] = n;"), ir.Loop)
    assert any(isinstance(s, ir.Assign) for s in counting.before)


def test_a_switch_keeps_the_order_of_its_cases() -> None:
    kernel = kernel_of("switch (n) {case 3: case 1: n = 5; default: n = 6; case 2: {n = 7; break;}}")
    (switch,) = found(kernel, ir.Switch)
    assert [values for values, _ in switch.cases] == [(3, 1), None, (2,)]
    assert [type(s) for s in switch.cases[2][1]] == [ir.Assign, ir.Break]


def test_a_variable_declared_in_a_case_exists_in_the_next() -> None:
    kernel = kernel_of("switch (n) {case 1:; int x; x = 2; case 2: x = 3; n = x;}")
    where = [type(s) for s in kernel.body]
    assert where.index(ir.Declare) < where.index(ir.Switch)


def test_code_that_a_constant_condition_rules_out_is_checked_but_not_kept() -> None:
    assert (
        found(
            kernel_of("if (0) g[0] = 1; if (sizeof(int) == 4) n = 2; else g[1] = 1; while (0) g[2] = 1;"),
            ir.Store,
        )
        == []
    )


def test_records_are_copied_as_bytes_and_passed_as_pointers_to_copies() -> None:
    source = """
    typedef struct {int a; float b[3];} S;
    S change(S s) {s.a = 5; return s;}
    kernel void k(global S *p, S by_value) {S x = p[0]; p[1] = change(x); p[2] = by_value;}
    """
    module = module_of(source)
    change, kernel = module.functions["change"], module.functions["k"]
    assert [str(p.var.type) for p in change.parameters] == ["struct (anonymous) *"] * 2
    assert str(change.result) == "void"
    assert kernel.parameters[1].record is not None
    assert kernel.parameters[1].record.size == 16
    copies = found(kernel, ir.CopyMemory)
    assert all(c.size == 16 for c in copies)
    assert len(copies) == 4


def test_a_partial_initialiser_zeroes_the_rest_first() -> None:
    kernel = kernel_of("int a[4] = {1, 2}; g[0] = a[n];")
    kinds = [type(s) for s in kernel.body]
    assert kinds.index(ir.FillMemory) < kinds.index(ir.Store)
    assert ir.FillMemory not in [type(s) for s in kernel_of("int a[2] = {1, 2}; g[0] = a[n];").body]


def test_local_memory_belongs_to_the_kernel_and_its_size_is_known() -> None:
    kernel = kernel_of("local char c; local float4 v[3]; local int x; c = 1; v[0] = 1; x = 1;")
    assert [(m.name, m.space, m.size) for m in kernel.memories] == [
        ("c", Space.LOCAL, 1), ("v", Space.LOCAL, 48), ("x", Space.LOCAL, 4),
    ]  # fmt: skip
    assert kernel.local_bytes == 68


def test_atomics_are_statements_and_the_old_value_is_kept_only_when_read() -> None:
    kernel = kernel_of("atomic_inc(ip); int old = atomic_cmpxchg(ip, 1, 2); atom_sub(ip, 3);")
    one, two, three = found(kernel, ir.Atomic)
    assert (one.op, one.args[0].value, one.result) == ("add", 1, None)
    assert (two.op, len(two.args)) == ("cmpxchg", 2)
    assert two.result is not None
    assert (three.op, three.result) == ("sub", None)


def test_barriers_and_fences_are_told_apart_and_seen_through_calls() -> None:
    source = """
    void sync() {barrier(CLK_LOCAL_MEM_FENCE);}
    void fence() {mem_fence(CLK_GLOBAL_MEM_FENCE);}
    kernel void a() {sync();}
    kernel void b() {fence();}
    """
    functions = module_of(source).functions
    assert {name: f.uses_barrier for name, f in functions.items()} == {
        "sync": True, "fence": False, "a": True, "b": False,
    }  # fmt: skip
    assert found(functions["fence"], ir.Barrier)[0].fence_only


def test_an_asynchronous_copy_is_a_shared_loop_and_its_wait_a_barrier() -> None:
    kernel = kernel_of(
        "local float b[8]; event_t e = async_work_group_copy(b, g, 8, 0); wait_group_events(1, &e);"
    )
    assert len(found(kernel, ir.Loop)) == 1
    assert len(found(kernel, ir.Barrier)) == 1
    assert kernel.uses_barrier


def test_printf_arguments_are_promoted() -> None:
    (printf,) = found(kernel_of('printf("%d %f %s\\n", (char)1, 1.0f, "x");'), ir.Printf)
    assert printf.template == b"%d %f %s\n"
    assert [a if isinstance(a, bytes) else str(a.type) for a in printf.args] == ["int", "double", b"x"]


def test_conversions_and_reinterpretations_are_explicit() -> None:
    kernel = kernel_of("i4[0] = convert_int4_sat_rte(f4[0]); i4[1] = as_int4(f4[1]); n = as_int(g[0]);")
    convert = found(kernel, ir.Convert)[0]
    assert (str(convert.type), convert.saturate, convert.rounding) == ("int4", True, "rte")
    assert {str(e.type) for e in found(kernel, ir.Bitcast)} == {"int4", "int"}


def test_relaxed_maths_reaches_the_machine_under_the_precise_names() -> None:
    kernel = kernel_of(
        "g[0] = native_sin(g[1]) + half_sqrt(g[2]) + fast_length(f4[0]) + native_divide(g[3], 2.0f);"
    )
    assert {e.name for e in found(kernel, ir.Builtin)} == {"sin", "sqrt", "length"}
    assert any(isinstance(e, ir.Binary) and e.op == "div" for e in every_expression(kernel))


def test_mul24_is_a_multiplication() -> None:
    assert found(kernel_of("n = mad24(n, 3, 4);"), ir.Builtin) == []


def test_work_item_functions_return_size_t_and_take_a_uint() -> None:
    (call,) = found(kernel_of("ip[0] = get_global_id(n);"), ir.Builtin)
    assert call.type is ULONG
    assert call.args[0].type is UINT


@pytest.mark.parametrize(
    ("parameter", "type_name", "space", "qualifiers", "access"),
    [
        ("global float *p", "float*", Space.GLOBAL, set(), "none"),
        ("const global float * restrict p", "float*", Space.GLOBAL, {"const", "restrict"}, "none"),
        ("global volatile unsigned int *p", "uint*", Space.GLOBAL, {"volatile"}, "none"),
        ("constant uchar4 *p", "uchar4*", Space.CONSTANT, {"const"}, "none"),
        ("local unsigned char p[]", "uchar*", Space.LOCAL, set(), "none"),
        ("const int p", "int", Space.PRIVATE, set(), "none"),
        ("unsigned long p", "ulong", Space.PRIVATE, set(), "none"),
        ("global myfloat *p", "myfloat*", Space.GLOBAL, set(), "none"),
        ("struct S p", "struct S", Space.PRIVATE, set(), "none"),
    ],
)
def test_a_kernel_tells_of_its_arguments_what_the_api_reports(
    parameter: str, type_name: str, space: Space, qualifiers: set[str], access: str
) -> None:
    # OpenCL API 5.9.3: clGetKernelArgInfo
    source = f"typedef float myfloat; struct S {{int a;}}; kernel void k({parameter}) {{}}"
    (made,) = module_of(source).functions["k"].parameters
    assert (made.type_name, made.space, set(made.qualifiers), made.access) == (
        type_name,
        space,
        qualifiers,
        access,
    )


def test_attributes_of_a_kernel_are_kept() -> None:
    source = """
    kernel __attribute__((reqd_work_group_size(8, 4, 1))) __attribute__((vec_type_hint(float4)))
    void a() {}
    __attribute__((work_group_size_hint(2, 3, 4))) kernel void b() {}
    """
    kernels = module_of(source).kernels
    assert kernels["a"].attributes.required_work_group_size == (8, 4, 1)
    assert kernels["a"].attributes.vec_type_hint == "float4"
    assert kernels["b"].attributes.work_group_size_hint == (2, 3, 4)


def test_a_forward_declaration_of_a_kernel_is_no_second_kernel() -> None:
    module = module_of("kernel void k(global float *a);\nkernel void k(global float *restrict a) {a[0] = 1;}")
    assert list(module.functions) == ["k"]


def test_packed_fields_are_accessed_with_the_alignment_they_have() -> None:
    source = (
        "struct __attribute__((packed)) P {char a; int b; short c[2];};"
        "kernel void k(global struct P *p, int i) {p[i].b = p->c[1];}"
    )
    (store,) = found(module_of(source).functions["k"], ir.Store)
    assert store.align == 1
    loads = [e for e in every_expression(module_of(source).functions["k"]) if isinstance(e, ir.Load)]
    assert [e.align for e in loads] == [1]


def test_a_read_of_a_named_constant_is_the_constant() -> None:
    source = (
        "constant int N = 4;"
        "kernel void k(global int *o) {const int m = N * 2; int a[m]; a[0] = N; o[0] = a[0] + m;}"
    )
    constants = [
        e.value for e in every_expression(module_of(source).functions["k"]) if isinstance(e, ir.Const)
    ]
    assert 4 in constants
    assert 8 in constants
    assert not [
        e
        for e in every_expression(module_of(source).functions["k"])
        if isinstance(e, ir.Address) and e.memory.name == "N"
    ]


def test_deep_chains_are_cut_so_that_trees_stay_shallow() -> None:
    kernel = kernel_of("g[0] = " + " + ".join(f"g[{i}]" for i in range(2000)) + ";")

    def depth(e: ir.Expr) -> int:
        from clsim.clc.walk import operands

        return 1 + max((depth(x) for x in operands(e)), default=0)

    assert max(depth(e) for e in (s.value for s in every_statement(kernel) if isinstance(s, ir.Assign))) < 100


def test_halves_compute_as_halves_where_the_device_has_them() -> None:
    source = "kernel void k(global half *h) {h[0] = h[1] * h[2] + 1; }"
    (store,) = found(module_of(source, target=HALF).functions["k"], ir.Store)
    assert store.value.type is HALF_TYPE


def test_what_version_2_brought_needs_version_2() -> None:
    source = (
        "kernel void k(global ulong *o) {"
        "o[0] = get_global_linear_id(); work_group_barrier(CLK_LOCAL_MEM_FENCE);}"
    )
    assert compile_source(source, target=FULL).module is None
    new = Target(opencl_version=(3, 0), c_version=(1, 2))
    assert compile_source(source, "-cl-std=CL3.0", target=new).module is not None


def test_a_place_in_the_program_goes_with_each_access() -> None:
    module = module_of('kernel void k(global int *o) {\n#line 7 "made.py"\n  o[0] =\n  o[1];\n}')
    (store,) = found(module.functions["k"], ir.Store)
    (load,) = [e for e in every_expression(module.functions["k"]) if isinstance(e, ir.Load)]
    assert (module.files[store.loc.file], store.loc.line) == ("made.py", 7)
    assert (module.files[load.loc.file], load.loc.line) == ("made.py", 8)
    assert module.sources[load.loc.file].split("\n")[7] == "  o[1];"


def test_a_pointer_type_prints_as_clang_prints_it() -> None:
    kernel = kernel_of("")
    assert [str(p.var.type) for p in kernel.parameters[:2]] == ["__global float *", "__global int *"]
    assert isinstance(kernel.parameters[0].var.type, Pointer)


def test_null_pointers_of_every_spelling_are_the_address_zero() -> None:
    assert constant_bytes("constant int * constant x[3] = {0, NULL, (void *)0};") == bytes(24)
