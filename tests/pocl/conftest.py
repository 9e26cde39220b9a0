"""Fixtures on PoCL. Without a working one these tests fail: the simulator's environment leaves them out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from runtime.cl.discovery import open_device
from runtime.cl.interface import Context, Device, Queue


@pytest.fixture(scope="session")
def device() -> Device:
    return open_device("pocl")


@pytest.fixture
def context(device: Device) -> Iterator[Context]:
    with device.platform.create_context([device]) as context:
        yield context


@pytest.fixture
def queue(context: Context, device: Device) -> Iterator[Queue]:
    with context.create_queue(device) as queue:
        yield queue
