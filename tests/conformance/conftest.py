"""The conformance suite of the abstract CL interface: one set of tests for every implementation.

    pytest tests/conformance --device D        # a name that runtime.cl.discovery.open_device takes

The tests need the standard library, pytest and the binding that the device needs, so that they run on small
boards (there with `-c /dev/null --rootdir .`, as the project's settings name plugins). Their ids are the same
everywhere. Where an implementation differs from the standard, a row of `differences.py` says so: the test
must then fail.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import clkit
import pytest
from clkit import Gate, release
from differences import DIFFERENCES, ENDS_THE_PROCESS

from runtime.cl.codes import ErrorCode
from runtime.cl.discovery import open_device
from runtime.cl.interface import CLError, Context, Device, Queue

_DEVICE = pytest.StashKey[Device]()
_DIFFERS = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--device",
        default=None,
        help="the device to test: sim, sim:PROFILE, pocl, real, real:TEXT or real:PLATFORM:DEVICE "
        "(default: the environment's CLRT_DEVICE, else sim)",
    )


def _device_name(config: pytest.Config) -> str:
    return str(config.getoption("--device") or os.environ.get("CLRT_DEVICE") or "sim")


def _device(config: pytest.Config) -> Device:
    if _DEVICE not in config.stash:
        name = _device_name(config)
        # A simulated device does every command as late as it may: a test that reads too early fails.
        options = {"schedule": "late"} if name.partition(":")[0] == "sim" else {}
        try:
            config.stash[_DEVICE] = open_device(name, **options)
        except CLError as error:
            pytest.exit(str(error), returncode=pytest.ExitCode.USAGE_ERROR)
    return config.stash[_DEVICE]


def pytest_report_header(config: pytest.Config) -> str:
    device = _device(config)
    identity = device.identity
    return (
        f"OpenCL device: {device.name}, driver {identity.driver_version}, {identity.device_version}; "
        f"platform: {identity.platform_name}, {identity.platform_version}"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    identity = _device(config).identity
    platform = f"{identity.platform_name} {identity.platform_version}"
    for table, run in ((DIFFERENCES, True), (ENDS_THE_PROCESS, False)):
        rows = {
            test: why for where, tests in table.items() if where in platform for test, why in tests.items()
        }
        for item in items:
            reason = rows.get(item.nodeid.rpartition("/")[2])
            if reason is not None:
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True, run=run))
                item.stash[_DIFFERS] = True


@pytest.fixture(autouse=True)
def _patience(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a test is known to wait in vain, it need not wait for long."""
    if request.node.stash.get(_DIFFERS, False):
        monkeypatch.setattr(clkit, "PATIENCE_S", 2.0)


@pytest.fixture(scope="session")
def device(pytestconfig: pytest.Config) -> Device:
    return _device(pytestconfig)


@pytest.fixture(scope="session")
def device_name(pytestconfig: pytest.Config) -> str:
    """What `open_device` takes for the device, for tests that open it in another process."""
    return _device_name(pytestconfig)


@pytest.fixture
def context(device: Device) -> Iterator[Context]:
    context = device.platform.create_context([device])
    yield context
    release(context)


@pytest.fixture
def queue(context: Context, device: Device) -> Iterator[Queue]:
    queue = context.create_queue(device)
    yield queue
    release(queue)


@pytest.fixture
def profiling_queue(context: Context, device: Device) -> Iterator[Queue]:
    queue = context.create_queue(device, profiling=True)
    yield queue
    release(queue)


@pytest.fixture
def out_of_order_queue(context: Context, device: Device) -> Iterator[Queue]:
    try:
        queue = context.create_queue(device, out_of_order=True)
    except CLError as error:
        if error.code != ErrorCode.CL_INVALID_QUEUE_PROPERTIES:
            raise
        pytest.skip(f"{device.name} offers no out-of-order queue")
    yield queue
    release(queue)


@pytest.fixture
def gate(context: Context, queue: Queue) -> Iterator[Gate]:
    """A user event that holds commands back until the test opens it; it opens itself before long."""
    gate = Gate(context)
    yield gate
    gate.close()
