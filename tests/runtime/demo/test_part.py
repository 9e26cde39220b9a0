"""The beginning of a network is a network of its own."""

from __future__ import annotations

from importlib.resources import as_file, files

import numpy as np
import pytest

from runtime.artifact import Artifact
from runtime.cl.discovery import open_device
from runtime.demo.part import beginning
from runtime.graph import Graph


@pytest.fixture(scope="module")
def squeezenet() -> Artifact:
    with as_file(files("runtime.demo") / "data" / "light_squeezenet.oclm") as path:
        return Artifact.load(path.read_bytes())


@pytest.mark.parametrize(("steps", "kernels"), [(1, 1), (7, 7), (10, 7), (40, 29)])
def test_it_has_the_kernels_that_it_launches(squeezenet: Artifact, steps: int, kernels: int) -> None:
    part = beginning(squeezenet, steps)

    assert (part.launch_count, len(part.kernel_names)) == (steps, kernels)
    for name in part.kernel_names:
        assert part.kernel_source(name) == squeezenet.kernel_source(name)


def test_all_of_it_computes_what_the_network_computes(squeezenet: Artifact) -> None:
    with (files("runtime.demo") / "data" / "light_squeezenet.probabilities.npy").open("rb") as file:
        expected = np.load(file)

    with Graph(beginning(squeezenet, len(squeezenet.manifest.steps)), open_device("sim")) as graph:
        for name, value in squeezenet.example_inputs().items():
            graph.set_input(name, value)
        graph.run()
        np.testing.assert_allclose(graph.get_output().ravel(), expected.ravel(), rtol=1e-4)
