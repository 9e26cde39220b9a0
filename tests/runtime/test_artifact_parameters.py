"""params.safetensors: written as the safetensors package reads it, and read strictly."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import pytest

from runtime.artifact import ArtifactError
from runtime.artifact.parameters import read_parameters, write_parameters

DTYPES = [
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


def framed(header: object, body: bytes = b"", length: int | None = None) -> memoryview:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return memoryview(struct.pack("<Q", len(text) if length is None else length) + text + body)


def entry(begin: int, end: int, **changes: Any) -> dict[str, Any]:
    return {"dtype": "F32", "shape": [2], "data_offsets": [begin, end], **changes}


def test_every_element_type_is_read_back() -> None:
    arrays = {f"a_{dtype}": np.arange(6).reshape(2, 3).astype(dtype) for dtype in DTYPES}
    arrays["scalar"] = np.array(2.5, np.float64)
    found = read_parameters(memoryview(write_parameters(arrays, 0)))
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


def test_the_safetensors_package_reads_the_same() -> None:
    numpy_reader = pytest.importorskip("safetensors.numpy", reason="compares with the safetensors package")
    arrays = {"b": np.arange(4, dtype=np.float32).reshape(2, 2), "a": np.array([1, 2, 3], np.int64)}
    found = numpy_reader.load(write_parameters(arrays, 48))
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)


def test_what_the_safetensors_package_writes_is_read() -> None:
    numpy_writer = pytest.importorskip("safetensors.numpy", reason="compares with the safetensors package")
    arrays = {"w": np.linspace(0, 1, 6, dtype=np.float32).reshape(2, 3), "n": np.array([7], np.uint8)}
    found = read_parameters(memoryview(numpy_writer.save(arrays)))
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)


def test_the_bytes_do_not_depend_on_the_order_in_which_arrays_are_given() -> None:
    a, b = np.array([1], np.int8), np.array([2.0], np.float64)
    assert write_parameters({"a": a, "b": b}, 0) == write_parameters({"b": b, "a": a}, 0)


def test_arrays_are_aligned_in_the_file() -> None:
    for file_offset in (0, 1, 48):
        data = write_parameters({"a": np.zeros(3, np.int8), "b": np.zeros(2, np.float64)}, file_offset)
        (length,) = struct.unpack("<Q", data[:8])
        assert (file_offset + 8 + length) % 64 == 0
        assert json.loads(data[8 : 8 + length])["b"]["data_offsets"] == [0, 16]


def test_elements_that_no_kernel_has_are_not_written() -> None:
    with pytest.raises(ArtifactError, match="a: cannot hold elements of type complex64"):
        write_parameters({"a": np.zeros(2, np.complex64)}, 0)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (memoryview(b""), "0 bytes are too few"),
        (memoryview(b"1234567"), "7 bytes are too few"),
        (framed({}, length=1000), "reaches past the end"),
        (framed({}, length=2**63), "over the limit"),
        (framed(b"[1"), "header is not JSON"),
        (framed([]), "header: "),
        (framed(b'{"a":{},"a":{}}'), "occurs twice"),
        (framed({"a": {**entry(0, 8), "more": 1}}, bytes(8)), "more: Extra inputs"),
        (framed({"__metadata__": {"a": "b"}}), "header: __metadata__"),
        (framed({"../a": entry(0, 8)}, bytes(8)), "header: "),
        (framed({"a": entry(0, 8, dtype="BF16")}, bytes(8)), "unknown dtype 'BF16'; known: BOOL, I8"),
        (framed({"a": entry(0, 8, shape=[-2])}, bytes(8)), r"a\.shape\.0"),
        (framed({"a": entry(0, 8, shape=[0])}, bytes(8)), r"a\.shape\.0"),
        (framed({"a": entry(0, 8, shape=[3])}, bytes(8)), "8 bytes, but .* needs 12"),
        (framed({"a": entry(0, 8, shape=[2**30, 2**30, 2**30])}, bytes(8)), "8 bytes, but"),
        (framed({"a": entry(-8, 0)}, bytes(8)), "should begin at 0"),
        (framed({"a": entry(0, 8), "b": entry(4, 12)}, bytes(12)), "b: bytes 4 to 12 should begin at 8"),
        (framed({"a": entry(0, 8), "b": entry(0, 8)}, bytes(8)), "should begin at 8"),
        (framed({"a": entry(4, 12)}, bytes(12)), "should begin at 0"),
        (framed({"a": entry(0, 8)}, bytes(4)), "end by 4"),
        (framed({"a": entry(0, 8)}, bytes(9)), "1 bytes at its end belong to no array"),
        (framed({"a": entry(0, 8, data_offsets=[0, 8, 9])}, bytes(8)), "data_offsets"),
        (framed({"a": entry(0, 8, data_offsets=[0.0, 8])}, bytes(8)), "data_offsets"),
    ],
)
def test_a_damaged_file_is_refused(data: memoryview, reason: str) -> None:
    with pytest.raises(ArtifactError, match=reason) as caught:
        read_parameters(data)
    assert "params.safetensors" in str(caught.value)
