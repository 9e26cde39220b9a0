"""How large each part of a model file may be; readers check these before they allocate anything."""

from __future__ import annotations

MIB = 1 << 20
GIB = 1 << 30

MAX_FILE_BYTES = 4 * GIB - 1  # sizes and offsets in a zip without the 64-bit extension
MAX_MEMBERS = 4096
MAX_MANIFEST_BYTES = 8 * MIB
MAX_SOURCE_BYTES = 4 * MIB  # one kernel's OpenCL C
MAX_SOURCES_BYTES = 64 * MIB  # all kernels together
MAX_PARAMETER_HEADER_BYTES = 8 * MIB
MAX_COMPRESSION_RATIO = 200  # kernels reach 30; a bomb needs several hundred

MAX_MEMORY_BYTES = 64 * GIB  # what one run of the model holds on the device
MAX_RANK = 8
MAX_ENTRIES = 1 << 16  # tensors, storages, steps
MAX_WORK_ITEMS = (1 << 32) - 1  # along one axis of a launch
MAX_NAME = 240  # a kernel's name is a file's name too
