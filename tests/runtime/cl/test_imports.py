"""What importing costs: boards have no wheels of the heavy packages, and the simulator needs no binding."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
CONFORMANCE = ROOT / "tests" / "conformance"
HEAVY = ("numpy", "pydantic", "typer", "rich", "click", "hypothesis", "pyopencl", "clsim")


def loaded_after(code: str, names: tuple[str, ...]) -> set[str]:
    """Which of these packages a fresh interpreter has imported after the code."""
    question = f"import sys; print(*(n for n in {names!r} if n in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{question}"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "module",
    ["runtime.cl", "runtime.cl.codes", "runtime.cl.interface", "runtime.cl.discovery", "runtime.cl._wrapper"],
)
def test_the_interface_and_discovery_import_the_standard_library_alone(module: str) -> None:
    assert loaded_after(f"import {module}", HEAVY) == set()


def test_a_simulated_device_needs_no_binding_and_no_command_line() -> None:
    code = "from runtime.cl.discovery import open_device; open_device('sim')"
    assert loaded_after(code, ("pyopencl", "typer", "rich", "click", "hypothesis", "pytest")) == set()


def test_work_on_a_simulated_device_needs_no_binding() -> None:
    code = (
        "from runtime.cl.discovery import open_device\n"
        "device = open_device('sim')\n"
        "with device.platform.create_context([device]) as context, context.create_queue(device) as queue:\n"
        "    with context.create_buffer(16) as data: queue.enqueue_fill(data, b'x')\n"
        "    queue.finish()\n"
    )
    assert loaded_after(code, ("pyopencl",)) == set()


def imported_by(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names.add(str(node.module))
    return names


def test_the_conformance_suite_imports_the_standard_library_pytest_and_the_interface() -> None:
    files = sorted(CONFORMANCE.glob("*.py"))
    assert len(files) > 10
    own = {path.stem for path in files}
    runtime = set()
    for path in files:
        for name in imported_by(path):
            package = name.partition(".")[0]
            if package == "runtime":
                runtime.add(name)
            else:
                assert package in sys.stdlib_module_names | {"pytest"} | own, f"{path.name} imports {name}"
    assert loaded_after("\n".join(f"import {name}" for name in sorted(runtime)), HEAVY) == set()
