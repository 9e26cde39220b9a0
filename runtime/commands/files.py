"""Files that commands read and write: arrays of inputs and outputs, and pre-compiled programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import numpy.typing as npt

from runtime.artifact import Endpoint
from runtime.shell import Problem

Array = npt.NDArray[Any]


def by_endpoint(kind: str, endpoints: Sequence[Endpoint], given: Sequence[str]) -> dict[str, Path]:
    """`NAME=FILE` for inputs or outputs; the name can be left out where there is only one."""
    files: dict[str, Path] = {}
    names = [endpoint.name for endpoint in endpoints]
    for text in given:
        name, equals, file = text.partition("=")
        if not equals or name not in names:
            if equals and not Path(text).exists():
                raise Problem(f"the model has no {kind} {name!r}; it has {', '.join(names)}")
            if len(names) != 1:
                raise Problem(f"{text}: say which {kind} it is, as NAME=FILE with one of {', '.join(names)}")
            name, file = names[0], text
        if name in files:
            raise Problem(f"the {kind} {name} is given twice")
        files[name] = Path(file)
    return files


def read_array(path: Path) -> Array:
    """A `.npy` file's array; mapped first, so that a header which promises too much allocates nothing."""
    try:
        array = np.array(np.lib.format.open_memmap(path, mode="r"))
    except (ValueError, EOFError, OverflowError, SyntaxError, TokenError) as error:
        raise Problem(f"{path}: no array that numpy.save wrote: {error}") from None
    if array.dtype.kind not in "biuf":
        raise Problem(f"{path}: an array of {array.dtype}, but numbers are needed")
    return array


def save_array(path: Path, array: Array) -> None:
    """Writes an array to exactly this file, whatever its name ends in."""
    with path.open("wb") as file:
        np.save(file, array, allow_pickle=False)


def relative_error(value: Array, expected: Array) -> float:
    """The largest difference, in parts of the largest expected magnitude; NaN where a value is NaN."""
    difference = float(np.max(np.abs(value.astype(np.float64) - expected.astype(np.float64))))
    largest = float(np.max(np.abs(expected.astype(np.float64))))
    return difference / largest if largest else difference
