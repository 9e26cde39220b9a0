"""The model file, `.oclm`: one zip that holds a compiled network, and the strict reader of it.

    from runtime.artifact import Artifact

    artifact = Artifact.load("squeezenet.oclm")     # ArtifactError, naming the file, for anything wrong
    artifact.check_device(device.limits)
    source = artifact.kernel_source(name)           # OpenCL C of one kernel
    weights = artifact.params(tensor_index)         # a NumPy array, read or made when asked for

Members
-------
- `manifest.json`: everything below, deflated.
- `kernels/<name>.cl`: the OpenCL C of kernel `<name>`, deflated; one program a kernel.
- `params.safetensors`: stored constants, uncompressed so that it can be mapped; absent if there are none.

The zip has one exact layout (`container.py`), and sizes are bounded (`bounds.py`). Files with equal content
are equal bytes under one version of zlib.

Manifest
--------
Version 1; unknown fields are refused. Every number of bytes is named so; shapes have no zero.

- `format`, `version`: `"oclm"`, 1. `name`, `producer`: told to people.
- `kernels`: name -> `arguments` (a `buffer` with dtype, address space `scope` and `access`, or a `scalar`
  with dtype), `local_bytes` (local memory that the kernel declares), `sha256` of the source.
- `functions`: name -> `parameters` and `workspaces` (dtype and shape each; memory of the caller, and
  scratch memory of the function's own), and `launches` in order: the kernel, one argument for each of its
  (`parameter` index, `workspace` index, or `scalar` value), `global_size` and `local_size` in work-items.
- `storages`: device memory with `size_bytes`, which tensors share one after another.
- `tensors`: each with shape and dtype, and a kind: `input`; `constant`, from a `source` that is `stored`
  (a key of params.safetensors), `fill` (one element's bytes) or `random` (`seeded.py`); `allocated`, in a
  storage at an offset; `view`, another tensor's bytes under another shape.
- `steps`: the network, in order: a function and one tensor index for each of its parameters.
- `inputs`, `outputs`: a name and a tensor index each; shape and dtype are the tensor's.
- `random`: the seed of `random` constants, or null. `params`: size and sha256 of params.safetensors, or null.
- `module_hash`: SHA-256 of kernels and functions: what determines the device programs. Parameters, names
  and producer are not in it.

A run copies in the inputs and does the steps' launches on one in-order queue; there is nothing else to
decide. `rules.py` and `dataflow.py` hold what is checked between the parts.
"""

from runtime.artifact.assembly import CompiledKernel, Parts, assemble
from runtime.artifact.dataflow import parameter_access
from runtime.artifact.device_fit import DeviceLimits
from runtime.artifact.errors import ArtifactError
from runtime.artifact.manifest import (
    Access,
    AllocatedTensor,
    Block,
    BufferArgument,
    ConstantTensor,
    DType,
    Filled,
    Function,
    InputTensor,
    Kernel,
    Launch,
    Manifest,
    ParameterValue,
    Port,
    Producer,
    Random,
    ScalarArgument,
    ScalarValue,
    Step,
    Storage,
    Stored,
    Tensor,
    ViewTensor,
    WorkspaceValue,
)
from runtime.artifact.model import Artifact, Endpoint

__all__ = [
    "Access",
    "AllocatedTensor",
    "Artifact",
    "ArtifactError",
    "Block",
    "BufferArgument",
    "CompiledKernel",
    "ConstantTensor",
    "DType",
    "DeviceLimits",
    "Endpoint",
    "Filled",
    "Function",
    "InputTensor",
    "Kernel",
    "Launch",
    "Manifest",
    "ParameterValue",
    "Parts",
    "Port",
    "Producer",
    "Random",
    "ScalarArgument",
    "ScalarValue",
    "Step",
    "Storage",
    "Stored",
    "Tensor",
    "ViewTensor",
    "WorkspaceValue",
    "assemble",
    "parameter_access",
]
