"""TVM itself: the release that this importer knows, and what a compilation leaves behind."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from runtime.importers.errors import CompilerUnavailableError, NetworkImportError

TVM_VERSION = "0.27.0.post1"

# The pass after which the module is the network's graph with its memory planned, and the one after which
# kernels stand apart from the host code that launches them.
_GRAPH_PASS = "AttachGlobalSymbol"
_SPLIT_PASS = "tirx.SplitHostDevice"

_DEVICE_CALLING_CONVENTION = 2


@dataclass(frozen=True)
class Compilation:
    """One network, compiled: TVM's own objects, by name."""

    graph: Any
    kernels: dict[str, Any]
    host_functions: dict[str, Any]
    source: str


def require_tvm() -> Any:
    """The module `tvm`. Raises `CompilerUnavailableError` unless it is the release that is known here."""
    try:
        tvm = importlib.import_module("tvm")
    except ImportError as error:
        raise CompilerUnavailableError(
            f"importing a network needs apache-tvm {TVM_VERSION}, which is not installed; "
            "install the extra tvm"
        ) from error
    found = str(getattr(tvm, "__version__", "unknown"))
    if found != TVM_VERSION:
        raise CompilerUnavailableError(
            f"importing a network needs apache-tvm {TVM_VERSION}, but {found} is installed; "
            "its internal form changes with every release, so no other is taken; install the extra tvm"
        )
    return tvm


def compile_network(module: Any, target: str) -> Compilation:
    """Builds a Relax module for an OpenCL target. Raises `NetworkImportError`."""
    tvm = require_tvm()
    from tvm.ir.instrument import pass_instrument

    seen: dict[str, Any] = {}

    @pass_instrument
    class KeepLast:
        """Constant folding compiles small modules of its own first; the network's is the last."""

        def run_after_pass(self, module: Any, info: Any) -> None:
            if info.name in (_GRAPH_PASS, _SPLIT_PASS):
                seen[info.name] = module

    chosen = tvm.target.Target(target)
    if chosen.kind.name != "opencl":
        raise NetworkImportError(f"target {target!r} is of kind {chosen.kind.name}, not opencl")
    with tvm.transform.PassContext(opt_level=3, instruments=[KeepLast()]):
        executable = tvm.relax.build(module, target=chosen)
    missing = {_GRAPH_PASS, _SPLIT_PASS} - seen.keys()
    if missing:
        raise NetworkImportError(f"TVM ran no pass {', '.join(sorted(missing))}: the network has no kernels")

    kernels: dict[str, Any] = {}
    host_functions: dict[str, Any] = {}
    for variable, function in seen[_SPLIT_PASS].functions.items():
        convention = int(function.attrs["calling_conv"]) if _has(function, "calling_conv") else 0
        group = kernels if convention == _DEVICE_CALLING_CONVENTION else host_functions
        group[variable.name_hint] = function
    modules = [found for found in _imports(executable.mod) if found.kind == "opencl"]
    if len(modules) != 1:
        raise NetworkImportError(f"TVM made {len(modules)} OpenCL modules instead of one")
    return Compilation(seen[_GRAPH_PASS], kernels, host_functions, modules[0].inspect_source())


def _has(function: Any, attribute: str) -> bool:
    return bool(function.attrs) and attribute in function.attrs


def _imports(module: Any) -> Iterator[Any]:
    for imported in module.imports:
        yield imported
        yield from _imports(imported)
