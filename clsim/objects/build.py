"""Building: source or binaries to what a program is for one device. Runs without the engine's lock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from clsim.objects.program import Build
from clsim.spec import CL_BUILD_ERROR, CL_BUILD_SUCCESS

if TYPE_CHECKING:
    from clsim.clc.ir import Module
    from clsim.clc.target import Target
    from clsim.objects.device import Device


class OptionsRefused(Exception):
    """The build options are not valid; the text says which."""


def target_of(device: Device) -> Target:
    """The device as its compiler sees it."""
    from clsim.clc.target import Target

    profile = device.profile
    return Target(
        name=profile.device_name,
        opencl_version=device.version,
        c_version=device.c_version,
        extensions=frozenset(profile.extensions),
        features=frozenset(profile.c_features),
        image_support=bool(profile.info.get("CL_DEVICE_IMAGE_SUPPORT", False)),
        embedded_profile=profile.info.get("CL_DEVICE_PROFILE") == "EMBEDDED_PROFILE",
    )


def compile_for(
    device: Device, source: str, options: str, kind: str, headers: Mapping[str, str] | None = None
) -> Build:
    """Compiles source. The build's status says whether it went well; `OptionsRefused` for bad options."""
    from clsim import clc

    compilation = clc.compile_source(source, options, target=target_of(device), headers=headers)
    if compilation.option_error:
        raise OptionsRefused(compilation.option_error)
    build = Build()
    build.options = options
    build.log = compilation.log
    if compilation.module is None:
        build.status = CL_BUILD_ERROR
    else:
        succeed(build, compilation.module, kind, allows_nonuniform(device, options))
    return build


def succeed(build: Build, module: Module, kind: str, nonuniform: bool) -> None:
    build.status = CL_BUILD_SUCCESS
    build.module = module
    build.kind = kind
    build.nonuniform = nonuniform


def allows_nonuniform(device: Device, options: str) -> bool:
    """Whether work-groups may differ in size: OpenCL C 2.0 or later, a device that can, and not opted out."""
    from clsim.clc.options import parse_options

    parsed = parse_options(options)
    return (
        parsed.standard is not None
        and parsed.standard >= (2, 0)
        and "-cl-uniform-work-group-size" not in parsed.flags
        and device.nonuniform_work_groups
    )


def link_for(inputs: Sequence[Build], options: str, library: bool) -> Build:
    """Links compiled programs and libraries of one device."""
    build = Build()
    build.options = options
    modules = [part.module for part in inputs if part.module is not None]
    module, faults = merge(modules)
    if not library and not faults:
        faults = unresolved(module)
    if faults:
        build.status = CL_BUILD_ERROR
        build.log = "".join(f"error: {fault}\n" for fault in faults)
    else:
        kind = "library" if library else "executable"
        succeed(build, module, kind, all(part.nonuniform for part in inputs))
    return build


def merge(modules: Sequence[Module]) -> tuple[Module, list[str]]:
    """One module of several, and why it cannot be."""
    from clsim.clc.ir import Module

    functions = dict(modules[0].functions)
    faults = []
    for module in modules[1:]:
        for name, function in module.functions.items():
            if name in functions:
                faults.append(f"function '{name}' is defined in more than one program")
            functions[name] = function
    first = modules[0]
    if len(modules) == 1:
        return first, []
    files: list[str] = []
    sources: list[str] = []
    for module in modules:
        files += module.files
        sources += module.sources
    constants = tuple(constant for module in modules for constant in module.constants)
    merged = Module(
        functions,
        constants,
        tuple(files),
        tuple(sources),
        first.options,
        any(module.denormals_are_zero for module in modules),
    )
    return merged, faults


def unresolved(module: Module) -> list[str]:
    """Functions that are called and defined nowhere."""
    from clsim.clc.ir import Call

    missing: dict[str, None] = {}

    def walk(block: Sequence[object]) -> None:
        for statement in block:
            if isinstance(statement, Call) and statement.function not in module.functions:
                missing.setdefault(statement.function)
            for part in ("then", "otherwise", "before", "body", "after"):
                inner = getattr(statement, part, None)
                if inner:
                    walk(inner)
            for _, case in getattr(statement, "cases", ()):
                walk(case)

    for function in module.functions.values():
        walk(function.body)
    return [f"undefined reference to '{name}'" for name in missing]
