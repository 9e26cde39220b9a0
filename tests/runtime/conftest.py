"""The device that the runtime's tests run on: `--device`, else CLRT_DEVICE, else a simulated one."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import pytest

from runtime.cl.discovery import open_device
from runtime.cl.interface import Device
from runtime.workspace import Workspace


@pytest.fixture
def device(pytestconfig: pytest.Config) -> Iterator[Device]:
    """A simulated one does every command as late as it may, and must have nothing to find fault with."""
    name = pytestconfig.getoption("--device", default=None) or os.environ.get("CLRT_DEVICE") or "sim"
    simulated = name.partition(":")[0] == "sim"
    device = open_device(name, **({"schedule": "late"} if simulated else {}))
    yield device
    if simulated:
        platform = device.native.platform
        gc.collect()
        left = {kind: count for kind, count in platform.ledger.snapshot().items() if count}
        assert not left, f"still alive after the test: {left}"
        assert not list(platform.findings)


@pytest.fixture
def simulated() -> Device:
    """A simulated device whatever the others run on: for what only a simulated one can tell."""
    return open_device("sim")


@pytest.fixture
def workspace(device: Device) -> Iterator[Workspace]:
    with Workspace(device) as workspace:
        yield workspace
