"""The demo's first program: right results, one missing edge, events that nobody releases."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from clsim.checks import Finding
from runtime.cl.discovery import open_device
from runtime.demo import forgotten_edge

FILE = Path(forgotten_edge.__file__)
LINES = FILE.read_text(encoding="utf-8").splitlines()


def line_of(words: str) -> int:
    """The number of the one line that has these words."""
    (number,) = [number for number, line in enumerate(LINES, 1) if words in line]
    return number


BRIGHTEN, COMPOSE = line_of("enqueue_kernel(brighten"), line_of("enqueue_kernel(compose")


@pytest.fixture
def device() -> Iterator[Any]:
    yield open_device("sim", order_checks=True)
    forgotten_edge.events.clear()
    gc.collect()


def repaired() -> ModuleType:
    """The program with the edge put in."""
    source = "\n".join(LINES)
    wrong = "enqueue_kernel(compose, N, wait_for=[loaded]"
    assert wrong in source
    module = ModuleType("repaired")
    exec(compile(source.replace(wrong, wrong.replace("loaded", "lit")), str(FILE), "exec"), module.__dict__)
    return module


def test_its_results_are_right(device: Any) -> None:
    assert forgotten_edge.show_frames(device)


def test_both_lines_of_the_missing_edge_are_named_and_nothing_else(device: Any) -> None:
    forgotten_edge.show_frames(device)

    (race,) = findings(device)
    assert race.kind == "race"
    assert [(Path(site.file), site.line) for site in race.sites] == [(FILE, BRIGHTEN), (FILE, COMPOSE)]
    assert race.count == forgotten_edge.FRAMES


def test_with_the_edge_put_in_there_is_nothing_to_find(device: Any) -> None:
    program = repaired()

    assert program.show_frames(device)
    assert findings(device) == []


def test_each_event_that_it_keeps_is_accounted_to_its_line(device: Any) -> None:
    forgotten_edge.show_frames(device)

    ledger = device.native.platform.ledger
    kept = {account.site.line: account.live for account in ledger.by_site("event") if account.live}
    assert kept == dict.fromkeys([line_of("load.enqueue_write"), BRIGHTEN, COMPOSE], forgotten_edge.FRAMES)


def findings(device: Any) -> list[Finding]:
    return list(device.native.platform.findings)
