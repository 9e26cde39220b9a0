"""The network's graph as TVM leaves it: memory planned, every call a host function's."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from runtime.artifact import (
    AllocatedTensor,
    ConstantTensor,
    Filled,
    InputTensor,
    Random,
    Step,
    Storage,
    Stored,
    Tensor,
    ViewTensor,
)
from runtime.artifact.manifest import ITEM_SIZES, ConstantSource
from runtime.importers.errors import NetworkImportError
from runtime.importers.tvm.constants import fold_integer, operator_name
from runtime.importers.tvm.kernel_code import plain_dtype

Array: TypeAlias = npt.NDArray[Any]
_Value: TypeAlias = int | tuple["_Value", ...]

# What TVM checks or releases by itself; a model file's sizes and lifetimes are fixed.
_IGNORED = (
    "vm.builtin.check_tensor_info",
    "vm.builtin.match_shape",
    "relax.vm.kill_object",
    "relax.null_value",
)


@dataclass
class Graph:
    """The network in the model file's terms."""

    storages: list[Storage] = field(default_factory=list)
    tensors: list[Tensor] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    inputs: list[tuple[str, int]] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    arrays: dict[str, Array] = field(default_factory=dict)


def read_graph(module: Any, random: Mapping[bytes, Random]) -> Graph:
    """The graph of the module's `main`.

    `random` says of a constant's content (see `content_digest`) how it can be made at load.
    Raises `NetworkImportError`.
    """
    reader = _GraphReader(random)
    reader.read(module["main"])
    return reader.graph


def content_digest(array: Array) -> bytes:
    """What constants have in common if their bytes are equal."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).digest()


class _GraphReader:
    """Walks the bindings of `main` in order; a value is a tensor's index or a tuple of values."""

    def __init__(self, random: Mapping[bytes, Random]) -> None:
        self.graph = Graph()
        self._random = random
        self._values: dict[Any, _Value] = {}
        self._storages: dict[Any, int] = {}
        self._constants: dict[Any, int] = {}

    def read(self, main: Any) -> None:
        for parameter in main.params:
            kind = parameter.ty
            if kind.shape is None:
                raise NetworkImportError(f"input {parameter.name} has no fixed shape")
            tensor = InputTensor.model_validate(
                {"shape": _shape(kind.shape), "dtype": plain_dtype(kind.dtype)}
            )
            self._values[parameter] = self._add(tensor)
            self.graph.inputs.append((str(parameter.name), len(self.graph.tensors) - 1))
        for block in main.body.blocks:
            for binding in block.bindings:
                self._bind(binding)
        result = self._value(main.body.body)
        self.graph.outputs = [
            self._index(value) for value in (result if isinstance(result, tuple) else (result,))
        ]

    def _bind(self, binding: Any) -> None:
        value = binding.value
        kind = type(value).__name__
        if kind != "Call":
            self._values[binding.var] = self._value(value)
        elif type(value.op).__name__ == "GlobalVar":
            arguments = tuple(self._index(self._value(argument)) for argument in value.args)
            self.graph.steps.append(Step(function=value.op.name_hint, arguments=arguments))
        else:
            self._operator(binding.var, operator_name(value), value.args)

    def _operator(self, variable: Any, name: str, arguments: Any) -> None:
        if name == "relax.vm.alloc_storage":
            self._storages[variable] = len(self.graph.storages)
            self.graph.storages.append(_storage(arguments))
        elif name == "relax.vm.alloc_tensor":
            storage, offset, shape, dtype = arguments[:4]
            tensor: Tensor = AllocatedTensor.model_validate(
                {
                    "shape": _shape(shape),
                    "dtype": plain_dtype(dtype.value),
                    "storage": self._storages[storage],
                    "offset_bytes": fold_integer(getattr(offset, "value", offset), {}),
                }
            )
            self._values[variable] = self._add(tensor)
        elif name == "vm.builtin.reshape":
            whole = self._index(self._value(arguments[0]))
            seen = self.graph.tensors[whole]
            root = seen.of if isinstance(seen, ViewTensor) else whole
            self._values[variable] = self._add(
                ViewTensor(shape=_shape(arguments[1]), dtype=seen.dtype, of=root)
            )
        elif name not in _IGNORED:
            raise NetworkImportError(f"the graph calls {name}, which has no place in a model file")

    def _value(self, expression: Any) -> _Value:
        kind = type(expression).__name__
        if kind == "Tuple":
            return tuple(self._value(field) for field in expression.fields)
        if kind == "TupleGetItem":
            whole = self._value(expression.tuple_value)
            if isinstance(whole, tuple):
                return whole[int(expression.index)]
        elif kind in ("Constant", "GenericConst"):
            return self._constant(expression)
        elif expression in self._values:
            return self._values[expression]
        raise NetworkImportError(f"the graph uses {expression!s:.120}, which is no tensor")

    def _index(self, value: _Value) -> int:
        if isinstance(value, tuple):
            raise NetworkImportError("the graph passes a tuple where a model file has one tensor")
        return value

    def _constant(self, expression: Any) -> int:
        if expression not in self._constants:
            content = (expression.value if hasattr(expression, "value") else expression.data).numpy()
            plain_dtype(content.dtype)
            self._constants[expression] = self._add(
                ConstantTensor.model_validate(
                    {"shape": content.shape, "dtype": content.dtype.name, "source": self._source(content)}
                )
            )
        return self._constants[expression]

    def _source(self, content: Array) -> ConstantSource:
        elements = content.reshape(-1).view(np.uint8).reshape(-1, content.itemsize)
        if (elements == elements[0]).all():  # by bytes: NaN and -0.0 keep theirs
            return Filled(element=elements[0].tobytes().hex())
        found = self._random.get(content_digest(content))
        if found is not None:
            return found
        key = f"c{len(self.graph.arrays)}"
        self.graph.arrays[key] = content
        return Stored(key=key)

    def _add(self, tensor: Tensor) -> int:
        self.graph.tensors.append(tensor)
        return len(self.graph.tensors) - 1


def _shape(expression: Any) -> tuple[int, ...]:
    return tuple(fold_integer(extent, {}) for extent in expression.values)


def _storage(arguments: Any) -> Storage:
    shape, _, dtype, scope = arguments[:4]
    if scope.value != "global":
        raise NetworkImportError(
            f"the graph keeps tensors in {scope.value} memory; a model file has only global"
        )
    return Storage(size_bytes=math.prod(_shape(shape)) * ITEM_SIZES[plain_dtype(dtype.value)])
