"""`clrt import`: a network from another compiler to a model file."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text

from runtime.figures import Figure
from runtime.importers.errors import NetworkImportError
from runtime.shell import Problem, progress


def import_network(screen: Console, network: Path, output: Path, *, random_seed: int | None) -> list[Figure]:
    """Compiles an ONNX network with Apache TVM and saves it as a model file."""
    if not network.is_file():
        raise Problem(f"{network}: no such file")
    try:
        from runtime.importers.tvm import import_onnx

        with progress() as bar:
            task = bar.add_task("importing", total=None)
            artifact = import_onnx(
                network,
                random_seed=random_seed,
                progress=lambda done, total, what: bar.update(
                    task, completed=done, total=total, description=what
                ),
            )
    except NetworkImportError as error:
        raise Problem(str(error)) from None
    artifact.save(output)
    size = output.stat().st_size
    made = f"{len(artifact.kernel_names)} kernels, {artifact.launch_count} launches a run, {size:,} bytes"
    screen.print(Text.assemble((artifact.name, "bold"), f": {made} in {output}"), soft_wrap=True)
    return [
        Figure("kernels", len(artifact.kernel_names), ""),
        Figure("launches_a_run", artifact.launch_count, ""),
        Figure("model_bytes", size, "bytes"),
    ]
