"""Arrays on the device: copies both ways, views, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from runtime.tensor import DeviceTensor
from runtime.workspace import QueueHandle, Workspace


@pytest.fixture
def queue(workspace: Workspace) -> QueueHandle:
    return workspace.queue()


@pytest.fixture
def tensor(queue: QueueHandle):
    """Makes tensors in buffers that go with the test."""
    buffers = []

    def make(shape, dtype, offset_bytes=0, size_bytes=256) -> DeviceTensor:
        buffers.append(queue.context.create_buffer(size_bytes))
        return DeviceTensor(buffers[-1], shape, dtype, offset_bytes)

    yield make
    for buffer in buffers:
        buffer.release()


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "int8", "uint16", "int64", "bool"])
def test_an_array_comes_back_as_it_went(tensor, queue, dtype):
    value = (np.arange(12).reshape(3, 4) % 5).astype(dtype)
    there = tensor((3, 4), dtype)
    there.write(queue, value)
    back = there.read(queue)
    assert back.dtype == value.dtype
    np.testing.assert_array_equal(back, value)


def test_the_source_may_change_as_soon_as_write_returns(tensor, queue):
    value = np.ones(8, np.float32)
    there = tensor((8,), "float32")
    there.write(queue, value)
    value[:] = 7
    np.testing.assert_array_equal(there.read(queue), np.ones(8))


def test_an_array_of_another_layout_is_made_row_major(tensor, queue):
    value = np.arange(12, dtype=np.int32).reshape(3, 4).T
    there = tensor((4, 3), "int32")
    there.write(queue, value)
    np.testing.assert_array_equal(there.read(queue), value)


def test_a_scalar_is_an_array_without_extents(tensor, queue):
    there = tensor((), "int32")
    there.write(queue, np.int32(5))
    assert there.read(queue) == 5


def test_lists_and_safe_casts_are_taken(tensor, queue):
    there = tensor((3,), "float32")
    there.write(queue, np.array([1, 2, 3]))
    np.testing.assert_array_equal(there.read(queue), [1, 2, 3])
    there.write(queue, [0.5, 1.5, 2.5])
    np.testing.assert_array_equal(there.read(queue), [0.5, 1.5, 2.5])


def test_a_type_that_would_change_values_is_refused(tensor, queue):
    with pytest.raises(TypeError, match="float64, but must be int32"):
        tensor((2,), "int32").write(queue, [0.5, 1.5])


def test_another_shape_is_refused_even_with_as_many_elements(tensor, queue):
    with pytest.raises(ValueError, match=r"shape \(6,\), but must have \(2, 3\)"):
        tensor((2, 3), "int32").write(queue, np.arange(6))


def test_an_offset_leaves_the_bytes_before_it_alone(tensor, queue):
    whole = tensor((8,), "int32", size_bytes=32)
    whole.write(queue, np.arange(8))
    part = DeviceTensor(whole.buffer, (2,), "int32", offset_bytes=12)
    np.testing.assert_array_equal(part.read(queue), [3, 4])
    part.write(queue, np.array([30, 40]))
    np.testing.assert_array_equal(whole.read(queue), [0, 1, 2, 30, 40, 5, 6, 7])
    part.fill_zero(queue)
    np.testing.assert_array_equal(whole.read(queue), [0, 1, 2, 0, 0, 5, 6, 7])


def test_a_view_is_the_same_bytes_under_another_shape(tensor, queue):
    there = tensor((2, 6), "int32")
    there.write(queue, np.arange(12).reshape(2, 6))
    view = there.view((3, 4))
    np.testing.assert_array_equal(view.read(queue), np.arange(12).reshape(3, 4))
    with pytest.raises(ValueError, match="different numbers of elements"):
        there.view((5,))


def test_a_copy_on_the_device_goes_between_offsets(tensor, queue):
    source = tensor((4,), "int32", offset_bytes=16)
    target = tensor((4,), "int32", offset_bytes=64)
    source.write(queue, np.arange(4))
    source.copy_to(queue, target)
    np.testing.assert_array_equal(target.read(queue), np.arange(4))
    with pytest.raises(ValueError, match="cannot copy"):
        source.copy_to(queue, tensor((4,), "float32"))


class TestReadInto:
    def test_a_given_array_is_filled_and_returned(self, tensor, queue):
        there = tensor((2, 2), "float32")
        there.write(queue, np.eye(2))
        out = np.zeros((2, 2), np.float32)
        assert there.read(queue, out) is out
        np.testing.assert_array_equal(out, np.eye(2))

    @pytest.mark.parametrize(
        ("out", "error", "message"),
        [
            (np.zeros((4,), np.float32), ValueError, "out has shape"),
            (np.zeros((2, 2), np.float64), TypeError, "out is float64, but must be float32"),
            (np.zeros((2, 4), np.float32)[:, ::2], ValueError, "contiguous"),
            (np.broadcast_to(np.float32(0), (2, 2)), ValueError, "contiguous"),
        ],
    )
    def test_an_array_that_does_not_fit_is_refused(self, tensor, queue, out, error, message):
        with pytest.raises(error, match=message):
            tensor((2, 2), "float32").read(queue, out)


@pytest.mark.parametrize(("shape", "offset"), [((65,), 0), ((64,), 1), ((1,), 256), ((1,), -1)])
def test_a_tensor_that_its_buffer_does_not_hold_is_refused(tensor, shape, offset):
    with pytest.raises(ValueError, match="do not fit a buffer of 256 bytes"):
        tensor(shape, "int32", offset)


def test_an_empty_extent_is_refused(tensor):
    with pytest.raises(ValueError, match="extent below 1"):
        tensor((2, 0), "int32")
