"""`clrt devices`: what devices there are, by the names that every `--device` takes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from runtime.cl.discovery import describe_devices, open_device
from runtime.cl.interface import Device
from runtime.shell import working


def devices(screen: Console, only: str | None, target: str | None) -> None:
    """Shows all devices, or the one of a name, which must work; writes the same as JSON to `target`."""
    with working("trying the devices"):
        opened = None if only is None else open_device(only)
        rows = describe_devices(trial=opened is None)
    if opened is None:
        _show_all(screen, rows)
    else:
        rows = [row for row in rows if _is_of(row, opened)]
        _show_one(screen, str(only), opened)
    if target is not None:
        text = json.dumps(rows, indent=2) + "\n"
        if target == "-":
            sys.stdout.write(text)
        else:
            Path(target).write_text(text, encoding="utf-8")


def _is_of(row: dict[str, Any], device: Device) -> bool:
    identity = device.identity
    return (row["simulated"], row["device"], row["platform_version"], row["driver_version"]) == (
        device.is_simulated,
        device.name,
        identity.platform_version,
        identity.driver_version,
    )


def _show_one(screen: Console, name: str, device: Device) -> None:
    identity, limits = device.identity, device.limits
    for what, told in (
        (name, device.name),
        ("vendor", device.vendor),
        ("platform", f"{identity.platform_name}, {identity.platform_version}"),
        ("device", identity.device_version),
        ("driver", identity.driver_version),
        ("units", f"{limits.max_compute_units}, work-groups of up to {limits.max_work_group_size}"),
        ("memory", f"{limits.global_mem_size / 2**30:.1f} GiB, local {limits.local_mem_size // 1024} KiB"),
    ):
        screen.print(Text.assemble((f"{what:<10}", "bold"), told), soft_wrap=True)


def _show_all(screen: Console, rows: list[dict[str, Any]]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("name", no_wrap=True)
    for heading in ("device", "OpenCL", "driver"):
        table.add_column(heading, overflow="fold")
    for heading in ("units", "memory", "group"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            Text(row["name"], "" if row["works"] else "red"),
            Text(row["device"]),
            row["device_version"].removeprefix("OpenCL ").split(" ")[0],
            Text(row["driver_version"]),
            str(row["compute_units"]),
            f"{row['global_mem_bytes'] / 2**30:.1f} GiB",
            str(row["max_work_group_size"]),
        )
    screen.print(table)
    for row in rows:
        if row["fault"] is not None:
            screen.print(Text(f"{row['name']} does not work: {row['fault']}", "red"), soft_wrap=True)
    if all(row["simulated"] for row in rows):
        screen.print('no real devices (for PoCL: pip install "clsim[pocl]")', style="dim", soft_wrap=True)
