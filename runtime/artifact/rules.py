"""What must hold between the parts of a manifest: indices, signatures, sizes, and who writes what when."""

from __future__ import annotations

import math
from collections.abc import Iterator

from runtime.artifact.bounds import MAX_MEMORY_BYTES
from runtime.artifact.dataflow import check_dataflow
from runtime.artifact.errors import ArtifactError
from runtime.artifact.manifest import (
    ITEM_SIZES,
    AllocatedTensor,
    BufferArgument,
    ConstantTensor,
    DType,
    Filled,
    Function,
    InputTensor,
    KernelArgument,
    Launch,
    LaunchArgument,
    Manifest,
    ParameterValue,
    Port,
    Random,
    ScalarValue,
    Stored,
    Tensor,
    ViewTensor,
    WorkspaceValue,
    module_hash,
)

_LARGEST_FLOAT = {"float16": 65504.0, "float32": 3.4028234663852886e38, "float64": math.inf}


def check_manifest(manifest: Manifest) -> None:
    """Raises `ArtifactError` for the first rule that does not hold."""
    for name, function in manifest.functions.items():
        _check_function(manifest, name, function)
    for index, tensor in enumerate(manifest.tensors):
        _check_tensor(manifest, f"tensors[{index}]", tensor)
    _check_ports(manifest)
    _check_steps(manifest)
    _check_total(manifest)
    check_dataflow(manifest)
    found = module_hash(manifest.kernels, manifest.functions)
    if manifest.module_hash != found:
        raise ArtifactError(f"module_hash is {manifest.module_hash}, but kernels and functions give {found}")


def _check_function(manifest: Manifest, name: str, function: Function) -> None:
    where = f"functions.{name}"
    for kind, blocks in (("parameters", function.parameters), ("workspaces", function.workspaces)):
        for index, block in enumerate(blocks):
            _check_size(f"{where}.{kind}[{index}]", block.size_bytes)
    for index, launch in enumerate(function.launches):
        _check_launch(manifest, f"{where}.launches[{index}]", function, launch)


def _check_launch(manifest: Manifest, where: str, function: Function, launch: Launch) -> None:
    kernel = manifest.kernels.get(launch.kernel)
    if kernel is None:
        raise ArtifactError(f"{where}: there is no kernel {launch.kernel}")
    if len(launch.arguments) != len(kernel.arguments):
        raise ArtifactError(
            f"{where}: {len(launch.arguments)} arguments, but {launch.kernel} takes {len(kernel.arguments)}"
        )
    for index, (value, declared) in enumerate(zip(launch.arguments, kernel.arguments, strict=True)):
        _check_launch_argument(f"{where}.arguments[{index}]", function, value, declared)
    if len(launch.local_size) != len(launch.global_size):
        raise ArtifactError(
            f"{where}: local size {launch.local_size} has not as many axes "
            f"as global size {launch.global_size}"
        )
    if any(size % group for size, group in zip(launch.global_size, launch.local_size, strict=True)):
        raise ArtifactError(
            f"{where}: local size {launch.local_size} does not divide global size {launch.global_size}"
        )


def _check_launch_argument(
    where: str, function: Function, value: LaunchArgument, declared: KernelArgument
) -> None:
    if isinstance(value, ScalarValue) or not isinstance(declared, BufferArgument):
        if not isinstance(value, ScalarValue) or isinstance(declared, BufferArgument):
            raise ArtifactError(f"{where}: a {value.kind} where the kernel takes a {declared.kind}")
        found = value.dtype
        _check_scalar(where, value)
    else:
        found = _block_of(where, function, value)
    if found != declared.dtype:
        raise ArtifactError(f"{where}: {found}, but the kernel takes {declared.dtype}")


def _block_of(where: str, function: Function, value: ParameterValue | WorkspaceValue) -> DType:
    blocks = function.parameters if isinstance(value, ParameterValue) else function.workspaces
    if value.index >= len(blocks):
        raise ArtifactError(f"{where}: {value.kind} {value.index} of {len(blocks)}")
    return blocks[value.index].dtype


def _check_scalar(where: str, scalar: ScalarValue) -> None:
    if scalar.dtype.startswith("float"):
        fits = abs(scalar.value) <= _LARGEST_FLOAT[scalar.dtype]
    elif not isinstance(scalar.value, int):
        fits = False
    else:
        low, high = _integer_range(scalar.dtype)
        fits = low <= scalar.value <= high
    if not fits:
        raise ArtifactError(f"{where}: {scalar.value!r:.40} is no {scalar.dtype}")


def _integer_range(dtype: str) -> tuple[int, int]:
    if dtype == "bool":
        return 0, 1
    bits = 8 * ITEM_SIZES[dtype]
    return (0, (1 << bits) - 1) if dtype.startswith("uint") else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def _check_tensor(manifest: Manifest, where: str, tensor: Tensor) -> None:
    _check_size(where, tensor.size_bytes)
    if isinstance(tensor, AllocatedTensor):
        _check_allocation(manifest, where, tensor)
    elif isinstance(tensor, ViewTensor):
        _check_view(manifest, where, tensor)
    elif isinstance(tensor, ConstantTensor):
        _check_constant(manifest, where, tensor)


def _check_allocation(manifest: Manifest, where: str, tensor: AllocatedTensor) -> None:
    if tensor.storage >= len(manifest.storages):
        raise ArtifactError(f"{where}: storage {tensor.storage} of {len(manifest.storages)}")
    size = manifest.storages[tensor.storage].size_bytes
    if tensor.offset_bytes + tensor.size_bytes > size:
        raise ArtifactError(
            f"{where}: {tensor.size_bytes} bytes at {tensor.offset_bytes} do not fit "
            f"storage {tensor.storage} of {size} bytes"
        )
    if tensor.offset_bytes % ITEM_SIZES[tensor.dtype]:
        raise ArtifactError(
            f"{where}: offset {tensor.offset_bytes} is no multiple of a {tensor.dtype}'s size"
        )


def _check_view(manifest: Manifest, where: str, tensor: ViewTensor) -> None:
    if tensor.of >= len(manifest.tensors):
        raise ArtifactError(f"{where}: a view of tensor {tensor.of} of {len(manifest.tensors)}")
    root = manifest.tensors[tensor.of]
    if isinstance(root, ViewTensor):
        raise ArtifactError(f"{where}: a view of tensor {tensor.of}, which is a view itself")
    if (tensor.dtype, tensor.size_bytes) != (root.dtype, root.size_bytes):
        raise ArtifactError(
            f"{where}: {tensor.size_bytes} bytes of {tensor.dtype} are no view of tensor {tensor.of}, "
            f"{root.size_bytes} bytes of {root.dtype}"
        )


def _check_constant(manifest: Manifest, where: str, tensor: ConstantTensor) -> None:
    source = tensor.source
    if isinstance(source, Filled):
        if len(source.element) != 2 * ITEM_SIZES[tensor.dtype]:
            raise ArtifactError(
                f"{where}: the element {source.element} is not the bytes of one {tensor.dtype}"
            )
    elif isinstance(source, Random):
        if manifest.random is None:
            raise ArtifactError(f"{where}: random, but the manifest has no seed")
        largest = _LARGEST_FLOAT.get(tensor.dtype, -1.0)
        if not (source.low < source.high and max(abs(source.low), abs(source.high)) <= largest):
            raise ArtifactError(
                f"{where}: no random {tensor.dtype} between {source.low} and {source.high}; "
                "only floating point, low before high, both finite"
            )


def _check_ports(manifest: Manifest) -> None:
    for kind, ports in (("inputs", manifest.inputs), ("outputs", manifest.outputs)):
        _check_port_names(kind, ports)
        for index, port in enumerate(ports):
            if port.tensor >= len(manifest.tensors):
                raise ArtifactError(
                    f"{kind}[{index}] {port.name}: tensor {port.tensor} of {len(manifest.tensors)}"
                )
    named = sorted(port.tensor for port in manifest.inputs)
    input_tensors = [i for i, tensor in enumerate(manifest.tensors) if isinstance(tensor, InputTensor)]
    if named != input_tensors:
        raise ArtifactError(f"inputs name the tensors {named}, but the input tensors are {input_tensors}")


def _check_port_names(kind: str, ports: tuple[Port, ...]) -> None:
    seen: set[str] = set()
    for port in ports:
        if port.name in seen:
            raise ArtifactError(f"{kind}: the name {port.name} occurs twice")
        seen.add(port.name)


def _check_steps(manifest: Manifest) -> None:
    for index, step in enumerate(manifest.steps):
        where = f"steps[{index}]"
        function = manifest.functions.get(step.function)
        if function is None:
            raise ArtifactError(f"{where}: there is no function {step.function}")
        if len(step.arguments) != len(function.parameters):
            raise ArtifactError(
                f"{where}: {len(step.arguments)} arguments, but {step.function} "
                f"takes {len(function.parameters)}"
            )
        for number, (tensor_index, block) in enumerate(zip(step.arguments, function.parameters, strict=True)):
            if tensor_index >= len(manifest.tensors):
                raise ArtifactError(
                    f"{where}.arguments[{number}]: tensor {tensor_index} of {len(manifest.tensors)}"
                )
            tensor = manifest.tensors[tensor_index]
            # Kernels index by the shape that they were compiled for, whatever they are given.
            if (tensor.dtype, tensor.shape) != (block.dtype, block.shape):
                raise ArtifactError(
                    f"{where}.arguments[{number}]: tensor {tensor_index} is {tensor.dtype} {tensor.shape}, "
                    f"but {step.function} takes {block.dtype} {block.shape}"
                )


def _check_size(where: str, size_bytes: int) -> None:
    if size_bytes > MAX_MEMORY_BYTES:
        raise ArtifactError(f"{where}: {size_bytes} bytes are over the limit of {MAX_MEMORY_BYTES}")


def _check_total(manifest: Manifest) -> None:
    total = memory_bytes(manifest)
    if total > MAX_MEMORY_BYTES:
        raise ArtifactError(f"the model needs {total} bytes, over the limit of {MAX_MEMORY_BYTES}")


def memory_bytes(manifest: Manifest) -> int:
    """Device memory of one loaded model: inputs, constants, storages and every function's workspaces."""
    return sum(size for _, size in memory_objects(manifest))


def memory_objects(manifest: Manifest) -> Iterator[tuple[str, int]]:
    """Each piece of device memory as a name for messages and its bytes."""
    for index, tensor in enumerate(manifest.tensors):
        if isinstance(tensor, InputTensor | ConstantTensor):
            yield f"tensors[{index}]", tensor.size_bytes
    for index, storage in enumerate(manifest.storages):
        yield f"storages[{index}]", storage.size_bytes
    for name, function in manifest.functions.items():
        for index, workspace in enumerate(function.workspaces):
            yield f"functions.{name}.workspaces[{index}]", workspace.size_bytes


def stored_tensors(manifest: Manifest) -> dict[str, ConstantTensor]:
    """The constants whose bytes are in params.safetensors, by their key there."""
    found: dict[str, ConstantTensor] = {}
    for index, tensor in enumerate(manifest.tensors):
        if isinstance(tensor, ConstantTensor) and isinstance(tensor.source, Stored):
            if tensor.source.key in found:
                raise ArtifactError(f"tensors[{index}]: the key {tensor.source.key} is another tensor's too")
            found[tensor.source.key] = tensor
    return found
