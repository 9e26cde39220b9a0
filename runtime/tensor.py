"""Arrays in device memory: a shape and an element type over bytes of a buffer, and copies both ways."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from runtime.cl.interface import Buffer
from runtime.workspace import QueueHandle

Array = npt.NDArray[Any]


class DeviceTensor:
    """A dense array, row-major, from byte `offset_bytes` of a buffer on.

    It borrows the buffer: several tensors may look at the same bytes, and whoever made the buffer releases
    it. Copies go through the handle of a queue, so they are in order with what was launched there before.
    """

    __slots__ = ("buffer", "dtype", "offset_bytes", "shape")

    def __init__(
        self, buffer: Buffer, shape: Sequence[int], dtype: npt.DTypeLike, offset_bytes: int = 0
    ) -> None:
        """Raises ValueError where the buffer does not hold the array."""
        self.buffer = buffer
        self.shape = tuple(shape)
        self.dtype = np.dtype(dtype)
        self.offset_bytes = offset_bytes
        if any(extent < 1 for extent in self.shape):
            raise ValueError(f"shape {self.shape} has an extent below 1")
        if offset_bytes < 0 or offset_bytes + self.nbytes > buffer.size:
            raise ValueError(
                f"{self.nbytes} bytes at offset {offset_bytes} do not fit a buffer of {buffer.size} bytes"
            )

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def view(self, shape: Sequence[int]) -> DeviceTensor:
        """The same bytes under another shape. Raises ValueError for another number of elements."""
        if math.prod(shape) != math.prod(self.shape):
            raise ValueError(f"{self.shape} and {tuple(shape)} have different numbers of elements")
        return DeviceTensor(self.buffer, shape, self.dtype, self.offset_bytes)

    def write(self, queue: QueueHandle, value: npt.ArrayLike) -> None:
        """Copies `value` to the device; it may be changed as soon as the call returns.

        Raises ValueError for another shape, TypeError for an element type that would change its values.
        """
        array = np.asarray(value)
        if array.shape != self.shape:
            raise ValueError(f"the array has shape {array.shape}, but must have {self.shape}")
        if array.dtype != self.dtype:
            if not np.can_cast(array.dtype, self.dtype, "same_kind"):
                raise TypeError(f"the array is {array.dtype}, but must be {self.dtype}")
            array = array.astype(self.dtype)
        queue.enqueue_write(self.buffer, bytes_of(np.ascontiguousarray(array)), offset=self.offset_bytes)

    def read(self, queue: QueueHandle, out: Array | None = None) -> Array:
        """Waits for what was launched before and copies the array to the host: to `out`, or a new array.

        Raises ValueError where `out` has another shape or is not contiguous, TypeError for another type.
        """
        if out is None:
            out = np.empty(self.shape, self.dtype)
        elif out.shape != self.shape:
            raise ValueError(f"out has shape {out.shape}, but must have {self.shape}")
        elif out.dtype != self.dtype:
            raise TypeError(f"out is {out.dtype}, but must be {self.dtype}")
        elif not (out.flags.c_contiguous and out.flags.writeable):
            raise ValueError("out must be contiguous, row-major and writable")
        queue.enqueue_read(self.buffer, bytes_of(out), offset=self.offset_bytes)
        return out

    def copy_to(self, queue: QueueHandle, target: DeviceTensor) -> None:
        """Copies on the device, without waiting. Raises ValueError for another shape or type."""
        if (target.shape, target.dtype) != (self.shape, self.dtype):
            raise ValueError(
                f"cannot copy {self.dtype} {self.shape} to {target.dtype} {target.shape} of another tensor"
            )
        queue.enqueue_copy(
            self.buffer,
            target.buffer,
            self.nbytes,
            source_offset=self.offset_bytes,
            target_offset=target.offset_bytes,
        )

    def fill_zero(self, queue: QueueHandle) -> None:
        """Sets every byte to 0, without waiting."""
        queue.enqueue_fill(self.buffer, b"\0", offset=self.offset_bytes, size=self.nbytes)

    def __repr__(self) -> str:
        return f"<DeviceTensor {self.dtype} {self.shape}>"


def bytes_of(array: Array) -> memoryview:
    """The bytes of a contiguous array; every binding takes those, not every one a bool or a half."""
    return array.reshape(-1).view(np.uint8).data
