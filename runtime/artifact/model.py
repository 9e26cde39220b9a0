"""`Artifact`: a model file that was found right, and how one is loaded, made and saved."""

from __future__ import annotations

import hashlib
import mmap
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from runtime.artifact import container, seeded
from runtime.artifact.bounds import MAX_FILE_BYTES
from runtime.artifact.device_fit import DeviceLimits, check_device
from runtime.artifact.errors import ArtifactError
from runtime.artifact.manifest import (
    ConstantTensor,
    Filled,
    Manifest,
    Port,
    Stored,
    byte_size,
    read_manifest,
    write_manifest,
)
from runtime.artifact.parameters import read_parameters
from runtime.artifact.rules import check_manifest, memory_bytes, stored_tensors

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Endpoint:
    """An input or output of the model as its caller sees it."""

    name: str
    tensor: int
    shape: tuple[int, ...]
    dtype: str

    @property
    def size_bytes(self) -> int:
        return byte_size(self.shape, self.dtype)


class Artifact:
    """A compiled network: its manifest, its kernels' sources and its parameters. Immutable.

    Every instance was checked in full, whether loaded or made. Methods may be called from several threads.
    """

    __slots__ = ("_parameter_data", "_parameters", "_sources", "inputs", "manifest", "outputs", "source")

    def __init__(
        self,
        manifest: Manifest,
        sources: Mapping[str, str],
        parameter_data: memoryview | None = None,
        source: str | None = None,
    ) -> None:
        """From parts that belong together; `source` names the file in errors.

        `parameter_data` is the content of params.safetensors. Raises `ArtifactError`.
        """
        self.manifest = manifest
        self.source = manifest.name if source is None else source
        self._sources = dict(sources)
        self._parameter_data = parameter_data
        try:
            check_manifest(manifest)
            _check_sources(manifest, self._sources)
            self._parameters = _checked_parameters(manifest, parameter_data)
        except ArtifactError as error:
            raise error.named(self.source) from None
        self.inputs = self._endpoints(manifest.inputs)
        self.outputs = self._endpoints(manifest.outputs)

    @classmethod
    def load(cls, source: str | os.PathLike[str] | bytes | BinaryIO) -> Artifact:
        """The artifact at a path, in bytes, or in what is left of an open binary file.

        A file at a path is mapped: its parameters are read from disk when they are used, so it must
        stay as it is while the artifact lives. Raises `ArtifactError`, and `OSError` for an unreadable file.
        """
        if isinstance(source, bytes):
            return cls.from_bytes(source)
        if isinstance(source, str | os.PathLike):
            return cls._from_path(Path(source))
        data = source.read(MAX_FILE_BYTES + 1)
        return cls.from_bytes(data, str(getattr(source, "name", "<open file>")))

    @classmethod
    def from_bytes(cls, data: bytes, name: str = "<bytes>") -> Artifact:
        """The artifact in `data`, which is kept; opens no file. Raises `ArtifactError`."""
        return cls._from_view(memoryview(data).toreadonly(), name)

    @classmethod
    def _from_path(cls, path: Path) -> Artifact:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size == 0:  # which cannot be mapped
                raise ArtifactError("the file is empty", str(path))
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return cls._from_view(memoryview(mapped), str(path))

    @classmethod
    def _from_view(cls, data: memoryview, name: str) -> Artifact:
        try:
            members = container.unpack(data)
            manifest = read_manifest(bytes(members.pop(container.MANIFEST)))
            parameter_data = members.pop(container.PARAMETERS, None)
            sources = {
                container.kernel_of(member): _source_text(member, content)
                for member, content in members.items()
            }
        except ArtifactError as error:
            raise error.named(name) from None
        return cls(manifest, sources, parameter_data, name)

    def to_bytes(self) -> bytes:
        """The file's bytes: equal for equal artifacts under one version of zlib."""
        members: dict[str, bytes] = {}
        if self._parameter_data is not None:  # first, where its arrays are aligned
            members[container.PARAMETERS] = bytes(self._parameter_data)
        members[container.MANIFEST] = write_manifest(self.manifest)
        for name in sorted(self._sources):
            members[container.kernel_member(name)] = self._sources[name].encode()
        return container.pack(members)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the file, whole or not at all. Raises `OSError`."""
        target = Path(path)
        temporary = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            temporary.write_bytes(self.to_bytes())
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)

    @property
    def name(self) -> str:
        return self.manifest.name

    @property
    def module_hash(self) -> str:
        """SHA-256, in hex, of what determines the device programs; checked when the artifact was made."""
        return self.manifest.module_hash

    @property
    def kernel_names(self) -> tuple[str, ...]:
        return tuple(self.manifest.kernels)

    @property
    def launch_count(self) -> int:
        """Kernel launches of one run."""
        functions = self.manifest.functions
        return sum(len(functions[step.function].launches) for step in self.manifest.steps)

    @property
    def memory_bytes(self) -> int:
        """Device memory that the loaded model needs: inputs, constants, storages, workspaces."""
        return memory_bytes(self.manifest)

    def kernel_source(self, name: str) -> str:
        """The OpenCL C of a kernel. Raises `KeyError` for a name that the model does not have."""
        return self._sources[name]

    def params(self, index: int) -> Array:
        """The value of tensor `index`, a constant; made or mapped now, not kept, not to be written.

        Raises `IndexError` for no tensor and `ValueError` for a tensor that is no constant.
        """
        tensor = self.manifest.tensors[index]
        if not isinstance(tensor, ConstantTensor):
            raise ValueError(f"tensor {index} of {self.source} is no constant but {tensor.kind}")
        return self._value(tensor)

    def example_inputs(self, seed: int = 0) -> dict[str, Array]:
        """Input arrays by name, the same everywhere: seeded noise from [-1, 1), whole numbers from {0, 1}.

        Input number `i` is stream `i` of `seeded.uniform`; noise, since a smooth input would hide that a
        kernel reads the wrong neighbour.
        """
        inputs: dict[str, Array] = {}
        for stream, port in enumerate(self.inputs):
            low, high = (-1.0, 1.0) if port.dtype.startswith("float") else (0.0, 2.0)
            inputs[port.name] = seeded.uniform(seed, stream, low, high, port.shape, port.dtype)
        return inputs

    def check_device(self, limits: DeviceLimits) -> None:
        """Raises `ArtifactError` where the model is over a limit of the device; see section 4.2."""
        try:
            check_device(self.manifest, limits)
        except ArtifactError as error:
            raise error.named(self.source) from None

    def __repr__(self) -> str:
        return (
            f"<Artifact {self.name}: {len(self.manifest.kernels)} kernels, {self.launch_count} launches, "
            f"{self.memory_bytes} bytes>"
        )

    def _endpoints(self, ports: tuple[Port, ...]) -> tuple[Endpoint, ...]:
        tensors = self.manifest.tensors
        return tuple(
            Endpoint(port.name, port.tensor, tensors[port.tensor].shape, tensors[port.tensor].dtype)
            for port in ports
        )

    def _value(self, tensor: ConstantTensor) -> Array:
        source = tensor.source
        if isinstance(source, Stored):
            return self._parameters[source.key]
        if isinstance(source, Filled):
            element = np.frombuffer(bytes.fromhex(source.element), np.dtype(tensor.dtype).newbyteorder("<"))
            value = np.full(tensor.shape, element[0], tensor.dtype)
        else:
            assert self.manifest.random is not None, "checked when the artifact was made"
            seed = self.manifest.random.seed
            value = seeded.uniform(seed, source.stream, source.low, source.high, tensor.shape, tensor.dtype)
        value.flags.writeable = False
        return value


def digest(data: bytes | memoryview) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(data).hexdigest()


def _source_text(member: str, content: memoryview) -> str:
    try:
        text = bytes(content).decode()
    except UnicodeDecodeError as error:
        raise ArtifactError(f"member {member}: not UTF-8 ({error.reason} at {error.start})") from None
    if "\0" in text:
        raise ArtifactError(f"member {member}: a NUL in OpenCL C")
    return text


def _check_sources(manifest: Manifest, sources: Mapping[str, str]) -> None:
    if sources.keys() != manifest.kernels.keys():
        missing = sorted(manifest.kernels.keys() - sources.keys())
        surplus = sorted(sources.keys() - manifest.kernels.keys())
        raise ArtifactError(f"kernels and sources differ: no source for {missing}, no kernel for {surplus}")
    for name, kernel in manifest.kernels.items():
        found = digest(sources[name].encode())
        if found != kernel.sha256:
            raise ArtifactError(
                f"kernel {name}: sha256 should be {kernel.sha256}, but its source has {found}"
            )


def _checked_parameters(manifest: Manifest, data: memoryview | None) -> dict[str, Array]:
    wanted = stored_tensors(manifest)
    declared = manifest.params
    if declared is None or data is None:
        if declared is not None or data is not None or wanted:
            raise ArtifactError(f"{container.PARAMETERS} is missing, or is there unannounced")
        return {}
    if len(data) != declared.size_bytes:
        raise ArtifactError(f"{container.PARAMETERS}: {len(data)} bytes instead of {declared.size_bytes}")
    found = digest(data)
    if found != declared.sha256:
        raise ArtifactError(f"{container.PARAMETERS}: sha256 should be {declared.sha256}, but is {found}")
    arrays = read_parameters(data)
    if arrays.keys() != wanted.keys():
        raise ArtifactError(
            f"{container.PARAMETERS} and the stored tensors differ: "
            f"missing {sorted(wanted.keys() - arrays.keys())}, "
            f"surplus {sorted(arrays.keys() - wanted.keys())}"
        )
    for key, tensor in wanted.items():
        array = arrays[key]
        if (array.shape, array.dtype.name) != (tensor.shape, tensor.dtype):
            raise ArtifactError(
                f"{container.PARAMETERS}: {key} is {array.dtype.name} {array.shape}, "
                f"but its tensor is {tensor.dtype} {tensor.shape}"
            )
    return arrays
