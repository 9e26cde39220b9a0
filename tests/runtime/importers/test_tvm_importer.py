"""Networks to model files by way of TVM. What needs TVM itself is skipped where it is not installed."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runtime.artifact import Artifact, BufferArgument, ConstantTensor, ScalarArgument
from runtime.importers.errors import CompilerUnavailableError, NetworkImportError
from runtime.importers.tvm import TVM_VERSION, import_onnx, import_relax
from runtime.importers.tvm.compiler import require_tvm
from runtime.importers.tvm.kernel_code import split_source
from tests.runtime.network_fixtures import artifact_path

try:
    require_tvm()
except CompilerUnavailableError:
    tvm: Any = None
else:
    import onnx
    import tvm
    from tvm import relax

needs_tvm = pytest.mark.skipif(tvm is None, reason=f"needs apache-tvm {TVM_VERSION} (extra tvm)")
# TVM and what it brings warn of their own deprecations.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")


def light(name: str) -> Path:
    return Path(onnx.__file__).parent / "backend" / "test" / "data" / "light" / f"{name}.onnx"


def relax_network(build: Any, shape: tuple[int, ...] = (4, 600), dtype: str = "float32") -> Any:
    """A module whose `main` applies `build` to its one input."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(shape, dtype))
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(build(x))
        builder.emit_func_output(result)
    return builder.get()


def test_without_tvm_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tvm", None)
    with pytest.raises(CompilerUnavailableError, match=r"apache-tvm 0\.27\.0\.post1, which is not installed"):
        import_onnx("network.onnx")


def test_another_release_of_tvm_is_refused_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    other = types.ModuleType("tvm")
    other.__version__ = "0.19.0"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tvm", other)
    with pytest.raises(CompilerUnavailableError, match=r"needs apache-tvm 0\.27\.0\.post1, but 0\.19\.0 is"):
        import_onnx("network.onnx")


def test_each_kernels_source_is_cut_out_without_the_others_declarations() -> None:
    source = (
        "// Function: a_kernel\n"
        "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
        "__kernel void a_kernel(__global float* restrict x);\n"
        "__kernel void b_kernel(__global half* restrict y);\n"
        "__kernel void a_kernel(__global float* restrict x) {\n  x[0] = 1.0f;\n}\n\n"
        "// Function: b_kernel\n"
        "__kernel void a_kernel(__global float* restrict x);\n"
        "__kernel void b_kernel(__global half* restrict y);\n"
        "__kernel void b_kernel(__global half* restrict y) {\n  y[0] = 0;\n}\n"
    )
    assert split_source(source) == {
        "a_kernel": (
            "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
            "__kernel void a_kernel(__global float* restrict x) {\n  x[0] = 1.0f;\n}\n"
        ),
        "b_kernel": "__kernel void b_kernel(__global half* restrict y) {\n  y[0] = 0;\n}\n",
    }


@needs_tvm
def test_a_fixture_is_what_the_importer_makes_of_its_network_today() -> None:
    fixture = Artifact.load(artifact_path("light_shufflenet"))
    assert fixture.manifest.random is not None
    made = import_onnx(light("light_shufflenet"), random_seed=fixture.manifest.random.seed)
    assert made.module_hash == fixture.module_hash
    assert made.manifest.tensors == fixture.manifest.tensors
    assert made.manifest.steps == fixture.manifest.steps
    assert [port.name for port in made.inputs] == ["gpu_0_data_0"]
    assert made.launch_count == 132


@needs_tvm
def test_an_import_is_reproducible_and_tells_its_progress() -> None:
    told: list[tuple[int, int, str]] = []

    def progress(done: int, total: int, what: str) -> None:
        told.append((done, total, what))

    first = import_onnx(light("light_bvlc_alexnet"), name="net", progress=progress)
    assert [done for done, _, _ in told] == [0, 1, 2, 3, 4]
    assert {total for _, total, _ in told} == {4}
    assert told[-1][2] == "done"
    assert first.to_bytes() == import_onnx(light("light_bvlc_alexnet"), name="net").to_bytes()


@needs_tvm
def test_constants_of_one_value_take_no_room() -> None:
    artifact = import_onnx(light("light_squeezenet"))
    origins = [t.source.origin for t in artifact.manifest.tensors if isinstance(t, ConstantTensor)]
    assert origins.count("fill") >= 39  # the network's own weights, made by ConstantOfShape
    assert len(artifact.to_bytes()) < 100_000


@needs_tvm
def test_access_is_told_for_every_argument() -> None:
    artifact = import_relax(relax_network(lambda x: relax.op.exp(x)), name="exp")
    (kernel,) = artifact.manifest.kernels.values()
    access = {}
    for argument, text in zip(kernel.arguments, signature(artifact), strict=True):
        assert isinstance(argument, BufferArgument)
        access[text.split()[-1]] = argument.access
    assert access == {"compute_ptr": "write", "x_ptr": "read"}


@needs_tvm
def test_local_memory_is_counted_in_bytes() -> None:
    artifact = import_relax(relax_network(lambda x: relax.op.sum(x, axis=1)), name="sum")
    (name,) = artifact.kernel_names
    declared = [
        int(line.split("[")[1].split("]")[0]) * 4
        for line in artifact.kernel_source(name).splitlines()
        if line.strip().startswith("__local float ")
    ]
    assert artifact.manifest.kernels[name].local_bytes == sum(declared) > 0


@needs_tvm
def test_host_loops_become_launches_with_their_numbers() -> None:
    artifact = import_relax(relax_network(lambda x: relax.op.argsort(x, axis=1)), name="sort")
    scalars = [
        argument.value
        for function in artifact.manifest.functions.values()
        for launch in function.launches
        for argument in launch.arguments
        if argument.kind == "scalar"
    ]
    # One launch a round of the merge sort, each with the round's number; 0 is the input's offset.
    assert [value for value in scalars if value] == [1, 2]
    assert artifact.launch_count == 6
    assert sum(len(function.workspaces) for function in artifact.manifest.functions.values()) == 3
    kinds = {type(argument) for kernel in artifact.manifest.kernels.values() for argument in kernel.arguments}
    assert kinds == {BufferArgument, ScalarArgument}


@needs_tvm
def test_stored_constants_keep_their_bytes() -> None:
    weights = np.random.default_rng(3).standard_normal((600, 5)).astype(np.float32)
    artifact = import_relax(relax_network(lambda x: relax.op.matmul(x, relax.const(weights))), name="dense")
    loaded = Artifact.load(artifact.to_bytes())
    (index,) = (i for i, t in enumerate(loaded.manifest.tensors) if isinstance(t, ConstantTensor))
    np.testing.assert_array_equal(loaded.params(index), weights)


@needs_tvm
def test_a_scan_whose_shape_is_only_known_at_run_time_is_refused() -> None:
    with pytest.raises(NetworkImportError, match=r"cumsum.*not known before the network runs"):
        import_relax(relax_network(lambda x: relax.op.cumsum(x, axis=1)), name="scan")


@needs_tvm
def test_a_target_that_is_not_opencl_is_refused() -> None:
    with pytest.raises(NetworkImportError, match="target 'llvm' is of kind llvm, not opencl"):
        import_relax(relax_network(lambda x: relax.op.exp(x)), name="exp", target="llvm")


@needs_tvm
def test_a_network_that_tvm_cannot_translate_is_refused_by_name() -> None:
    node = onnx.helper.make_node("NoSuchOperator", ["x"], ["y"])
    value = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, (2,)) for name in ("x", "y")]
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "odd", value[:1], value[1:]))
    with pytest.raises(NetworkImportError, match=r"TVM cannot translate odd: .*NoSuchOperator"):
        import_onnx(model)


def signature(artifact: Artifact) -> list[str]:
    """The parameters in the OpenCL C of an artifact's only kernel."""
    (name,) = artifact.kernel_names
    return artifact.kernel_source(name).split("(", 1)[1].split(")", 1)[0].split(",")
