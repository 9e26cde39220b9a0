"""The beginning of a network as a network of its own: as real as the whole, and compiled sooner."""

from __future__ import annotations

from runtime.artifact import Artifact, Port, parameter_access
from runtime.artifact.manifest import module_hash


def beginning(artifact: Artifact, steps: int) -> Artifact:
    """The first steps of a network without stored parameters; its output is what the last of them writes."""
    manifest = artifact.manifest
    kept = manifest.steps[:steps]
    functions = {step.function: manifest.functions[step.function] for step in kept}
    launched = {launch.kernel for function in functions.values() for launch in function.launches}
    kernels = {name: kernel for name, kernel in manifest.kernels.items() if name in launched}
    access = parameter_access(functions[kept[-1].function], kernels)
    written = next(tensor for tensor, kind in zip(kept[-1].arguments, access, strict=True) if kind == "write")
    part = manifest.model_copy(
        update={
            "name": f"{manifest.name} (first {len(kept)} steps)",
            "kernels": kernels,
            "functions": functions,
            "steps": kept,
            "outputs": (Port(name="output", tensor=written),),
            "module_hash": module_hash(kernels, functions),
        }
    )
    return Artifact(part, {name: artifact.kernel_source(name) for name in kernels})
