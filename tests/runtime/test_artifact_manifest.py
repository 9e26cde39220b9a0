"""Manifests that cannot be right: one field of a good one is changed, and the error says which and why."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.artifact import Artifact, ArtifactError, assemble, container
from tests.runtime.small_artifact import STORED, small_artifact, small_parts

Edit = Callable[[dict[str, Any]], None]

MEMBERS = {
    name: bytes(data) for name, data in container.unpack(memoryview(small_artifact().to_bytes())).items()
}


def manifest() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(MEMBERS["manifest.json"])
    return loaded


def load_text(text: bytes) -> Artifact:
    return Artifact.from_bytes(container.pack({**MEMBERS, "manifest.json": text}))


def refuse(edit: Edit, reason: str) -> None:
    edited = manifest()
    edit(edited)
    data = container.pack({**MEMBERS, "manifest.json": json.dumps(edited).encode()})
    tracemalloc.start()
    try:
        with pytest.raises(ArtifactError, match=reason) as caught:
            Artifact.from_bytes(data, "small.oclm")
        assert tracemalloc.get_traced_memory()[1] < 2 << 20
    finally:
        tracemalloc.stop()
    assert str(caught.value).startswith("small.oclm: ")
    assert len(str(caught.value)) < 1000


def put(*path: Any) -> Edit:
    """Sets the value that ends the path: put("storages", 0, "size_bytes", 8)."""
    *steps, last, value = path

    def edit(found: Any) -> None:
        for step in steps:
            found = found[step]
        found[last] = value

    return edit


def drop(*path: Any) -> Edit:
    *steps, last = path

    def edit(found: Any) -> None:
        for step in steps:
            found = found[step]
        del found[last]

    return edit


FUNCTION = ("functions", "add_twice")
FIRST = (*FUNCTION, "launches", 0)
SECOND = (*FUNCTION, "launches", 1)


def test_the_unchanged_manifest_is_taken() -> None:
    assert load_text(json.dumps(manifest()).encode()).name == "small"


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (put("format", "zip"), "this is no model file"),
        (drop("format"), "this is no model file"),
        (put("version", 2), "format version 2 is unknown; this release reads version 1"),
        (put("version", "1"), "version is no whole number"),
        (put("version", True), "version is no whole number"),
        (put("version", 1.0), "version is no whole number"),
    ],
)
def test_another_format_or_version_is_told_apart_from_damage(edit: Edit, reason: str) -> None:
    refuse(edit, reason)


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (put("extra", 1), "extra: Extra inputs are not permitted"),
        (put("storages", 0, "colour", "red"), r"storages\.0\.colour: Extra inputs"),
        (put(*FIRST, "offset", [0]), r"launches\.0\.offset: Extra inputs"),
        (put("producer", "time", 0), r"producer\.time: Extra inputs"),
        (put("tensors", 1, "source", "url", "x"), r"url: Extra inputs"),
    ],
)
def test_unknown_fields_are_refused(edit: Edit, reason: str) -> None:
    refuse(edit, reason)


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (drop("module_hash"), "module_hash: Field required"),
        (drop("producer", "tool"), r"producer\.tool: Field required"),
        (put("storages", 0, "size_bytes", "16"), r"storages\.0\.size_bytes: Input should be a valid integer"),
        (put("storages", 0, "size_bytes", 16.0), r"storages\.0\.size_bytes"),
        (put("storages", 0, "size_bytes", True), r"storages\.0\.size_bytes"),
        (put("tensors", 0, "kind", "picture"), r"tensors\.0"),
        (put("kernels", []), "kernels"),
        (put("outputs", []), "outputs"),
        (put("random", {"seed": -1}), r"random\.seed"),
        (put("name", ""), "name"),
        (put("name", "x" * 1000), "name"),
        (put("name", "a\nb"), "name"),
    ],
)
def test_fields_of_the_wrong_type_are_refused(edit: Edit, reason: str) -> None:
    refuse(edit, reason)


@pytest.mark.parametrize("name", ["", "9a", "a-b", "a b", "a;", "../a", "größe", "a\n", "k" * 241])
def test_names_that_are_no_c_identifiers_are_refused(name: str) -> None:
    refuse(lambda found: found["kernels"].update({name: found["kernels"].pop("add")}), "kernels")
    refuse(put("inputs", 0, "name", name), r"inputs\.0\.name")


@pytest.mark.parametrize("shape", [[-4], [0], [4, 0], [2, -2], [1.5], ["4"], [2**63], [2**80], [1] * 9])
def test_shapes_that_no_tensor_has_are_refused(shape: list[Any]) -> None:
    refuse(put("tensors", 3, "shape", shape), r"tensors\.3")
    refuse(put(*FUNCTION, "workspaces", 0, "shape", shape), r"workspaces\.0\.shape")


@pytest.mark.parametrize("dtype", ["float", "float128", "complex64", "object", "O", "<f4", "str", "bfloat16"])
def test_other_element_types_are_refused(dtype: str) -> None:
    refuse(put("tensors", 0, "dtype", dtype), r"tensors\.0.*dtype")
    refuse(put("kernels", "add", "arguments", 0, "dtype", dtype), r"kernels\.add\.arguments\.0.*dtype")


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (put("tensors", 3, "shape", [2**30, 2**30]), "over the limit of 68719476736"),
        (put(*FUNCTION, "workspaces", 0, "shape", [2**30, 2**30]), "over the limit of 68719476736"),
        (put("storages", 0, "size_bytes", 2**37), r"storages\.0\.size_bytes"),
        (
            put("storages", [{"size_bytes": 2**35, "scope": "global"}] * 2),
            "the model needs .* over the limit",
        ),
        (put("storages", 0, "size_bytes", 15), "16 bytes at 0 do not fit storage 0 of 15 bytes"),
        (put("tensors", 3, "offset_bytes", 4), "16 bytes at 4 do not fit storage 0 of 16 bytes"),
        (put("tensors", 3, "offset_bytes", -4), r"tensors\.3.*offset_bytes"),
        (put("tensors", 3, "storage", 1), r"tensors\[3\]: storage 1 of 1"),
        (put("tensors", 3, "storage", -1), r"tensors\.3.*storage"),
        (put("tensors", 4, "of", 5), "a view of tensor 5 of 5"),
        (put("tensors", 4, "of", 4), "a view of tensor 4, which is a view itself"),
        (put("tensors", 4, "shape", [5]), "20 bytes of float32 are no view of tensor 3, 16 bytes of float32"),
        (put("tensors", 4, "dtype", "int32"), "16 bytes of int32 are no view of tensor 3"),
        (put("tensors", 2, "source", "element", "0000"), "0000 is not the bytes of one float32"),
        (put("tensors", 2, "source", "element", "xyz"), "element"),
        (put("tensors", 1, "source", "key", "c2"), r"differ: missing \['c2'\], surplus \['c1'\]"),
        (put("params", None), r"params\.safetensors is missing, or is there unannounced"),
        (put("params", "size_bytes", 1), "bytes instead of 1"),
    ],
)
def test_tensors_must_fit_where_they_lie(edit: Edit, reason: str) -> None:
    refuse(edit, reason)


def test_an_offset_that_splits_an_element_is_refused() -> None:
    def edit(found: dict[str, Any]) -> None:
        found["storages"][0]["size_bytes"] = 32
        found["tensors"][3]["offset_bytes"] = 2

    refuse(edit, "offset 2 is no multiple of a float32's size")


def test_two_tensors_cannot_share_a_stored_array() -> None:
    refuse(
        put("tensors", 2, "source", {"origin": "stored", "key": "c1"}), "the key c1 is another tensor's too"
    )


def test_a_stored_array_must_have_its_tensors_shape_and_type() -> None:
    parts = replace(small_parts(), arrays={"c1": STORED.reshape(2, 2)})
    with pytest.raises(ArtifactError, match=r"c1 is float32 \(2, 2\), but its tensor is float32 \(4,\)"):
        assemble(parts)


@pytest.mark.parametrize(
    ("low", "high", "dtype"), [(1.0, 1.0, "float32"), (2.0, 1.0, "float32"), (0.0, 1e39, "float32")]
)
def test_random_constants_need_a_range_that_their_type_holds(low: float, high: float, dtype: str) -> None:
    def edit(found: dict[str, Any]) -> None:
        found["random"] = {"seed": 1}
        found["tensors"][2].update(dtype=dtype)
        found["tensors"][2]["source"] = {"origin": "random", "stream": 0, "low": low, "high": high}

    refuse(edit, f"no random {dtype} between")


def test_random_constants_are_floating_point_and_need_a_seed() -> None:
    source = {"origin": "random", "stream": 0, "low": 0.0, "high": 1.0}
    refuse(put("tensors", 2, "source", source), "random, but the manifest has no seed")

    def whole_numbers(found: dict[str, Any]) -> None:
        found["random"] = {"seed": 1}
        found["tensors"][2].update(dtype="int32", source=source)

    refuse(whole_numbers, "no random int32 between")


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (put(*FIRST, "kernel", "mul"), r"launches\[0\]: there is no kernel mul"),
        (drop(*FIRST, "arguments", 0), "2 arguments, but add takes 3"),
        (
            put(*FIRST, "arguments", 0, {"kind": "scalar", "dtype": "float32", "value": 1.0}),
            r"arguments\[0\]: a scalar where the kernel takes a buffer",
        ),
        (
            put(*SECOND, "arguments", 3, {"kind": "parameter", "index": 0}),
            r"arguments\[3\]: a parameter where the kernel takes a scalar",
        ),
        (put(*FIRST, "arguments", 0, "index", 1), "workspace 1 of 1"),
        (put(*FIRST, "arguments", 1, "index", 4), "parameter 4 of 4"),
        (put(*FIRST, "arguments", 1, "index", -1), r"arguments\.1.*index"),
        (put(*SECOND, "arguments", 3, "dtype", "int64"), "int64, but the kernel takes int32"),
        (put(*SECOND, "arguments", 3, "value", 2**31), "2147483648 is no int32"),
        (put(*SECOND, "arguments", 3, "value", 4.5), "4.5 is no int32"),
        (put(*SECOND, "arguments", 3, "value", True), r"arguments\.3.*value"),
        (put(*FUNCTION, "workspaces", 0, "dtype", "int32"), "int32, but the kernel takes float32"),
        (put("kernels", "add", "arguments", 0, "scope", "global.texture"), "scope"),
        (put("kernels", "add", "arguments", 0, "access", "maybe"), "access"),
        (put(*FUNCTION, "launches", []), r"launches"),
    ],
)
def test_launches_must_match_their_kernels_signature(edit: Edit, reason: str) -> None:
    refuse(edit, reason)


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (put(*FIRST, "local_size", [3]), r"local size \(3,\) does not divide global size \(4,\)"),
        (put(*FIRST, "local_size", [8]), "does not divide"),
        (put(*FIRST, "local_size", [2, 1]), "has not as many axes as global size"),
        (put(*FIRST, "local_size", [0]), r"local_size\.0"),
        (put(*FIRST, "global_size", [-4]), r"global_size\.0"),
        (put(*FIRST, "global_size", []), r"global_size"),
        (put(*FIRST, "global_size", [4, 1, 1, 1]), r"global_size"),
        (put(*FIRST, "global_size", [2**40]), r"global_size\.0"),
    ],
)
def test_launch_sizes_must_be_possible(edit: Edit, reason: str) -> None:
    refuse(edit, reason)


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (put("steps", 0, "function", "mul"), r"steps\[0\]: there is no function mul"),
        (put("steps", 0, "arguments", [0, 1, 2]), "3 arguments, but add_twice takes 4"),
        (put("steps", 0, "arguments", [0, 1, 2, 9]), r"arguments\[3\]: tensor 9 of 5"),
        (put("steps", 0, "arguments", [0, 1, 2, -1]), r"steps\.0\.arguments\.3"),
        (put("steps", 0, "arguments", [0, 1, 2, 4]), r"tensor 4 is float32 \(2, 2\), but add_twice takes"),
        (put("inputs", 0, "tensor", 7), r"inputs\[0\] x: tensor 7 of 5"),
        (put("outputs", 0, "tensor", 7), r"outputs\[0\] y: tensor 7 of 5"),
        (put("inputs", []), "inputs name the tensors"),
        (put("inputs", 0, "tensor", 1), "inputs name the tensors"),
        (put("inputs", [{"name": "x", "tensor": 0}] * 2), "the name x occurs twice"),
        (put("outputs", [{"name": "y", "tensor": 3}] * 2), "the name y occurs twice"),
    ],
)
def test_steps_inputs_and_outputs_must_name_what_there_is(edit: Edit, reason: str) -> None:
    refuse(edit, reason)


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (put("steps", []), "output y: tensor 4 is not there to read: never written"),
        (
            put("steps", 0, "arguments", [3, 1, 2, 3]),
            r"steps\[0\] \(add_twice\): tensor 3 is not there to read",
        ),
        (put("steps", 0, "arguments", [0, 1, 2, 0]), "writes tensor 0, which is a network's input"),
        (put("steps", 0, "arguments", [0, 1, 2, 1]), "writes tensor 1, which is a network's constant"),
    ],
)
def test_nothing_is_read_before_it_is_written_and_no_parameter_is_written(edit: Edit, reason: str) -> None:
    refuse(edit, reason)


def two_steps_in_one_storage(second_arguments: list[int], offset_bytes: int) -> Edit:
    """A second result, tensor 5, at an offset of the first one's storage."""

    def edit(found: dict[str, Any]) -> None:
        found["storages"][0]["size_bytes"] = 32
        found["tensors"].append({**found["tensors"][3], "offset_bytes": offset_bytes})
        found["steps"].append({"function": "add_twice", "arguments": second_arguments})

    return edit


def test_a_tensor_that_another_has_overwritten_is_not_read() -> None:
    refuse(two_steps_in_one_storage([0, 1, 2, 5], 12), "output y: tensor 4 is not there to read")


def test_a_step_does_not_write_over_what_it_reads() -> None:
    refuse(
        two_steps_in_one_storage([3, 1, 2, 5], 8), r"steps\[1\] \(add_twice\), once it has written: tensor 3"
    )


def test_tensors_beside_each_other_in_one_storage_do_not_disturb_each_other() -> None:
    edited = manifest()
    two_steps_in_one_storage([3, 1, 2, 5], 16)(edited)
    assert load_text(json.dumps(edited).encode()).launch_count == 4


def test_a_wrong_module_hash_is_refused() -> None:
    refuse(put("module_hash", "0" * 64), f"module_hash is {'0' * 64}, but kernels and functions give ")
    refuse(put("module_hash", "0" * 63), "module_hash")


def test_a_change_of_what_determines_the_programs_is_seen_in_the_module_hash() -> None:
    refuse(put(*FIRST, "local_size", [1]), "but kernels and functions give")
    refuse(put("kernels", "add", "local_bytes", 4), "but kernels and functions give")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b"\xff\xfe",
        b'{"format":"oclm","format":"oclm"}',
        b'{"format":"oclm","version":NaN}',
        b'{"format":"oclm","version":1}{}',
        b'{"format":"oclm","version":' + b"9" * 5000 + b"}",
    ],
)
def test_a_manifest_that_is_no_strict_json_is_refused(text: bytes) -> None:
    with pytest.raises(ArtifactError, match=r"manifest\.json"):
        load_text(text)


def test_a_key_that_occurs_twice_deep_inside_is_refused() -> None:
    text = MEMBERS["manifest.json"].replace(b'"size_bytes":16', b'"size_bytes":16,"size_bytes":16', 1)
    with pytest.raises(ArtifactError, match="the key 'size_bytes' occurs twice"):
        load_text(text)


def test_deep_nesting_is_refused() -> None:
    # Not so regular that the compression ratio alone would give it away.
    text = b'{"format":"oclm","version":1,"x":' + b"".join(b'[%d,{"a":' % n for n in range(50_000))
    with pytest.raises(ArtifactError, match="not JSON"):
        load_text(text)


_paths = st.sampled_from(
    [
        ("kernels", "add", "arguments", 0, "dtype"),
        ("kernels", "add", "local_bytes"),
        (*FIRST, "arguments", 0),
        (*FIRST, "global_size"),
        (*SECOND, "arguments", 3, "value"),
        (*FUNCTION, "parameters", 0, "shape"),
        ("storages", 0, "size_bytes"),
        ("tensors", 1, "source"),
        ("tensors", 3, "offset_bytes"),
        ("tensors", 4, "of"),
        ("steps", 0, "arguments"),
        ("inputs", 0),
        ("params",),
    ]
)
_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)


@given(_paths, _values)
def test_any_value_in_any_place_is_right_or_refused(path: tuple[Any, ...], value: Any) -> None:
    edited = manifest()
    put(*path, value)(edited)
    try:
        loaded = load_text(json.dumps(edited).encode())
    except ArtifactError:
        return
    # Only a storage with room to spare is another right model.
    assert path == ("storages", 0, "size_bytes") or loaded.manifest == small_artifact().manifest
    assert Artifact.from_bytes(loaded.to_bytes()).manifest == loaded.manifest
