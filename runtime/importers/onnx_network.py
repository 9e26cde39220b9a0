"""An ONNX network made ready for a compiler: names that OpenCL C can hold, fixed shapes, chosen outputs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runtime.importers.errors import CompilerUnavailableError, NetworkImportError
from runtime.importers.random_parameters import RandomParameter, randomize


@dataclass
class OnnxNetwork:
    """A network that a compiler can take. `model` is an `onnx.ModelProto` of this importer's own."""

    name: str
    model: Any
    inputs: list[str]
    outputs: list[str]
    random_seed: int | None = None
    random: list[RandomParameter] = field(default_factory=list)


def read_network(
    network: str | os.PathLike[str] | Any,
    *,
    name: str | None = None,
    random_seed: int | None = None,
    also_output: Sequence[str] = (),
    input_shapes: Mapping[str, Sequence[int]] | None = None,
) -> OnnxNetwork:
    """The network of an ONNX file, or of an `onnx.ModelProto`, which is not changed.

    `also_output` names values inside the network that become outputs, before its own. `input_shapes` fixes
    shapes that the file leaves open. `random_seed` replaces the parameters by seeded random ones.
    Raises `NetworkImportError`, and `OSError` where the file cannot be read.
    """
    model, name = _model_and_name(network, name)
    given = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in given]
    _fix_shapes(inputs, {} if input_shapes is None else input_shapes)
    _add_outputs(model, also_output)
    random = [] if random_seed is None else randomize(model, random_seed)
    ports = [*inputs, *model.graph.output]
    renamed = identifiers([value.name for value in ports])
    _rename(model.graph, {old: new for old, new in renamed.items() if old != new})
    return OnnxNetwork(
        name=name,
        model=model,
        inputs=[value.name for value in inputs],
        outputs=[value.name for value in model.graph.output],
        random_seed=random_seed if random else None,
        random=random,
    )


def identifiers(names: Sequence[str]) -> dict[str, str]:
    """A C identifier for each name, as near to it as can be, and all different."""
    chosen: dict[str, str] = {}
    for name in names:
        base = re.sub(r"[^A-Za-z0-9_]", "_", name)
        if not base or base[0].isdigit():
            base = f"_{base}"
        candidate, number = base, 1
        while candidate in chosen.values() or (candidate != name and candidate in names):
            number += 1
            candidate = f"{base}_{number}"
        chosen.setdefault(name, candidate)
    return chosen


def _model_and_name(network: str | os.PathLike[str] | Any, name: str | None) -> tuple[Any, str]:
    try:
        import onnx
    except ImportError as error:
        raise CompilerUnavailableError(
            "reading ONNX needs the package onnx: install the extra tvm"
        ) from error
    if isinstance(network, str | os.PathLike):
        path = Path(network)
        try:
            model = onnx.load(path)
        except OSError:
            raise
        except Exception as error:  # of a class that belongs to whichever protobuf is installed
            raise NetworkImportError(f"{path}: not an ONNX file ({error})") from None
        found = path.stem
    else:
        model = onnx.ModelProto()
        model.CopyFrom(network)
        found = model.graph.name or "network"
    return model, found if name is None else name


def _fix_shapes(inputs: Sequence[Any], shapes: Mapping[str, Sequence[int]]) -> None:
    unknown = sorted(shapes.keys() - {value.name for value in inputs})
    if unknown:
        names = ", ".join(value.name for value in inputs)
        raise NetworkImportError(f"shapes given for {unknown}, but the network's inputs are: {names}")
    for value in inputs:
        tensor = value.type.tensor_type
        if value.name in shapes:
            del tensor.shape.dim[:]
            for extent in shapes[value.name]:
                tensor.shape.dim.add().dim_value = extent
        extents = [dim.dim_value for dim in tensor.shape.dim]
        if not tensor.HasField("shape") or any(extent < 1 for extent in extents):
            said = [dim.dim_param or dim.dim_value for dim in tensor.shape.dim]
            raise NetworkImportError(
                f"input {value.name} has the open shape {said}; a model file needs a fixed one: "
                f'give input_shapes={{"{value.name}": (...)}}'
            )


def _add_outputs(model: Any, names: Sequence[str]) -> None:
    import onnx

    produced = {result for node in model.graph.node for result in node.output}
    for name in names:
        if name not in produced:
            raise NetworkImportError(f"no node of the network produces {name}, which should be an output")
    if not names:
        return
    inferred = onnx.shape_inference.infer_shapes(model).graph
    described = {value.name: value for value in (*inferred.value_info, *inferred.output)}
    added = [described.get(name, onnx.ValueInfoProto(name=name)) for name in names]
    own = list(model.graph.output)
    del model.graph.output[:]
    model.graph.output.extend([*added, *own])


def _rename(graph: Any, renamed: Mapping[str, str]) -> None:
    """Gives values new names everywhere, also where a node's own graph refers to the outer one."""
    for node in graph.node:
        for names in (node.input, node.output):
            for index, name in enumerate(names):
                names[index] = renamed.get(name, name)
        for inner in _graphs_of(node):
            _rename(inner, renamed)
    for value in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
        value.name = renamed.get(value.name, value.name)


def _graphs_of(node: Any) -> Iterator[Any]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs
