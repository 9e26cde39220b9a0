"""The graph executor on a small model whose output can be worked out: y = x + stored + 2."""

from __future__ import annotations

import dataclasses
import logging
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

from runtime.artifact import AllocatedTensor, Artifact, ArtifactError, Storage, assemble
from runtime.cl.codes import ErrorCode
from runtime.cl.interface import CLError
from runtime.graph import Graph
from runtime.profiling import ProfilingSession
from runtime.programs import PrecompiledProgramsWarning
from runtime.workspace import Workspace
from tests.runtime.fake_cl import LIMITS, Cl, FakeDevice
from tests.runtime.small_artifact import expected_output, small_artifact, small_parts

X = np.array([10.0, 20.0, 30.0, 40.0], np.float32)
LAUNCHES = 2


@pytest.fixture
def artifact() -> Artifact:
    return small_artifact()


@pytest.fixture
def graph(artifact, device):
    with Graph(artifact, device) as graph:
        yield graph


class TestRunning:
    def test_a_run_computes_the_models_output(self, graph):
        graph.set_input("x", X)
        graph.run()
        np.testing.assert_array_equal(graph.get_output(0), expected_output(X))

    def test_an_input_stays_until_it_is_set_anew(self, graph):
        for x in (X, -X):
            graph.set_input("x", x)
            for _ in range(3):
                graph.run()
                np.testing.assert_array_equal(graph.get_output("y"), expected_output(x))

    def test_an_input_that_was_never_set_is_zero(self, graph):
        graph.run()
        np.testing.assert_array_equal(graph.get_output(), expected_output(np.zeros(4, np.float32)))

    def test_inputs_and_outputs_go_by_name_or_index(self, graph):
        assert [(e.name, e.shape, e.dtype) for e in graph.inputs] == [("x", (4,), "float32")]
        assert [(e.name, e.shape, e.dtype) for e in graph.outputs] == [("y", (2, 2), "float32")]
        graph.set_input(0, X)
        graph.run()
        np.testing.assert_array_equal(graph.get_output(0), graph.get_output("y"))

    def test_what_the_model_does_not_have_is_refused_with_what_it_has(self, graph):
        with pytest.raises(ValueError, match="no input 'z'; it has: x"):
            graph.set_input("z", X)
        with pytest.raises(IndexError, match="output 1 is out of range; the model has 1"):
            graph.get_output(1)
        with pytest.raises(IndexError):
            graph.set_input(-1, X)

    def test_a_wrong_input_is_refused_by_the_inputs_name(self, graph):
        with pytest.raises(ValueError, match=r"input x: the array has shape \(3,\)"):
            graph.set_input("x", X[:3])
        with pytest.raises(TypeError, match="input x: the array is complex64"):
            graph.set_input("x", X.astype(np.complex64))

    def test_an_output_goes_to_a_given_array(self, graph):
        graph.run()
        out = np.zeros((2, 2), np.float32)
        assert graph.get_output(0, out) is out
        np.testing.assert_array_equal(out, expected_output(np.zeros(4, np.float32)))
        with pytest.raises(TypeError, match="output y: out is float64"):
            graph.get_output(0, np.zeros((2, 2)))

    def test_runs_of_several_threads_follow_one_another(self, graph):
        graph.set_input("x", X)

        def work() -> None:
            for _ in range(20):
                graph.run()

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        np.testing.assert_array_equal(graph.get_output(0), expected_output(X))

    def test_two_graphs_share_a_workspace_and_nothing_else(self, artifact, workspace):
        with Graph(artifact, workspace) as one, Graph(artifact, workspace) as other:
            one.set_input("x", X)
            other.set_input("x", -X)
            one.run()
            other.run()
            np.testing.assert_array_equal(one.get_output(0), expected_output(X))
            np.testing.assert_array_equal(other.get_output(0), expected_output(-X))
        workspace.queue().finish()

    def test_a_tensor_in_the_middle_of_a_storage_is_right(self, device):
        parts = small_parts()
        tensors = list(parts.tensors)
        tensors[3] = AllocatedTensor(shape=(4,), dtype="float32", storage=0, offset_bytes=4096)
        moved = dataclasses.replace(parts, tensors=tensors, storages=[Storage(size_bytes=4096 + 16)])
        with Graph(assemble(moved), device) as graph:
            graph.set_input("x", X)
            graph.run()
            np.testing.assert_array_equal(graph.get_output(0), expected_output(X))

    def test_a_closed_graph_is_refused(self, artifact, device):
        graph = Graph(artifact, device)
        graph.run()
        graph.close()
        graph.close()
        for use in (graph.run, lambda: graph.set_input(0, X), lambda: graph.get_output(0)):
            with pytest.raises((RuntimeError, CLError), match="closed"):
                use()


class TestLimits:
    @pytest.mark.parametrize(
        "limit", [{"max_work_group_size": 2}, {"global_mem_size": 64}, {"max_mem_alloc_size": 8}]
    )
    def test_a_model_over_a_limit_is_refused_before_anything_is_allocated(self, artifact, limit):
        cl = Cl()
        device = FakeDevice(cl, limits=dataclasses.replace(LIMITS, **limit))
        with pytest.raises(ArtifactError, match=r"limit|the device has"):
            Graph(artifact, device)
        assert "create buffer" not in cl.log
        assert not +cl.live

    @pytest.mark.parametrize("successes", range(5))
    def test_nothing_stays_allocated_where_an_allocation_fails(self, artifact, successes):
        cl = Cl()
        cl.fail["create buffer"] = [0] * successes + [ErrorCode.CL_MEM_OBJECT_ALLOCATION_FAILURE]
        with pytest.raises(CLError, match="CL_MEM_OBJECT_ALLOCATION_FAILURE"):
            Graph(artifact, FakeDevice(cl))
        assert not +cl.live


class TestEvents:
    def test_a_run_holds_no_event_at_all(self, artifact, simulated):
        with Graph(artifact, simulated) as graph:
            for _ in range(20):
                graph.run()
            assert simulated.native.platform.ledger.peak("event") == 0
            assert graph.kept_events == 0

    def test_keeping_events_keeps_one_a_launch_until_the_graph_is_closed(self, artifact, simulated):
        ledger = simulated.native.platform.ledger
        with Graph(artifact, simulated, keep_events=True) as graph:
            for _ in range(20):
                graph.run()
            assert graph.kept_events == 20 * LAUNCHES
            assert ledger.live("event") == 20 * LAUNCHES
            assert ledger.bytes("event") == 20 * LAUNCHES * simulated.native.platform.event_bytes(False)
            assert graph.profile().launches == LAUNCHES
            assert graph.kept_events == 21 * LAUNCHES
        assert ledger.live("event") == 0

    def test_an_outer_session_sees_every_launch_and_leaves_no_event(self, artifact, simulated):
        with Graph(artifact, simulated) as graph:
            with ProfilingSession(graph.queue) as session:
                for _ in range(3):
                    graph.run()
            assert session.launches == 3 * LAUNCHES
            assert simulated.native.platform.ledger.live("event") == 0


class TestProfile:
    def test_each_kernel_has_its_launches_time_and_share(self, graph):
        profile = graph.profile(runs=3)
        assert sorted((row.kernel, row.launches) for row in profile.rows) == [("add", 3), ("add_some", 3)]
        assert profile.launches == 3 * LAUNCHES
        assert profile.dropped == 0
        assert all(row.total_ns > 0 for row in profile.rows)
        assert sum(row.share for row in profile.rows) == pytest.approx(1)
        assert [row.total_ns for row in profile.rows] == sorted(
            (r.total_ns for r in profile.rows), reverse=True
        )

    def test_normal_runs_go_on_before_between_and_after_profiles(self, graph):
        graph.set_input("x", X)
        for _ in range(3):
            graph.run()
            graph.profile()
            assert not graph.queue.profiling
            np.testing.assert_array_equal(graph.get_output(0), expected_output(X))

    def test_a_profile_inside_of_a_session_counts_in_both(self, graph):
        with ProfilingSession(graph.queue) as session:
            graph.run()
            assert graph.profile().launches == LAUNCHES
        assert session.launches == 2 * LAUNCHES

    def test_less_than_one_run_is_refused(self, graph):
        with pytest.raises(ValueError, match="runs is 0"):
            graph.profile(0)


class TestBenchmark:
    def test_there_is_one_result_a_repeat(self, graph):
        result = graph.benchmark(repeat=4, number=3)
        assert len(result.results) == 4
        assert result.number == 3
        assert 0 < result.min <= result.median <= result.max

    def test_runs_are_added_until_a_repeat_takes_its_least_time(self, graph):
        result = graph.benchmark(repeat=2, number=1, min_repeat_ms=20)
        assert result.number > 1
        assert all(seconds * result.number >= 0.02 for seconds in result.results)

    def test_a_clock_that_stands_still_does_not_keep_it_running(self, graph, monkeypatch):
        ticks = iter([0.0] * 40 + [float(second) for second in range(1000)])
        monkeypatch.setattr("runtime.graph.time.perf_counter", lambda: next(ticks))
        assert len(graph.benchmark(repeat=1, min_repeat_ms=1).results) == 1

    @pytest.mark.parametrize("wrong", [{"repeat": 0}, {"number": 0}, {"min_repeat_ms": -1}])
    def test_numbers_that_mean_nothing_are_refused(self, graph, wrong):
        with pytest.raises(ValueError, match="must be 1 or more"):
            graph.benchmark(**wrong)


class TestPrecompiledPrograms:
    def test_programs_of_one_graph_serve_another_without_a_source_build(self, artifact, device):
        with Graph(artifact, device) as first:
            assert first.supports_precompiled_programs
            assert not first.precompiled_programs_changed
            programs = first.precompile()
            assert not first.precompiled_programs_changed
        with Graph(artifact, device) as second, warnings.catch_warnings():
            warnings.simplefilter("error")
            second.set_precompiled_programs(programs)
            second.set_input("x", X)
            second.run()
            np.testing.assert_array_equal(second.get_output(0), expected_output(X))
            assert not second.precompiled_programs_changed
            assert second.precompile() == programs

    def test_precompiling_runs_once_and_leaves_inputs_as_they_are(self, graph):
        graph.set_input("x", X)
        graph.precompile()
        np.testing.assert_array_equal(graph.get_output(0), expected_output(X))

    def test_reading_before_the_first_run_says_that_it_is_worth_less(self, graph, caplog):
        with caplog.at_level(logging.WARNING, "runtime.graph"):
            graph.get_precompiled_programs()
        assert "precompile() reads them at the right moment" in caplog.text
        caplog.clear()
        graph.run()
        graph.get_precompiled_programs()
        assert caplog.text == ""

    def test_a_run_from_source_asks_to_be_saved(self, graph):
        graph.run()
        assert graph.precompiled_programs_changed
        graph.get_precompiled_programs()
        assert not graph.precompiled_programs_changed

    @pytest.mark.parametrize("damage", ["cut", "flip", "nothing", "text"])
    def test_damaged_programs_give_one_warning_and_right_results(self, artifact, device, damage):
        with Graph(artifact, device) as first:
            whole = first.precompile()
        flipped = bytearray(whole)
        flipped[len(whole) // 2] ^= 0x10
        data = {"cut": whole[: len(whole) // 2], "flip": bytes(flipped), "nothing": b"", "text": b"\0" * 999}
        with Graph(artifact, device) as graph:
            with pytest.warns(PrecompiledProgramsWarning) as caught:
                set_and_run(graph, data[damage])
            assert len(caught) == 1
            np.testing.assert_array_equal(graph.get_output(0), expected_output(X))
            assert graph.precompiled_programs_changed

    def test_binaries_of_another_kind_that_only_the_driver_can_tell(self, artifact, device):
        from runtime.programs import decode_programs, encode_programs

        with Graph(artifact, device) as first:
            programs, _ = decode_programs(first.precompile())
        forged = [dataclasses.replace(program, binary=b"no binary of any device") for program in programs]
        with Graph(artifact, device) as graph:
            with pytest.warns(PrecompiledProgramsWarning, match="the driver refused") as caught:
                set_and_run(graph, encode_programs(forged))
            assert len(caught) == 1
            np.testing.assert_array_equal(graph.get_output(0), expected_output(X))

    def test_programs_of_another_simulated_device_are_not_used(self, artifact, simulated):
        from runtime.cl.discovery import open_device

        with Graph(artifact, open_device("sim:adreno-750")) as first:
            programs = first.precompile()
        with Graph(artifact, simulated) as graph:
            with pytest.warns(PrecompiledProgramsWarning, match="device name") as caught:
                set_and_run(graph, programs)
            assert len(caught) == 1
            np.testing.assert_array_equal(graph.get_output(0), expected_output(X))


def set_and_run(graph: Graph, programs: bytes) -> None:
    graph.set_precompiled_programs(programs)
    graph.set_input("x", X)
    graph.run()


NO_FILE = """
import sys
from runtime.cl.discovery import open_device
from runtime.graph import Graph
from tests.runtime.small_artifact import small_artifact

def use(artifact, device, programs=None):
    with Graph(artifact, device) as graph:
        if programs is not None:
            graph.set_precompiled_programs(programs)
        graph.set_input("x", [1.0, 2.0, 3.0, 4.0])
        graph.run()
        graph.get_output(0)
        graph.profile()
        graph.benchmark(repeat=1)
        return graph.precompile()

artifact, device = small_artifact(), open_device(sys.argv[1])
programs = use(artifact, device)
use(artifact, device, programs)  # from here on everything is imported

opened = []
watching = True
sys.addaudithook(lambda event, args: opened.append(args[0]) if watching and event == "open" else None)
use(artifact, device)
use(artifact, device, programs)
watching = False
print(opened)
"""


def test_nothing_of_a_graphs_life_opens_a_file(pytestconfig, device):
    name = "sim" if device.is_simulated else "pocl"
    done = subprocess.run(
        [sys.executable, "-c", NO_FILE, name],
        capture_output=True,
        text=True,
        check=True,
        cwd=pytestconfig.rootpath,
    )
    assert done.stdout == "[]\n"


def test_a_workspace_that_was_given_stays_open(artifact, workspace: Workspace):
    Graph(artifact, workspace).close()
    assert not workspace.queue().profiling
    workspace.queue().flush()
