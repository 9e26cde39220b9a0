"""Makes the network fixtures: model files, and what TVM's own LLVM build of the same networks computes.

Run it from the project's root in an environment with the extra `tvm`:

    python tools/make_network_fixtures.py [--network NETWORK]

The networks are the `light_*` ones that the onnx package carries. Their parameters are seeded random ones,
made at load, so that a fixture holds only code. Each fixture gives two outputs: the logits, and the
probabilities that the network's Softmax makes of them.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from runtime.artifact import Artifact, Port
from runtime.importers.onnx_network import read_network
from runtime.importers.tvm import import_network, require_tvm, to_relax

SEED = 20240229
PROJECT = Path(__file__).resolve().parent.parent
FIXTURES = PROJECT / "tests" / "fixtures"
SHIPPED = {"light_squeezenet": PROJECT / "runtime" / "demo" / "data"}  # the demo has it when installed
NETWORKS = ("light_squeezenet", "light_shufflenet", "light_resnet50", "light_bvlc_alexnet")


def main() -> int:
    parser = argparse.ArgumentParser(description="make the network fixtures")
    parser.add_argument("--network", choices=NETWORKS, action="append", help="all of them if none is named")
    FIXTURES.mkdir(exist_ok=True)
    for name in parser.parse_args().network or NETWORKS:
        make_fixture(name)
    return 0


def make_fixture(name: str) -> None:
    """Writes `<name>.oclm`, `<name>.logits.npy` and `<name>.probabilities.npy`."""
    network = read_network(light_network(name), random_seed=SEED)
    artifact = with_logits(import_network(network))
    folder = SHIPPED.get(name, FIXTURES)
    artifact.save(folder / f"{name}.oclm")
    for kind, values in zip(("logits", "probabilities"), reference(name, artifact), strict=True):
        np.save(folder / f"{name}.{kind}.npy", values)
        print(f"{name}: {kind} from {values.min():.3g} to {values.max():.3g}, deviation {values.std():.3g}")
    print(f"{artifact!r}, {(folder / f'{name}.oclm').stat().st_size} bytes")


def light_network(name: str) -> Path:
    """The network's file inside the onnx package."""
    import onnx

    return Path(onnx.__file__).parent / "backend" / "test" / "data" / "light" / f"{name}.onnx"


def with_logits(artifact: Artifact) -> Artifact:
    """The same network, which gives the tensor that its last Softmax reads as its first output."""
    manifest = artifact.manifest
    softmax = next(step for step in reversed(manifest.steps) if "softmax" in step.function)
    (probabilities,) = manifest.outputs
    outputs = (
        Port(name="logits", tensor=softmax.arguments[0]),
        Port(name="probabilities", tensor=probabilities.tensor),
    )
    sources = {kernel: artifact.kernel_source(kernel) for kernel in artifact.kernel_names}
    return Artifact(manifest.model_copy(update={"outputs": outputs}), sources)


def reference(name: str, artifact: Artifact) -> list[np.ndarray[Any, Any]]:
    """What TVM's own build for the host's processor gives for the artifact's example inputs."""
    tvm = require_tvm()
    plain = read_network(light_network(name))
    softmax = plain.model.graph.node[-1]
    if softmax.op_type != "Softmax":
        raise SystemExit(f"{name} does not end with a Softmax but with {softmax.op_type}")
    network = read_network(light_network(name), random_seed=SEED, also_output=[softmax.input[0]])
    with tvm.transform.PassContext(opt_level=3):
        executable = tvm.relax.build(to_relax(network), target="llvm")
    machine = tvm.relax.VirtualMachine(executable, tvm.cpu())
    inputs = [tvm.runtime.tensor(array) for array in artifact.example_inputs().values()]
    results = machine["main"](*inputs)
    return [
        result.numpy().reshape(port.shape) for result, port in zip(results, artifact.outputs, strict=True)
    ]


if __name__ == "__main__":
    sys.exit(main())
