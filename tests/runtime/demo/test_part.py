"""The beginning of a network is a network of its own."""

from __future__ import annotations

from importlib.resources import as_file, files

import numpy as np
import pytest

from runtime.artifact import Artifact
from runtime.cl.discovery import open_device
from runtime.demo.part import beginning
from runtime.graph import Graph
from tests.runtime.small_artifact import expected_output, small_artifact


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


def test_it_computes_what_the_network_computes_so_far() -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0], np.float32)

    with Graph(beginning(small_artifact(), 1), open_device("sim")) as graph:
        graph.set_input("x", x)
        graph.run()
        np.testing.assert_array_equal(graph.get_output().ravel(), expected_output(x).ravel())
