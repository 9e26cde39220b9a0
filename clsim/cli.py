"""`clsim`: devices, the compiler, and what other packages add (the entry point group `clsim.commands`)."""

from __future__ import annotations

import json as json_format
import os
import sys
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from clsim import profiles
from clsim.report import make_tolerant

if TYPE_CHECKING:
    from clsim.clc.ir import Function

_EXIT_CODES = (
    "Exit codes: 0 all is well; 1 a check failed, or the source does not compile; 2 the command line, a file "
    "or a name was not right."
)

app = typer.Typer(
    help="A simulated OpenCL platform: its devices and its compiler.",
    epilog=_EXIT_CODES,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Problem(Exception):
    """Something that the user can put right, in one line."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    make_tolerant(sys.stdout)
    make_tolerant(sys.stderr)
    for added in entry_points(group="clsim.commands"):
        app.command(added.name, epilog=_EXIT_CODES)(added.load())
    try:
        app(args=arguments, standalone_mode=True, prog_name="clsim")
    except (Problem, profiles.ProfileError) as problem:
        print(f"clsim: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0


@app.command(epilog=_EXIT_CODES)
def devices(
    json: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="Write them as JSON; - is standard output.")
    ] = None,
) -> None:
    """Lists the devices that clsim can be, and the real ones here."""
    simulated = [_sheet(name) for name in profiles.names()]
    real, remark = _real_devices()
    if json is not None:
        _write(json_format.dumps(simulated + real, indent=2) + "\n", json)
    if json == "-":
        return
    console = _console()
    console.print(_table("Simulated devices", simulated))
    if real:
        console.print(_table("Real devices", real))
        for row in real:
            if row.get("fault"):
                console.print(f"{row['name']} does not work: {row['fault']}", soft_wrap=True, markup=False)
    if remark:
        console.print(remark, soft_wrap=True, markup=False)


@app.command(
    "compile",
    epilog=_EXIT_CODES + " Build options of OpenCL (-D, -I, -cl-std=..., -Werror) are taken as they are.",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def compile_file(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE.cl", help="OpenCL C source.")],
    device: Annotated[str, typer.Option(help="The profile to compile for.")] = "generic",
) -> None:
    """Compiles a file as a device would: diagnostics, then the signatures of its kernels."""
    from clsim.clc import compile_source
    from clsim.objects import Platform
    from clsim.objects.build import target_of

    target = target_of(Platform(profiles.load(device)).devices[0])
    try:
        source = file.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise Problem(f"cannot read {file}: {error.strerror}") from None
    options = " ".join(_quoted(word) for word in context.args)
    result = compile_source(source, options, target=target, name=file.as_posix())
    if result.option_error is not None:
        raise Problem(result.option_error)
    if result.log:
        print(result.log.rstrip(), file=sys.stderr)
    if result.module is None:
        raise typer.Exit(1)
    for kernel in result.module.kernels.values():
        print(_signature(kernel))


def _signature(kernel: Function) -> str:
    from clsim.clc.types import Space

    words = []
    for parameter in kernel.parameters:
        effect = {(True, True): "reads, writes", (True, False): "reads", (False, True): "writes"}.get(
            (parameter.may_read, parameter.may_write), ""
        )
        space = "" if parameter.space is Space.PRIVATE else f"__{parameter.space.value} "
        words.append(
            f"    {space}{parameter.type_name} {parameter.var.name}" + (f"  // {effect}" if effect else "")
        )
    facts = [f"{kernel.local_bytes} bytes of local memory"] * (kernel.local_bytes > 0)
    facts += ["barriers"] * kernel.uses_barrier
    if size := kernel.attributes.required_work_group_size:
        facts.append(f"work-group size {'x'.join(map(str, size))}")
    tail = f"  // {', '.join(facts)}" if facts else ""
    return f"kernel {kernel.name}({tail}\n" + "\n".join(words) + "\n)"


def _quoted(word: str) -> str:
    return f'"{word}"' if " " in word else word


def _sheet(name: str) -> dict[str, Any]:
    """A profile in the form in which the runtime describes real devices."""
    profile = profiles.load(name)
    return {
        "name": f"sim:{name}",
        "simulated": True,
        "device": profile.device_name,
        "vendor": profile.vendor,
        "kind": profile.device_type.lower(),
        "platform": profile.platform_name,
        "platform_version": profile.platform_version,
        "device_version": profile.device_version,
        "driver_version": profile.driver_version,
        "compute_units": profile.number("CL_DEVICE_MAX_COMPUTE_UNITS"),
        "global_mem_bytes": profile.number("CL_DEVICE_GLOBAL_MEM_SIZE"),
        "local_mem_bytes": profile.number("CL_DEVICE_LOCAL_MEM_SIZE"),
        "max_alloc_bytes": profile.number("CL_DEVICE_MAX_MEM_ALLOC_SIZE"),
        "max_work_group_size": profile.number("CL_DEVICE_MAX_WORK_GROUP_SIZE"),
        "works": True,
        "fault": None,
    }


def _real_devices() -> tuple[list[dict[str, Any]], str]:
    """Real devices, as a package that knows them tells, and a remark where none can be told."""
    rows: list[dict[str, Any]] = []
    for provider in entry_points(group="clsim.devices"):
        try:
            rows += [row for row in provider.load()() if not row["simulated"]]
        except Exception as error:  # whatever a driver does to another package must not cost the list
            return rows, f"Real devices could not be listed: {type(error).__name__}: {error}"
    if rows:
        return rows, ""
    return rows, "No real devices: none is installed, or pyopencl is not (pip install 'clsim[pocl]')."


def _table(title: str, rows: list[dict[str, Any]]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("Name", no_wrap=True)
    table.add_column("Device", overflow="fold")
    table.add_column("OpenCL", no_wrap=True)
    table.add_column("Driver", overflow="fold", min_width=13)
    for heading in ("Units", "Memory", "Group"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        version = row["device_version"].removeprefix("OpenCL ").split(" ")[0]
        memory = f"{row['global_mem_bytes'] / 2**30:.1f} GiB"
        table.add_row(
            row["name"], row["device"], version, row["driver_version"], str(row["compute_units"]), memory,
            str(row["max_work_group_size"]),
        )  # fmt: skip
    return table


def _console() -> Console:
    """80 columns where the output is no terminal, so that a pipe reads as a terminal does."""
    return Console(width=None if sys.stdout.isatty() else 80, highlight=False)


def _write(text: str, where: str) -> None:
    if where == "-":
        sys.stdout.write(text)
        return
    try:
        Path(where).write_text(text, encoding="utf-8")
    except OSError as error:
        raise Problem(f"cannot write {where}: {error.strerror}") from None
