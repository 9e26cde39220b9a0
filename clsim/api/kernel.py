"""Kernel objects and their arguments (section 5.9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from clsim.api.entry import device, entry, live
from clsim.api.info import answer
from clsim.checks import threads
from clsim.objects import Buffer, Device, Kernel, Program
from clsim.objects.kernel import LocalSize, ParameterInfo, ParameterKind, Value
from clsim.spec import (
    CL_INVALID_ARG_INDEX,
    CL_INVALID_ARG_SIZE,
    CL_INVALID_ARG_VALUE,
    CL_INVALID_DEVICE,
    CL_INVALID_KERNEL_DEFINITION,
    CL_INVALID_KERNEL_NAME,
    CL_INVALID_MEM_OBJECT,
    CL_INVALID_PROGRAM_EXECUTABLE,
    CL_INVALID_SAMPLER,
    CL_INVALID_VALUE,
    CL_KERNEL_ARG_ACCESS_NONE,
    CL_KERNEL_ARG_ACCESS_QUALIFIER,
    CL_KERNEL_ARG_ACCESS_READ_ONLY,
    CL_KERNEL_ARG_ACCESS_READ_WRITE,
    CL_KERNEL_ARG_ACCESS_WRITE_ONLY,
    CL_KERNEL_ARG_ADDRESS_CONSTANT,
    CL_KERNEL_ARG_ADDRESS_GLOBAL,
    CL_KERNEL_ARG_ADDRESS_LOCAL,
    CL_KERNEL_ARG_ADDRESS_PRIVATE,
    CL_KERNEL_ARG_ADDRESS_QUALIFIER,
    CL_KERNEL_ARG_INFO_NOT_AVAILABLE,
    CL_KERNEL_ARG_NAME,
    CL_KERNEL_ARG_TYPE_CONST,
    CL_KERNEL_ARG_TYPE_NAME,
    CL_KERNEL_ARG_TYPE_QUALIFIER,
    CL_KERNEL_ARG_TYPE_RESTRICT,
    CL_KERNEL_ARG_TYPE_VOLATILE,
    CL_KERNEL_ATTRIBUTES,
    CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
    CL_KERNEL_CONTEXT,
    CL_KERNEL_FUNCTION_NAME,
    CL_KERNEL_LOCAL_MEM_SIZE,
    CL_KERNEL_NUM_ARGS,
    CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE,
    CL_KERNEL_PRIVATE_MEM_SIZE,
    CL_KERNEL_PROGRAM,
    CL_KERNEL_REFERENCE_COUNT,
    CL_KERNEL_WORK_GROUP_SIZE,
    CLError,
)

if TYPE_CHECKING:
    from clsim.clc.ir import Parameter

_POINTER_BYTES = 8


@entry(live("program", Program))
def clCreateKernel(program: Program, kernel_name: str) -> Kernel:
    """Raises CL_INVALID_PROGRAM, CL_INVALID_VALUE for no name, CL_INVALID_PROGRAM_EXECUTABLE before a
    successful build, CL_INVALID_KERNEL_NAME, CL_INVALID_KERNEL_DEFINITION where devices differ."""
    routine = "clCreateKernel"
    if not isinstance(kernel_name, str):
        raise CLError(CL_INVALID_VALUE, routine, "kernel_name is NULL")
    _check_built(routine, program)
    if kernel_name not in program.kernel_names:
        known = ", ".join(program.kernel_names) or "none"
        raise CLError(
            CL_INVALID_KERNEL_NAME, routine, f"no kernel '{kernel_name}' in the program; it has {known}"
        )
    return _create(routine, program, kernel_name)


@entry(live("program", Program))
def clCreateKernelsInProgram(program: Program) -> list[Kernel]:
    """All kernels, in the order of their names. Raises CL_INVALID_PROGRAM, CL_INVALID_PROGRAM_EXECUTABLE."""
    _check_built("clCreateKernelsInProgram", program)
    return [_create("clCreateKernelsInProgram", program, name) for name in program.kernel_names]


@entry(live("kernel", Kernel), name="clCreateKernel")
def another_kernel(kernel: Kernel) -> Kernel:
    """A kernel object of the same function, with no arguments set, for a launch to be bound.

    As clCreateKernel, but where the program's last reference was given up and only the kernel keeps it.
    """
    return Kernel(kernel.program, kernel.platform.site(), kernel.function)


@entry(live("source_kernel", Kernel))
def clCloneKernel(source_kernel: Kernel) -> Kernel:
    """A kernel object with the same arguments, changed apart from then on. Raises CL_INVALID_KERNEL."""
    clone = Kernel(source_kernel.program, source_kernel.platform.site(), source_kernel.function)
    clone.arguments[:] = source_kernel.arguments
    return clone


def _check_built(routine: str, program: Program) -> None:
    if not program.is_built:
        raise CLError(
            CL_INVALID_PROGRAM_EXECUTABLE, routine, f"{program.label} has no executable: build it first"
        )


def _create(routine: str, program: Program, name: str) -> Kernel:
    functions = [b.kernels[name] for b in program.builds.values() if name in b.kernels]
    kernel_signature = {tuple((p.type_name, p.space) for p in function.parameters) for function in functions}
    if len(kernel_signature) > 1:
        raise CLError(CL_INVALID_KERNEL_DEFINITION, routine, f"'{name}' differs between devices")
    return Kernel(program, program.platform.site(), functions[0])


@entry(live("kernel", Kernel))
def clRetainKernel(kernel: Kernel) -> None:
    """Raises CL_INVALID_KERNEL."""
    kernel.retain()


@entry(live("kernel", Kernel))
def clReleaseKernel(kernel: Kernel) -> None:
    """Gives up a reference; launches in flight keep the kernel. Raises CL_INVALID_KERNEL."""
    kernel.release(kernel.platform.site())


@entry(live("kernel", Kernel))
def clSetKernelArg(kernel: Kernel, arg_index: int, arg_size: int | None, arg_value: object) -> None:
    """Sets one argument: a `Buffer` or None for a pointer, bytes for a value, None with a size for local
    memory. `arg_size` None takes the size from the value. The kernel does not keep a buffer alive.

    Raises CL_INVALID_KERNEL, CL_INVALID_ARG_INDEX, CL_INVALID_MEM_OBJECT, CL_INVALID_ARG_VALUE,
    CL_INVALID_ARG_SIZE. On an error the argument keeps its value.
    """
    routine = "clSetKernelArg"
    count = len(kernel.parameters)
    if not 0 <= arg_index < count:
        raise CLError(
            CL_INVALID_ARG_INDEX, routine, f"index {arg_index}; '{kernel.name}' has {count} arguments"
        )
    parameter = kernel.parameters[arg_index]
    value = _CONVERT[parameter.kind](routine, kernel, arg_index, parameter, arg_size, arg_value)
    threads.argument_set(kernel)
    kernel.arguments[arg_index] = value
    kernel.version += 1


def _where(kernel: Kernel, index: int, parameter: ParameterInfo) -> str:
    return f"argument {index} ('{parameter.name}', {parameter.type_name}) of '{kernel.name}'"


def _check_size(where: str, size: int | None, expected: int) -> None:
    if size is not None and size != expected:
        raise CLError(CL_INVALID_ARG_SIZE, "clSetKernelArg", f"{where} has {expected} bytes, not {size}")


def _to_buffer(
    routine: str, kernel: Kernel, index: int, parameter: ParameterInfo, size: int | None, value: object
) -> Value:
    where = _where(kernel, index, parameter)
    if value is None:
        _check_size(where, size, _POINTER_BYTES)
        return None
    if not isinstance(value, Buffer):
        raise CLError(CL_INVALID_MEM_OBJECT, routine, f"{where} takes a buffer, not a {type(value).__name__}")
    if value.references <= 0:
        live("arg_value", Buffer).test(routine, value)
    _check_size(where, size, _POINTER_BYTES)
    if value.context is not kernel.context:
        raise CLError(CL_INVALID_MEM_OBJECT, routine, f"{where}: {value.label} is of {value.context.label}")
    return value


def _to_local(
    routine: str, kernel: Kernel, index: int, parameter: ParameterInfo, size: int | None, value: object
) -> Value:
    where = _where(kernel, index, parameter)
    if value is not None:
        raise CLError(CL_INVALID_ARG_VALUE, routine, f"{where} is local memory: its value must be NULL")
    if not size or size < 0:
        raise CLError(
            CL_INVALID_ARG_SIZE, routine, f"{where} is local memory: its size is {size or 0}, not over 0"
        )
    return LocalSize(size)


def _to_value(
    routine: str, kernel: Kernel, index: int, parameter: ParameterInfo, size: int | None, value: object
) -> Value:
    where = _where(kernel, index, parameter)
    if value is None:
        raise CLError(CL_INVALID_ARG_VALUE, routine, f"{where} is a value: NULL is none")
    try:
        data = bytes(memoryview(value).cast("B"))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise CLError(
            CL_INVALID_ARG_VALUE,
            routine,
            f"{where} takes {parameter.size} bytes, not a {type(value).__name__}",
        ) from None
    _check_size(where, len(data) if size is None else size, parameter.size)
    if len(data) < parameter.size:
        raise CLError(CL_INVALID_ARG_SIZE, routine, f"{where} has {parameter.size} bytes, not {len(data)}")
    return data[: parameter.size]


def _to_image(
    routine: str, kernel: Kernel, index: int, parameter: ParameterInfo, size: int | None, value: object
) -> Value:
    raise CLError(
        CL_INVALID_MEM_OBJECT, routine, f"{_where(kernel, index, parameter)}: no image is valid yet"
    )


def _to_sampler(
    routine: str, kernel: Kernel, index: int, parameter: ParameterInfo, size: int | None, value: object
) -> Value:
    raise CLError(CL_INVALID_SAMPLER, routine, f"{_where(kernel, index, parameter)}: no sampler is valid yet")


_CONVERT = {
    ParameterKind.BUFFER: _to_buffer,
    ParameterKind.LOCAL: _to_local,
    ParameterKind.VALUE: _to_value,
    ParameterKind.IMAGE: _to_image,
    ParameterKind.SAMPLER: _to_sampler,
}


def _attributes(kernel: Kernel) -> str:
    if kernel.program.source is None:
        return ""
    attributes = kernel.function.attributes
    parts = []
    if attributes.required_work_group_size:
        parts.append(f"reqd_work_group_size({','.join(map(str, attributes.required_work_group_size))})")
    if attributes.work_group_size_hint:
        parts.append(f"work_group_size_hint({','.join(map(str, attributes.work_group_size_hint))})")
    if attributes.vec_type_hint:
        parts.append(f"vec_type_hint({attributes.vec_type_hint})")
    return " ".join(parts)


KERNEL_INFO = {
    CL_KERNEL_FUNCTION_NAME: lambda k: k.name,
    CL_KERNEL_NUM_ARGS: lambda k: len(k.parameters),
    CL_KERNEL_REFERENCE_COUNT: lambda k: k.references,
    CL_KERNEL_CONTEXT: lambda k: k.context,
    CL_KERNEL_PROGRAM: lambda k: k.program,
    CL_KERNEL_ATTRIBUTES: _attributes,
}


@entry(live("kernel", Kernel))
def clGetKernelInfo(kernel: Kernel, param_name: int) -> Any:
    """Raises CL_INVALID_KERNEL, CL_INVALID_VALUE."""
    return answer("clGetKernelInfo", KERNEL_INFO, param_name, kernel)


def _local_bytes(kernel: Kernel, device: Device) -> int:
    function = kernel.program.builds[device].kernels[kernel.name]
    set_sizes = sum(value.size for value in kernel.arguments if isinstance(value, LocalSize))
    return function.local_bytes + set_sizes


def _private_bytes(kernel: Kernel, device: Device) -> int:
    from clsim.clc.types import Space

    return sum(memory.size for memory in kernel.function.memories if memory.space is Space.PRIVATE)


WORK_GROUP_INFO = {
    CL_KERNEL_WORK_GROUP_SIZE: lambda k, d: d.max_group,
    CL_KERNEL_COMPILE_WORK_GROUP_SIZE: lambda k, d: (
        k.function.attributes.required_work_group_size or (0, 0, 0)
    ),
    CL_KERNEL_LOCAL_MEM_SIZE: _local_bytes,
    CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE: lambda k, d: d.preferred_multiple,
    CL_KERNEL_PRIVATE_MEM_SIZE: _private_bytes,
}


@entry(live("kernel", Kernel), device("device", optional=True))
def clGetKernelWorkGroupInfo(kernel: Kernel, device: Device | None, param_name: int) -> Any:
    """`device` may be None where the program has one device.

    Raises CL_INVALID_KERNEL, CL_INVALID_DEVICE, CL_INVALID_VALUE.
    """
    routine = "clGetKernelWorkGroupInfo"
    built = [d for d, b in kernel.program.builds.items() if kernel.name in b.kernels]
    if device is None:
        if len(kernel.program.devices) > 1:
            raise CLError(CL_INVALID_DEVICE, routine, "device is NULL and the kernel has several devices")
        device = built[0]
    if device not in built:
        raise CLError(CL_INVALID_DEVICE, routine, f"{kernel.label} is not built for {device.label}")
    get = WORK_GROUP_INFO.get(param_name)
    if get is None:
        # CL_KERNEL_GLOBAL_WORK_SIZE is for built-in kernels, of which there are none.
        raise CLError(CL_INVALID_VALUE, routine, f"no query of this number: {param_name!r:.40}")
    return get(kernel, device)


_ADDRESSES = {
    "global": CL_KERNEL_ARG_ADDRESS_GLOBAL,
    "local": CL_KERNEL_ARG_ADDRESS_LOCAL,
    "constant": CL_KERNEL_ARG_ADDRESS_CONSTANT,
}
_ACCESSES = {
    "read_only": CL_KERNEL_ARG_ACCESS_READ_ONLY,
    "write_only": CL_KERNEL_ARG_ACCESS_WRITE_ONLY,
    "read_write": CL_KERNEL_ARG_ACCESS_READ_WRITE,
}
_QUALIFIERS = {
    "const": CL_KERNEL_ARG_TYPE_CONST,
    "restrict": CL_KERNEL_ARG_TYPE_RESTRICT,
    "volatile": CL_KERNEL_ARG_TYPE_VOLATILE,
}

ARG_INFO: dict[int, Callable[[Parameter], Any]] = {
    CL_KERNEL_ARG_NAME: lambda p: p.var.name,
    CL_KERNEL_ARG_TYPE_NAME: lambda p: p.type_name,
    CL_KERNEL_ARG_ADDRESS_QUALIFIER: lambda p: _ADDRESSES.get(p.space.value, CL_KERNEL_ARG_ADDRESS_PRIVATE),
    CL_KERNEL_ARG_ACCESS_QUALIFIER: lambda p: _ACCESSES.get(p.access, CL_KERNEL_ARG_ACCESS_NONE),
    CL_KERNEL_ARG_TYPE_QUALIFIER: lambda p: sum(_QUALIFIERS.get(q, 0) for q in p.qualifiers),
}


@entry(live("kernel", Kernel))
def clGetKernelArgInfo(kernel: Kernel, arg_index: int, param_name: int) -> Any:
    """Raises CL_INVALID_KERNEL, CL_INVALID_ARG_INDEX, CL_INVALID_VALUE; CL_KERNEL_ARG_INFO_NOT_AVAILABLE
    for a program from a binary, or built without `-cl-kernel-arg-info`."""
    routine = "clGetKernelArgInfo"
    count = len(kernel.parameters)
    if not 0 <= arg_index < count:
        raise CLError(
            CL_INVALID_ARG_INDEX, routine, f"index {arg_index}; '{kernel.name}' has {count} arguments"
        )
    if param_name not in ARG_INFO:
        raise CLError(CL_INVALID_VALUE, routine, f"no query of this number: {param_name!r:.40}")
    options = [b.options for b in kernel.program.builds.values() if kernel.name in b.kernels]
    if kernel.program.source is None or not any("-cl-kernel-arg-info" in o.split() for o in options):
        raise CLError(
            CL_KERNEL_ARG_INFO_NOT_AVAILABLE, routine, "the program was not built with -cl-kernel-arg-info"
        )
    return ARG_INFO[param_name](kernel.function.parameters[arg_index])
