"""Program binaries: data with a header that says where they belong, never code.

Layout: magic, length of the header (4 bytes, little endian), header (JSON), payload (the compiler's dump of
a module), SHA-256 of all that. The header names the device, its driver, a digest of the profile, the
compiler's format, the build options, a digest of the source and the kind of binary. A binary is taken only
if every one of these fits; whatever else it may be, it is CL_INVALID_BINARY.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clsim.clc.ir import Module
    from clsim.objects.device import Device

MAGIC = b"CLSIMBIN"
_DIGEST_BYTES = 32
_HEADER_LIMIT = 1 << 20

_FLAGS = ("no", "yes")
KINDS = ("executable", "compiled", "library")


class BinaryError(ValueError):
    """Bytes that are no valid binary for the device; the text says why."""


@dataclass(frozen=True, slots=True)
class LoadedBinary:
    """A binary that fits its device: what was in its header, and the module."""

    kind: str
    options: str
    nonuniform: bool
    module: Module


def belongs_to(device: Device) -> dict[str, str]:
    """The part of a header that says where a binary belongs."""
    from clsim import clc

    profile = device.profile
    return {
        "compiler": str(clc.FORMAT),
        "device": profile.device_name,
        "device_version": profile.device_version,
        "driver": profile.driver_version,
        "platform": profile.platform_name,
        "profile": profile.digest,
    }


def pack(device: Device, module: Module, kind: str, options: str, source: str, nonuniform: bool) -> bytes:
    """The binary of a module built for a device."""
    from clsim import clc

    header = dict(belongs_to(device))
    header["kind"] = kind
    header["nonuniform"] = _FLAGS[nonuniform]
    header["options"] = options
    header["source"] = hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()
    head = json.dumps(header, sort_keys=True).encode()
    body = MAGIC + len(head).to_bytes(4, "little") + head + clc.dump(module)
    return body + hashlib.sha256(body).digest()


def unpack(device: Device, binary: bytes) -> LoadedBinary:
    """The module of a binary. Raises BinaryError unless it is whole and belongs to the device."""
    from clsim import clc

    start = len(MAGIC) + 4
    if len(binary) < start + _DIGEST_BYTES or binary[: len(MAGIC)] != MAGIC:
        raise BinaryError(f"{len(binary)} bytes that do not begin as a binary of clsim does")
    body = binary[:-_DIGEST_BYTES]
    if hashlib.sha256(body).digest() != binary[-_DIGEST_BYTES:]:
        raise BinaryError("the binary is damaged: its digest does not match")
    length = int.from_bytes(binary[len(MAGIC) : start], "little")
    if length > min(_HEADER_LIMIT, len(body) - start):
        raise BinaryError(f"the header's length {length} does not fit")
    header = _header(body[start : start + length])
    for field, expected in belongs_to(device).items():
        if header.get(field) != expected:
            raise BinaryError(f"made for {field} {header.get(field)!r}, this is {expected!r}")
    for field, allowed in (("kind", KINDS), ("nonuniform", _FLAGS)):
        if header.get(field) not in allowed:
            raise BinaryError(f"{field} is {header.get(field)!r}, not one of {', '.join(allowed)}")
    if "options" not in header or "source" not in header:
        raise BinaryError("its header does not name its options and source")
    try:
        module = clc.load(body[start + length :])
    except ValueError as error:
        raise BinaryError(f"its module cannot be read: {error}") from error
    return LoadedBinary(header["kind"], header["options"], header["nonuniform"] == _FLAGS[True], module)


def _header(text: bytes) -> dict[str, str]:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BinaryError(f"its header cannot be read: {error}") from error
    if not isinstance(header, dict) or not all(isinstance(value, str) for value in header.values()):
        raise BinaryError("its header is not a table of strings")
    return header
