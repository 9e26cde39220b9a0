"""params.safetensors: named arrays behind a JSON header, read in place and strictly.

The format is safetensors': the header's length (8 bytes, little-endian), the header (name -> dtype, shape
and the begin and end of its bytes, counted from the header's end), then the bytes of all arrays with no
gap. It is small enough to read here, so that a board needs no further package.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from pydantic import TypeAdapter

from runtime.artifact import jsontext
from runtime.artifact.bounds import MAX_PARAMETER_HEADER_BYTES
from runtime.artifact.errors import ArtifactError
from runtime.artifact.manifest import Identifier, Record, Shape, byte_size

_WHAT = "params.safetensors"
_LENGTH = struct.Struct("<Q")
_ALIGNMENT = 64  # of the first array in the file, so that a mapped file gives aligned arrays

_DTYPES: Mapping[str, str] = {
    "BOOL": "bool",
    "I8": "int8",
    "U8": "uint8",
    "I16": "int16",
    "U16": "uint16",
    "F16": "float16",
    "I32": "int32",
    "U32": "uint32",
    "F32": "float32",
    "I64": "int64",
    "U64": "uint64",
    "F64": "float64",
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


class _Entry(Record):
    dtype: str
    shape: Shape
    data_offsets: tuple[int, int]


_HEADER = TypeAdapter(dict[Identifier, _Entry])


def write_parameters(arrays: Mapping[str, npt.NDArray[np.generic]], file_offset: int) -> bytes:
    """The bytes of params.safetensors; `file_offset` is where they will begin in the model file."""
    header: dict[str, object] = {}
    parts: list[bytes] = []
    at = 0
    # Widest elements first: each array is then aligned to its own element size without gaps.
    for name in sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name)):
        array = arrays[name]
        if array.dtype.name not in _NAMES:
            raise ArtifactError(f"{_WHAT}: {name}: cannot hold elements of type {array.dtype}")
        data = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        header[name] = {
            "dtype": _NAMES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [at, at + len(data)],
        }
        parts.append(data)
        at += len(data)
    text = jsontext.canonical(header)
    text += b" " * (-(file_offset + _LENGTH.size + len(text)) % _ALIGNMENT)
    return b"".join((_LENGTH.pack(len(text)), text, *parts))


def read_parameters(data: memoryview) -> dict[str, npt.NDArray[np.generic]]:
    """The arrays, as read-only views of `data`.

    Raises `ArtifactError` for a damaged header, and for arrays that overlap, leave a gap or reach past
    the end.
    """
    header, body = _split(data)
    jsontext.parse(header, f"{_WHAT}'s header")
    entries = jsontext.validate(header, _HEADER, f"{_WHAT}'s header")
    arrays: dict[str, npt.NDArray[np.generic]] = {}
    expected_begin = 0
    for name, entry in sorted(entries.items(), key=lambda item: item[1].data_offsets):
        begin, end = entry.data_offsets
        dtype = _DTYPES.get(entry.dtype)
        if dtype is None:
            raise ArtifactError(
                f"{_WHAT}: {name}: unknown dtype {entry.dtype!r:.20}; known: {', '.join(_DTYPES)}"
            )
        size = byte_size(entry.shape, dtype)
        if end - begin != size:
            raise ArtifactError(
                f"{_WHAT}: {name}: {end - begin} bytes, but {entry.shape} of {dtype} needs {size}"
            )
        if begin != expected_begin or end > len(body):
            raise ArtifactError(
                f"{_WHAT}: {name}: bytes {begin} to {end} should begin at {expected_begin} "
                f"and end by {len(body)}"
            )
        expected_begin = end
        elements = np.frombuffer(body[begin:end], dtype=np.dtype(dtype).newbyteorder("<"))
        arrays[name] = elements.reshape(entry.shape)
        arrays[name].flags.writeable = False
    if expected_begin != len(body):
        raise ArtifactError(f"{_WHAT}: {len(body) - expected_begin} bytes at its end belong to no array")
    return arrays


def _split(data: memoryview) -> tuple[bytes, memoryview]:
    if len(data) < _LENGTH.size:
        raise ArtifactError(f"{_WHAT}: {len(data)} bytes are too few for a header")
    (length,) = _LENGTH.unpack(data[: _LENGTH.size])
    if length > MAX_PARAMETER_HEADER_BYTES or _LENGTH.size + length > len(data):
        raise ArtifactError(
            f"{_WHAT}: a header of {length} bytes is over the limit of {MAX_PARAMETER_HEADER_BYTES} "
            "or reaches past the end"
        )
    body_at = _LENGTH.size + length
    return bytes(data[_LENGTH.size : body_at]), data[body_at:]
