"""Random parameters that are the same on every machine and with every NumPy, from a seed.

Element `i` of stream `s` under seed `k`, in unsigned 64-bit arithmetic that wraps around:

    key  = mix(k + (s + 1) * GAMMA)
    bits = mix(key + (i + 1) * GAMMA)
    u    = (bits >> 40) / 2**24                         0 <= u < 1, exact in single precision
    x    = low + (high - low) * u                       in double precision, then rounded to the dtype

`mix` and GAMMA = 0x9E3779B97F4A7C15 are those of SplitMix64 (Steele, Lea, Flood: Fast Splittable
Pseudorandom Number Generators, 2014), so the bits of one stream are SplitMix64's outputs from state `key`.
NumPy's own generators are not used: their streams may change between releases.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

GAMMA = 0x9E3779B97F4A7C15

_MASK = (1 << 64) - 1
_CHUNK = 1 << 20  # elements made at a time, which bounds the memory beside the result


def uniform(
    seed: int, stream: int, low: float, high: float, shape: tuple[int, ...], dtype: npt.DTypeLike = np.float32
) -> npt.NDArray[Any]:
    """A dense array of numbers from low to high, as the module's docstring says."""
    count = int(np.prod(shape, dtype=np.int64))
    result = np.empty(count, dtype)
    key = _mix(np.array([(seed + (stream + 1) * GAMMA) & _MASK], np.uint64))
    for start in range(0, count, _CHUNK):
        stop = min(start + _CHUNK, count)
        fractions = (splitmix64(int(key[0]), start, stop) >> np.uint64(40)).astype(np.float64) * 2.0**-24
        result[start:stop] = fractions * (high - low) + low
    return result.reshape(shape)


def splitmix64(state: int, start: int, stop: int) -> npt.NDArray[np.uint64]:
    """Outputs number `start` (counted from 0) to `stop` - 1 of a SplitMix64 generator seeded with `state`."""
    counters = np.arange(start + 1, stop + 1, dtype=np.uint64)
    return _mix(counters * np.uint64(GAMMA) + np.uint64(state))


def _mix(z: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: npt.NDArray[np.uint64] = z ^ (z >> np.uint64(31))
    return mixed
