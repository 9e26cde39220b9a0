"""Host functions as TVM leaves them, read as what they do: kernel launches and scratch memory."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from runtime.artifact import (
    Block,
    BufferArgument,
    CompiledKernel,
    Function,
    Launch,
    ParameterValue,
    ScalarValue,
    WorkspaceValue,
)
from runtime.artifact.manifest import KernelArgument, LaunchArgument
from runtime.importers.errors import NetworkImportError
from runtime.importers.tvm.constants import Number, fold, fold_integer, operator_name
from runtime.importers.tvm.kernel_code import plain_dtype

_LONGEST_LOOP = 4096  # rounds of a host loop that are written out as launches
_AXES = "xyz"


def read_function(name: str, function: Any, kernels: Mapping[str, CompiledKernel]) -> Function:
    """The launches of one host function. Raises `NetworkImportError` for one that computes by itself."""
    reader = _HostReader(name, function, kernels)
    reader.read(function.body)
    return Function(
        parameters=tuple(reader.parameters),
        workspaces=tuple(reader.workspaces),
        launches=tuple(reader.launches),
    )


class _HostReader:
    """Walks a host function once, statement by statement, with all its numbers known."""

    def __init__(self, name: str, function: Any, kernels: Mapping[str, CompiledKernel]) -> None:
        self.parameters: list[Block] = []
        self.workspaces: list[Block] = []
        self.launches: list[Launch] = []
        self._name = name
        self._kernels = kernels
        self._numbers: dict[Any, Number] = {}
        self._memory: dict[Any, ParameterValue | WorkspaceValue] = {}
        self._scopes: list[str] = []  # of each workspace
        for index, parameter in enumerate(function.params):
            self._memory[parameter] = ParameterValue(index=index)
            self.parameters.append(self._parameter(parameter))

    def read(self, statement: Any) -> None:
        kind = type(statement).__name__
        if kind == "SeqStmt":
            for part in statement.seq:
                self.read(part)
        elif kind == "AttrStmt":
            self.read(statement.body)
        elif kind == "DeclBuffer":
            self._memory[statement.buffer] = self._place(statement.data)
        elif kind == "AllocBuffer":
            self._allocate(statement.buffer)
        elif kind == "Bind":
            self._numbers[statement.var] = self._fold(statement.value)
        elif kind == "For":
            self._repeat(statement)
        elif kind == "IfThenElse":
            chosen = statement.then_case if self._fold(statement.condition) else statement.else_case
            if chosen is not None:
                self.read(chosen)
        elif kind == "Evaluate":
            self._evaluate(statement.value)
        else:
            raise self._refusal(f"{kind} on the host: only launches have a place in a model file")

    def _parameter(self, parameter: Any) -> Block:
        kind = parameter.ty
        if type(kind).__name__ != "BufferType":
            raise self._refusal(f"parameter {parameter.name} is no tensor")
        block = self._block(kind)
        # The runtime gives whole, dense tensors: where TVM left room for others, this is what they are.
        if type(kind.elem_offset).__name__ == "Var":
            self._numbers[kind.elem_offset] = 0
        stride = 1
        for extent, found in zip(reversed(block.shape), reversed(list(kind.strides or ())), strict=False):
            if type(found).__name__ == "Var":
                self._numbers[found] = stride
            stride *= extent
        return block

    def _block(self, kind: Any) -> Block:
        shape = tuple(self._fold_integer(extent) for extent in kind.shape)
        return Block.model_validate({"dtype": plain_dtype(kind.dtype), "shape": shape})

    def _allocate(self, buffer: Any) -> None:
        self._memory[buffer] = WorkspaceValue(index=len(self.workspaces))
        self.workspaces.append(self._block(buffer.ty))
        self._scopes.append(buffer.ty.storage_scope or "global")

    def _repeat(self, loop: Any) -> None:
        first, rounds = self._fold_integer(loop.min), self._fold_integer(loop.extent)
        if rounds > _LONGEST_LOOP:
            raise self._refusal(f"a host loop of {rounds} rounds, over {_LONGEST_LOOP}")
        for number in range(first, first + rounds):
            self._numbers[loop.loop_var] = number
            self.read(loop.body)

    def _evaluate(self, value: Any) -> None:
        if type(value).__name__ == "IntImm":
            return
        if type(value).__name__ != "Call" or operator_name(value) != "tirx.call_ffi_kernel":
            raise self._refusal(f"on the host: {value!s:.120}")
        self._launch(value)

    def _launch(self, call: Any) -> None:
        kernel = call.args[0].value
        tags = [str(tag) for tag in call.attrs.launch_params]
        given = list(call.args[1:])
        values, sizes = given[: len(given) - len(tags)], given[len(given) - len(tags) :]
        declared = self._kernels[kernel].arguments
        if len(values) != len(declared):
            raise self._refusal(f"{len(values)} arguments for {kernel}, which takes {len(declared)}")
        arguments = tuple(
            self._argument(kernel, value, argument) for value, argument in zip(values, declared, strict=True)
        )
        global_size, local_size = self._sizes(kernel, tags, sizes)
        self.launches.append(
            Launch(kernel=kernel, arguments=arguments, global_size=global_size, local_size=local_size)
        )

    def _argument(self, kernel: str, value: Any, declared: KernelArgument) -> LaunchArgument:
        if not isinstance(declared, BufferArgument):
            number = self._fold(value)
            whole = number if declared.dtype.startswith("float") else int(number)
            return ScalarValue(dtype=declared.dtype, value=whole)
        place = self._place(value)
        if isinstance(place, WorkspaceValue) and self._scopes[place.index] != "global":
            # TVM's scan leaves scratch memory in a scope that ends with one work-item, and launches two
            # kernels that must share it.
            raise self._refusal(
                f"workspace {place.index} is {self._scopes[place.index]} memory, yet {kernel} "
                "is launched with it: no memory that kernels can share, so TVM's code is wrong"
            )
        return place

    def _sizes(
        self, kernel: str, tags: list[str], sizes: list[Any]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Global and local size; there are as many axes as the last one that TVM names."""
        groups, items = [1, 1, 1], [1, 1, 1]
        axes = 1
        for tag, size in zip(tags, sizes, strict=True):
            match = re.fullmatch(r"(blockIdx|threadIdx)\.([xyz])", tag)
            if match is None:
                raise self._refusal(f"{kernel} is launched with {tag}, which has no place in a model file")
            axis = _AXES.index(match[2])
            counts = groups if match[1] == "blockIdx" else items
            counts[axis] = self._fold_integer(size)
            axes = max(axes, axis + 1)
        total = tuple(group * item for group, item in zip(groups, items, strict=True))
        return total[:axes], tuple(items[:axes])

    def _place(self, pointer: Any) -> ParameterValue | WorkspaceValue:
        while type(pointer).__name__ == "Call" and operator_name(pointer) == "tirx.buffer_data":
            pointer = pointer.args[0]
        if pointer not in self._memory:
            raise self._refusal(f"a pointer that is neither parameter nor workspace: {pointer!s:.120}")
        return self._memory[pointer]

    def _fold(self, expression: Any) -> Number:
        try:
            return fold(expression, self._numbers)
        except NetworkImportError as error:
            raise self._refusal(str(error)) from None

    def _fold_integer(self, expression: Any) -> int:
        try:
            return fold_integer(expression, self._numbers)
        except NetworkImportError as error:
            raise self._refusal(str(error)) from None

    def _refusal(self, reason: str) -> NetworkImportError:
        return NetworkImportError(f"function {self._name}: {reason}")
