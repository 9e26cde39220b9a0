"""Kernels by name: installed when used, one object a thread, launched and bound."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from runtime.cl.interface import BuildError
from runtime.module import Module
from runtime.tensor import DeviceTensor
from runtime.workspace import Workspace
from tests.runtime.small_artifact import small_artifact

SIZE = 16

SOURCES = {
    "fill": "__kernel void fill(__global int* out, int value) { out[get_global_id(0)] = value; }",
    "twice": "__kernel void twice(__global int* out) { out[get_global_id(0)] *= 2; }",
    "broken": "__kernel void broken(__global int* out) { out[0] = no_such_thing; }",
}


@pytest.fixture
def module(workspace: Workspace):
    with Module(workspace, SOURCES, "0" * 64) as module:
        yield module


@pytest.fixture
def tensor(workspace: Workspace):
    with workspace.context().create_buffer(4 * SIZE) as buffer:
        yield DeviceTensor(buffer, (SIZE,), "int32")


def test_a_model_files_kernels_and_hash_are_the_modules(workspace):
    artifact = small_artifact()
    with Module.from_artifact(artifact, workspace) as module:
        assert set(module.kernel_names) == {"add", "add_some"}
        assert module.hash == artifact.module_hash
        assert module.supports_precompiled_programs


def test_what_is_not_used_is_never_built(module, tensor):
    module.launch("fill", (tensor.buffer, np.int32(3)), (SIZE,))
    np.testing.assert_array_equal(tensor.read(module.queue), [3] * SIZE)


def test_a_source_that_does_not_compile_tells_when_first_used_and_each_time(module):
    for _ in range(2):
        with pytest.raises(BuildError, match="no_such_thing"):
            module.kernel("broken")
    module.kernel("twice")


def test_an_unknown_kernel_is_a_key_error(module):
    with pytest.raises(KeyError, match="thrice"):
        module.kernel("thrice")


def test_a_thread_keeps_its_kernel_object_and_another_has_its_own(module):
    mine = module.kernel("fill")
    assert module.kernel("fill") is mine
    theirs = []
    thread = threading.Thread(target=lambda: theirs.append(module.kernel("fill").handle))
    thread.start()
    thread.join()
    assert theirs != [mine.handle]


def test_threads_that_launch_one_kernel_write_only_their_own_buffers(module, workspace):
    threads, launches = 4, 50
    wrong: list[str] = []

    def work(number: int) -> None:
        with workspace.context().create_buffer(4 * SIZE) as buffer:
            own = DeviceTensor(buffer, (SIZE,), "int32")
            for turn in range(launches):
                value = number * launches + turn
                module.launch("fill", (buffer, np.int32(value)), (SIZE,))
                if turn % 10 == 9 and not (own.read(module.queue) == value).all():
                    wrong.append(f"thread {number}, launch {turn}")

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []


def test_a_bound_launch_keeps_its_arguments(module, tensor):
    binding = module.bind("fill", (tensor.buffer, np.int32(5)), (SIZE,))
    module.launch("fill", (tensor.buffer, np.int32(6)), (SIZE,))
    binding()
    np.testing.assert_array_equal(tensor.read(module.queue), [5] * SIZE)
    binding.release()


def test_a_closed_module_and_one_made_anew_share_no_kernel(workspace, tensor):
    for value in (1, 2):
        source = f"__kernel void fill(__global int* out) {{ out[get_global_id(0)] = {value}; }}"
        with Module(workspace, {"fill": source}, "0" * 64) as module:
            module.launch("fill", (tensor.buffer,), (SIZE,))
            np.testing.assert_array_equal(tensor.read(module.queue), [value] * SIZE)


def test_a_module_on_a_device_of_another_workspace_is_refused(simulated, workspace):
    with pytest.raises(ValueError, match="is not in this workspace"):
        Module(workspace, SOURCES, "0" * 64, simulated)
