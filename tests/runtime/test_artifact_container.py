"""Damaged and hostile zips: each gets one clear error, before anything is unpacked that need not be."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.artifact import Artifact, ArtifactError
from runtime.artifact.bounds import MAX_MANIFEST_BYTES, MAX_SOURCE_BYTES
from tests.runtime.small_artifact import small_artifact

GOOD = small_artifact().to_bytes()
MIB = 1 << 20

LOCAL_NAME = 30  # bytes of a local header before the name
CENTRAL_NAME = 46
END = 22


@contextmanager
def no_large_allocation(limit: int = 2 * MIB) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < limit
    finally:
        tracemalloc.stop()


def refuse(data: bytes, reason: str) -> None:
    with no_large_allocation(), pytest.raises(ArtifactError, match=reason):
        Artifact.from_bytes(data)


def members() -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(GOOD)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rezip(
    contents: list[tuple[str, bytes]], change: Callable[[zipfile.ZipInfo], None] | None = None
) -> bytes:
    """A zip made by the standard library in the layout of a model file, but for what `change` does."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in contents:
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_STORED if name == "params.safetensors" else zipfile.ZIP_DEFLATED
            info.create_system = 3
            info.external_attr = 0o100644 << 16
            if change is not None:
                change(info)
            archive.writestr(info, data)
    return buffer.getvalue()


def directory_offset(data: bytes) -> int:
    offset: int = struct.unpack("<I", data[-6:-2])[0]
    return offset


def patched(offset: int, new: bytes, data: bytes = GOOD) -> bytes:
    return data[:offset] + new + data[offset + len(new) :]


def test_a_zip_of_the_standard_library_in_the_same_layout_is_taken() -> None:
    data = rezip(list(members().items()))
    assert Artifact.from_bytes(data).manifest == small_artifact().manifest


@pytest.mark.parametrize("length", [0, 3, 21, 22, 100, len(GOOD) // 2, len(GOOD) - 1])
def test_a_truncated_file_is_refused(length: int) -> None:
    refuse(GOOD[:length], "truncated|not a zip file")


@given(st.integers(0, len(GOOD) - 1))
def test_a_file_truncated_anywhere_is_refused(length: int) -> None:
    with pytest.raises(ArtifactError):
        Artifact.from_bytes(GOOD[:length])


@given(st.integers(0, len(GOOD) - 1), st.integers(1, 255))
def test_a_changed_byte_is_noticed_or_changes_nothing(position: int, difference: int) -> None:
    damaged = patched(position, bytes([GOOD[position] ^ difference]))
    try:
        loaded = Artifact.from_bytes(damaged)
    except ArtifactError:
        return
    # Only the unused bits behind a deflated stream's end may differ unseen.
    assert loaded.to_bytes() == GOOD


@given(st.binary(max_size=300))
def test_any_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ArtifactError):
        Artifact.from_bytes(data)


@given(st.data())
def test_shuffled_pieces_are_refused(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(GOOD) - 2))
    stop = data.draw(st.integers(start + 1, len(GOOD) - 1))
    damaged = GOOD[:start] + GOOD[stop:]
    with pytest.raises(ArtifactError):
        Artifact.from_bytes(damaged)


def test_bytes_before_between_or_behind_the_members_are_refused() -> None:
    refuse(b"#!/bin/sh\n" + GOOD, "not a zip file")
    refuse(GOOD + b"\0", "end record")
    at = directory_offset(GOOD)
    shifted = GOOD[:at] + b"gap!" + GOOD[at:-6] + struct.pack("<IH", at + 4, 0)
    refuse(shifted, "bytes that belong to no member")


@pytest.mark.parametrize(
    "name",
    [
        "../evil.cl",
        "kernels/../../etc/passwd",
        "/etc/passwd",
        "kernels/a\\b.cl",
        "C:evil",
        "kernels/",
        "kernels/.cl",
        "kernels/9lives.cl",
        "kernels/a b.cl",
        "kernels/sub/a.cl",
        "kernels/a.cl/b.cl",
        "kernels/a.cl\n",
        "Manifest.json",
        "notes.txt",
        f"kernels/{'k' * 241}.cl",
    ],
)
def test_a_member_of_any_other_name_is_refused(name: str) -> None:
    refuse(rezip([*members().items(), (name, b"x")]), "unknown member")


def test_a_name_outside_ascii_is_refused() -> None:
    refuse(rezip([*members().items(), ("kernels/größe.cl", b"x")]), "flag|not ASCII")


def test_a_member_that_occurs_twice_is_refused() -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        data = rezip([*members().items(), ("manifest.json", members()["manifest.json"])])
    refuse(data, r"manifest\.json occurs twice")


def test_a_kernel_too_few_or_too_many_is_refused() -> None:
    contents = members()
    without = [(name, data) for name, data in contents.items() if name != "kernels/add.cl"]
    refuse(rezip(without), r"no source for \['add'\]")
    refuse(rezip([*contents.items(), ("kernels/more.cl", b"x")]), r"no kernel for \['more'\]")


def test_a_file_without_manifest_is_refused() -> None:
    refuse(rezip([("kernels/add.cl", b"x")]), r"there is no manifest\.json")


def test_parameters_must_be_there_exactly_if_announced() -> None:
    contents = members()
    without = [(name, data) for name, data in contents.items() if name != "params.safetensors"]
    refuse(rezip(without), r"params\.safetensors is missing")


def test_a_changed_source_fails_its_digest() -> None:
    contents = members()
    contents["kernels/add.cl"] = contents["kernels/add.cl"].replace(b"+", b"-")
    refuse(rezip(list(contents.items())), "kernel add: sha256 should be")


def test_changed_parameters_fail_their_digest() -> None:
    contents = members()
    contents["params.safetensors"] = contents["params.safetensors"][:-1] + b"\x01"
    refuse(rezip(list(contents.items())), r"params\.safetensors: sha256 should be")


def test_a_source_that_is_no_text_is_refused() -> None:
    contents = members()
    contents["kernels/add.cl"] = b"\xff\xfe"
    refuse(rezip(list(contents.items())), r"kernels/add\.cl: not UTF-8")
    contents["kernels/add.cl"] = b"int\0x"
    refuse(rezip(list(contents.items())), "a NUL")


def test_what_a_model_file_never_has_is_refused() -> None:
    contents = list(members().items())

    def comment(info: zipfile.ZipInfo) -> None:
        info.comment = b"hello"

    def extra(info: zipfile.ZipInfo) -> None:
        info.extra = b"\x01\x00\x02\x00ab"

    def date(info: zipfile.ZipInfo) -> None:
        info.date_time = (2024, 1, 1, 0, 0, 0)

    def link(info: zipfile.ZipInfo) -> None:
        info.external_attr = 0o120777 << 16

    for change in (comment, extra, date, link):
        refuse(rezip(contents, change), "a flag, date, extra field or comment")


def test_an_encrypted_member_is_refused() -> None:
    at = directory_offset(GOOD)
    refuse(patched(at + 8, b"\x01"), "a flag, date")


def test_other_compression_methods_are_refused() -> None:
    contents = list(members().items())

    def store(info: zipfile.ZipInfo) -> None:
        info.compress_type = zipfile.ZIP_STORED

    def deflate(info: zipfile.ZipInfo) -> None:
        info.compress_type = zipfile.ZIP_DEFLATED

    def bzip(info: zipfile.ZipInfo) -> None:
        info.compress_type = zipfile.ZIP_BZIP2

    refuse(rezip(contents, store), r"manifest\.json: compression method 0, not 8")
    refuse(rezip(contents, deflate), r"params\.safetensors: compression method 8, not 0")
    refuse(rezip(contents, bzip), "a flag|compression method 12")


def test_a_bomb_is_refused_by_its_headers() -> None:
    for name, size in (("manifest.json", 7 * MIB), ("kernels/add.cl", 3 * MIB)):
        contents = {**members(), name: b" " * size}
        data = rezip(list(contents.items()))
        refuse(data, r"over the limit of 200 to 1")


@pytest.mark.parametrize(
    ("name", "size"), [("manifest.json", MAX_MANIFEST_BYTES), ("kernels/add.cl", MAX_SOURCE_BYTES)]
)
def test_a_member_over_its_limit_is_refused(name: str, size: int) -> None:
    refuse(rezip(list({**members(), name: b" " * (size + 1)}.items())), f"over the limit of {size}")


def test_many_kernels_that_are_too_much_together_are_refused() -> None:
    body = zlib.compress(b"".join(struct.pack("<I", n * 2654435761 % 2**32) for n in range(600_000)), 0)
    text = body.hex().encode()[:MAX_SOURCE_BYTES]
    data = rezip([*members().items(), *((f"kernels/k{n}.cl", text) for n in range(17))])
    refuse(data, "kernels of .* bytes are over the limit of 67108864")


def test_a_member_that_unpacks_to_more_than_it_claims_is_refused() -> None:
    """The headers say 1000 bytes; the data holds megabytes, which are not unpacked."""
    contents = {**members(), "kernels/add.cl": b" " * (3 * MIB)}
    data = rezip(list(contents.items()))
    size, claim = struct.pack("<I", 3 * MIB), struct.pack("<I", 1000)
    assert data.count(size) == 2
    refuse(data.replace(size, claim), "does not unpack to the 1000 bytes it claims")


def test_overlapping_members_are_refused() -> None:
    """Two directory entries that share one member's bytes, the trick of the densest bombs."""
    at = directory_offset(GOOD)
    second = GOOD.index(b"PK\1\2", at + 4)
    refuse(patched(second + 42, struct.pack("<I", 0)), "begins at 0, not at")


def test_a_member_that_reaches_past_the_end_is_refused() -> None:
    name = b"kernels/add_some.cl"
    local, central = GOOD.index(name), GOOD.rindex(name)
    huge = struct.pack("<I", 0x7FFFFFFF)
    data = patched(central - CENTRAL_NAME + 20, huge, patched(local - LOCAL_NAME + 18, huge))
    refuse(data, "reach past the members' end")


def test_more_members_than_allowed_are_refused_before_any_is_read() -> None:
    refuse(
        patched(len(GOOD) - END + 8, struct.pack("<HH", 5000, 5000)),
        "5000 members are over the limit of 4096",
    )


def test_a_directory_with_fewer_entries_than_it_counts_is_refused() -> None:
    refuse(patched(len(GOOD) - END + 8, struct.pack("<HH", 40, 40)), "ends inside an entry")
    refuse(patched(len(GOOD) - END + 8, struct.pack("<HH", 3, 3)), "bytes that belong to no member")
