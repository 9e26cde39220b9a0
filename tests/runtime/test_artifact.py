"""The model file as a whole: what is written is read back, the same bytes every time."""

from __future__ import annotations

import io
import mmap
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from runtime.artifact import (
    Artifact,
    ArtifactError,
    CompiledKernel,
    ConstantTensor,
    Random,
    assemble,
    parameter_access,
)
from runtime.artifact.manifest import module_hash
from runtime.artifact.seeded import splitmix64, uniform
from tests.runtime.small_artifact import ADD_SOURCE, FILL, STORED, small_artifact, small_parts


def test_an_artifact_read_back_holds_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "small.oclm"
    made = small_artifact()
    made.save(path)
    loaded = Artifact.load(path)
    assert loaded.manifest == made.manifest
    assert loaded.kernel_source("add") == ADD_SOURCE
    assert loaded.kernel_names == ("add", "add_some")
    np.testing.assert_array_equal(loaded.params(1), STORED)
    np.testing.assert_array_equal(loaded.params(2), np.full(4, FILL))


def test_an_artifact_loads_from_a_path_from_bytes_and_from_an_open_file(tmp_path: Path) -> None:
    path = tmp_path / "small.oclm"
    small_artifact().save(path)
    with path.open("rb") as file:
        sources = [str(path), path, path.read_bytes(), file]
        manifests = [Artifact.load(source).manifest for source in sources]
    assert manifests == [small_artifact().manifest] * 4


def test_equal_artifacts_are_equal_bytes() -> None:
    first, second = small_artifact().to_bytes(), small_artifact().to_bytes()
    assert first == second
    assert Artifact.load(first).to_bytes() == first


def test_any_zip_tool_reads_the_file() -> None:
    with zipfile.ZipFile(io.BytesIO(small_artifact().to_bytes())) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == [
            "params.safetensors",
            "manifest.json",
            "kernels/add.cl",
            "kernels/add_some.cl",
        ]
        assert archive.read("kernels/add.cl").decode() == ADD_SOURCE


def test_saving_replaces_a_file_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "small.oclm"
    path.write_bytes(b"something else")
    small_artifact().save(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["small.oclm"]
    assert Artifact.load(path).name == "small"


def test_stored_parameters_of_a_file_are_mapped_and_aligned(tmp_path: Path) -> None:
    path = tmp_path / "small.oclm"
    small_artifact().save(path)
    value = Artifact.load(path).params(1)
    owner: object = value
    while isinstance(owner, np.ndarray):
        owner = owner.base
    assert isinstance(owner, memoryview)
    assert isinstance(owner.obj, mmap.mmap)
    assert value.ctypes.data % 64 == 0


def test_parameters_cannot_be_written() -> None:
    artifact = Artifact.load(small_artifact().to_bytes())
    for tensor in (1, 2):
        with pytest.raises(ValueError, match="read-only"):
            artifact.params(tensor)[0] = 7.0


def test_only_a_constant_has_a_parameter_value() -> None:
    with pytest.raises(ValueError, match="tensor 0 of small is no constant but input"):
        small_artifact().params(0)
    with pytest.raises(IndexError):
        small_artifact().params(99)


def test_inputs_and_outputs_are_told_with_name_shape_and_dtype() -> None:
    artifact = small_artifact()
    (given,), (result,) = artifact.inputs, artifact.outputs
    assert (given.name, given.shape, given.dtype, given.size_bytes) == ("x", (4,), "float32", 16)
    assert (result.name, result.shape, result.dtype, result.size_bytes) == ("y", (2, 2), "float32", 16)


def test_launches_and_memory_are_counted() -> None:
    artifact = small_artifact()
    assert artifact.launch_count == 2
    # Input, stored and filled constant, storage, workspace: 16 bytes each. The view has none of its own.
    assert artifact.memory_bytes == 5 * 16


def test_a_functions_access_is_that_of_its_launches_together() -> None:
    manifest = small_artifact().manifest
    access = parameter_access(manifest.functions["add_twice"], manifest.kernels)
    assert access == ("read", "read", "read", "write")


def test_the_module_hash_follows_the_programs_and_nothing_else() -> None:
    parts = small_parts()
    base = assemble(parts).module_hash
    trained = replace(parts, name="trained", arrays={"c1": STORED + 1})
    assert assemble(trained).module_hash == base

    add = parts.kernels["add"]
    changed_source = {**parts.kernels, "add": CompiledKernel(add.source + "\n", add.arguments)}
    assert assemble(replace(parts, kernels=changed_source)).module_hash != base

    function = parts.functions["add_twice"]
    first, second = function.launches
    wider = first.model_copy(update={"local_size": (4,)})
    changed_launch = {"add_twice": function.model_copy(update={"launches": (wider, second)})}
    assert assemble(replace(parts, functions=changed_launch)).module_hash != base


def test_the_module_hash_does_not_depend_on_the_order_of_kernels() -> None:
    manifest = small_artifact().manifest
    backwards = dict(reversed(manifest.kernels.items()))
    assert module_hash(backwards, manifest.functions) == manifest.module_hash


def test_an_error_names_the_file_and_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "broken.oclm"
    path.write_bytes(small_artifact().to_bytes()[:-1])
    with pytest.raises(ArtifactError, match=r"broken\.oclm: truncated") as caught:
        Artifact.load(path)
    assert caught.value.source == str(path)
    with path.open("rb") as file, pytest.raises(ArtifactError, match=r"broken\.oclm: truncated"):
        Artifact.load(file)
    with pytest.raises(ArtifactError, match=r"^<bytes>: truncated"):
        Artifact.load(path.read_bytes())
    path.write_bytes(b"")
    with pytest.raises(ArtifactError, match=r"broken\.oclm: the file is empty"):
        Artifact.load(path)


def test_a_missing_file_is_an_operating_system_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Artifact.load(tmp_path / "absent.oclm")


def test_bytes_are_loaded_without_opening_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    data = small_artifact().to_bytes()

    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError(f"opened {args}")

    monkeypatch.setattr("builtins.open", refuse)
    monkeypatch.setattr("io.open", refuse)
    monkeypatch.setattr("os.open", refuse)
    np.testing.assert_array_equal(Artifact.from_bytes(data).params(1), STORED)


def test_random_parameters_are_made_at_load_from_the_seed() -> None:
    parts = small_parts()
    tensors = list(parts.tensors)
    tensors[1] = ConstantTensor(shape=(4,), dtype="float32", source=Random(stream=3, low=-2.0, high=2.0))
    artifact = assemble(replace(parts, tensors=tensors, seed=11, arrays={}))
    loaded = Artifact.load(artifact.to_bytes())
    expected = uniform(11, 3, -2.0, 2.0, (4,))
    np.testing.assert_array_equal(loaded.params(1), expected)
    assert b"params.safetensors" not in artifact.to_bytes()


def test_the_generator_is_splitmix64() -> None:
    # The first outputs for the seed 1234567, as the algorithm's reference implementation prints them.
    assert splitmix64(1234567, 0, 5).tolist() == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def test_uniform_numbers_are_as_specified_in_plain_integers() -> None:
    mask, gamma = (1 << 64) - 1, 0x9E3779B97F4A7C15

    def mix(z: int) -> int:
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return z ^ (z >> 31)

    seed, stream, low, high = 2**64 - 5, 7, -0.3, 0.9
    key = mix((seed + (stream + 1) * gamma) & mask)
    bits = [mix((key + (i + 1) * gamma) & mask) for i in range(6)]
    expected = np.array([low + (high - low) * ((b >> 40) / 2**24) for b in bits]).astype(np.float32)
    np.testing.assert_array_equal(uniform(seed, stream, low, high, (2, 3)), expected.reshape(2, 3))


def test_uniform_numbers_do_not_depend_on_how_many_are_made_at_once() -> None:
    many = uniform(5, 0, 0.0, 1.0, ((1 << 20) + 3,))
    np.testing.assert_array_equal(many[:100], uniform(5, 0, 0.0, 1.0, (100,)))
    last = splitmix64(0, (1 << 20) + 2, (1 << 20) + 3)
    assert last.tolist() == splitmix64(0, 0, (1 << 20) + 3)[-1:].tolist()
    assert 0.0 <= many.min() < 0.001
    assert 0.999 < many.max() <= 1.0
    assert abs(many.mean() - 0.5) < 0.002


def test_example_inputs_are_noise_of_the_inputs_shape() -> None:
    values = small_artifact().example_inputs()
    assert list(values) == ["x"]
    np.testing.assert_array_equal(values["x"], uniform(0, 0, -1.0, 1.0, (4,)))
    assert values["x"].std() > 0.1
