"""Seeded random parameters for an ONNX network, scaled so that its activations neither die nor explode.

A parameter is replaced where a node says what it is for; all others keep their values. Weights are uniform
with the variance 2 / fan-in (He and others, 2015); a normalisation's scale and variance stay near one, but
its scale is smaller where its result is added to another branch, or deep residual networks would grow
without bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from runtime.artifact import Random
from runtime.artifact.seeded import uniform

Shape: TypeAlias = tuple[int, ...]
Range: TypeAlias = Callable[[Shape], tuple[float, float]]


@dataclass(frozen=True)
class RandomParameter:
    """How one parameter of the network is made."""

    name: str
    shape: Shape
    source: Random


def randomize(model: Any, seed: int) -> list[RandomParameter]:
    """Gives the model random parameters in place, and says how each was made.

    `model` is an `onnx.ModelProto` with single-precision parameters, given as initializers or as the
    results of ConstantOfShape nodes.
    """
    import onnx

    graph = model.graph
    shapes = dict(_parameter_shapes(graph))
    added = {name for node in graph.node if node.op_type in ("Sum", "Add") for name in node.input}
    made: dict[str, RandomParameter] = {}
    for node in graph.node:
        for position, span in _ROLES.get(node.op_type, {}).items():
            name = node.input[position] if position < len(node.input) else ""
            if name not in shapes or name in made:
                continue
            shape = shapes[name]
            if node.op_type == "Gemm" and position == 1 and _drop_transposition(node):
                shape = shape[::-1]
            if node.op_type == "BatchNormalization" and position == 1 and node.output[0] in added:
                span = _BRANCH_SCALE
            low, high = span(shape)
            made[name] = RandomParameter(name, shape, Random(stream=len(made), low=low, high=high))
    for nodes in (graph.node, graph.initializer):
        kept = [node for node in nodes if _result(node) not in made]
        del nodes[:]
        nodes.extend(kept)
    for parameter in made.values():
        source = parameter.source
        value = uniform(seed, source.stream, source.low, source.high, parameter.shape)
        graph.initializer.append(onnx.numpy_helper.from_array(value, parameter.name))
    return list(made.values())


def _he(fan_in: int) -> tuple[float, float]:
    bound = math.sqrt(6.0 / fan_in)
    return -bound, bound


def _near(center: float, distance: float) -> Range:
    return lambda shape: (center - distance, center + distance)


_SMALL = _near(0.0, 0.1)
_NEAR_ONE = _near(1.0, 0.2)
_BRANCH_SCALE = _near(0.4, 0.1)

# Operator -> input -> the range of its values, from the parameter's shape.
_ROLES: Mapping[str, Mapping[int, Range]] = {
    "Conv": {1: lambda shape: _he(math.prod(shape[1:])), 2: _SMALL},
    "Gemm": {1: lambda shape: _he(shape[0]), 2: _SMALL},
    "MatMul": {1: lambda shape: _he(shape[-2])},
    "BatchNormalization": {1: _NEAR_ONE, 2: _SMALL, 3: _SMALL, 4: _NEAR_ONE},
}


def _parameter_shapes(graph: Any) -> Iterator[tuple[str, Shape]]:
    import onnx

    single = onnx.TensorProto.FLOAT
    given = {tensor.name: tensor for tensor in graph.initializer}
    for name, tensor in given.items():
        if tensor.data_type == single:
            yield name, tuple(tensor.dims)
    for node in graph.node:
        if node.op_type != "ConstantOfShape" or node.input[0] not in given:
            continue
        values = [attribute.t for attribute in node.attribute if attribute.name == "value"]
        if all(value.data_type == single for value in values):  # none given means single-precision zero
            shape = onnx.numpy_helper.to_array(given[node.input[0]])
            yield node.output[0], tuple(int(extent) for extent in np.atleast_1d(shape))


def _drop_transposition(gemm: Any) -> bool:
    """Makes a Gemm take its weights as compilers lay them out, which any random weights can follow."""
    for attribute in gemm.attribute:
        if attribute.name == "transB" and attribute.i:
            attribute.i = 0
            return True
    return False


def _result(node: Any) -> str:
    """The name that a node of one result, or an initializer, defines."""
    outputs = getattr(node, "output", None)
    return str(node.name if outputs is None else outputs[0])
