"""A compiled module: its kernels, installed when first used, and its pre-compiled programs.

Every kernel has a program of its own, as in TVM: what a run does not use is never built, and a binary that
a driver refuses costs the others nothing. Measured on PoCL 3.0 with squeezenet's 29 kernels, one program for
all of them would build in 1.4 s instead of 4.4 s, of 15 s for a first use from source; from pre-compiled
binaries a first use takes the same 0.2 s either way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from runtime._closing import Closing
from runtime.cl.interface import Binding, Device, Event, Kernel, KernelArgument
from runtime.programs import ProgramLibrary
from runtime.workspace import KernelTables, QueueHandle, Workspace

if TYPE_CHECKING:
    from runtime.artifact import Artifact


class Module(Closing):
    """Kernels by name on one device of a workspace. Safe for several threads, each with its own kernels."""

    def __init__(
        self,
        workspace: Workspace,
        sources: Mapping[str, str],
        module_hash: str,
        device: Device | None = None,
    ) -> None:
        """`sources` has the OpenCL C of each kernel by the kernel's name; nothing is built yet."""
        self.hash = module_hash
        """What the importer computed from kernels and launches; equal hashes have equal programs."""
        self.queue: QueueHandle = workspace.queue(device)
        self._programs = ProgramLibrary(self.queue.context, self.queue.device, sources)
        self._kernels = KernelTables()

    @classmethod
    def from_artifact(cls, artifact: Artifact, workspace: Workspace, device: Device | None = None) -> Module:
        """The kernels of a model file."""
        sources = {name: artifact.kernel_source(name) for name in artifact.kernel_names}
        return cls(workspace, sources, artifact.module_hash, device)

    @property
    def kernel_names(self) -> tuple[str, ...]:
        return self._programs.names

    def kernel(self, name: str) -> Kernel:
        """The calling thread's kernel object, borrowed; builds the program at the first call of any thread.

        Raises KeyError for an unknown name, BuildError where its source does not compile.
        """
        table = self._kernels.here()
        kernel = table.get(name)
        if kernel is None:
            kernel = table[name] = self._programs.program(name).kernel(name)
        return kernel

    def launch(
        self,
        name: str,
        args: Sequence[KernelArgument],
        global_size: Sequence[int],
        local_size: Sequence[int] | None = None,
        wait_for: Iterable[Event] = (),
        want_event: bool = False,
    ) -> Event | None:
        """Launches a kernel once, on the queue in force. Raises as `kernel` and `Queue.enqueue_kernel` do."""
        kernel = self.kernel(name)
        kernel.set_args(*args)
        return self.queue.enqueue_kernel(
            kernel, global_size, local_size, wait_for=wait_for, want_event=want_event
        )

    def bind(
        self,
        name: str,
        args: Sequence[KernelArgument],
        global_size: Sequence[int],
        local_size: Sequence[int] | None = None,
    ) -> Binding:
        """A launch prepared for the queue in force, with a kernel object of its own."""
        kernel = self.kernel(name)
        with self.queue.in_force() as queue:
            return queue.bind(kernel, args, global_size, local_size)

    @property
    def supports_precompiled_programs(self) -> bool:
        """Whether programs can be read and given as bytes: true for every module made from sources."""
        return bool(self._programs.names)

    def get_precompiled_programs(self) -> bytes:
        """All programs as bytes, built now if they were not. See `Graph.precompile` for the right moment.

        Some devices (PoCL) compile a kernel for its work-group size at its first launch: of those, read
        programs after a run, or most of the work is not in them. PoCL also compiles each kernel once more,
        for any work-group size, when it is first asked for its binary: about a second a kernel.
        """
        return self._programs.get()

    def set_precompiled_programs(self, data: bytes) -> None:
        """Uses programs from `get_precompiled_programs`, of any process, for kernels not installed yet.

        Whatever is wrong with them (damage, another device, driver, source or format) gives one
        `PrecompiledProgramsWarning`, now or when the driver refuses one, and sources are built.
        """
        self._programs.set(data)

    @property
    def precompiled_programs_changed(self) -> bool:
        """Whether a build since the last get or set made a program those bytes lack: worth saving anew."""
        return self._programs.changed

    def close(self) -> None:
        """Releases kernels and programs; no other thread may be launching one."""
        self._kernels.release()
        self._programs.close()

    def __repr__(self) -> str:
        return f"<Module {self.hash[:12]}: {len(self.kernel_names)} kernels on {self.queue.device.name}>"
