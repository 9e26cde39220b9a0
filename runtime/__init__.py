"""A compact OpenCL graph runtime over an abstract CL interface."""

import sys

# No newer syntax in this file: an older Python must get as far as the next statement.
if sys.version_info < (3, 10):  # noqa: UP036
    raise SystemExit(
        "runtime needs Python 3.10 or later, but this is Python {}.{}.".format(*sys.version_info[:2])
    )

from typing import TYPE_CHECKING

from runtime._exports import lazily

if TYPE_CHECKING:
    from runtime.artifact import Artifact as Artifact
    from runtime.artifact import ArtifactError as ArtifactError
    from runtime.cl.discovery import open_device as open_device
    from runtime.cl.interface import CLError as CLError
    from runtime.graph import Graph as Graph
    from runtime.module import Module as Module
    from runtime.profiling import ProfilingSession as ProfilingSession
    from runtime.programs import PrecompiledProgramsWarning as PrecompiledProgramsWarning
    from runtime.tensor import DeviceTensor as DeviceTensor
    from runtime.timing import Benchmark as Benchmark
    from runtime.timing import Profile as Profile
    from runtime.workspace import QueueHandle as QueueHandle
    from runtime.workspace import Workspace as Workspace

__all__ = [
    "Artifact",
    "ArtifactError",
    "Benchmark",
    "CLError",
    "DeviceTensor",
    "Graph",
    "Module",
    "PrecompiledProgramsWarning",
    "Profile",
    "ProfilingSession",
    "QueueHandle",
    "Workspace",
    "open_device",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "Artifact": "runtime.artifact",
        "ArtifactError": "runtime.artifact",
        "Benchmark": "runtime.timing",
        "CLError": "runtime.cl.interface",
        "DeviceTensor": "runtime.tensor",
        "Graph": "runtime.graph",
        "Module": "runtime.module",
        "PrecompiledProgramsWarning": "runtime.programs",
        "Profile": "runtime.timing",
        "ProfilingSession": "runtime.profiling",
        "QueueHandle": "runtime.workspace",
        "Workspace": "runtime.workspace",
        "open_device": "runtime.cl.discovery",
    },
)
