"""JSON as the model file uses it: no key twice, no NaN, and one way to write a value."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from runtime.artifact.errors import ArtifactError

T = TypeVar("T")


def parse(data: bytes, what: str) -> object:
    """The value in `data`; `what` names it in an `ArtifactError`."""
    try:
        return json.loads(data, object_pairs_hook=_object_without_duplicates, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ArtifactError(f"{what} is not JSON: {error}") from None


def validate(data: bytes, adapter: TypeAdapter[T], what: str) -> T:
    """`data` as the adapter's type, or `ArtifactError` with the place of the first fault."""
    try:
        return adapter.validate_json(data)
    except ValidationError as error:
        raise ArtifactError(f"{what}: {_first_fault(error)}") from None


def canonical(value: object) -> bytes:
    """The same bytes for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def _object_without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the key {name!r:.60} occurs twice in one object")
        found[name] = value
    return found


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON number")


def _first_fault(error: ValidationError) -> str:
    faults = error.errors(include_url=False, include_context=False)
    first = faults[0]
    place = ".".join(str(part) for part in first["loc"]) or "top level"
    value = f" (found {first['input']!r:.60})" if isinstance(first["input"], str | int | float) else ""
    more = f"; and {len(faults) - 1} more" if len(faults) > 1 else ""
    return f"{place:.200}: {first['msg']:.200}{value}{more}"
