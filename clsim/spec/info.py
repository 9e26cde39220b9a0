"""Information queries: of every `clGet*Info`, the queries, their types, and what brought each.

From the tables of the standard ("List of supported param_names"). A type ends in `[]` where the answer is a
list; `char[]` is text. Queries that an extension brought and a later version took over stand once, with both.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from clsim.spec import constants


class Query(NamedTuple):
    """One query. It exists from version `since` (None: in no version's core), or with an `extension`."""

    name: str
    type: str
    since: tuple[int, int] | None
    extension: str = ""

    def exists(self, version: tuple[int, int], extensions: Collection[str] = ()) -> bool:
        """Whether a device or platform of this version, with these extensions, answers it."""
        return (self.since is not None and version >= self.since) or self.extension in extensions


def _table(
    *rows: tuple[str, str, tuple[int, int] | None] | tuple[str, str, tuple[int, int] | None, str],
) -> Mapping[int, Query]:
    return {getattr(constants, row[0]): Query(*row) for row in rows}


PLATFORM: Final = _table(  # clGetPlatformInfo
    ("CL_PLATFORM_PROFILE", "char[]", (1, 0)),
    ("CL_PLATFORM_VERSION", "char[]", (1, 0)),
    ("CL_PLATFORM_NUMERIC_VERSION", "cl_version", (3, 0), "cl_khr_extended_versioning"),
    ("CL_PLATFORM_NAME", "char[]", (1, 0)),
    ("CL_PLATFORM_VENDOR", "char[]", (1, 0)),
    ("CL_PLATFORM_EXTENSIONS", "char[]", (1, 0)),
    ("CL_PLATFORM_EXTENSIONS_WITH_VERSION", "cl_name_version[]", (3, 0), "cl_khr_extended_versioning"),
    ("CL_PLATFORM_HOST_TIMER_RESOLUTION", "cl_ulong", (2, 1)),
    ("CL_PLATFORM_ICD_SUFFIX_KHR", "char[]", None, "cl_khr_icd"),
)

DEVICE: Final = _table(  # clGetDeviceInfo
    ("CL_DEVICE_TYPE", "cl_device_type", (1, 0)),
    ("CL_DEVICE_VENDOR_ID", "cl_uint", (1, 0)),
    ("CL_DEVICE_MAX_COMPUTE_UNITS", "cl_uint", (1, 0)),
    ("CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS", "cl_uint", (1, 0)),
    ("CL_DEVICE_MAX_WORK_ITEM_SIZES", "size_t[]", (1, 0)),
    ("CL_DEVICE_MAX_WORK_GROUP_SIZE", "size_t", (1, 0)),
    ("CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR", "cl_uint", (1, 0)),
    ("CL_DEVICE_PREFERRED_VECTOR_WIDTH_SHORT", "cl_uint", (1, 0)),
    ("CL_DEVICE_PREFERRED_VECTOR_WIDTH_INT", "cl_uint", (1, 0)),
    ("CL_DEVICE_PREFERRED_VECTOR_WIDTH_LONG", "cl_uint", (1, 0)),
    ("CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT", "cl_uint", (1, 0)),
    ("CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE", "cl_uint", (1, 0)),
    ("CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF", "cl_uint", (1, 1)),
    ("CL_DEVICE_NATIVE_VECTOR_WIDTH_CHAR", "cl_uint", (1, 1)),
    ("CL_DEVICE_NATIVE_VECTOR_WIDTH_SHORT", "cl_uint", (1, 1)),
    ("CL_DEVICE_NATIVE_VECTOR_WIDTH_INT", "cl_uint", (1, 1)),
    ("CL_DEVICE_NATIVE_VECTOR_WIDTH_LONG", "cl_uint", (1, 1)),
    ("CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT", "cl_uint", (1, 1)),
    ("CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE", "cl_uint", (1, 1)),
    ("CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF", "cl_uint", (1, 1)),
    ("CL_DEVICE_MAX_CLOCK_FREQUENCY", "cl_uint", (1, 0)),
    ("CL_DEVICE_ADDRESS_BITS", "cl_uint", (1, 0)),
    ("CL_DEVICE_MAX_MEM_ALLOC_SIZE", "cl_ulong", (1, 0)),
    ("CL_DEVICE_IMAGE_SUPPORT", "cl_bool", (1, 0)),
    ("CL_DEVICE_MAX_READ_IMAGE_ARGS", "cl_uint", (1, 0)),
    ("CL_DEVICE_MAX_WRITE_IMAGE_ARGS", "cl_uint", (1, 0)),
    ("CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS", "cl_uint", (2, 0)),
    ("CL_DEVICE_IL_VERSION", "char[]", (2, 1), "cl_khr_il_program"),
    ("CL_DEVICE_ILS_WITH_VERSION", "cl_name_version[]", (3, 0), "cl_khr_extended_versioning"),
    ("CL_DEVICE_IMAGE2D_MAX_WIDTH", "size_t", (1, 0)),
    ("CL_DEVICE_IMAGE2D_MAX_HEIGHT", "size_t", (1, 0)),
    ("CL_DEVICE_IMAGE3D_MAX_WIDTH", "size_t", (1, 0)),
    ("CL_DEVICE_IMAGE3D_MAX_HEIGHT", "size_t", (1, 0)),
    ("CL_DEVICE_IMAGE3D_MAX_DEPTH", "size_t", (1, 0)),
    ("CL_DEVICE_IMAGE_MAX_BUFFER_SIZE", "size_t", (1, 2)),
    ("CL_DEVICE_IMAGE_MAX_ARRAY_SIZE", "size_t", (1, 2)),
    ("CL_DEVICE_MAX_SAMPLERS", "cl_uint", (1, 0)),
    ("CL_DEVICE_IMAGE_PITCH_ALIGNMENT", "cl_uint", (2, 0), "cl_khr_image2d_from_buffer"),
    ("CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT", "cl_uint", (2, 0), "cl_khr_image2d_from_buffer"),
    ("CL_DEVICE_MAX_PIPE_ARGS", "cl_uint", (2, 0)),
    ("CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS", "cl_uint", (2, 0)),
    ("CL_DEVICE_PIPE_MAX_PACKET_SIZE", "cl_uint", (2, 0)),
    ("CL_DEVICE_MAX_PARAMETER_SIZE", "size_t", (1, 0)),
    ("CL_DEVICE_MEM_BASE_ADDR_ALIGN", "cl_uint", (1, 0)),
    ("CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE", "cl_uint", (1, 0)),
    ("CL_DEVICE_SINGLE_FP_CONFIG", "cl_device_fp_config", (1, 0)),
    ("CL_DEVICE_DOUBLE_FP_CONFIG", "cl_device_fp_config", (1, 2), "cl_khr_fp64"),
    ("CL_DEVICE_GLOBAL_MEM_CACHE_TYPE", "cl_device_mem_cache_type", (1, 0)),
    ("CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE", "cl_uint", (1, 0)),
    ("CL_DEVICE_GLOBAL_MEM_CACHE_SIZE", "cl_ulong", (1, 0)),
    ("CL_DEVICE_GLOBAL_MEM_SIZE", "cl_ulong", (1, 0)),
    ("CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE", "cl_ulong", (1, 0)),
    ("CL_DEVICE_MAX_CONSTANT_ARGS", "cl_uint", (1, 0)),
    ("CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE", "size_t", (2, 0)),
    ("CL_DEVICE_GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE", "size_t", (2, 0)),
    ("CL_DEVICE_LOCAL_MEM_TYPE", "cl_device_local_mem_type", (1, 0)),
    ("CL_DEVICE_LOCAL_MEM_SIZE", "cl_ulong", (1, 0)),
    ("CL_DEVICE_ERROR_CORRECTION_SUPPORT", "cl_bool", (1, 0)),
    ("CL_DEVICE_HOST_UNIFIED_MEMORY", "cl_bool", (1, 1)),
    ("CL_DEVICE_PROFILING_TIMER_RESOLUTION", "size_t", (1, 0)),
    ("CL_DEVICE_ENDIAN_LITTLE", "cl_bool", (1, 0)),
    ("CL_DEVICE_AVAILABLE", "cl_bool", (1, 0)),
    ("CL_DEVICE_COMPILER_AVAILABLE", "cl_bool", (1, 0)),
    ("CL_DEVICE_LINKER_AVAILABLE", "cl_bool", (1, 2)),
    ("CL_DEVICE_EXECUTION_CAPABILITIES", "cl_device_exec_capabilities", (1, 0)),
    ("CL_DEVICE_QUEUE_PROPERTIES", "cl_command_queue_properties", (1, 0)),
    ("CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES", "cl_command_queue_properties", (2, 0)),
    ("CL_DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE", "cl_uint", (2, 0)),
    ("CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE", "cl_uint", (2, 0)),
    ("CL_DEVICE_MAX_ON_DEVICE_QUEUES", "cl_uint", (2, 0)),
    ("CL_DEVICE_MAX_ON_DEVICE_EVENTS", "cl_uint", (2, 0)),
    ("CL_DEVICE_BUILT_IN_KERNELS", "char[]", (1, 2)),
    ("CL_DEVICE_BUILT_IN_KERNELS_WITH_VERSION", "cl_name_version[]", (3, 0), "cl_khr_extended_versioning"),
    ("CL_DEVICE_PLATFORM", "cl_platform_id", (1, 0)),
    ("CL_DEVICE_NAME", "char[]", (1, 0)),
    ("CL_DEVICE_VENDOR", "char[]", (1, 0)),
    ("CL_DRIVER_VERSION", "char[]", (1, 0)),
    ("CL_DEVICE_PROFILE", "char[]", (1, 0)),
    ("CL_DEVICE_VERSION", "char[]", (1, 0)),
    ("CL_DEVICE_NUMERIC_VERSION", "cl_version", (3, 0), "cl_khr_extended_versioning"),
    ("CL_DEVICE_OPENCL_C_VERSION", "char[]", (1, 1)),
    ("CL_DEVICE_OPENCL_C_ALL_VERSIONS", "cl_name_version[]", (3, 0)),
    ("CL_DEVICE_OPENCL_C_NUMERIC_VERSION_KHR", "cl_version", None, "cl_khr_extended_versioning"),
    ("CL_DEVICE_OPENCL_C_FEATURES", "cl_name_version[]", (3, 0)),
    ("CL_DEVICE_EXTENSIONS", "char[]", (1, 0)),
    ("CL_DEVICE_EXTENSIONS_WITH_VERSION", "cl_name_version[]", (3, 0), "cl_khr_extended_versioning"),
    ("CL_DEVICE_PRINTF_BUFFER_SIZE", "size_t", (1, 2)),
    ("CL_DEVICE_PREFERRED_INTEROP_USER_SYNC", "cl_bool", (1, 2)),
    ("CL_DEVICE_PARENT_DEVICE", "cl_device_id", (1, 2)),
    ("CL_DEVICE_PARTITION_MAX_SUB_DEVICES", "cl_uint", (1, 2)),
    ("CL_DEVICE_PARTITION_PROPERTIES", "cl_device_partition_property[]", (1, 2)),
    ("CL_DEVICE_PARTITION_AFFINITY_DOMAIN", "cl_device_affinity_domain", (1, 2)),
    ("CL_DEVICE_PARTITION_TYPE", "cl_device_partition_property[]", (1, 2)),
    ("CL_DEVICE_REFERENCE_COUNT", "cl_uint", (1, 2)),
    ("CL_DEVICE_SVM_CAPABILITIES", "cl_device_svm_capabilities", (2, 0)),
    ("CL_DEVICE_PREFERRED_PLATFORM_ATOMIC_ALIGNMENT", "cl_uint", (2, 0)),
    ("CL_DEVICE_PREFERRED_GLOBAL_ATOMIC_ALIGNMENT", "cl_uint", (2, 0)),
    ("CL_DEVICE_PREFERRED_LOCAL_ATOMIC_ALIGNMENT", "cl_uint", (2, 0)),
    ("CL_DEVICE_MAX_NUM_SUB_GROUPS", "cl_uint", (2, 1)),
    ("CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS", "cl_bool", (2, 1)),
    ("CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES", "cl_device_atomic_capabilities", (3, 0)),
    ("CL_DEVICE_ATOMIC_FENCE_CAPABILITIES", "cl_device_atomic_capabilities", (3, 0)),
    ("CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT", "cl_bool", (3, 0)),
    ("CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT", "cl_bool", (3, 0)),
    ("CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT", "cl_bool", (3, 0)),
    ("CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES", "cl_device_device_enqueue_capabilities", (3, 0)),
    ("CL_DEVICE_PIPE_SUPPORT", "cl_bool", (3, 0)),
    ("CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE", "size_t", (3, 0)),
    ("CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED", "char[]", (3, 0)),
    ("CL_DEVICE_UUID", "cl_uchar[16]", (3, 1), "cl_khr_device_uuid"),
    ("CL_DRIVER_UUID", "cl_uchar[16]", (3, 1), "cl_khr_device_uuid"),
    ("CL_DEVICE_LUID_VALID", "cl_bool", (3, 1), "cl_khr_device_uuid"),
    ("CL_DEVICE_LUID", "cl_uchar[8]", (3, 1), "cl_khr_device_uuid"),
    ("CL_DEVICE_NODE_MASK", "cl_uint", (3, 1), "cl_khr_device_uuid"),
    (
        "CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR",
        "cl_device_command_buffer_capabilities_khr",
        None,
        "cl_khr_command_buffer",
    ),
    (
        "CL_DEVICE_COMMAND_BUFFER_REQUIRED_QUEUE_PROPERTIES_KHR",
        "cl_command_queue_properties",
        None,
        "cl_khr_command_buffer",
    ),
    (
        "CL_DEVICE_COMMAND_BUFFER_SUPPORTED_QUEUE_PROPERTIES_KHR",
        "cl_command_queue_properties",
        None,
        "cl_khr_command_buffer",
    ),
    ("CL_DEVICE_HALF_FP_CONFIG", "cl_device_fp_config", None, "cl_khr_fp16"),
)

CONTEXT: Final = _table(  # clGetContextInfo
    ("CL_CONTEXT_REFERENCE_COUNT", "cl_uint", (1, 0)),
    ("CL_CONTEXT_NUM_DEVICES", "cl_uint", (1, 1)),
    ("CL_CONTEXT_DEVICES", "cl_device_id[]", (1, 0)),
    ("CL_CONTEXT_PROPERTIES", "cl_context_properties[]", (1, 0)),
)

QUEUE: Final = _table(  # clGetCommandQueueInfo
    ("CL_QUEUE_CONTEXT", "cl_context", (1, 0)),
    ("CL_QUEUE_DEVICE", "cl_device_id", (1, 0)),
    ("CL_QUEUE_REFERENCE_COUNT", "cl_uint", (1, 0)),
    ("CL_QUEUE_PROPERTIES_ARRAY", "cl_queue_properties[]", (3, 0)),
    ("CL_QUEUE_DEVICE_DEFAULT", "cl_command_queue", (2, 1)),
    ("CL_QUEUE_PROPERTIES", "cl_command_queue_properties", (1, 0)),
    ("CL_QUEUE_SIZE", "cl_uint", (2, 0)),
)

MEM_OBJECT: Final = _table(  # clGetMemObjectInfo
    ("CL_MEM_TYPE", "cl_mem_object_type", (1, 0)),
    ("CL_MEM_FLAGS", "cl_mem_flags", (1, 0)),
    ("CL_MEM_SIZE", "size_t", (1, 0)),
    ("CL_MEM_HOST_PTR", "void*", (1, 0)),
    ("CL_MEM_MAP_COUNT", "cl_uint", (1, 0)),
    ("CL_MEM_REFERENCE_COUNT", "cl_uint", (1, 0)),
    ("CL_MEM_CONTEXT", "cl_context", (1, 0)),
    ("CL_MEM_ASSOCIATED_MEMOBJECT", "cl_mem", (1, 1)),
    ("CL_MEM_OFFSET", "size_t", (1, 1)),
    ("CL_MEM_USES_SVM_POINTER", "cl_bool", (2, 0)),
    ("CL_MEM_PROPERTIES", "cl_mem_properties[]", (3, 0)),
)

IMAGE: Final = _table(  # clGetImageInfo
    ("CL_IMAGE_FORMAT", "cl_image_format", (1, 0)),
    ("CL_IMAGE_ELEMENT_SIZE", "size_t", (1, 0)),
    ("CL_IMAGE_ROW_PITCH", "size_t", (1, 0)),
    ("CL_IMAGE_SLICE_PITCH", "size_t", (1, 0)),
    ("CL_IMAGE_WIDTH", "size_t", (1, 0)),
    ("CL_IMAGE_HEIGHT", "size_t", (1, 0)),
    ("CL_IMAGE_DEPTH", "size_t", (1, 0)),
    ("CL_IMAGE_ARRAY_SIZE", "size_t", (1, 2)),
    ("CL_IMAGE_BUFFER", "cl_mem", (1, 2)),
    ("CL_IMAGE_NUM_MIP_LEVELS", "cl_uint", (1, 2)),
    ("CL_IMAGE_NUM_SAMPLES", "cl_uint", (1, 2)),
)

SAMPLER: Final = _table(  # clGetSamplerInfo
    ("CL_SAMPLER_REFERENCE_COUNT", "cl_uint", (1, 0)),
    ("CL_SAMPLER_CONTEXT", "cl_context", (1, 0)),
    ("CL_SAMPLER_PROPERTIES", "cl_sampler_properties[]", (3, 0)),
    ("CL_SAMPLER_NORMALIZED_COORDS", "cl_bool", (1, 0)),
    ("CL_SAMPLER_ADDRESSING_MODE", "cl_addressing_mode", (1, 0)),
    ("CL_SAMPLER_FILTER_MODE", "cl_filter_mode", (1, 0)),
)

PROGRAM: Final = _table(  # clGetProgramInfo
    ("CL_PROGRAM_REFERENCE_COUNT", "cl_uint", (1, 0)),
    ("CL_PROGRAM_CONTEXT", "cl_context", (1, 0)),
    ("CL_PROGRAM_NUM_DEVICES", "cl_uint", (1, 0)),
    ("CL_PROGRAM_DEVICES", "cl_device_id[]", (1, 0)),
    ("CL_PROGRAM_SOURCE", "char[]", (1, 0)),
    ("CL_PROGRAM_IL", "char[]", (2, 1), "cl_khr_il_program"),
    ("CL_PROGRAM_BINARY_SIZES", "size_t[]", (1, 0)),
    ("CL_PROGRAM_BINARIES", "unsigned char*[]", (1, 0)),
    ("CL_PROGRAM_NUM_KERNELS", "size_t", (1, 2)),
    ("CL_PROGRAM_KERNEL_NAMES", "char[]", (1, 2)),
    ("CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT", "cl_bool", (2, 2)),
    ("CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT", "cl_bool", (2, 2)),
)

PROGRAM_BUILD: Final = _table(  # clGetProgramBuildInfo
    ("CL_PROGRAM_BUILD_STATUS", "cl_build_status", (1, 0)),
    ("CL_PROGRAM_BUILD_OPTIONS", "char[]", (1, 0)),
    ("CL_PROGRAM_BUILD_LOG", "char[]", (1, 0)),
    ("CL_PROGRAM_BINARY_TYPE", "cl_program_binary_type", (1, 2)),
    ("CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE", "size_t", (2, 0)),
)

KERNEL: Final = _table(  # clGetKernelInfo
    ("CL_KERNEL_FUNCTION_NAME", "char[]", (1, 0)),
    ("CL_KERNEL_NUM_ARGS", "cl_uint", (1, 0)),
    ("CL_KERNEL_REFERENCE_COUNT", "cl_uint", (1, 0)),
    ("CL_KERNEL_CONTEXT", "cl_context", (1, 0)),
    ("CL_KERNEL_PROGRAM", "cl_program", (1, 0)),
    ("CL_KERNEL_ATTRIBUTES", "char[]", (1, 2)),
)

KERNEL_ARG: Final = _table(  # clGetKernelArgInfo
    ("CL_KERNEL_ARG_ADDRESS_QUALIFIER", "cl_kernel_arg_address_qualifier", (1, 2)),
    ("CL_KERNEL_ARG_ACCESS_QUALIFIER", "cl_kernel_arg_access_qualifier", (1, 2)),
    ("CL_KERNEL_ARG_TYPE_NAME", "char[]", (1, 2)),
    ("CL_KERNEL_ARG_TYPE_QUALIFIER", "cl_kernel_arg_type_qualifier", (1, 2)),
    ("CL_KERNEL_ARG_NAME", "char[]", (1, 2)),
)

KERNEL_WORK_GROUP: Final = _table(  # clGetKernelWorkGroupInfo
    ("CL_KERNEL_GLOBAL_WORK_SIZE", "size_t[3]", (1, 2)),
    ("CL_KERNEL_WORK_GROUP_SIZE", "size_t", (1, 0)),
    ("CL_KERNEL_COMPILE_WORK_GROUP_SIZE", "size_t[3]", (1, 0)),
    ("CL_KERNEL_LOCAL_MEM_SIZE", "cl_ulong", (1, 0)),
    ("CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE", "size_t", (1, 0)),
    ("CL_KERNEL_PRIVATE_MEM_SIZE", "cl_ulong", (1, 0)),
)

EVENT: Final = _table(  # clGetEventInfo
    ("CL_EVENT_COMMAND_QUEUE", "cl_command_queue", (1, 0)),
    ("CL_EVENT_CONTEXT", "cl_context", (1, 1)),
    ("CL_EVENT_COMMAND_TYPE", "cl_command_type", (1, 0)),
    ("CL_EVENT_COMMAND_EXECUTION_STATUS", "cl_int", (1, 0)),
    ("CL_EVENT_REFERENCE_COUNT", "cl_uint", (1, 0)),
)

PROFILING: Final = _table(  # clGetEventProfilingInfo
    ("CL_PROFILING_COMMAND_QUEUED", "cl_ulong", (1, 0)),
    ("CL_PROFILING_COMMAND_SUBMIT", "cl_ulong", (1, 0)),
    ("CL_PROFILING_COMMAND_START", "cl_ulong", (1, 0)),
    ("CL_PROFILING_COMMAND_END", "cl_ulong", (1, 0)),
    ("CL_PROFILING_COMMAND_COMPLETE", "cl_ulong", (2, 0)),
)
TABLES: Final[Mapping[str, Mapping[int, Query]]] = {
    "clGetPlatformInfo": PLATFORM,
    "clGetDeviceInfo": DEVICE,
    "clGetContextInfo": CONTEXT,
    "clGetCommandQueueInfo": QUEUE,
    "clGetMemObjectInfo": MEM_OBJECT,
    "clGetImageInfo": IMAGE,
    "clGetSamplerInfo": SAMPLER,
    "clGetProgramInfo": PROGRAM,
    "clGetProgramBuildInfo": PROGRAM_BUILD,
    "clGetKernelInfo": KERNEL,
    "clGetKernelArgInfo": KERNEL_ARG,
    "clGetKernelWorkGroupInfo": KERNEL_WORK_GROUP,
    "clGetEventInfo": EVENT,
    "clGetEventProfilingInfo": PROFILING,
}
"""The queries of each entry point, by their number."""

FORMATS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (
            "cl_addressing_mode",
            "cl_bool",
            "cl_command_type",
            "cl_device_local_mem_type",
            "cl_device_mem_cache_type",
            "cl_filter_mode",
            "cl_kernel_arg_access_qualifier",
            "cl_kernel_arg_address_qualifier",
            "cl_mem_object_type",
            "cl_program_binary_type",
            "cl_uint",
            "cl_version",
        ),
        "I",
    ),
    **dict.fromkeys(
        (
            "cl_command_queue_properties",
            "cl_device_affinity_domain",
            "cl_device_atomic_capabilities",
            "cl_device_command_buffer_capabilities_khr",
            "cl_device_device_enqueue_capabilities",
            "cl_device_exec_capabilities",
            "cl_device_fp_config",
            "cl_device_svm_capabilities",
            "cl_device_type",
            "cl_kernel_arg_type_qualifier",
            "cl_mem_flags",
            "cl_mem_properties",
            "cl_queue_properties",
            "cl_sampler_properties",
            "cl_ulong",
        ),
        "Q",
    ),
    **dict.fromkeys(("cl_build_status", "cl_int"), "i"),
    **dict.fromkeys(
        ("cl_command_queue", "cl_context", "cl_device_id", "cl_mem", "cl_platform_id", "cl_program", "void*"),
        "P",
    ),
    **dict.fromkeys(("cl_context_properties", "cl_device_partition_property"), "n"),
    "cl_image_format": "II",
    "cl_name_version": "I64s",
    "cl_uchar": "B",
    "char": "s",
    "size_t": "N",
}
"""How a value of each type lies in memory, in the letters of the module `struct` (native sizes)."""
