"""Every kernel that TVM emitted for the networks among the fixtures compiles, and so do their binaries."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from clc_support import PLAIN, messages, module_of

from clsim.clc import dump, load

FIXTURES = sorted((Path(__file__).parents[2] / "fixtures").glob("*.oclm"))


def kernels(network: Path) -> dict[str, str]:
    """Source by kernel name."""
    with zipfile.ZipFile(network) as archive:
        return {Path(n).stem: archive.read(n).decode() for n in archive.namelist() if n.endswith(".cl")}


def test_there_are_networks_to_compile() -> None:
    assert len(FIXTURES) >= 2


@pytest.mark.parametrize("network", FIXTURES, ids=lambda path: path.stem)
def test_every_kernel_of_a_network_compiles_for_a_plain_device(network: Path) -> None:
    for name, source in kernels(network).items():
        assert [m for m in messages(source, target=PLAIN) if m.severity == "error"] == [], name
        module = module_of(source, target=PLAIN)
        assert list(module.kernels) == [name]
        assert dump(load(dump(module))) == dump(module)


@pytest.mark.parametrize("network", FIXTURES, ids=lambda path: path.stem)
def test_a_kernel_of_a_network_writes_some_argument_and_never_one_that_it_declares_const(
    network: Path,
) -> None:
    for name, source in kernels(network).items():
        parameters = module_of(source, target=PLAIN).functions[name].parameters
        written = [p for p in parameters if p.may_write]
        assert written, name
        assert not [p for p in written if "const" in p.qualifiers], name
