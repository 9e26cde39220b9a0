"""A model of two launches, small enough to work out by hand, for tests that need an artifact.

`y = (x + stored) + 2`, over four floats; the first launch writes a workspace, the second reads it.
"""

from __future__ import annotations

import numpy as np

from runtime.artifact import (
    AllocatedTensor,
    Artifact,
    Block,
    BufferArgument,
    CompiledKernel,
    ConstantTensor,
    Filled,
    Function,
    InputTensor,
    Launch,
    ParameterValue,
    Parts,
    Port,
    Producer,
    ScalarArgument,
    ScalarValue,
    Step,
    Storage,
    Stored,
    ViewTensor,
    WorkspaceValue,
    assemble,
)

STORED = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
FILL = np.float32(2.0)

ADD_SOURCE = """\
__kernel void add(__global float* out, __global const float* a, __global const float* b) {
  int i = get_global_id(0);
  out[i] = a[i] + b[i];
}
"""
ADD_SOME_SOURCE = """\
__kernel void add_some(__global float* out, __global const float* a, __global const float* b, int count) {
  int i = get_global_id(0);
  if (i < count) out[i] = a[i] + b[i];
}
"""


def _buffer(access: str) -> BufferArgument:
    return BufferArgument.model_validate({"dtype": "float32", "access": access})


def small_parts() -> Parts:
    """The parts of the small model, for tests that change one of them."""
    four = Block(dtype="float32", shape=(4,))
    signature = (_buffer("write"), _buffer("read"), _buffer("read"))
    add_twice = Function(
        parameters=(four, four, four, four),
        workspaces=(four,),
        launches=(
            Launch(
                kernel="add",
                arguments=(WorkspaceValue(index=0), ParameterValue(index=0), ParameterValue(index=1)),
                global_size=(4,),
                local_size=(2,),
            ),
            Launch(
                kernel="add_some",
                arguments=(
                    ParameterValue(index=3),
                    WorkspaceValue(index=0),
                    ParameterValue(index=2),
                    ScalarValue(dtype="int32", value=4),
                ),
                global_size=(4,),
                local_size=(4,),
            ),
        ),
    )
    return Parts(
        name="small",
        producer=Producer(tool="tests", version="1", target="opencl", model="small"),
        kernels={
            "add": CompiledKernel(ADD_SOURCE, signature),
            "add_some": CompiledKernel(ADD_SOME_SOURCE, (*signature, ScalarArgument(dtype="int32"))),
        },
        functions={"add_twice": add_twice},
        storages=[Storage(size_bytes=16)],
        tensors=[
            InputTensor(shape=(4,), dtype="float32"),
            ConstantTensor(shape=(4,), dtype="float32", source=Stored(key="c1")),
            ConstantTensor(shape=(4,), dtype="float32", source=Filled(element=FILL.tobytes().hex())),
            AllocatedTensor(shape=(4,), dtype="float32", storage=0),
            ViewTensor(shape=(2, 2), dtype="float32", of=3),
        ],
        steps=[Step(function="add_twice", arguments=(0, 1, 2, 3))],
        inputs=[Port(name="x", tensor=0)],
        outputs=[Port(name="y", tensor=4)],
        arrays={"c1": STORED},
    )


def small_artifact() -> Artifact:
    return assemble(small_parts())


def expected_output(x: np.ndarray) -> np.ndarray:
    return (x + STORED + FILL).reshape(2, 2)
