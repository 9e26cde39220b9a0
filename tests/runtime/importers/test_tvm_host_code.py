"""Host code read as launches, on stand-ins for TVM's nodes, so that no TVM is needed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from runtime.artifact import (
    Block,
    BufferArgument,
    CompiledKernel,
    ParameterValue,
    ScalarArgument,
    ScalarValue,
    WorkspaceValue,
)
from runtime.importers.errors import NetworkImportError
from runtime.importers.tvm.constants import fold, fold_integer
from runtime.importers.tvm.host_code import read_function


def node(kind: str, **fields: Any) -> Any:
    """A stand-in for a node of TVM's: the reader goes by class names and fields."""
    created = type(kind, (), {})()
    created.__dict__.update(fields)
    return created


def integer(value: int) -> Any:
    return node("IntImm", value=value)


def binary(kind: str, a: Any, b: Any) -> Any:
    return node(kind, a=a, b=b)


def buffer(shape: tuple[int, ...], scope: str = "global", offset: Any = None) -> Any:
    extents = [integer(extent) for extent in shape]
    ty = node(
        "BufferType", shape=extents, dtype="float32", storage_scope=scope, elem_offset=offset, strides=[]
    )
    return node("Var", name="memory", ty=ty)


def launch(kernel: str, *values: Any, **sizes: int) -> Any:
    tags = [tag.replace("_", ".") for tag in sizes]
    call = node(
        "Call",
        op=SimpleNamespace(name="tirx.call_ffi_kernel"),
        args=[node("StringImm", value=kernel), *values, *(integer(size) for size in sizes.values())],
        attrs=SimpleNamespace(launch_params=tags),
    )
    return node("Evaluate", value=call)


def function(parameters: list[Any], *statements: Any) -> Any:
    return SimpleNamespace(params=parameters, body=node("SeqStmt", seq=list(statements)))


_BUFFER = BufferArgument(dtype="float32", access="read_write")
KERNELS = {
    "one": CompiledKernel("", (_BUFFER,)),
    "counted": CompiledKernel("", (_BUFFER, ScalarArgument(dtype="int64"))),
}


def test_a_launch_has_the_work_items_of_all_groups_and_as_many_axes_as_are_named() -> None:
    x = buffer((4, 6))
    found = read_function("f", function([x], launch("one", x, blockIdx_x=3, threadIdx_x=8)), KERNELS)
    assert found.parameters == (Block(dtype="float32", shape=(4, 6)),)
    assert found.launches[0].global_size == (24,)
    assert found.launches[0].local_size == (8,)

    body = launch("one", x, threadIdx_x=8, blockIdx_y=5)  # in any order; only groups along y
    (second,) = read_function("f", function([x], body), KERNELS).launches
    assert (second.global_size, second.local_size) == ((8, 5), (8, 1))


def test_a_view_of_a_parameter_is_the_parameter() -> None:
    x, flat = buffer((4, 6)), buffer((24,))
    data = node("Call", op=SimpleNamespace(name="tirx.buffer_data"), args=[x])
    body = (node("DeclBuffer", buffer=flat, data=data), launch("one", flat, blockIdx_x=1))
    assert read_function("f", function([x], *body), KERNELS).launches[0].arguments == (
        ParameterValue(index=0),
    )


def test_scratch_memory_becomes_a_workspace() -> None:
    x, scratch = buffer((4,)), buffer((7,))
    body = (node("AllocBuffer", buffer=scratch), launch("one", scratch, blockIdx_x=1))
    found = read_function("f", function([x], *body), KERNELS)
    assert found.workspaces == (Block(dtype="float32", shape=(7,)),)
    assert found.launches[0].arguments == (WorkspaceValue(index=0),)


def test_scratch_memory_of_one_work_item_that_kernels_should_share_is_refused() -> None:
    x, scratch = buffer((4,)), buffer((7,), scope="local")
    body = (node("AllocBuffer", buffer=scratch), launch("one", scratch, blockIdx_x=1))
    with pytest.raises(
        NetworkImportError, match=r"function f: workspace 0 is local memory, yet one is launched"
    ):
        read_function("f", function([x], *body), KERNELS)


def test_a_loop_is_written_out_with_its_numbers() -> None:
    x, i = buffer((4,)), node("Var", name="i", ty=None)
    last = binary("Sub", binary("LShift", integer(2), i), integer(1))
    loop = node(
        "For", loop_var=i, min=integer(1), extent=integer(3), body=launch("counted", x, last, blockIdx_x=2)
    )
    launches = read_function("f", function([x], loop), KERNELS).launches
    assert [step.arguments[1] for step in launches] == [
        ScalarValue(dtype="int64", value=value) for value in (3, 7, 15)
    ]


def test_a_condition_and_a_bound_number_are_worked_out() -> None:
    x, n = buffer((4,)), node("Var", name="n", ty=None)
    choice = node(
        "IfThenElse",
        condition=binary("LT", n, integer(10)),
        then_case=launch("counted", x, n, blockIdx_x=1),
        else_case=None,
    )
    body = (node("Bind", var=n, value=binary("FloorDiv", integer(29), integer(4))), choice)
    (only,) = read_function("f", function([x], *body), KERNELS).launches
    assert only.arguments[1] == ScalarValue(dtype="int64", value=7)


def test_an_input_begins_at_offset_zero() -> None:
    offset = node("Var", name="offset", ty=None)
    x = buffer((4,), offset=offset)
    (only,) = read_function("f", function([x], launch("counted", x, offset, blockIdx_x=1)), KERNELS).launches
    assert only.arguments[1] == ScalarValue(dtype="int64", value=0)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        (lambda x: node("BufferStore", buffer=x), "function f: BufferStore on the host"),
        (lambda x: node("While", body=None), "While on the host"),
        (
            lambda x: node("Evaluate", value=node("Call", op=SimpleNamespace(name="tirx.exp"), args=[])),
            "on the",
        ),
        (lambda x: launch("one", x, blockIdx_x=1, vthread=2), "one is launched with vthread"),
        (lambda x: launch("one", blockIdx_x=1), "0 arguments for one, which takes 1"),
        (lambda x: launch("one", buffer((3,)), blockIdx_x=1), "neither parameter nor workspace"),
        (
            lambda x: node("For", loop_var=None, min=integer(0), extent=integer(5000), body=None),
            "a host loop of 5000 rounds, over 4096",
        ),
        (lambda x: launch("counted", x, node("Var", name="n", ty=None), blockIdx_x=1), "not known before"),
        (lambda x: launch("counted", x, binary("Div", integer(1), integer(0)), blockIdx_x=1), "has no value"),
    ],
)
def test_what_has_no_place_in_a_model_file_is_refused(statement: Any, reason: str) -> None:
    x = buffer((4,))
    with pytest.raises(NetworkImportError, match=reason):
        read_function("f", function([x], statement(x)), KERNELS)


@pytest.mark.parametrize(
    ("kind", "a", "b", "value"),
    [
        ("Div", -7, 2, -3),  # C rounds towards zero
        ("Mod", -7, 2, -1),
        ("FloorDiv", -7, 2, -4),
        ("FloorMod", -7, 2, 1),
        ("Max", 3, 9, 9),
        ("RShift", 40, 3, 5),
        ("BitwiseXor", 6, 3, 5),
        ("And", 1, 0, False),
    ],
)
def test_arithmetic_follows_tvms_operators(kind: str, a: int, b: int, value: int) -> None:
    assert fold(binary(kind, integer(a), integer(b)), {}) == value


def test_a_size_must_be_a_whole_number() -> None:
    with pytest.raises(NetworkImportError, match="not a whole number"):
        fold_integer(node("FloatImm", value=2.5), {})
