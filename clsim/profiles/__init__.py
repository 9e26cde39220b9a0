"""Devices as data: one JSON file a device, read into a checked, frozen `Profile`."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clsim.profiles.schema import Profile

__all__ = ["ProfileError", "load", "names"]


class ProfileError(Exception):
    """A profile is unknown, not readable or contradicts itself."""


def names() -> tuple[str, ...]:
    """Names of the profiles that clsim ships, sorted."""
    found = (p.name for p in files(__name__).iterdir())
    return tuple(sorted(n.removesuffix(".json") for n in found if n.endswith(".json")))


@cache
def load(name: str) -> Profile:
    """The profile of that name, or the one in the file of that path if `name` ends in `.json`.

    Raises `ProfileError` for an unknown name, with those there are.
    """
    from pydantic import ValidationError

    from clsim.profiles.schema import Profile

    try:
        return Profile.model_validate(_merged(name))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the profile"
        raise ProfileError(f"profile {name!r}: {place}: {first['msg']}") from None


def _merged(name: str, heirs: tuple[str, ...] = ()) -> dict[str, Any]:
    """The file's fields over those of the profile it is based on."""
    if name in heirs:
        raise ProfileError(f"profile {name!r} is based on itself: {' -> '.join((*heirs, name))}")
    fields = _read(name)
    base_name = fields.pop("based_on", None)
    if base_name is None:
        return fields
    base = _merged(base_name, (*heirs, name))
    merged = {**base, **fields}
    for table in ("info", "cost", "retention", "quirks", "sources"):
        merged[table] = {**base.get(table, {}), **fields.get(table, {})}
    # A source speaks of the value it stands beside: an overridden value loses the base's.
    for field in _value_names(fields):
        if field not in fields.get("sources", {}):
            merged["sources"].pop(field, None)
    return merged


def _value_names(fields: dict[str, Any]) -> list[str]:
    return [*fields, *fields.get("info", {})]


def _read(name: str) -> dict[str, Any]:
    if name.endswith(".json"):
        source = Path(name)
    elif name in names():
        source = Path(str(files(__name__) / f"{name}.json"))
    else:
        raise ProfileError(f"no profile named {name!r}; there are: {', '.join(names())}")
    try:
        fields = json.loads(source.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ProfileError(f"profile {name!r}: {error}") from None
    if not isinstance(fields, dict):
        raise ProfileError(f"profile {name!r}: a profile is a JSON object, not {type(fields).__name__}")
    return fields
