"""Fixtures for the tests of the simulated platform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from host import Host


@pytest.fixture
def host() -> Callable[..., Host]:
    """Makes hosts: `host(schedule="late")` is a program with a platform of its own and one context."""
    return Host


@pytest.fixture(params=["fifo", "late", "random"])
def any_schedule(request: pytest.FixtureRequest) -> str:
    """Every schedule: for rules that hold whatever the order of effects."""
    schedule: str = request.param
    return schedule


@pytest.fixture
def profile_with() -> Callable[..., Any]:
    """Makes variants of the generic profile: `profile_with(in_order_failure="fail")` changes a quirk."""

    def variant(
        base: str = "generic", *, info: dict[str, Any] | None = None, version: str = "", **quirks: str
    ) -> Any:
        from clsim import profiles

        profile = profiles.load(base)
        update: dict[str, Any] = {
            "quirks": {**profile.quirks, **quirks},
            "info": {**profile.info, **(info or {})},
        }
        if version:
            update["device_version"] = f"OpenCL {version} test"
        return type(profile).model_validate({**profile.model_dump(), **update})

    return variant
