"""Whether a model's steps make sense in order: nothing is read before it is written or after it is gone."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from runtime.artifact.errors import ArtifactError
from runtime.artifact.manifest import (
    Access,
    AllocatedTensor,
    BufferArgument,
    Function,
    Kernel,
    Manifest,
    ParameterValue,
    ViewTensor,
)

_READS = ("read", "read_write")
_WRITES = ("write", "read_write")


def parameter_access(function: Function, kernels: dict[str, Kernel]) -> tuple[Access, ...]:
    """What the function's launches do with each of its parameters, all kernels taken together."""
    reads = [False] * len(function.parameters)
    writes = [False] * len(function.parameters)
    for launch in function.launches:
        for value, declared in zip(launch.arguments, kernels[launch.kernel].arguments, strict=True):
            if isinstance(value, ParameterValue) and isinstance(declared, BufferArgument):
                reads[value.index] |= declared.access in _READS
                writes[value.index] |= declared.access in _WRITES
    return tuple(_access(read, write) for read, write in zip(reads, writes, strict=True))


def check_dataflow(manifest: Manifest) -> None:
    """Raises `ArtifactError` for a step or output whose tensor does not hold what it should.

    Only what a step reads and never writes is judged: kernels also read back results of their own.
    """
    contents = [_Occupants() for _ in manifest.storages]
    accesses = {
        name: parameter_access(function, manifest.kernels) for name, function in manifest.functions.items()
    }
    for index, step in enumerate(manifest.steps):
        where = f"steps[{index}] ({step.function})"
        access = accesses[step.function]
        reads = [tensor for tensor, kind in zip(step.arguments, access, strict=True) if kind == "read"]
        writes = [tensor for tensor, kind in zip(step.arguments, access, strict=True) if kind in _WRITES]
        for tensor in reads:
            _check_held(manifest, contents, where, tensor)
        for tensor in writes:
            _write(manifest, contents, where, tensor)
        # What was read must still be there: a step whose result lies over its argument races with itself.
        for tensor in reads:
            _check_held(manifest, contents, f"{where}, once it has written", tensor)
    for port in manifest.outputs:
        _check_held(manifest, contents, f"output {port.name}", port.tensor)


def _access(read: bool, write: bool) -> Access:
    if read:
        return "read_write" if write else "read"
    return "write" if write else "none"


def _root(manifest: Manifest, index: int) -> int:
    tensor = manifest.tensors[index]
    return tensor.of if isinstance(tensor, ViewTensor) else index


def _check_held(manifest: Manifest, contents: list[_Occupants], where: str, index: int) -> None:
    root = _root(manifest, index)
    tensor = manifest.tensors[root]
    if isinstance(tensor, AllocatedTensor) and not contents[tensor.storage].holds(root, tensor):
        raise ArtifactError(
            f"{where}: tensor {index} is not there to read: never written, "
            f"or another tensor was written over it in storage {tensor.storage}"
        )


def _write(manifest: Manifest, contents: list[_Occupants], where: str, index: int) -> None:
    root = _root(manifest, index)
    tensor = manifest.tensors[root]
    if not isinstance(tensor, AllocatedTensor):
        raise ArtifactError(f"{where}: writes tensor {index}, which is a network's {tensor.kind}")
    contents[tensor.storage].put(root, tensor)


class _Occupants:
    """The tensors that a storage holds at one moment: disjoint, in order of their offsets."""

    __slots__ = ("_ends", "_starts", "_tensors")

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._tensors: list[int] = []

    def holds(self, index: int, tensor: AllocatedTensor) -> bool:
        at = bisect_left(self._starts, tensor.offset_bytes)
        return at < len(self._tensors) and self._tensors[at] == index

    def put(self, index: int, tensor: AllocatedTensor) -> None:
        """Drops every tensor that shares a byte with this one."""
        start, end = tensor.offset_bytes, tensor.offset_bytes + tensor.size_bytes
        first = bisect_right(self._ends, start)
        last = bisect_left(self._starts, end)
        self._starts[first:last] = [start]
        self._ends[first:last] = [end]
        self._tensors[first:last] = [index]
