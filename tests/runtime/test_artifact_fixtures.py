"""The network fixtures: they load, and are what the issues' figures speak of."""

from __future__ import annotations

import numpy as np
import pytest

from runtime.artifact import Artifact, ConstantTensor, Random
from tests.runtime.network_fixtures import NETWORKS, artifact_path, expected_path

COUNTS = {
    "light_squeezenet": (29, 40),
    "light_shufflenet": (42, 132),
    "light_resnet50": (48, 143),
    "light_bvlc_alexnet": (23, 23),
}


def test_every_fixture_is_counted() -> None:
    assert set(COUNTS) == set(NETWORKS)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_fixture_has_the_launches_that_tvm_makes_of_the_network(name: str) -> None:
    artifact = Artifact.load(artifact_path(name))
    assert (len(artifact.kernel_names), artifact.launch_count) == COUNTS[name]
    assert [port.shape for port in artifact.inputs] == [(1, 3, 224, 224)]
    assert [port.name for port in artifact.outputs] == ["logits", "probabilities"]


@pytest.mark.parametrize("name", NETWORKS)
def test_a_fixture_is_small_since_its_parameters_are_made_at_load(name: str) -> None:
    artifact = Artifact.load(artifact_path(name))
    assert artifact_path(name).stat().st_size < 100_000
    constants = [tensor for tensor in artifact.manifest.tensors if isinstance(tensor, ConstantTensor)]
    assert all(isinstance(tensor.source, Random) for tensor in constants)


@pytest.mark.parametrize("name", NETWORKS)
def test_expected_outputs_vary_so_that_a_wrong_kernel_shows(name: str) -> None:
    artifact = Artifact.load(artifact_path(name))
    for port in artifact.outputs:
        expected = np.load(expected_path(name, port.name))
        assert expected.shape == port.shape
        assert expected.dtype == port.dtype
        assert np.isfinite(expected).all()
    logits = np.load(expected_path(name, "logits"))
    assert logits.std() > 0.1 * np.abs(logits).max()
    assert len(np.unique(logits)) > 800


@pytest.mark.parametrize("name", NETWORKS)
def test_probabilities_are_the_softmax_of_the_logits(name: str) -> None:
    logits = np.load(expected_path(name, "logits")).astype(np.float64).ravel()
    powers = np.exp(logits - logits.max())
    probabilities = np.load(expected_path(name, "probabilities")).ravel()
    np.testing.assert_allclose(probabilities, powers / powers.sum(), rtol=1e-4, atol=1e-7)


def test_a_fixtures_parameters_are_the_same_on_every_machine() -> None:
    """The first weights of squeezenet, worked out from the specification in plain integers."""
    artifact = Artifact.load(artifact_path("light_squeezenet"))
    index, tensor = next(
        (index, tensor)
        for index, tensor in enumerate(artifact.manifest.tensors)
        if isinstance(tensor, ConstantTensor) and tensor.shape == (64, 3, 3, 3)
    )
    assert isinstance(tensor.source, Random)
    assert artifact.manifest.random is not None
    bound = (6 / 27) ** 0.5
    assert (tensor.source.low, tensor.source.high) == pytest.approx((-bound, bound))

    mask, gamma = (1 << 64) - 1, 0x9E3779B97F4A7C15

    def mix(z: int) -> int:
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return z ^ (z >> 31)

    key = mix((artifact.manifest.random.seed + (tensor.source.stream + 1) * gamma) & mask)
    units = [(mix((key + (i + 1) * gamma) & mask) >> 40) / 2**24 for i in range(9)]
    expected = np.array([-bound + 2 * bound * unit for unit in units], np.float32)
    np.testing.assert_allclose(artifact.params(index).ravel()[:9], expected, rtol=1e-6)
