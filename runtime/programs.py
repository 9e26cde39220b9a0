"""Pre-compiled programs: the bytes in which they travel, and programs built from those or from source.

Bytes in, bytes out: where they are kept is the caller's business, and nothing here opens a file.

The format, version 1, little-endian; equal content is equal bytes:

    magic "CLRTPROG" | version, 2 bytes | length of the index, 4 bytes | SHA-256 of the index
    index: JSON {"identities": [...], "programs": [...]}; a program has a name, the digest of its source,
           its build options, the number of the identity (platform, device, driver) that it belongs to,
           and the size and SHA-256 of its binary
    the binaries, back to back, in the order of the index

A binary is used only where name, source, options and identity are all this module's and its checksum holds;
a driver can still refuse it. Then, and in every other case, the program is built from its source.
"""

from __future__ import annotations

import hashlib
import json
import logging
import struct
import threading
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from runtime.cl.interface import CLError, Context, Device, DeviceIdentity, Program

MAGIC = b"CLRTPROG"
VERSION = 1

_HEADER = struct.Struct("<8sHI32s")
_IDENTITY_FIELDS = tuple(field.name for field in fields(DeviceIdentity))
_PROGRAM_TYPES: Mapping[str, type] = {
    "name": str,
    "source_sha256": str,
    "options": str,
    "identity": int,
    "size_bytes": int,
    "sha256": str,
}

_log = logging.getLogger(__name__)


class PrecompiledProgramsWarning(UserWarning):
    """Pre-compiled programs could not be used, all or in part; their sources are built instead."""


class ProgramsFormatError(ValueError):
    """Bytes that hold no pre-compiled programs which this release can read."""


@dataclass(frozen=True)
class PrecompiledProgram:
    """A program's binary and what it belongs to."""

    name: str
    source_sha256: str
    options: str
    identity: DeviceIdentity
    binary: bytes


def source_digest(source: str) -> str:
    """SHA-256 of a program's source, in hex."""
    return hashlib.sha256(source.encode()).hexdigest()


def encode_programs(programs: Iterable[PrecompiledProgram]) -> bytes:
    """The bytes of some programs, of one device or of several, whatever order they come in."""
    ordered = sorted(programs, key=lambda p: (p.name, _identity_key(p.identity), p.source_sha256, p.options))
    identities = sorted({program.identity for program in ordered}, key=_identity_key)
    index = {
        "identities": [asdict(identity) for identity in identities],
        "programs": [
            {
                "name": program.name,
                "source_sha256": program.source_sha256,
                "options": program.options,
                "identity": identities.index(program.identity),
                "size_bytes": len(program.binary),
                "sha256": hashlib.sha256(program.binary).hexdigest(),
            }
            for program in ordered
        ],
    }
    packed = json.dumps(index, sort_keys=True, separators=(",", ":")).encode("ascii")
    header = _HEADER.pack(MAGIC, VERSION, len(packed), hashlib.sha256(packed).digest())
    return b"".join((header, packed, *(program.binary for program in ordered)))


def decode_programs(data: bytes) -> tuple[list[PrecompiledProgram], list[str]]:
    """The programs in `data`, and the names of those whose binaries are damaged or cut off.

    Raises ProgramsFormatError where the index itself cannot be trusted.
    """
    if len(data) < _HEADER.size or data[: len(MAGIC)] != MAGIC:
        raise ProgramsFormatError(f"they do not begin with {MAGIC.decode()} and a header of this format")
    _, version, index_bytes, index_digest = _HEADER.unpack_from(data)
    if version != VERSION:
        raise ProgramsFormatError(f"their format has version {version}; this release reads version {VERSION}")
    packed = data[_HEADER.size : _HEADER.size + index_bytes]
    if hashlib.sha256(packed).digest() != index_digest:
        raise ProgramsFormatError("their index is damaged or cut off")
    identities, entries = _read_index(packed)

    programs: list[PrecompiledProgram] = []
    damaged: list[str] = []
    at = _HEADER.size + index_bytes
    for entry in entries:
        binary = bytes(data[at : at + entry["size_bytes"]])
        at += entry["size_bytes"]
        if hashlib.sha256(binary).hexdigest() != entry["sha256"]:
            damaged.append(entry["name"])
            continue
        programs.append(
            PrecompiledProgram(
                entry["name"],
                entry["source_sha256"],
                entry["options"],
                identities[entry["identity"]],
                binary,
            )
        )
    if at < len(data):
        raise ProgramsFormatError(f"{len(data) - at} bytes follow the last program")
    return programs, damaged


def _read_index(packed: bytes) -> tuple[list[DeviceIdentity], list[dict[str, Any]]]:
    """The index's parts. A checksum shows no good will: types and ranges are checked all the same."""
    try:
        index = json.loads(packed)
        identities = [
            DeviceIdentity(**{name: _typed(found[name], str) for name in _IDENTITY_FIELDS})
            for found in _typed(index["identities"], list)
        ]
        entries = [
            {name: _typed(found[name], kind) for name, kind in _PROGRAM_TYPES.items()}
            for found in _typed(index["programs"], list)
        ]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ProgramsFormatError(f"their index does not follow the format: {error!r:.200}") from None
    for entry in entries:
        if not 0 <= entry["identity"] < len(identities) or entry["size_bytes"] < 1:
            raise ProgramsFormatError(f"their index says impossible things of program {entry['name']!r:.80}")
    return identities, entries


def _typed(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise TypeError(f"{value!r:.60} is no {kind.__name__}")
    return value


def _identity_key(identity: DeviceIdentity) -> tuple[str, ...]:
    return tuple(getattr(identity, name) for name in _IDENTITY_FIELDS)


class ProgramLibrary:
    """Programs of one device by name, each built when first asked for. Safe for several threads."""

    def __init__(
        self, context: Context, device: Device, sources: Mapping[str, str], options: str = ""
    ) -> None:
        """`sources` has the OpenCL C of each program, which must define a kernel of the program's name."""
        self._context = context
        self._device = device
        self._sources = dict(sources)
        self._options = options
        self._lock = threading.RLock()
        self._programs: dict[str, Program] = {}
        self._binaries: dict[str, bytes] = {}  # from the last `set`, checked, for programs not built yet
        self._in_blob: set[str] = set()  # programs that the last bytes read or given have
        self._changed = False
        self._may_warn = True  # once for each `set`

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._sources)

    @property
    def changed(self) -> bool:
        """Whether a build since the last `get` or `set` made a program that those bytes lack."""
        return self._changed

    def program(self, name: str) -> Program:
        """The built program, borrowed.

        Raises KeyError for an unknown name, BuildError where the source does not compile.
        """
        program = self._programs.get(name)
        if program is None:
            with self._lock:
                program = self._programs.get(name)
                if program is None:
                    program = self._programs[name] = self._build(name)
        return program

    def get(self) -> bytes:
        """All programs, built if they were not, as bytes in this module's format.

        Raises CLError where the device gives no binary of any program.
        """
        with self._lock:
            identity = self._device.identity
            found: list[PrecompiledProgram] = []
            for name, source in self._sources.items():
                binary = self._binary_of(self.program(name))
                if not binary:
                    _log.warning("the device gives no binary of program %s; it is left out", name)
                    continue
                found.append(PrecompiledProgram(name, source_digest(source), self._options, identity, binary))
            self._in_blob = {program.name for program in found}
            self._changed = False
        return encode_programs(found)

    def set(self, data: bytes) -> None:
        """Uses the binaries in `data` for programs not built yet; warns once if any of them cannot be used.

        Raises TypeError for anything but bytes, and nothing for what the bytes hold.
        """
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(f"pre-compiled programs are bytes, not {type(data).__name__}")
        with self._lock:
            self._may_warn = True
            usable, fault = self._usable_programs(bytes(data))
            self._binaries = {n: binary for n, binary in usable.items() if n not in self._programs}
            self._in_blob = set(usable)
            self._changed = False
            if fault is not None:
                self._warn(fault)

    def close(self) -> None:
        """Releases the programs; kernels made of them live on."""
        with self._lock:
            programs, self._programs = self._programs, {}
            for program in programs.values():
                program.release()

    def _build(self, name: str) -> Program:
        source = self._sources[name]
        binary = self._binaries.pop(name, None)
        if binary is not None:
            try:
                return self._from_binary(name, binary)
            except CLError as error:
                self._in_blob.discard(name)
                self._warn(f"the driver refused the binary of program {name}: {error}")
        program = self._context.program_from_source(source)
        try:
            program.build(self._options)
        except BaseException:
            program.release()
            raise
        if name not in self._in_blob:
            self._changed = True
        return program

    def _from_binary(self, name: str, binary: bytes) -> Program:
        program = self._context.program_from_binaries({self._device: binary})
        try:
            program.build(self._options)
            program.kernel(name).release()  # some drivers find out only here that a binary is not theirs
        except BaseException:
            program.release()
            raise
        return program

    def _binary_of(self, program: Program) -> bytes:
        """Read while a kernel object of each kernel exists: some drivers compile a kernel only for that."""
        kernels = [program.kernel(name) for name in program.kernel_names]
        try:
            return program.binaries.get(self._device, b"")
        finally:
            for kernel in kernels:
                kernel.release()

    def _usable_programs(self, data: bytes) -> tuple[dict[str, bytes], str | None]:
        try:
            programs, damaged = decode_programs(data)
        except ProgramsFormatError as error:
            return {}, str(error)
        identity = self._device.identity
        ours = [program for program in programs if program.identity == identity]
        usable = {
            program.name: program.binary
            for program in ours
            if program.options == self._options
            and program.name in self._sources
            and program.source_sha256 == source_digest(self._sources[program.name])
        }
        fault: str | None = None
        if damaged:
            fault = f"{len(damaged)} of {len(programs) + len(damaged)} are damaged, first {damaged[0]}"
        elif programs and not ours:
            fault = f"they are for {_told(programs[0].identity, identity)}"
        elif len(usable) < len(ours):
            stale = next(program.name for program in ours if program.name not in usable)
            fault = f"{len(ours) - len(usable)} of {len(ours)} have another source or options, first {stale}"
        return usable, fault

    def _warn(self, fault: str) -> None:
        message = f"pre-compiled programs are not used, or not all, and sources are built instead: {fault}"
        if self._may_warn:
            self._may_warn = False
            warnings.warn(message, PrecompiledProgramsWarning, stacklevel=4)
        else:
            _log.info("%s", message)


def _told(theirs: DeviceIdentity, ours: DeviceIdentity) -> str:
    """In what two identities differ."""
    return " and ".join(
        f"{name.replace('_', ' ')} {getattr(theirs, name)!r}, while this is {getattr(ours, name)!r}"
        for name in _IDENTITY_FIELDS
        if getattr(theirs, name) != getattr(ours, name)
    )
