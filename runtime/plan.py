"""What a model file becomes on a device: its memory, and its launches in order with their arguments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from runtime.artifact import (
    AllocatedTensor,
    Artifact,
    ConstantTensor,
    InputTensor,
    ParameterValue,
    ScalarValue,
    Step,
    ViewTensor,
)
from runtime.artifact.manifest import LaunchArgument
from runtime.cl.codes import MemFlags
from runtime.cl.interface import Buffer, KernelArgument
from runtime.tensor import DeviceTensor, bytes_of
from runtime.workspace import QueueHandle


@dataclass(frozen=True)
class PlannedLaunch:
    """A launch whose arguments are buffers of the plan and numbers."""

    kernel: str
    arguments: tuple[KernelArgument, ...]
    global_size: tuple[int, ...]
    local_size: tuple[int, ...]


class MemoryPlan:
    """The buffers of a model on one device: storages that tensors share, inputs, parameters, workspaces.

    Parameters are copied in now, once; inputs are zero until set.
    """

    def __init__(self, artifact: Artifact, queue: QueueHandle) -> None:
        """Raises ArtifactError where the model is over a limit of the device, before allocating anything,
        and CLError where an allocation fails all the same; nothing is left allocated then."""
        artifact.check_device(queue.device.limits)
        self._queue = queue
        self._buffers: list[Buffer] = []
        try:
            self._allocate(artifact)
        except BaseException:
            self.release()
            raise

    def _allocate(self, artifact: Artifact) -> None:
        manifest = artifact.manifest
        self._storages = [self._buffer(storage.size_bytes) for storage in manifest.storages]
        # A function's workspaces serve all its calls: the queue is in-order.
        self._workspaces = {
            name: [self._buffer(block.size_bytes) for block in function.workspaces]
            for name, function in manifest.functions.items()
        }
        views: list[tuple[int, ViewTensor]] = []
        placed: dict[int, DeviceTensor] = {}
        for index, tensor in enumerate(manifest.tensors):
            if isinstance(tensor, ViewTensor):
                views.append((index, tensor))
                continue
            if isinstance(tensor, AllocatedTensor):
                buffer = self._place(tensor)
            elif isinstance(tensor, ConstantTensor):
                buffer = self._parameter(artifact, index)
            else:
                buffer = self._buffer(tensor.size_bytes)
            placed[index] = DeviceTensor(buffer, tensor.shape, tensor.dtype)
            if isinstance(tensor, InputTensor):
                placed[index].fill_zero(self._queue)
        for index, tensor in views:
            placed[index] = placed[tensor.of].view(tensor.shape)
        self.tensors = [placed[index] for index in range(len(manifest.tensors))]
        self.launches = tuple(launch for step in manifest.steps for launch in self._launches(artifact, step))

    def _buffer(self, size_bytes: int) -> Buffer:
        return self._keep(self._queue.context.create_buffer(size_bytes))

    def _place(self, tensor: AllocatedTensor) -> Buffer:
        storage = self._storages[tensor.storage]
        if tensor.offset_bytes == 0:
            return storage
        return self._keep(storage.sub_buffer(tensor.offset_bytes, tensor.size_bytes))

    def _parameter(self, artifact: Artifact, index: int) -> Buffer:
        value = np.ascontiguousarray(artifact.params(index))
        return self._keep(
            self._queue.context.create_buffer(
                value.nbytes, MemFlags.READ_ONLY | MemFlags.COPY_HOST_PTR, bytes_of(value)
            )
        )

    def _keep(self, buffer: Buffer) -> Buffer:
        self._buffers.append(buffer)
        return buffer

    def _launches(self, artifact: Artifact, step: Step) -> list[PlannedLaunch]:
        workspaces = self._workspaces[step.function]

        def resolve(value: LaunchArgument) -> KernelArgument:
            if isinstance(value, ScalarValue):
                return np.array(value.value, value.dtype).tobytes()
            if isinstance(value, ParameterValue):
                return self.tensors[step.arguments[value.index]].buffer
            return workspaces[value.index]

        return [
            PlannedLaunch(
                launch.kernel,
                tuple(resolve(value) for value in launch.arguments),
                launch.global_size,
                launch.local_size,
            )
            for launch in artifact.manifest.functions[step.function].launches
        ]

    def release(self) -> None:
        """Releases all buffers, sub-buffers before what they are part of."""
        buffers, self._buffers = self._buffers, []
        for buffer in reversed(buffers):
            buffer.release()
