"""What clsim runs, whatever a profile claims (rule: a claim without the ability fails at its use).

`Profile.honest` masks what is claimed beyond this.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

EXTENSIONS: Final = frozenset(
    {
        "cl_khr_byte_addressable_store",
        "cl_khr_fp16",
        "cl_khr_fp64",
        "cl_khr_global_int32_base_atomics",
        "cl_khr_global_int32_extended_atomics",
        "cl_khr_int64_base_atomics",
        "cl_khr_int64_extended_atomics",
        "cl_khr_local_int32_base_atomics",
        "cl_khr_local_int32_extended_atomics",
    }
)
"""Device extensions whose functions and types kernels can use."""

C_FEATURES: Final = frozenset({"__opencl_c_fp64", "__opencl_c_int64"})
"""Optional features of OpenCL C 3.0 (section 6.2.1 of the language) that kernels can use."""

NOT_RUN: Final[Mapping[str, bool | int | str | tuple[int, ...]]] = {
    **dict.fromkeys(
        (
            "CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT",
            "CL_DEVICE_IMAGE_SUPPORT",
            "CL_DEVICE_PIPE_SUPPORT",
            "CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS",
            "CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT",
        ),
        False,
    ),
    **dict.fromkeys(
        (
            "CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES",
            "CL_DEVICE_GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE",
            "CL_DEVICE_IMAGE2D_MAX_HEIGHT",
            "CL_DEVICE_IMAGE2D_MAX_WIDTH",
            "CL_DEVICE_IMAGE3D_MAX_DEPTH",
            "CL_DEVICE_IMAGE3D_MAX_HEIGHT",
            "CL_DEVICE_IMAGE3D_MAX_WIDTH",
            "CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT",
            "CL_DEVICE_IMAGE_MAX_ARRAY_SIZE",
            "CL_DEVICE_IMAGE_MAX_BUFFER_SIZE",
            "CL_DEVICE_IMAGE_PITCH_ALIGNMENT",
            "CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE",
            "CL_DEVICE_MAX_NUM_SUB_GROUPS",
            "CL_DEVICE_MAX_ON_DEVICE_EVENTS",
            "CL_DEVICE_MAX_ON_DEVICE_QUEUES",
            "CL_DEVICE_MAX_PIPE_ARGS",
            "CL_DEVICE_MAX_READ_IMAGE_ARGS",
            "CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS",
            "CL_DEVICE_MAX_SAMPLERS",
            "CL_DEVICE_MAX_WRITE_IMAGE_ARGS",
            "CL_DEVICE_PARTITION_AFFINITY_DOMAIN",
            "CL_DEVICE_PARTITION_MAX_SUB_DEVICES",
            "CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS",
            "CL_DEVICE_PIPE_MAX_PACKET_SIZE",
            "CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE",
            "CL_DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE",
            "CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES",
            "CL_DEVICE_SVM_CAPABILITIES",
        ),
        0,
    ),
    "CL_DEVICE_BUILT_IN_KERNELS": "",
    "CL_DEVICE_IL_VERSION": "",
    "CL_DEVICE_PARTITION_PROPERTIES": (),
    "CL_DEVICE_PARTITION_TYPE": (),
}
"""Device queries about what clsim does not run, and the answer of a device that does not have it."""
