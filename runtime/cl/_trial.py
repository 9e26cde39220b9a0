"""One build and one launch on a real device, in a process of its own that may die of it.

    python -c "from runtime.cl._trial import main; main()" PLATFORM DEVICE

Prints a line of JSON: {"ok": true}, or {"error": "what went wrong"}.
"""

from __future__ import annotations

import json
import sys
from array import array

SOURCE = """
kernel void trial(global const uint *numbers, global uint *sums, local uint *group) {
    uint i = get_local_id(0);
    group[i] = numbers[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    sums[get_global_id(0)] = group[i] + group[get_local_size(0) - 1 - i];
}
"""
SIZE = 16


def main() -> None:
    """Tries the device that the command line names, by the numbers of its platform and of itself."""
    try:
        fault = _try(int(sys.argv[1]), int(sys.argv[2]))
    except Exception as error:  # whatever it is, the parent tells it
        fault = f"{type(error).__name__}: {error}"
    print(json.dumps({"ok": True} if fault is None else {"error": fault}), flush=True)


def _try(platform_number: int, device_number: int) -> str | None:
    from runtime.cl.interface import LocalMemory, MemFlags
    from runtime.cl.pyopencl_device import platforms

    platform = platforms()[platform_number]
    device = platform.devices()[device_number]
    local_size = min(4, device.limits.max_work_group_size)
    numbers = array("I", range(SIZE))
    with platform.create_context([device]) as context, context.create_queue(device) as queue:
        program = context.program_from_source(SOURCE)
        program.build()
        source = context.create_buffer(4 * SIZE, MemFlags.READ_ONLY | MemFlags.COPY_HOST_PTR, numbers)
        target = context.create_buffer(4 * SIZE)
        kernel = program.kernel("trial")
        kernel.set_args(source, target, LocalMemory(4 * local_size))
        queue.enqueue_kernel(kernel, (SIZE,), (local_size,))
        sums = array("I", bytes(4 * SIZE))
        queue.enqueue_read(target, sums)
        queue.finish()
    expected = [n + numbers[n // local_size * local_size + local_size - 1 - n % local_size] for n in numbers]
    if list(sums) != expected:
        return f"a small kernel gave {list(sums)} instead of {expected}"
    return None
