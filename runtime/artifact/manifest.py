"""The manifest of a model file as data: strict, frozen models that refuse what they do not know.

What only holds between several parts (indices, sizes, signatures) is in `rules.py`.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter

from runtime.artifact import jsontext
from runtime.artifact.bounds import MAX_ENTRIES, MAX_MEMORY_BYTES, MAX_NAME, MAX_RANK, MAX_WORK_ITEMS
from runtime.artifact.errors import ArtifactError

FORMAT = "oclm"
VERSION = 1

ITEM_SIZES: Mapping[str, int] = {
    "bool": 1,
    "int8": 1,
    "uint8": 1,
    "int16": 2,
    "uint16": 2,
    "float16": 2,
    "int32": 4,
    "uint32": 4,
    "float32": 4,
    "int64": 8,
    "uint64": 8,
    "float64": 8,
}

DType: TypeAlias = Literal[
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "float16",
    "int32",
    "uint32",
    "float32",
    "int64",
    "uint64",
    "float64",
]
Access: TypeAlias = Literal["none", "read", "write", "read_write"]
Scope: TypeAlias = Literal["global"]

Identifier: TypeAlias = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=MAX_NAME)
]
Label: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[ -~]+$", max_length=MAX_NAME)]
Digest: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Index: TypeAlias = Annotated[int, Field(ge=0, lt=MAX_ENTRIES)]
ByteCount: TypeAlias = Annotated[int, Field(ge=1, le=MAX_MEMORY_BYTES)]
Extent: TypeAlias = Annotated[int, Field(ge=1, le=MAX_MEMORY_BYTES)]
Shape: TypeAlias = Annotated[tuple[Extent, ...], Field(max_length=MAX_RANK)]
WorkSize: TypeAlias = Annotated[
    tuple[Annotated[int, Field(ge=1, le=MAX_WORK_ITEMS)], ...], Field(min_length=1, max_length=3)
]


class Record(BaseModel):
    """Base of all parts: frozen, strict, and unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class BufferArgument(Record):
    """A kernel's pointer argument: its element type, address space and what the kernel does with it."""

    kind: Literal["buffer"] = "buffer"
    dtype: DType
    scope: Scope = "global"
    access: Access


class ScalarArgument(Record):
    """A kernel's argument passed by value."""

    kind: Literal["scalar"] = "scalar"
    dtype: DType


KernelArgument: TypeAlias = Annotated[BufferArgument | ScalarArgument, Field(discriminator="kind")]


class Kernel(Record):
    """One kernel; its OpenCL C is the member `kernels/<name>.cl`."""

    arguments: tuple[KernelArgument, ...]
    local_bytes: Annotated[int, Field(ge=0, le=MAX_MEMORY_BYTES)] = 0
    sha256: Digest


class Block(Record):
    """Memory with a shape: what a function takes as a parameter or needs as a workspace."""

    dtype: DType
    shape: Shape

    @property
    def size_bytes(self) -> int:
        return byte_size(self.shape, self.dtype)


class ParameterValue(Record):
    """A launch argument: the function's parameter `index`."""

    kind: Literal["parameter"] = "parameter"
    index: Index


class WorkspaceValue(Record):
    """A launch argument: the function's workspace `index`."""

    kind: Literal["workspace"] = "workspace"
    index: Index


class ScalarValue(Record):
    """A launch argument: a number known when the model was compiled."""

    kind: Literal["scalar"] = "scalar"
    dtype: DType
    value: int | float


LaunchArgument: TypeAlias = Annotated[
    ParameterValue | WorkspaceValue | ScalarValue, Field(discriminator="kind")
]


class Launch(Record):
    """One NDRange: sizes in work-items, one number an axis."""

    kernel: Identifier
    arguments: tuple[LaunchArgument, ...]
    global_size: WorkSize
    local_size: WorkSize


class Function(Record):
    """What one step of the graph calls: launches in order, over parameters and private workspaces."""

    parameters: tuple[Block, ...]
    workspaces: tuple[Block, ...] = ()
    launches: Annotated[tuple[Launch, ...], Field(min_length=1)]


class Storage(Record):
    """Device memory that tensors share one after another."""

    size_bytes: ByteCount
    scope: Scope = "global"


class Stored(Record):
    """A constant whose bytes are the entry `key` of params.safetensors."""

    origin: Literal["stored"] = "stored"
    key: Identifier


class Filled(Record):
    """A constant with one value everywhere: `element` is that value's bytes, little-endian, as hex."""

    origin: Literal["fill"] = "fill"
    element: Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{2}){1,8}$")]


class Random(Record):
    """A constant made at load by `seeded.uniform(seed, stream, low, high)`."""

    origin: Literal["random"] = "random"
    stream: Annotated[int, Field(ge=0, lt=1 << 32)]
    low: float
    high: float


ConstantSource: TypeAlias = Annotated[Stored | Filled | Random, Field(discriminator="origin")]


class _Shaped(Record):
    shape: Shape
    dtype: DType

    @property
    def size_bytes(self) -> int:
        return byte_size(self.shape, self.dtype)


class InputTensor(_Shaped):
    """Set by the caller; kernels only read it."""

    kind: Literal["input"] = "input"


class ConstantTensor(_Shaped):
    """A parameter of the network; kernels only read it."""

    kind: Literal["constant"] = "constant"
    source: ConstantSource


class AllocatedTensor(_Shaped):
    """Written and read by steps; lives in a storage at an offset."""

    kind: Literal["allocated"] = "allocated"
    storage: Index
    offset_bytes: Annotated[int, Field(ge=0, le=MAX_MEMORY_BYTES)] = 0


class ViewTensor(_Shaped):
    """All the bytes of another tensor, which is no view itself, under another shape."""

    kind: Literal["view"] = "view"
    of: Index


Tensor: TypeAlias = Annotated[
    InputTensor | ConstantTensor | AllocatedTensor | ViewTensor, Field(discriminator="kind")
]


class Step(Record):
    """One call: `arguments` are tensor indices, one for each parameter of the function."""

    function: Identifier
    arguments: tuple[Index, ...]


class Port(Record):
    """A name by which the caller sets or reads a tensor."""

    name: Identifier
    tensor: Index


class Seed(Record):
    """The seed of the constants that are made at load."""

    seed: Annotated[int, Field(ge=0, lt=1 << 64)]


class ParameterFile(Record):
    """What params.safetensors must be."""

    size_bytes: ByteCount
    sha256: Digest


class Producer(Record):
    """Who made the file, from what, for which target. Told to people; nothing depends on it."""

    tool: Label
    version: Label
    target: Label
    model: Label


class Manifest(Record):
    """`manifest.json`: everything but the kernels' text and the parameters' bytes."""

    format: Literal["oclm"] = "oclm"
    version: Literal[1] = 1
    name: Label
    producer: Producer
    module_hash: Digest
    kernels: dict[Identifier, Kernel]
    functions: dict[Identifier, Function]
    storages: Annotated[tuple[Storage, ...], Field(max_length=MAX_ENTRIES)]
    tensors: Annotated[tuple[Tensor, ...], Field(max_length=MAX_ENTRIES)]
    steps: Annotated[tuple[Step, ...], Field(max_length=MAX_ENTRIES)]
    inputs: tuple[Port, ...]
    outputs: Annotated[tuple[Port, ...], Field(min_length=1)]
    random: Seed | None = None
    params: ParameterFile | None = None


def byte_size(shape: tuple[int, ...], dtype: str) -> int:
    """Bytes of a dense array."""
    return math.prod(shape) * ITEM_SIZES[dtype]


def module_hash(kernels: Mapping[str, Kernel], functions: Mapping[str, Function]) -> str:
    """SHA-256, in hex, of what determines the device programs and how they are launched.

    Covers each kernel's source (by digest) and signature and each function's launches and workspaces;
    not names, parameters, producer or times, so that a network trained again keeps its hash.
    """
    described = {
        "kernels": {name: kernel.model_dump(mode="json") for name, kernel in kernels.items()},
        "functions": {name: function.model_dump(mode="json") for name, function in functions.items()},
    }
    return hashlib.sha256(jsontext.canonical(described)).hexdigest()


def write_manifest(manifest: Manifest) -> bytes:
    """The manifest's bytes: the same for equal manifests."""
    return jsontext.canonical(manifest.model_dump(mode="json")) + b"\n"


def read_manifest(data: bytes) -> Manifest:
    """The manifest in `data`, or `ArtifactError` with the place of its first fault."""
    found = jsontext.parse(data, "manifest.json")
    # A file of another version is told apart from a faulty one before its fields are judged.
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ArtifactError(f'manifest.json does not say "format": "{FORMAT}"; this is no model file')
    version = found.get("version")
    if type(version) is not int:
        raise ArtifactError("manifest.json: version is no whole number")
    if version != VERSION:
        raise ArtifactError(f"format version {version} is unknown; this release reads version {VERSION}")
    return jsontext.validate(data, _MANIFEST, "manifest.json")


_MANIFEST = TypeAdapter(Manifest)
