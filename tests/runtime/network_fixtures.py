"""Where the network fixtures lie: squeezenet in the package, for its demo, the others beside the tests."""

from __future__ import annotations

from pathlib import Path

import runtime.demo

NETWORKS = ("light_squeezenet", "light_shufflenet", "light_resnet50", "light_bvlc_alexnet")

_FIXTURES = Path(__file__).parents[1] / "fixtures"
_SHIPPED = Path(runtime.demo.__file__).parent / "data"


def artifact_path(name: str) -> Path:
    """The model file of a network."""
    return _folder(name) / f"{name}.oclm"


def expected_path(name: str, output: str) -> Path:
    """What an output of a network is for the artifact's example inputs, by TVM's build for the host."""
    return _folder(name) / f"{name}.{output}.npy"


def _folder(name: str) -> Path:
    return _SHIPPED if name == "light_squeezenet" else _FIXTURES
