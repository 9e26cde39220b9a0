"""ONNX networks made ready for a compiler: names, shapes, outputs, random parameters."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runtime.artifact.seeded import uniform
from runtime.importers.errors import CompilerUnavailableError, NetworkImportError
from runtime.importers.onnx_network import identifiers, read_network

try:
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    onnx = None

needs_onnx = pytest.mark.skipif(onnx is None, reason="needs the package onnx (extra tvm)")


def network(shape: tuple[Any, ...] = (1, 3, 8, 8)) -> Any:
    """Conv, BatchNormalization, added to a second branch, then Gemm with transposed weights."""
    nodes = [
        helper.make_node("ConstantOfShape", ["w/shape"], ["conv/w"]),
        helper.make_node("Conv", ["data/0", "conv/w", "conv/b"], ["conv/out"], pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["conv/out", "s", "b", "m", "v"], ["normal"]),
        helper.make_node("Add", ["normal", "data/0"], ["sum"]),
        helper.make_node("GlobalAveragePool", ["sum"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("Gemm", ["flat", "fc/w", "fc/b"], ["logits/1"], transB=1),
        helper.make_node("Softmax", ["logits/1"], ["prob/1"], axis=1),
    ]
    ones = np.ones(3, np.float32)
    initializers = [
        numpy_helper.from_array(np.array([3, 3, 3, 3], np.int64), "w/shape"),
        *(numpy_helper.from_array(ones, name) for name in ("conv/b", "s", "b", "m", "v")),
        numpy_helper.from_array(np.ones((5, 3), np.float32), "fc/w"),
        numpy_helper.from_array(np.ones(5, np.float32), "fc/b"),
    ]
    return helper.make_model(
        helper.make_graph(
            nodes,
            "small net",
            [helper.make_tensor_value_info("data/0", TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info("prob/1", TensorProto.FLOAT, (1, 5))],
            initializers,
        ),
        opset_imports=[helper.make_opsetid("", 13)],
    )


def test_names_become_the_nearest_c_identifiers() -> None:
    assert identifiers(["x", "gpu_0/data_0", "9lives", "größe", ""]) == {
        "x": "x",
        "gpu_0/data_0": "gpu_0_data_0",
        "9lives": "_9lives",
        "größe": "gr__e",
        "": "_",
    }


def test_names_that_would_become_the_same_stay_apart() -> None:
    chosen = identifiers(["a/b", "a.b", "a_b"])
    assert chosen["a_b"] == "a_b"
    assert len(set(chosen.values())) == 3


@needs_onnx
def test_a_networks_inputs_and_outputs_are_renamed_wherever_they_are_used() -> None:
    prepared = read_network(network())
    assert (prepared.inputs, prepared.outputs) == (["data_0"], ["prob_1"])
    onnx.checker.check_model(prepared.model)
    used = {name for node in prepared.model.graph.node for name in (*node.input, *node.output)}
    assert {"data_0", "prob_1"} <= used
    assert not {"data/0", "prob/1"} & used


@needs_onnx
def test_the_callers_model_is_left_as_it_is() -> None:
    model = network()
    before = model.SerializeToString()
    read_network(model, random_seed=1, also_output=["sum"])
    assert model.SerializeToString() == before


@needs_onnx
def test_a_file_gives_its_name_to_the_network(tmp_path: Path) -> None:
    path = tmp_path / "mine.onnx"
    onnx.save(network(), path)
    assert read_network(path).name == "mine"
    assert read_network(path, name="other").name == "other"
    assert read_network(network()).name == "small net"


@needs_onnx
def test_a_file_that_is_no_onnx_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.onnx"
    path.write_bytes(b"\xff\xfe this is no protobuf")
    with pytest.raises(NetworkImportError, match=r"mine\.onnx: not an ONNX file"):
        read_network(path)
    with pytest.raises(FileNotFoundError):
        read_network(tmp_path / "absent.onnx")


@needs_onnx
def test_an_inner_value_can_be_an_output_before_the_networks_own() -> None:
    prepared = read_network(network(), also_output=["logits/1"])
    assert prepared.outputs == ["logits_1", "prob_1"]
    onnx.checker.check_model(prepared.model)
    with pytest.raises(NetworkImportError, match="no node of the network produces nothing"):
        read_network(network(), also_output=["nothing"])


@needs_onnx
def test_an_open_shape_is_refused_until_it_is_given() -> None:
    model = network(("batch", 3, 8, 8))
    with pytest.raises(NetworkImportError, match=r"input data/0 has the open shape \['batch', 3, 8, 8\]"):
        read_network(model)
    prepared = read_network(model, input_shapes={"data/0": (1, 3, 8, 8)})
    shape = prepared.model.graph.input[0].type.tensor_type.shape
    assert [dim.dim_value for dim in shape.dim] == [1, 3, 8, 8]
    with pytest.raises(NetworkImportError, match=r"shapes given for \['other'\].*inputs are: data/0"):
        read_network(model, input_shapes={"other": (1,)})


@needs_onnx
def test_random_parameters_follow_their_role() -> None:
    prepared = read_network(network(), random_seed=9)
    onnx.checker.check_model(prepared.model)
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in prepared.model.graph.initializer}
    ranges = {parameter.name: (parameter.source.low, parameter.source.high) for parameter in prepared.random}
    assert ranges["conv/w"] == pytest.approx((-math.sqrt(6 / 27), math.sqrt(6 / 27)))
    assert ranges["fc/w"] == pytest.approx((-math.sqrt(6 / 3), math.sqrt(6 / 3)))
    assert ranges["v"] == pytest.approx((0.8, 1.2))
    # The normalisation's result is added to another branch, so its scale is small.
    assert ranges["s"] == pytest.approx((0.3, 0.5))
    assert values["conv/w"].shape == (3, 3, 3, 3)
    assert (values["v"] > 0).all()
    for parameter in prepared.random:
        source = parameter.source
        expected = uniform(9, source.stream, source.low, source.high, parameter.shape)
        np.testing.assert_array_equal(values[parameter.name], expected)
    assert len({parameter.source.stream for parameter in prepared.random}) == len(prepared.random) == 8


@needs_onnx
def test_random_weights_of_a_gemm_lie_as_compilers_keep_them() -> None:
    prepared = read_network(network(), random_seed=9)
    (gemm,) = (node for node in prepared.model.graph.node if node.op_type == "Gemm")
    assert [attribute.i for attribute in gemm.attribute if attribute.name == "transB"] == [0]
    values = {tensor.name: tuple(tensor.dims) for tensor in prepared.model.graph.initializer}
    assert values["fc/w"] == (3, 5)


@needs_onnx
def test_without_a_seed_the_networks_parameters_stay() -> None:
    prepared = read_network(network())
    assert prepared.random == []
    assert prepared.random_seed is None
    assert len(prepared.model.graph.node) == 8


def test_without_onnx_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(CompilerUnavailableError, match="install the extra tvm"):
        read_network("network.onnx")
