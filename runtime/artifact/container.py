"""The zip around a model file: one exact layout, so that a reader need not guess and nothing can hide.

The layout is the subset of PKWARE's APPNOTE 6.3.9 that every zip tool reads: members back to back, then
their directory, then the end record; no comments, extra fields, encryption, data descriptors, directories
or 64-bit records; names in ASCII; all dates 1980-01-01. Any other zip is refused, also a harmless one.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from runtime.artifact.bounds import (
    MAX_COMPRESSION_RATIO,
    MAX_FILE_BYTES,
    MAX_MANIFEST_BYTES,
    MAX_MEMBERS,
    MAX_NAME,
    MAX_SOURCE_BYTES,
    MAX_SOURCES_BYTES,
)
from runtime.artifact.errors import ArtifactError

MANIFEST = "manifest.json"
PARAMETERS = "params.safetensors"

STORED = 0
DEFLATED = 8

_VERSION_NEEDED = 20
_VERSION_MADE_BY = (3 << 8) | 20  # Unix, so that the mode below is understood
_MODE = 0o100644 << 16
_DATE = (1 << 5) | 1

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_KERNEL_NAME = re.compile(rf"kernels/[A-Za-z_][A-Za-z0-9_]{{0,{MAX_NAME - 1}}}\.cl")


def kernel_member(name: str) -> str:
    """The member that holds a kernel's source."""
    return f"kernels/{name}.cl"


def kernel_of(member: str) -> str:
    """The kernel whose source a member other than the two above holds."""
    return member.removeprefix("kernels/").removesuffix(".cl")


def data_offset_of_first(name: str) -> int:
    """Where the bytes of a first member of this name begin in the file."""
    return _LOCAL.size + len(name)


@dataclass(frozen=True)
class Member:
    """One entry of the directory, checked; its bytes are not yet read."""

    name: str
    method: int
    crc: int
    packed_bytes: int
    size_bytes: int
    offset: int

    @property
    def local_header(self) -> bytes:
        return _LOCAL.pack(b"PK\3\4", *self._shared_fields, 0) + self.name.encode("ascii")

    @property
    def directory_entry(self) -> bytes:
        fields = (*self._shared_fields, 0, 0, 0, 0, _MODE, self.offset)
        return _CENTRAL.pack(b"PK\1\2", _VERSION_MADE_BY, *fields) + self.name.encode("ascii")

    @property
    def _shared_fields(self) -> tuple[int, ...]:
        sizes = (self.packed_bytes, self.size_bytes, len(self.name))
        return (_VERSION_NEEDED, 0, self.method, 0, _DATE, self.crc, *sizes)


def pack(members: Mapping[str, bytes]) -> bytes:
    """A zip of the members in the order given: the parameters stored, the rest deflated."""
    body: list[bytes] = []
    directory: list[bytes] = []
    offset = 0
    for name, data in members.items():
        method = STORED if name == PARAMETERS else DEFLATED
        packed = data if method == STORED else _deflate(data)
        member = Member(name, method, zlib.crc32(data), len(packed), len(data), offset)
        if offset + len(packed) > MAX_FILE_BYTES:
            raise ArtifactError(f"the file would be over the format's limit of {MAX_FILE_BYTES} bytes")
        body += (member.local_header, packed)
        directory.append(member.directory_entry)
        offset += _LOCAL.size + len(name) + len(packed)
    index = b"".join(directory)
    count = len(members)
    end = _END.pack(b"PK\5\6", 0, 0, count, count, len(index), offset, 0)
    return b"".join((*body, index, end))


def unpack(data: memoryview) -> dict[str, memoryview]:
    """The members' bytes; stored ones are views of `data`, deflated ones are checked before they grow.

    Raises `ArtifactError` for anything but what `pack` writes.
    """
    members = _read_directory(data)
    _check_names(members)
    _check_sizes(members)
    return {member.name: _read_member(data, member) for member in members}


def _read_directory(data: memoryview) -> list[Member]:
    if len(data) > MAX_FILE_BYTES:
        raise ArtifactError(f"{len(data)} bytes are over the format's limit of {MAX_FILE_BYTES}")
    if len(data) < _END.size or bytes(data[:4]) != b"PK\3\4":
        raise ArtifactError("not a zip file")
    end_at = len(data) - _END.size
    signature, disk, first_disk, count_here, count, size, start, comment = _END.unpack(data[end_at:])
    if signature != b"PK\5\6":
        raise ArtifactError("truncated, or with something behind it: the zip's end record is not at the end")
    if (disk, first_disk, comment) != (0, 0, 0) or count_here != count:
        raise ArtifactError("the zip's end record is not one that this format writes")
    if count > MAX_MEMBERS:
        raise ArtifactError(f"{count} members are over the limit of {MAX_MEMBERS}")
    if start + size != end_at:
        raise ArtifactError(
            f"truncated or damaged: the zip's directory should end at {end_at}, not {start + size}"
        )

    members: list[Member] = []
    at = start
    expected_offset = 0
    for _ in range(count):
        member = _directory_entry(data, at, end_at)
        header = member.local_header
        if member.offset != expected_offset:
            raise ArtifactError(
                f"member {member.name} begins at {member.offset}, not at {expected_offset}: "
                "members overlap or leave a gap"
            )
        if bytes(data[member.offset : member.offset + len(header)]) != header:
            raise ArtifactError(f"member {member.name}: its local header and the directory differ")
        expected_offset += len(header) + member.packed_bytes
        if expected_offset > start:
            raise ArtifactError(
                f"member {member.name}: its {member.packed_bytes} bytes reach past the members' end"
            )
        members.append(member)
        at += len(member.directory_entry)
    if at != end_at or expected_offset != start:
        raise ArtifactError("the zip holds bytes that belong to no member")
    return members


def _directory_entry(data: memoryview, at: int, end_at: int) -> Member:
    if at + _CENTRAL.size > end_at:
        raise ArtifactError("the zip's directory ends inside an entry")
    fields = _CENTRAL.unpack(data[at : at + _CENTRAL.size])
    method, crc, packed_bytes, size_bytes, name_bytes = fields[4], *fields[7:11]
    raw_name = bytes(data[at + _CENTRAL.size : at + _CENTRAL.size + name_bytes])
    try:
        name = raw_name.decode("ascii")
    except UnicodeDecodeError:
        raise ArtifactError(f"a member's name is not ASCII: {raw_name[:60]!r}") from None
    member = Member(name, method, crc, packed_bytes, size_bytes, fields[16])
    found = bytes(data[at : at + _CENTRAL.size + name_bytes])
    if found != member.directory_entry:
        raise ArtifactError(
            f"member {name!r:.80}: its directory entry has a flag, date, extra field or comment "
            "that this format does not write"
        )
    return member


def _check_names(members: list[Member]) -> None:
    seen: set[str] = set()
    for member in members:
        if member.name not in (MANIFEST, PARAMETERS) and not _KERNEL_NAME.fullmatch(member.name):
            raise ArtifactError(
                f"unknown member {member.name!r:.80}; there are only {MANIFEST}, {PARAMETERS} "
                "and kernels/<C identifier>.cl"
            )
        if member.name in seen:
            raise ArtifactError(f"member {member.name} occurs twice")
        seen.add(member.name)
    if MANIFEST not in seen:
        raise ArtifactError(f"there is no {MANIFEST}")


def _check_sizes(members: list[Member]) -> None:
    """Refuses bombs by what the headers say; `_read_member` holds the data to it."""
    sources_bytes = 0
    for member in members:
        wanted = STORED if member.name == PARAMETERS else DEFLATED
        if member.method != wanted:
            raise ArtifactError(f"member {member.name}: compression method {member.method}, not {wanted}")
        if member.name == PARAMETERS:
            if member.packed_bytes != member.size_bytes:
                raise ArtifactError(f"member {member.name}: stored, but with two different sizes")
            continue
        limit = MAX_MANIFEST_BYTES if member.name == MANIFEST else MAX_SOURCE_BYTES
        if member.size_bytes > limit:
            raise ArtifactError(
                f"member {member.name}: {member.size_bytes} bytes are over the limit of {limit}"
            )
        if member.size_bytes > member.packed_bytes * MAX_COMPRESSION_RATIO:
            raise ArtifactError(
                f"member {member.name}: {member.packed_bytes} bytes that unpack to {member.size_bytes} "
                f"are over the limit of {MAX_COMPRESSION_RATIO} to 1"
            )
        sources_bytes += member.size_bytes if member.name != MANIFEST else 0
    if sources_bytes > MAX_SOURCES_BYTES:
        raise ArtifactError(f"kernels of {sources_bytes} bytes are over the limit of {MAX_SOURCES_BYTES}")


def _read_member(data: memoryview, member: Member) -> memoryview:
    start = member.offset + len(member.local_header)
    packed = data[start : start + member.packed_bytes]
    content = packed if member.method == STORED else memoryview(_inflate(packed, member))
    if zlib.crc32(content) != member.crc:
        raise ArtifactError(f"member {member.name}: damaged (its CRC-32 does not match)")
    return content


def _deflate(data: bytes) -> bytes:
    compressor = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush()


def _inflate(packed: memoryview, member: Member) -> bytes:
    decompressor = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        content = decompressor.decompress(packed, member.size_bytes + 1)
    except zlib.error as error:
        raise ArtifactError(f"member {member.name}: damaged ({error})") from None
    whole = decompressor.eof and not decompressor.unused_data
    if not whole or len(content) != member.size_bytes:
        raise ArtifactError(
            f"member {member.name}: does not unpack to the {member.size_bytes} bytes it claims"
        )
    return content
