"""Programs: from source and from binaries; building, compiling and linking (section 5.8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from clsim.api.entry import entry, live, require_live
from clsim.api.info import answer
from clsim.objects import Context, Device, Program, binary, build
from clsim.objects.program import Build
from clsim.spec import (
    CL_BUILD_ERROR,
    CL_BUILD_IN_PROGRESS,
    CL_BUILD_PROGRAM_FAILURE,
    CL_BUILD_SUCCESS,
    CL_COMPILE_PROGRAM_FAILURE,
    CL_INVALID_BINARY,
    CL_INVALID_BUILD_OPTIONS,
    CL_INVALID_COMPILER_OPTIONS,
    CL_INVALID_CONTEXT,
    CL_INVALID_DEVICE,
    CL_INVALID_LINKER_OPTIONS,
    CL_INVALID_OPERATION,
    CL_INVALID_PROGRAM_EXECUTABLE,
    CL_INVALID_VALUE,
    CL_LINK_PROGRAM_FAILURE,
    CL_PROGRAM_BINARIES,
    CL_PROGRAM_BINARY_SIZES,
    CL_PROGRAM_BINARY_TYPE,
    CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE,
    CL_PROGRAM_BUILD_LOG,
    CL_PROGRAM_BUILD_OPTIONS,
    CL_PROGRAM_BUILD_STATUS,
    CL_PROGRAM_CONTEXT,
    CL_PROGRAM_DEVICES,
    CL_PROGRAM_IL,
    CL_PROGRAM_KERNEL_NAMES,
    CL_PROGRAM_NUM_DEVICES,
    CL_PROGRAM_NUM_KERNELS,
    CL_PROGRAM_REFERENCE_COUNT,
    CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT,
    CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT,
    CL_PROGRAM_SOURCE,
    CL_SUCCESS,
    CLError,
)


class LinkFailure(CLError):
    """CL_LINK_PROGRAM_FAILURE; `program` is the program object that holds the link's log."""

    def __init__(self, routine: str, reason: str, program: Program) -> None:
        super().__init__(CL_LINK_PROGRAM_FAILURE, routine, reason)
        self.program = program


class BinaryRefused(CLError):
    """CL_INVALID_BINARY or CL_INVALID_VALUE; `statuses` are the codes a device, in order."""

    def __init__(self, code: int, routine: str, reason: str, statuses: list[int]) -> None:
        super().__init__(code, routine, reason)
        self.statuses = statuses


@entry(live("context", Context))
def clCreateProgramWithSource(context: Context, strings: str | Sequence[str]) -> Program:
    """A program of the strings joined as they are. Raises CL_INVALID_CONTEXT, CL_INVALID_VALUE for none."""
    routine = "clCreateProgramWithSource"
    parts = [strings] if isinstance(strings, str) else list(strings or ())
    if not parts:
        raise CLError(CL_INVALID_VALUE, routine, "there is no source string")
    for index, part in enumerate(parts):
        if not isinstance(part, str):
            raise CLError(CL_INVALID_VALUE, routine, f"strings[{index}] is {part!r:.40}, not a string")
    return Program(context, context.platform.site(), context.devices, "".join(parts))


@entry(live("context", Context))
def clCreateProgramWithBinary(
    context: Context, devices: Sequence[Device], binaries: Sequence[bytes | None]
) -> Program:
    """A program of one binary a device; every binary is checked here, whole.

    Raises CL_INVALID_CONTEXT, CL_INVALID_VALUE, CL_INVALID_DEVICE, CL_INVALID_BINARY (`BinaryRefused`).
    """
    routine = "clCreateProgramWithBinary"
    if not devices:
        raise CLError(CL_INVALID_VALUE, routine, "the list of devices is empty")
    for device in devices:
        _check_device(routine, device, context.devices, context.label)
    if binaries is None or len(binaries) != len(devices):
        raise CLError(CL_INVALID_VALUE, routine, "there must be one binary a device")
    loaded: dict[Device, tuple[bytes, binary.LoadedBinary]] = {}
    statuses = []
    reasons = []
    for device, raw in zip(devices, binaries, strict=True):
        if not raw:
            statuses.append(CL_INVALID_VALUE)
            reasons.append(f"{device.label}: the binary is {'NULL' if raw is None else 'empty'}")
            continue
        try:
            loaded[device] = (bytes(raw), binary.unpack(device, bytes(raw)))
            statuses.append(CL_SUCCESS)
        except binary.BinaryError as error:
            statuses.append(CL_INVALID_BINARY)
            reasons.append(f"{device.label}: {error}")
    if reasons:
        code = CL_INVALID_VALUE if CL_INVALID_VALUE in statuses else CL_INVALID_BINARY
        raise BinaryRefused(code, routine, "; ".join(reasons), statuses)
    return Program(context, context.platform.site(), devices, None, loaded)


@entry(live("program", Program))
def clRetainProgram(program: Program) -> None:
    """Raises CL_INVALID_PROGRAM."""
    program.retain()


@entry(live("program", Program))
def clReleaseProgram(program: Program) -> None:
    """Gives up a reference; kernels keep the program. Raises CL_INVALID_PROGRAM."""
    program.release(program.platform.site())


def _check_device(routine: str, device: object, among: Sequence[Device], owner: str) -> None:
    if not isinstance(device, Device) or device not in among:
        raise CLError(CL_INVALID_DEVICE, routine, f"{device!r} is not a device of {owner}")


def _chosen(routine: str, program: Program, devices: Sequence[Device] | None) -> Sequence[Device]:
    """The devices to build for, all idle."""
    if devices is None:
        chosen: Sequence[Device] = program.devices
    else:
        if not devices:
            raise CLError(CL_INVALID_VALUE, routine, "the list of devices is empty; NULL means all")
        for device in devices:
            _check_device(routine, device, program.devices, program.label)
        chosen = devices
    for device in chosen:
        if program.builds[device].status == CL_BUILD_IN_PROGRESS:
            raise CLError(CL_INVALID_OPERATION, routine, f"a build for {device.label} is in progress")
    if program.attached:
        raise CLError(
            CL_INVALID_OPERATION,
            routine,
            f"{program.attached} kernels of the program exist: release them first",
        )
    return chosen


def _run_builds(
    program: Program,
    devices: Sequence[Device],
    one: Callable[[Device, Build], Build],
    refused: int,
    routine: str,
) -> dict[Device, Build]:
    """Builds device by device without the lock, and puts the results in place together."""
    engine = program.platform.engine
    old = {device: program.builds[device] for device in devices}
    for device in devices:
        waiting = Build()
        waiting.status = CL_BUILD_IN_PROGRESS
        program.builds[device] = waiting
    program.hold()
    results: dict[Device, Build] = {}
    engine.lock.release()
    try:
        for device in devices:
            results[device] = one(device, old[device])
    except build.OptionsRefused as error:
        raise CLError(refused, routine, str(error)) from None
    finally:
        engine.lock.acquire()
        for device in devices:
            program.builds[device] = results.get(device) or old[device]
        engine.now_ns += engine.costs.build_ns * len(devices)
        program.drop()
    return results


def _tell(program: Program, notify: Callable[[], None] | None) -> None:
    if notify is not None:
        program.platform.engine.call_later(notify)


@entry(live("program", Program))
def clBuildProgram(
    program: Program,
    devices: Sequence[Device] | None = None,
    options: str | None = None,
    notify: Callable[[], None] | None = None,
) -> None:
    """Compiles and links for devices (None: all). `notify()` is called before the return.

    Raises CL_INVALID_PROGRAM, CL_INVALID_VALUE, CL_INVALID_DEVICE, CL_INVALID_BUILD_OPTIONS,
    CL_INVALID_BINARY where a loaded binary cannot be built, CL_INVALID_OPERATION while kernels exist or
    another build is in progress, CL_BUILD_PROGRAM_FAILURE (the log is a query).
    """
    routine = "clBuildProgram"
    chosen = _chosen(routine, program, devices)
    same: dict[Device, Build] = {}

    def one(device: Device, old: Build) -> Build:
        if program.source is None:
            return _build_binary(old, options)
        for other, result in same.items():
            # Equal devices share one compilation, not one build.
            if other.profile is device.profile and result.module is not None:
                twin = Build()
                build.succeed(twin, result.module, "executable", result.nonuniform)
                twin.options, twin.log = result.options, result.log
                return twin
        same[device] = build.compile_for(device, program.source, options or "", "executable")
        return same[device]

    if program.source is None:
        for device in chosen:
            if program.builds[device].module is None:
                raise CLError(CL_INVALID_BINARY, routine, f"no binary is loaded for {device.label}")
            if program.builds[device].kind != "executable":
                kind = program.builds[device].kind
                raise CLError(
                    CL_INVALID_OPERATION, routine, f"the binary of {device.label} is {kind}: link it"
                )
    results = _run_builds(program, chosen, one, CL_INVALID_BUILD_OPTIONS, routine)
    _tell(program, notify)
    failed = [device.label for device, result in results.items() if result.status == CL_BUILD_ERROR]
    if failed:
        raise CLError(
            CL_BUILD_PROGRAM_FAILURE, routine, f"the build failed for {', '.join(failed)}; see the log"
        )


def _build_binary(old: Build, options: str | None) -> Build:
    """ "Building" a loaded executable: its module is ready; other options are taken as the old ones."""
    result = Build()
    assert old.module is not None
    build.succeed(result, old.module, old.kind, old.nonuniform)
    result.options = old.options if options is None else options
    result.loaded = old.loaded
    return result


@entry(live("program", Program))
def clCompileProgram(
    program: Program,
    devices: Sequence[Device] | None = None,
    options: str | None = None,
    input_headers: Sequence[Program] | None = None,
    header_include_names: Sequence[str] | None = None,
    notify: Callable[[], None] | None = None,
) -> None:
    """Compiles without linking; headers are programs found by their include names.

    Raises CL_INVALID_PROGRAM, CL_INVALID_VALUE, CL_INVALID_CONTEXT, CL_INVALID_DEVICE,
    CL_INVALID_COMPILER_OPTIONS, CL_INVALID_OPERATION, CL_COMPILE_PROGRAM_FAILURE.
    """
    routine = "clCompileProgram"
    if len(input_headers or ()) != len(header_include_names or ()):
        raise CLError(CL_INVALID_VALUE, routine, "there must be one include name a header")
    headers: dict[str, str] = {}
    for index, (header, name) in enumerate(zip(input_headers or (), header_include_names or (), strict=True)):
        require_live(routine, f"input_headers[{index}]", header, Program)
        if header.context is not program.context:
            raise CLError(CL_INVALID_CONTEXT, routine, f"input_headers[{index}] is of another context")
        headers.setdefault(name, header.source or "")
    chosen = _chosen(routine, program, devices)
    source = program.source
    if source is None:
        raise CLError(CL_INVALID_OPERATION, routine, f"{program.label} has no source")

    def one(device: Device, old: Build) -> Build:
        return build.compile_for(device, source, options or "", "compiled", headers or None)

    results = _run_builds(program, chosen, one, CL_INVALID_COMPILER_OPTIONS, routine)
    _tell(program, notify)
    failed = [device.label for device, result in results.items() if result.status == CL_BUILD_ERROR]
    if failed:
        raise CLError(
            CL_COMPILE_PROGRAM_FAILURE, routine, f"compilation failed for {', '.join(failed)}; see the log"
        )


_LINK_OPTIONS = {
    "-create-library", "-enable-link-options", "-cl-denorms-are-zero", "-cl-no-signed-zeros",
    "-cl-unsafe-math-optimizations", "-cl-finite-math-only", "-cl-fast-relaxed-math", "-cl-no-subgroup-ifp",
}  # fmt: skip


@entry(live("context", Context))
def clLinkProgram(
    context: Context,
    devices: Sequence[Device] | None,
    options: str | None,
    input_programs: Sequence[Program],
    notify: Callable[[], None] | None = None,
) -> Program:
    """A new program: an executable or, with `-create-library`, a library of compiled programs.

    Raises CL_INVALID_CONTEXT, CL_INVALID_VALUE, CL_INVALID_PROGRAM, CL_INVALID_DEVICE,
    CL_INVALID_LINKER_OPTIONS, CL_INVALID_OPERATION, CL_LINK_PROGRAM_FAILURE (`LinkFailure`).
    """
    routine = "clLinkProgram"
    if not input_programs:
        raise CLError(CL_INVALID_VALUE, routine, "there is no input program")
    if devices is not None and not devices:
        raise CLError(CL_INVALID_VALUE, routine, "the list of devices is empty; NULL means all")
    for index, part in enumerate(input_programs):
        require_live(routine, f"input_programs[{index}]", part, Program)
        if part.context is not context:
            raise CLError(CL_INVALID_CONTEXT, routine, f"input_programs[{index}] is of another context")
    for device in devices or ():
        _check_device(routine, device, context.devices, context.label)
    words = (options or "").split()
    unknown = [word for word in words if word not in _LINK_OPTIONS]
    if unknown:
        raise CLError(CL_INVALID_LINKER_OPTIONS, routine, f"unknown link option {unknown[0]!r}")
    chosen = list(devices if devices is not None else context.devices)
    inputs: dict[Device, list[Build]] = {}
    for device in chosen:
        builds = [part.builds.get(device) for part in input_programs]
        ready = [
            b for b in builds if b is not None and b.module is not None and b.kind in ("compiled", "library")
        ]
        if ready and len(ready) != len(builds):
            raise CLError(
                CL_INVALID_OPERATION, routine, f"some inputs are compiled for {device.label} and some are not"
            )
        if ready:
            inputs[device] = ready
    if not inputs:
        raise CLError(CL_INVALID_OPERATION, routine, "no input is a compiled program or a library")
    program = Program(context, context.platform.site(), chosen)
    results = _run_builds(
        program,
        list(inputs),
        lambda device, old: build.link_for(inputs[device], options or "", "-create-library" in words),
        CL_INVALID_LINKER_OPTIONS,
        routine,
    )
    _tell(program, notify)
    if any(result.status == CL_BUILD_ERROR for result in results.values()):
        raise LinkFailure(routine, "the link failed; see the log of `program`", program)
    return program


def _names(program: Program) -> list[str]:
    if not program.is_built:
        raise CLError(
            CL_INVALID_PROGRAM_EXECUTABLE,
            "clGetProgramInfo",
            f"{program.label} has no executable: build it first",
        )
    return program.kernel_names


PROGRAM_INFO = {
    CL_PROGRAM_REFERENCE_COUNT: lambda p: p.references,
    CL_PROGRAM_CONTEXT: lambda p: p.context,
    CL_PROGRAM_NUM_DEVICES: lambda p: len(p.devices),
    CL_PROGRAM_DEVICES: lambda p: list(p.devices),
    CL_PROGRAM_SOURCE: lambda p: p.source or "",
    CL_PROGRAM_IL: lambda p: b"",
    CL_PROGRAM_BINARIES: lambda p: [p.builds[d].binary(p, d) for d in p.devices],
    CL_PROGRAM_BINARY_SIZES: lambda p: [len(p.builds[d].binary(p, d)) for d in p.devices],
    CL_PROGRAM_NUM_KERNELS: lambda p: len(_names(p)),
    CL_PROGRAM_KERNEL_NAMES: lambda p: ";".join(_names(p)),
    CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT: lambda p: False,
    CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT: lambda p: False,
}


@entry(live("program", Program))
def clGetProgramInfo(program: Program, param_name: int) -> Any:
    """Binaries come a device of CL_PROGRAM_DEVICES, in order, empty where there is none.

    Raises CL_INVALID_PROGRAM, CL_INVALID_VALUE, CL_INVALID_PROGRAM_EXECUTABLE.
    """
    return answer("clGetProgramInfo", PROGRAM_INFO, param_name, program)


BUILD_INFO = {
    CL_PROGRAM_BUILD_STATUS: lambda b: b.status,
    CL_PROGRAM_BUILD_OPTIONS: lambda b: b.options if b.status in (CL_BUILD_SUCCESS, CL_BUILD_ERROR) else "",
    CL_PROGRAM_BUILD_LOG: lambda b: b.log,
    CL_PROGRAM_BINARY_TYPE: lambda b: b.binary_type,
    CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE: lambda b: 0,
}


@entry(live("program", Program))
def clGetProgramBuildInfo(program: Program, device: Device, param_name: int) -> Any:
    """Raises CL_INVALID_PROGRAM, CL_INVALID_DEVICE, CL_INVALID_VALUE."""
    _check_device("clGetProgramBuildInfo", device, program.devices, program.label)
    return answer("clGetProgramBuildInfo", BUILD_INFO, param_name, program.builds[device])
