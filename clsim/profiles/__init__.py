"""Devices as data: one JSON file a device, read into a checked, frozen `Profile`.

A file holds what differs from the profile named in its `based_on`. A value's source is a link or a report;
where none is given the value is a plausible default.
"""

from __future__ import annotations

import json
import os
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clsim.profiles.schema import Profile

__all__ = ["ProfileError", "load", "names"]

_TABLES = ("info", "cost", "retention", "quirks", "sources")


class ProfileError(Exception):
    """A profile is unknown, not readable or contradicts itself."""


def names() -> tuple[str, ...]:
    """Names of the profiles that clsim ships, sorted."""
    found = (p.name for p in files(__name__).iterdir())
    return tuple(sorted(n.removesuffix(".json") for n in found if n.endswith(".json")))


def load(name: str | os.PathLike[str]) -> Profile:
    """The profile of that name, or the one in the file of that path if it ends in `.json`.

    Each is read once. Raises `ProfileError` for an unknown name, with those there are, and for a file that
    cannot be read or contradicts itself.
    """
    return _load(os.fspath(name))


@cache
def _load(name: str) -> Profile:
    from pydantic import ValidationError

    from clsim.clc import FORMAT
    from clsim.profiles.schema import Profile

    fields = _merged(name)
    if isinstance(fields.get("platform_version"), str):
        # Programs that keep binaries key on this string: it changes with the format of a binary.
        fields["platform_version"] += f" clsim format {FORMAT}"
    try:
        return Profile.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"] if part not in ("bool", "int", "str"))
        said = first["msg"].removeprefix("Value error, ")
        raise ProfileError(f"profile {name!r}: {place + ': ' if place else ''}{said}") from None


def _merged(name: str, heirs: tuple[str, ...] = ()) -> dict[str, Any]:
    """The file's fields over those of the profile it is based on."""
    if name in heirs:
        raise ProfileError(f"profile {name!r} is based on itself: {' -> '.join((*heirs, name))}")
    fields = _read(name)
    base_name = fields.pop("based_on", None)
    if base_name is None:
        return fields
    if not isinstance(base_name, str):
        raise ProfileError(f"profile {name!r}: based_on is the name of a profile, not {base_name!r}")
    if base_name.endswith(".json"):
        base_name = os.path.normpath(os.path.join(os.path.dirname(name), base_name))
    base = _merged(base_name, (*heirs, name))
    for table in _TABLES:
        if not isinstance(fields.get(table, {}), dict):
            raise ProfileError(f"profile {name!r}: {table} is an object, not {fields[table]!r}")
    merged = {**base, **fields}
    for table in _TABLES:
        merged[table] = {**base.get(table, {}), **fields.get(table, {})}
    # A source speaks of the value it stands beside: an overridden value loses the base's.
    for field in [*fields, *fields.get("info", {})]:
        if field not in fields.get("sources", {}):
            merged["sources"].pop(field, None)
    return merged


def _read(name: str) -> dict[str, Any]:
    if name.endswith(".json"):
        source = Path(name)
    elif name in names():
        source = Path(str(files(__name__) / f"{name}.json"))
    else:
        raise ProfileError(
            f"no profile named {name!r}; there are: {', '.join(names())}, and any file that ends in .json"
        )
    try:
        fields = json.loads(source.read_text(encoding="utf-8"))
    except OSError as error:
        raise ProfileError(f"profile {name!r} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ProfileError(f"profile {name!r} is no JSON: {error}") from None
    if not isinstance(fields, dict):
        raise ProfileError(f"profile {name!r}: a profile is a JSON object, not {type(fields).__name__}")
    return fields
