"""What a kernel did that the standard leaves undefined: out of bounds, null, divergent barriers and so on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clsim.clc.ir import Module
    from clsim.ledger import Site
    from clsim.objects.platform import Platform
    from clsim.vm.launch import Fault

_ADVICE = {
    "out-of-bounds-read": "guard the access, or make the buffer larger; the read gave 0",
    "out-of-bounds-write": "guard the access, or make the buffer larger; the write was dropped",
    "null-read": "set the argument to a buffer",
    "null-write": "set the argument to a buffer",
    "misaligned": "a pointer must be aligned to the size of its type (OpenCL C, section 6.3.5)",
    "divergent-barrier": "all work-items of a group must meet the same barrier",
    "write-to-read-only": "create the buffer with CL_MEM_READ_WRITE, or do not write it",
    "loop-limit": "the loop was stopped; it does not seem to end",
}

MEMORY_FAULTS = frozenset({"out-of-bounds-read", "out-of-bounds-write", "null-read", "null-write"})
"""The kinds that make real devices fail a command, or worse."""


def report(platform: Platform, module: Module, faults: list[Fault], enqueued: Site) -> None:
    """Enters the faults of a launch as findings: the place in the kernel, and the enqueue."""
    from clsim.ledger import Site

    for fault in faults:
        file = module.files[fault.loc.file] if fault.loc.file < len(module.files) else "<source>"
        line = fault.loc.line
        place = Site(file, line, fault.kernel)
        platform.findings.add(
            fault.kind,
            "error",
            _message(fault) + _source_line(module, fault),
            objects=(f"kernel '{fault.kernel}'", *((fault.argument,) if fault.argument else ())),
            sites=(("in the kernel", place), ("enqueued", enqueued)),
            advice=_ADVICE.get(fault.kind, ""),
        )


def _message(fault: Fault) -> str:
    who = f"work-item {fault.global_id}" + (f" and {fault.count - 1} more" if fault.count > 1 else "")
    where = f"kernel '{fault.kernel}', line {fault.loc.line}"
    if fault.kind == "divergent-barrier":
        return f"{where}: {who} did not meet the barrier that others of the group wait at"
    if fault.kind == "loop-limit":
        return f"{where}: {who} still loops"
    verb = "reads" if fault.kind.endswith("read") else "writes"
    if fault.kind == "misaligned":
        verb = "accesses"
    if fault.kind.startswith("null"):
        return f"{where}: {who} {verb} through argument '{fault.argument}', which is NULL"
    index = fault.offset // fault.size if fault.size else fault.offset
    return (
        f"{where}: {who} {verb} {fault.size} bytes at byte {fault.offset} (index {index}) of argument "
        f"'{fault.argument}', which has {fault.extent} bytes"
    )


def _source_line(module: Module, fault: Fault) -> str:
    if fault.loc.file >= len(module.sources):
        return ""
    lines = module.sources[fault.loc.file].splitlines()
    if not 0 < fault.loc.line <= len(lines):
        return ""
    return f": {lines[fault.loc.line - 1].strip()}"
