"""The conformance suite of the abstract CL interface: one set of tests for every implementation.

    pytest tests/conformance --device D        # a name that runtime.cl.discovery.open_device takes

The tests need the standard library, pytest and the binding that the device needs, so that they run on small
boards. Their ids are the same everywhere. Where an implementation differs from the standard, a row of
`DIFFERENCES` says so: the test must then fail.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from clkit import Gate, release

from runtime.cl.codes import ErrorCode
from runtime.cl.discovery import open_device
from runtime.cl.interface import CLError, Context, Device, Queue

DIFFERENCES: dict[tuple[str, str], str] = {}
"""(test id below this folder, text in the platform's name and version) -> how it differs from the standard."""

_DEVICE = pytest.StashKey[Device]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--device",
        default=None,
        help="the device to test: sim, sim:PROFILE, pocl, real, real:TEXT or real:PLATFORM:DEVICE "
        "(default: the environment's CLRT_DEVICE, else sim)",
    )


def _device(config: pytest.Config) -> Device:
    if _DEVICE not in config.stash:
        name = config.getoption("--device") or os.environ.get("CLRT_DEVICE") or "sim"
        try:
            config.stash[_DEVICE] = open_device(name)
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
    for item in items:
        name = item.nodeid.rpartition("/")[2]
        for (test, where), reason in DIFFERENCES.items():
            if name == test and where in platform:
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


@pytest.fixture(scope="session")
def device(pytestconfig: pytest.Config) -> Device:
    return _device(pytestconfig)


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
