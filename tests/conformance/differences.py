"""Where implementations differ from the standard, as seen with this suite.

A test named here must fail on a platform whose name and version hold the text (strict expected failure);
one of `ENDS_THE_PROCESS` is not run there. Seen with PoCL 3.0-rc2 (PyPI's) and 3.1 (Debian's), with
Intel's CPU runtime 2026.22, and with NVIDIA's driver 580.159.04 (OpenCL 3.0 CUDA 13.0.98) on an H200.
"""

from __future__ import annotations

_FAILURES = "test_failed_dependencies.py::"
_STATUS_LOST = "the status of a command whose wait list failed is COMPLETE, though waiting for it fails"

_WRONG_CODE = "test_error_codes.py::test_a_wrong_call_raises_a_code_whose_condition_holds"
_WRONG_CHANGE = "test_error_codes.py::test_a_wrong_call_changes_nothing"
_TAKEN_BY_NVIDIA = {
    "a buffer larger than the device allows": "makes a buffer one byte over CL_DEVICE_MAX_MEM_ALLOC_SIZE",
    "a buffer that uses and copies its host memory": (
        "takes CL_MEM_USE_HOST_PTR together with CL_MEM_COPY_HOST_PTR"
    ),
    "a fill at an offset between patterns": "fills at an offset that is no multiple of the pattern's size",
    "a fill of half a pattern": "fills a size that is no multiple of the pattern's size",
}

_MARKERS = "test_markers_and_barriers.py::test_out_of_order_"
_IN_ORDER = (
    "what follows a command that waits for a user event seems to wait as well, though the queue is out of "
    "order (the standard promises no order, and so does not forbid this one)"
)
_FAILING_USER_EVENT = "test_user_events.py::test_a_user_event_can_fail_with_any_negative_code"
_CALLED_WITH_COMPLETE = "calls back with COMPLETE where the code of the failure is to be told"

DIFFERENCES: dict[str, dict[str, str]] = {
    "PoCL": {
        "test_binary_round_trip.py::test_a_truncated_binary_is_refused": (
            "reads past the end of a truncated binary, and may die of it"
        ),
        _FAILURES + "test_the_callback_of_a_failed_command_comes_once_with_its_code": (
            "no COMPLETE callback where the command failed (pocl/pocl#1430)"
        ),
        _FAILURES + "test_the_callback_of_a_failed_user_event_comes_once_with_its_code": (
            "no COMPLETE callback where the user event failed (pocl/pocl#1430)"
        ),
        _FAILURES + "test_a_command_enqueued_after_the_failure_fails_too": (
            "a command waits for ever for an event that had failed before the enqueue"
        ),
        "test_kernel_arguments.py::test_a_value_of_another_size_is_refused[3]": (
            "takes 3 bytes for a parameter of 4"
        ),
        "test_launches.py::test_a_buffer_of_another_context_is_no_argument": (
            "takes a buffer of another context as an argument"
        ),
        "test_launches.py::test_a_local_size_of_zero_is_refused": (
            "takes a local size of zero for one that it may choose"
        ),
        "test_mapping.py::test_invalidating_does_not_go_with_reading_or_writing": (
            "does not check that map flags exclude each other"
        ),
        "test_markers_and_barriers.py::test_out_of_order_a_marker_with_a_list_waits_for_no_other": (
            "a marker with a wait list waits for all earlier commands as well"
        ),
    },
    "Intel(R) OpenCL": {
        _FAILURES + "test_a_command_fails_with_what_it_waits_for": _STATUS_LOST,
        _FAILURES + "test_failure_goes_down_a_chain": _STATUS_LOST,
        _FAILURES + "test_failure_goes_from_queue_to_queue": _STATUS_LOST,
        _FAILURES + "test_the_callback_of_a_failed_command_comes_once_with_its_code": _STATUS_LOST,
        _FAILURES + "test_a_command_enqueued_after_the_failure_fails_too": _STATUS_LOST,
        _FAILURES + "test_failed_commands_leave_no_reference": _STATUS_LOST,
        "test_mapping.py::test_a_map_outside_the_buffer_is_refused": "takes a map of no size",
        "test_mapping.py::test_invalidating_does_not_go_with_reading_or_writing": (
            "does not check that map flags exclude each other"
        ),
        "test_mapping.py::test_a_map_that_the_buffer_forbids_is_refused": (
            "CL_INVALID_VALUE where the standard has CL_INVALID_OPERATION"
        ),
        "test_sub_buffers.py::test_a_copy_between_overlapping_parts_is_refused": (
            "copies between overlapping sub-buffers"
        ),
    },
    "NVIDIA CUDA": {
        "test_binary_round_trip.py::test_what_looks_like_another_makers_binary_is_refused": (
            "dies of source text, or the beginning of another format, that is loaded as a binary"
        ),
        "test_binary_round_trip.py::test_a_truncated_binary_is_refused": "builds a truncated binary",
        **{
            f"{test}[{call}]": what
            for test in (_WRONG_CODE, _WRONG_CHANGE)
            for call, what in _TAKEN_BY_NVIDIA.items()
        },
        "test_event_lifetime.py::test_there_are_no_times_before_completion": (
            "tells the times of a command that is not complete"
        ),
        _FAILURES + "test_a_blocking_read_raises_where_its_list_fails": (
            "CL_OUT_OF_RESOURCES where the standard has CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"
        ),
        _FAILURES + "test_the_callback_of_a_failed_command_comes_once_with_its_code": _CALLED_WITH_COMPLETE,
        _FAILURES + "test_the_callback_of_a_failed_user_event_comes_once_with_its_code": (
            _CALLED_WITH_COMPLETE
        ),
        _FAILURES + "test_a_command_enqueued_after_the_failure_fails_too": (
            "refuses the enqueue with CL_OUT_OF_RESOURCES where an event of its list had failed before"
        ),
        "test_kernel_arguments.py::test_local_memory_of_no_size_is_refused_before_version_3_1": (
            "takes local memory of no size"
        ),
        "test_launches.py::test_a_kernel_of_another_context_is_refused": (
            "CL_INVALID_KERNEL_ARGS where the standard has CL_INVALID_CONTEXT"
        ),
        "test_mapping.py::test_a_map_outside_the_buffer_is_refused": (
            "takes a map of no size, or one outside the buffer (a map past the end is refused elsewhere)"
        ),
        "test_mapping.py::test_invalidating_does_not_go_with_reading_or_writing": (
            "does not check that map flags exclude each other"
        ),
        "test_mapping.py::test_a_map_that_the_buffer_forbids_is_refused": (
            "maps a buffer whose flags forbid the host that access"
        ),
        _MARKERS + "a_marker_completes_after_all_that_came_before": _IN_ORDER,
        _MARKERS + "a_marker_with_a_list_waits_for_no_other": _IN_ORDER,
        _MARKERS + "later_commands_do_not_wait_for_a_marker": _IN_ORDER,
        "test_sub_buffers.py::test_an_origin_that_is_not_aligned_is_refused": (
            "makes a sub-buffer at an origin that CL_DEVICE_MEM_BASE_ADDR_ALIGN does not allow"
        ),
        "test_sub_buffers.py::test_a_part_outside_the_buffer_is_refused": (
            "makes a sub-buffer that reaches outside its buffer"
        ),
        "test_sub_buffers.py::test_a_part_of_a_part_is_refused": "makes a sub-buffer of a sub-buffer",
        "test_sub_buffers.py::test_a_copy_between_overlapping_parts_is_refused": (
            "copies between overlapping sub-buffers"
        ),
        **{
            f"{_FAILING_USER_EVENT}[{code}]": "waiting for a failed user event returns as if it were complete"
            for code in (-1, -5, -14, -1000)
        },
        "test_user_events.py::test_the_status_is_set_once": "sets the status of a user event a second time",
        "test_wait_lists.py::test_waiting_for_events_of_two_contexts_is_refused": (
            "waits for events of two contexts at once"
        ),
        "test_wait_lists.py::test_out_of_order_what_waits_for_nothing_passes_what_waits": _IN_ORDER,
    },
}
"""Text in the platform's name or version -> test id below this folder -> what the implementation does."""

ENDS_THE_PROCESS: dict[str, dict[str, str]] = {
    "Intel(R) OpenCL": {
        _FAILURES + "test_what_waits_for_nothing_that_failed_still_runs": (
            "dies at the first enqueue after a command of an out-of-order queue failed"
        ),
    },
    "NVIDIA CUDA": {
        "test_launches.py::test_a_local_size_of_zero_is_refused": (
            "dies of a division by zero (SIGFPE) in clEnqueueNDRangeKernel"
        ),
        "test_lifetimes.py::test_a_user_event_that_nobody_set_is_counted_and_released_as_any": (
            "hangs after the release of a user event that was never set, seemingly where queue or context go"
        ),
    },
}
