"""The generated constants against those of a binding that was written from the headers."""

from __future__ import annotations

import pyopencl as cl
import pytest

from clsim import spec

# pyopencl's enumerations and the prefix that its names leave out.
_PREFIXES = {
    "status_code": "CL_",
    "platform_info": "CL_PLATFORM_",
    "device_type": "CL_DEVICE_TYPE_",
    "device_info": "CL_DEVICE_",
    "device_fp_config": "CL_FP_",
    "device_mem_cache_type": "CL_",
    "device_local_mem_type": "CL_",
    "device_exec_capabilities": "CL_EXEC_",
    "command_queue_properties": "CL_QUEUE_",
    "context_info": "CL_CONTEXT_",
    "command_queue_info": "CL_QUEUE_",
    "mem_flags": "CL_MEM_",
    "mem_object_type": "CL_MEM_OBJECT_",
    "mem_info": "CL_MEM_",
    "image_info": "CL_IMAGE_",
    "channel_order": "CL_",
    "channel_type": "CL_",
    "addressing_mode": "CL_ADDRESS_",
    "filter_mode": "CL_FILTER_",
    "map_flags": "CL_MAP_",
    "program_info": "CL_PROGRAM_",
    "program_build_info": "CL_PROGRAM_BUILD_",
    "kernel_info": "CL_KERNEL_",
    "kernel_arg_info": "CL_KERNEL_ARG_",
    "kernel_work_group_info": "CL_KERNEL_",
    "event_info": "CL_EVENT_",
    "command_type": "CL_COMMAND_",
    "command_execution_status": "CL_",
    "profiling_info": "CL_PROFILING_COMMAND_",
}


@pytest.mark.parametrize("group", _PREFIXES)
def test_constants_are_those_of_pyopencl(group: str) -> None:
    values = {
        _PREFIXES[group] + name: value
        for name, value in vars(getattr(cl, group)).items()
        if name.isupper() and isinstance(value, int)
    }
    ours = {name: getattr(spec, name) for name in values if hasattr(spec, name)}
    assert len(ours) >= min(3, len(values))
    # 64-bit flags come back from the binding as unsigned numbers, error codes as signed ones.
    assert {name: values[name] & 0xFFFFFFFFFFFFFFFF for name in ours} == {
        name: value & 0xFFFFFFFFFFFFFFFF for name, value in ours.items()
    }
