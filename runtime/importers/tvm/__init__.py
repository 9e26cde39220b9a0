"""Networks to model files by way of Apache TVM, which writes OpenCL C with no OpenCL device present.

    from runtime.importers.tvm import import_onnx

    import_onnx("squeezenet.onnx").save("squeezenet.oclm")

TVM is imported when it is needed, and only the one release whose internal form is known here; the model
file is the stable interface. A network keeps its meaning or is refused: shapes must be fixed, everything
must run in kernels, and all memory must be plain buffers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from runtime.artifact import Artifact, Parts, Port, Producer, Random, assemble
from runtime.artifact.seeded import uniform
from runtime.importers.errors import CompilerUnavailableError, NetworkImportError
from runtime.importers.onnx_network import OnnxNetwork, read_network
from runtime.importers.tvm.compiler import TVM_VERSION, Compilation, compile_network, require_tvm
from runtime.importers.tvm.graph_code import Graph, content_digest, read_graph
from runtime.importers.tvm.host_code import read_function
from runtime.importers.tvm.kernel_code import read_kernels

__all__ = [
    "TVM_VERSION",
    "CompilerUnavailableError",
    "NetworkImportError",
    "Progress",
    "import_network",
    "import_onnx",
    "import_relax",
    "to_relax",
]

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with the steps done, the steps in all, and what is done next."""

_STAGES = ("reading the network", "translating it for TVM", "compiling kernels", "writing the model", "done")


def import_onnx(
    network: str | os.PathLike[str] | Any,
    *,
    name: str | None = None,
    target: str = "opencl",
    random_seed: int | None = None,
    also_output: Sequence[str] = (),
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    progress: Progress | None = None,
) -> Artifact:
    """The artifact of an ONNX file or `onnx.ModelProto`.

    `random_seed` gives the network random parameters, which are made at load and take no room in the file.
    `also_output` names values inside the network to give as outputs, before its own. `input_shapes` fixes
    what the file leaves open. Takes seconds to minutes. Raises `NetworkImportError` (of which
    `CompilerUnavailableError` is one) and `OSError` where the file cannot be read.
    """
    require_tvm()
    _tell(progress, 0)
    prepared = read_network(
        network, name=name, random_seed=random_seed, also_output=also_output, input_shapes=input_shapes
    )
    return import_network(prepared, target=target, progress=progress)


def import_network(
    network: OnnxNetwork, *, target: str = "opencl", progress: Progress | None = None
) -> Artifact:
    """The artifact of an ONNX network that `read_network` has prepared."""
    _tell(progress, 1)
    module = to_relax(network)
    random: dict[bytes, Random] = {}
    for parameter in network.random:
        assert network.random_seed is not None, "random parameters come with their seed"
        source = parameter.source
        value = uniform(network.random_seed, source.stream, source.low, source.high, parameter.shape)
        random[content_digest(value)] = source
    return _import(module, network.name, target, network.outputs, network.random_seed, random, progress)


def import_relax(
    module: Any, *, name: str, target: str = "opencl", progress: Progress | None = None
) -> Artifact:
    """The artifact of a Relax module, whose function `main` is the network. Its outputs are named by number.

    Raises `NetworkImportError`.
    """
    require_tvm()
    return _import(module, name, target, None, None, {}, progress)


def to_relax(network: OnnxNetwork) -> Any:
    """The network as a Relax module, its parameters bound as constants. Raises `NetworkImportError`."""
    require_tvm()
    from tvm.relax.frontend.onnx import from_onnx

    try:
        return from_onnx(network.model)
    except Exception as error:  # the translator raises whatever its parts raise
        raise NetworkImportError(
            f"TVM cannot translate {network.name}: {type(error).__name__}: {error}"
        ) from error


def _import(
    module: Any,
    name: str,
    target: str,
    outputs: Sequence[str] | None,
    seed: int | None,
    random: Mapping[bytes, Random],
    progress: Progress | None,
) -> Artifact:
    _tell(progress, 2)
    compilation = compile_network(module, target)
    _tell(progress, 3)
    graph = read_graph(compilation.graph, random)
    artifact = assemble(_parts(compilation, graph, name, target, outputs, seed))
    _tell(progress, 4)
    return artifact


def _parts(
    compilation: Compilation,
    graph: Graph,
    name: str,
    target: str,
    outputs: Sequence[str] | None,
    seed: int | None,
) -> Parts:
    """What the network uses of what TVM made; constants were folded with further kernels."""
    kernels = read_kernels(compilation.kernels, compilation.source)
    functions = {
        step.function: read_function(step.function, compilation.host_functions[step.function], kernels)
        for step in graph.steps
    }
    used = {launch.kernel for function in functions.values() for launch in function.launches}
    names = outputs if outputs is not None else [f"output_{number}" for number in range(len(graph.outputs))]
    return Parts(
        name=name,
        producer=Producer(tool="apache-tvm", version=TVM_VERSION, target=target, model=name),
        kernels={kernel: kernels[kernel] for kernel in sorted(used)},
        functions=functions,
        storages=graph.storages,
        tensors=graph.tensors,
        steps=graph.steps,
        inputs=[Port(name=given, tensor=tensor) for given, tensor in graph.inputs],
        outputs=[Port(name=given, tensor=tensor) for given, tensor in zip(names, graph.outputs, strict=True)],
        seed=seed,
        arrays=graph.arrays,
    )


def _tell(progress: Progress | None, stage: int) -> None:
    if progress is not None:
        progress(stage, len(_STAGES) - 1, _STAGES[stage])
