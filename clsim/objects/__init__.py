"""OpenCL's objects: their states, their two counts, and what holds what."""

from __future__ import annotations

from clsim.objects.context import Context
from clsim.objects.device import Device
from clsim.objects.event import Event
from clsim.objects.kernel import Kernel
from clsim.objects.memory import Buffer, Mapping, Storage
from clsim.objects.platform import Platform
from clsim.objects.program import Program
from clsim.objects.queue import CommandQueue

__all__ = [
    "Buffer",
    "CommandQueue",
    "Context",
    "Device",
    "Event",
    "Kernel",
    "Mapping",
    "Platform",
    "Program",
    "Storage",
]
