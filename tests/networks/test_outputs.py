"""Every network fixture on every kind of device, against the outputs of TVM's own build for the host."""

from __future__ import annotations

import numpy as np
import pytest

from runtime.artifact import Artifact
from runtime.cl.discovery import open_device
from runtime.graph import Graph
from tests.runtime.network_fixtures import NETWORKS, artifact_path, expected_path

TOLERANCE = 1e-5
LAUNCHES = {"light_squeezenet": 40, "light_shufflenet": 132, "light_resnet50": 143, "light_bvlc_alexnet": 23}


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("device", ["pocl", "sim"])
def test_a_network_computes_what_the_host_does(name, device):
    artifact = Artifact.load(artifact_path(name))
    with Graph(artifact, open_device(device)) as graph:
        for port, value in artifact.example_inputs().items():
            graph.set_input(port, value)
        graph.run()
        outputs = {endpoint.name: graph.get_output(endpoint.name) for endpoint in graph.outputs}
    logits, expected = outputs["logits"], np.load(expected_path(name, "logits"))
    assert np.abs(logits - expected).max() <= TOLERANCE * np.abs(expected).max()
    assert outputs["probabilities"].sum() == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_profile_times_every_launch_that_the_compiler_laid_down(name):
    artifact = Artifact.load(artifact_path(name))
    with Graph(artifact, open_device("sim", execution="none")) as graph:
        profile = graph.profile()
    assert profile.launches == LAUNCHES[name]
    assert profile.dropped == 0
    assert {row.kernel for row in profile.rows} == set(artifact.kernel_names)
