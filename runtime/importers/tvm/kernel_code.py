"""Kernels as TVM leaves them: OpenCL C to cut apart, and intermediate code that tells what each does."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from runtime.artifact import Access, BufferArgument, CompiledKernel, ScalarArgument
from runtime.artifact.manifest import ITEM_SIZES, KernelArgument
from runtime.importers.errors import NetworkImportError
from runtime.importers.tvm.constants import fold_integer

_C_TYPES: Mapping[str, str] = {
    "bool": "bool",
    "int8": "char",
    "uint8": "uchar",
    "int16": "short",
    "uint16": "ushort",
    "int32": "int",
    "uint32": "uint",
    "int64": "long",
    "uint64": "ulong",
    "float16": "half",
    "float32": "float",
    "float64": "double",
}


def read_kernels(functions: Mapping[str, Any], source: str) -> dict[str, CompiledKernel]:
    """Every kernel with its own source. Raises `NetworkImportError` where code and source disagree."""
    sources = split_source(source)
    if sources.keys() != functions.keys():
        differing = sorted(sources.keys() ^ functions.keys())
        raise NetworkImportError(
            f"TVM's OpenCL C and its intermediate code differ in the kernels {differing}"
        )
    return {name: _read_kernel(name, function, sources[name]) for name, function in functions.items()}


def split_source(source: str) -> dict[str, str]:
    """The text of each kernel, without the declarations of all others that TVM repeats in every one."""
    head, *parts = re.split(r"^// Function: (\w+)[ \t]*\n", source, flags=re.MULTILINE)
    texts: dict[str, str] = {}
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        lines = (head + body).splitlines()
        kept = [line for line in lines if not re.fullmatch(r"__kernel void \w+\(.*\);\s*", line)]
        texts[name] = "\n".join(kept).strip() + "\n"
    return texts


def _read_kernel(name: str, function: Any, source: str) -> CompiledKernel:
    uses = _Uses(function.params)
    uses.visit(function.body)
    arguments = tuple(_argument(name, parameter, uses) for parameter in function.params)
    declared = _declared_types(name, source)
    expected = tuple(_declaration(argument) for argument in arguments)
    if declared != expected:
        raise NetworkImportError(f"kernel {name} takes {declared} in OpenCL C, but {expected} elsewhere")
    return CompiledKernel(source, arguments, uses.local_bytes)


def _argument(kernel: str, parameter: Any, uses: _Uses) -> KernelArgument:
    kind = parameter.ty
    if type(kind).__name__ != "PointerType":
        return ScalarArgument.model_validate({"dtype": plain_dtype(kind.dtype)})
    scope = kind.storage_scope or "global"
    if scope != "global":
        raise NetworkImportError(
            f"kernel {kernel}: argument {parameter.name} is in {scope} memory; a model file has only global"
        )
    dtype = plain_dtype(kind.element_type.dtype)
    return BufferArgument.model_validate({"dtype": dtype, "access": uses.access(parameter)})


def plain_dtype(dtype: Any) -> str:
    """The name of an element type. Raises `NetworkImportError` for one that a model file cannot hold."""
    name = str(dtype)
    if name not in ITEM_SIZES:
        raise NetworkImportError(f"elements of type {name}; a model file holds only {', '.join(ITEM_SIZES)}")
    return name


def _declaration(argument: KernelArgument) -> str:
    spelled = _C_TYPES[argument.dtype]
    return f"__global {spelled}*" if isinstance(argument, BufferArgument) else spelled


def _declared_types(name: str, source: str) -> tuple[str, ...]:
    match = re.search(rf"^__kernel void {name}\(([^)]*)\) *\{{", source, flags=re.MULTILINE)
    if match is None:
        raise NetworkImportError(f"TVM's OpenCL C has no definition of kernel {name}")
    parameters = [text for text in match[1].split(",") if text.strip()]
    return tuple(" ".join(re.sub(r"\b(restrict|const)\b|\w+\s*$", "", text).split()) for text in parameters)


class _Uses:
    """What a kernel's body does with the memory behind its pointers, and the local memory it declares."""

    def __init__(self, parameters: Any) -> None:
        self.local_bytes = 0
        self._owner: dict[Any, Any] = {parameter: parameter for parameter in parameters}
        self._read: set[Any] = set()
        self._written: set[Any] = set()

    def access(self, parameter: Any) -> Access:
        if parameter in self._written:
            return "read_write" if parameter in self._read else "write"
        return "read" if parameter in self._read else "none"

    def visit(self, body: Any) -> None:
        pending = [body]
        while pending:
            pending.extend(reversed(list(self._enter(pending.pop()))))

    def _enter(self, node: Any) -> Iterator[Any]:
        """Notes what the node itself does, and gives the nodes below it that are still to be seen."""
        kind = type(node).__name__
        if kind == "DeclBuffer":
            self._name(node.buffer, node.data)
        elif kind == "BufferStore":
            self._mark(self._written, node.buffer)
            yield node.value
            yield from node.indices
        elif kind == "TensorLoad":
            self._mark(self._read, node.source)
            yield from node.indices
        elif kind == "AllocBuffer":
            self._allocate(node.buffer)
        elif kind == "Var":
            # A pointer handed on, to a call or an address computation: anything may be done with it.
            if type(node.ty).__name__ in ("PointerType", "BufferType"):
                self._mark(self._read, node)
                self._mark(self._written, node)
        elif kind == "Array":
            yield from node
        elif kind in ("Map", "Dict"):
            yield from node.values()
        else:
            yield from _fields(node)

    def _name(self, buffer: Any, data: Any) -> None:
        while type(data).__name__ == "Call":
            data = data.args[0]
        if data in self._owner:
            self._owner[buffer] = self._owner[data]

    def _mark(self, marked: set[Any], pointer: Any) -> None:
        if pointer in self._owner:
            marked.add(self._owner[pointer])

    def _allocate(self, buffer: Any) -> None:
        scope = buffer.ty.storage_scope
        if scope.startswith("shared"):
            size = ITEM_SIZES[plain_dtype(buffer.ty.dtype)]
            for extent in buffer.ty.shape:
                size *= fold_integer(extent, {})
            self.local_bytes += size


def _fields(node: Any) -> Iterator[Any]:
    """The parts of any other node, as TVM's own reflection lists them."""
    described = getattr(type(node), "__tvm_ffi_type_info__", None)
    for field in described.fields if described is not None else ():
        if field.name not in ("span", "ty"):
            yield getattr(node, field.name)
