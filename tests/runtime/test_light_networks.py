"""Two real networks against the outputs of TVM's own build for the host; the larger ones: tests/networks."""

from __future__ import annotations

import numpy as np
import pytest

from runtime.artifact import Artifact
from runtime.graph import Graph
from tests.runtime.network_fixtures import artifact_path, expected_path

TOLERANCE = 1e-5


@pytest.mark.parametrize("name", ["light_squeezenet", "light_shufflenet"])
def test_a_network_computes_what_the_host_does(device, name):
    artifact = Artifact.load(artifact_path(name))
    with Graph(artifact, device) as graph:
        for port, value in artifact.example_inputs().items():
            graph.set_input(port, value)
        graph.run()
        logits = graph.get_output("logits")
    expected = np.load(expected_path(name, "logits"))
    assert np.abs(expected).max() > 1, "the outputs must not be nearly nothing"
    assert np.abs(logits - expected).max() <= TOLERANCE * np.abs(expected).max()
