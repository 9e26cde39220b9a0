"""The stable handle of a queue, and kernel tables of threads."""

from __future__ import annotations

import gc
import threading

import pytest

from runtime.cl.codes import ErrorCode
from runtime.cl.interface import CLError
from runtime.workspace import KernelTables, QueueHandle, Workspace
from tests.runtime.fake_cl import Cl, FakeDevice, FakeKernel


@pytest.fixture
def cl() -> Cl:
    return Cl()


@pytest.fixture
def workspace(cl: Cl):
    with Workspace(FakeDevice(cl)) as workspace:
        yield workspace


def test_a_workspace_gives_the_same_handle_at_every_call(workspace):
    assert workspace.queue() is workspace.queue(workspace.device)


def test_devices_of_one_platform_share_a_context(cl):
    first = FakeDevice(cl)
    second = FakeDevice(cl)
    second.platform = first.platform
    elsewhere = FakeDevice(cl)
    with Workspace([first, second, elsewhere]) as workspace:
        assert workspace.context(first) is workspace.context(second)
        assert workspace.context(first) is not workspace.context(elsewhere)
        assert cl.live == {"context": 2, "queue": 3}
    assert not +cl.live


def test_a_workspace_of_no_device_or_one_named_twice_is_refused(cl):
    device = FakeDevice(cl)
    with pytest.raises(ValueError, match="at least one device"):
        Workspace([])
    with pytest.raises(ValueError, match="named twice"):
        Workspace([device, device])
    assert not +cl.live


def test_a_device_of_another_workspace_is_refused_by_name(workspace):
    with pytest.raises(ValueError, match="fake device is not in this workspace"):
        workspace.queue(FakeDevice())


def test_what_was_opened_is_released_where_opening_fails_half_way(cl):
    cl.fail["create queue"] = [0, ErrorCode.CL_OUT_OF_RESOURCES]
    with pytest.raises(CLError, match="CL_OUT_OF_RESOURCES"):
        Workspace([FakeDevice(cl), FakeDevice(cl)])
    assert not +cl.live


def test_closing_finishes_the_queue_and_kills_the_handle(cl):
    workspace = Workspace(FakeDevice(cl))
    handle = workspace.queue()
    workspace.close()
    workspace.close()
    assert cl.log[-2:] == ["finish", "release queue"]
    assert not +cl.live
    with pytest.raises(CLError) as caught:
        handle.flush()
    assert caught.value.code == ErrorCode.CL_INVALID_COMMAND_QUEUE


def test_a_workspace_closes_although_its_device_has_failed(cl):
    workspace = Workspace(FakeDevice(cl))
    cl.fail["finish"] = [ErrorCode.CL_OUT_OF_RESOURCES]
    with pytest.raises(CLError):
        workspace.close()
    assert not +cl.live


class TestReplacing:
    def test_the_old_queue_is_finished_then_released_then_the_new_one_is_created(self, cl, workspace):
        handle = workspace.queue()
        old = handle.queue
        cl.log.clear()
        handle.replace(profiling=True)
        assert cl.log == ["finish", "release queue", "create profiling queue"]
        assert old.released
        assert handle.profiling
        assert handle.generation == 1
        assert cl.live["queue"] == 1

    def test_a_queue_that_cannot_be_finished_stays_in_force(self, cl, workspace):
        handle = workspace.queue()
        old = handle.queue
        cl.fail["finish"] = [ErrorCode.CL_OUT_OF_RESOURCES]
        with pytest.raises(CLError, match="CL_OUT_OF_RESOURCES"):
            handle.replace(profiling=True)
        assert handle.queue is old
        assert not old.released

    def test_the_way_back_to_normal_goes_on_although_finishing_fails(self, cl, workspace):
        handle = workspace.queue()
        handle.replace(profiling=True)
        cl.fail["finish"] = [ErrorCode.CL_OUT_OF_RESOURCES]
        with pytest.raises(CLError, match="CL_OUT_OF_RESOURCES"):
            handle.replace(profiling=False)
        assert not handle.profiling
        assert cl.live["queue"] == 1

    def test_a_device_without_profiling_queues_gets_a_normal_one_again(self, cl, workspace):
        handle = workspace.queue()
        cl.fail["create profiling queue"] = [ErrorCode.CL_INVALID_QUEUE_PROPERTIES]
        with pytest.raises(CLError, match="CL_INVALID_QUEUE_PROPERTIES"):
            handle.replace(profiling=True)
        handle.flush()
        assert not handle.profiling
        assert cl.live["queue"] == 1

    def test_a_device_that_gives_no_queue_at_all_is_asked_again_at_the_next_use(self, cl, workspace):
        handle = workspace.queue()
        cl.fail["create profiling queue"] = [ErrorCode.CL_OUT_OF_RESOURCES]
        cl.fail["create queue"] = [ErrorCode.CL_OUT_OF_RESOURCES]
        with pytest.raises(CLError):
            handle.replace(profiling=True)
        handle.flush()
        assert cl.live["queue"] == 1
        assert handle.generation == 1, "who bound launches to the old queue must see that it is gone"

    def test_it_waits_for_the_thread_that_has_the_queue_in_force(self, workspace):
        handle: QueueHandle = workspace.queue()
        taken, replaced = threading.Event(), threading.Event()
        seen: list[bool] = []

        def hold() -> None:
            with handle.in_force() as queue:
                taken.set()
                replaced.wait(0.2)
                seen.append(queue.released)

        thread = threading.Thread(target=hold)
        thread.start()
        taken.wait()
        handle.replace(profiling=True)
        replaced.set()
        thread.join()
        assert seen == [False]


class TestKernelTables:
    def test_each_thread_has_its_own_table(self):
        tables = KernelTables()
        mine = tables.here()
        theirs: list[dict] = []
        thread = threading.Thread(target=lambda: theirs.append(tables.here()))
        thread.start()
        thread.join()
        assert tables.here() is mine
        assert theirs[0] is not mine

    def test_releasing_gives_up_the_kernels_of_every_thread(self, cl):
        tables = KernelTables()
        tables.here()["k"] = FakeKernel(cl, "k")
        filled, released = threading.Event(), threading.Event()

        def work() -> None:
            tables.here()["k"] = FakeKernel(cl, "k")
            filled.set()
            released.wait()

        thread = threading.Thread(target=work)
        thread.start()
        filled.wait()
        assert cl.live["kernel"] == 2
        tables.release()
        assert cl.live["kernel"] == 0
        released.set()
        thread.join()

    def test_a_thread_that_ends_leaves_no_kernel_behind(self, cl):
        tables = KernelTables()

        def work() -> None:
            tables.here()["k"] = FakeKernel(cl, "k")

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        gc.collect()
        assert cl.live["kernel"] == 0
