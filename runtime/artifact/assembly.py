"""An artifact from the parts that an importer has: digests, hashes and the parameter file are made here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt
from pydantic import ValidationError

from runtime.artifact import container
from runtime.artifact.errors import ArtifactError
from runtime.artifact.manifest import (
    Function,
    Kernel,
    KernelArgument,
    Manifest,
    ParameterFile,
    Port,
    Producer,
    Seed,
    Step,
    Storage,
    Tensor,
    module_hash,
)
from runtime.artifact.model import Artifact, digest
from runtime.artifact.parameters import write_parameters


@dataclass(frozen=True)
class CompiledKernel:
    """A kernel's OpenCL C, its signature, and the local memory that it declares, in bytes."""

    source: str
    arguments: tuple[KernelArgument, ...]
    local_bytes: int = 0


@dataclass(frozen=True)
class Parts:
    """What an artifact is made of; see `manifest.py` for the parts. `arrays` holds the stored constants."""

    name: str
    producer: Producer
    kernels: Mapping[str, CompiledKernel]
    functions: Mapping[str, Function]
    storages: Sequence[Storage]
    tensors: Sequence[Tensor]
    steps: Sequence[Step]
    inputs: Sequence[Port]
    outputs: Sequence[Port]
    seed: int | None = None
    arrays: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)


def assemble(parts: Parts) -> Artifact:
    """The artifact, checked like a loaded one. Raises `ArtifactError`."""
    data = None
    if parts.arrays:
        data = write_parameters(parts.arrays, container.data_offset_of_first(container.PARAMETERS))
    kernels = {
        name: Kernel(
            arguments=kernel.arguments, local_bytes=kernel.local_bytes, sha256=digest(kernel.source.encode())
        )
        for name, kernel in parts.kernels.items()
    }
    try:
        manifest = Manifest(
            name=parts.name,
            producer=parts.producer,
            module_hash=module_hash(kernels, parts.functions),
            kernels=kernels,
            functions=dict(parts.functions),
            storages=tuple(parts.storages),
            tensors=tuple(parts.tensors),
            steps=tuple(parts.steps),
            inputs=tuple(parts.inputs),
            outputs=tuple(parts.outputs),
            random=None if parts.seed is None else Seed(seed=parts.seed),
            params=None if data is None else ParameterFile(size_bytes=len(data), sha256=digest(data)),
        )
    except ValidationError as error:
        raise ArtifactError(f"the parts make no manifest: {error}", parts.name) from None
    sources = {name: kernel.source for name, kernel in parts.kernels.items()}
    return Artifact(manifest, sources, None if data is None else memoryview(data))
