"""Arrays that commands read: whatever a file holds, it is an array of numbers or one clear line."""

from __future__ import annotations

import io
import random
import warnings
from pathlib import Path

import numpy as np
import pytest

from runtime.commands.files import read_array, relative_error, save_array
from runtime.shell import Problem

HEADERS = [
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999,), }",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }",
    b"{'descr': '|O', 'fortran_order': False, 'shape': (3,), }",
    b"{'descr': '<U4', 'fortran_order': False, 'shape': (3,), }",
    b"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }",
    b"{'descr': 'nonsense', 'fortran_order': False, 'shape': (3,), }",
    b"{'descr': ",
]


def saved(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def test_what_is_saved_is_read_whatever_the_file_is_called(tmp_path: Path) -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)

    save_array(tmp_path / "no_suffix", array)

    np.testing.assert_array_equal(read_array(tmp_path / "no_suffix"), array)


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize("header", HEADERS, ids=lambda header: header.decode()[:60])
def test_a_header_that_lies_is_refused(header: bytes, tmp_path: Path) -> None:
    padded = header.ljust(118) + b"\n"
    (tmp_path / "x.npy").write_bytes(
        b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded + bytes(64)
    )

    with pytest.raises(Problem, match=r"x\.npy"):
        read_array(tmp_path / "x.npy")


def test_damage_is_refused_or_gives_numbers(tmp_path: Path) -> None:
    whole = saved(np.arange(12, dtype=np.float32))
    dice = random.Random(2)
    refused = 0
    for _ in range(300):
        damaged = bytearray(whole)
        for _ in range(dice.randint(1, 4)):
            damaged[dice.randrange(80)] = dice.randrange(256)
        if dice.random() < 0.3:
            del damaged[dice.randrange(len(damaged)) :]
        (tmp_path / "x.npy").write_bytes(damaged)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                assert read_array(tmp_path / "x.npy").dtype.kind in "biuf"
            except Problem:
                refused += 1
    assert refused > 100


@pytest.mark.parametrize(
    ("value", "expected", "error"),
    [([1.0, 2.0], [1.0, 2.0], 0.0), ([1.0, 2.2], [1.0, 2.0], 0.1), ([0.5, 0.0], [0.0, 0.0], 0.5)],
)
def test_errors_are_relative_to_the_largest_expected_value(
    value: list[float], expected: list[float], error: float
) -> None:
    assert relative_error(np.array(value), np.array(expected)) == pytest.approx(error)


def test_the_error_of_a_value_that_is_no_number_is_none_either() -> None:
    assert np.isnan(relative_error(np.array([np.nan, 1.0]), np.array([1.0, 1.0])))
