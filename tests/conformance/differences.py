"""Where implementations differ from the standard, as seen with this suite.

A test named here must fail on a platform whose name and version hold the text (strict expected failure);
one of `ENDS_THE_PROCESS` is not run there. Seen with PoCL 3.0-rc2 (PyPI's) and 3.1 (Debian's), and with
Intel's CPU runtime 2026.22.
"""

from __future__ import annotations

_FAILURES = "test_failed_dependencies.py::"
_STATUS_LOST = "the status of a command whose wait list failed is COMPLETE, though waiting for it fails"

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
}
"""Text in the platform's name or version -> test id below this folder -> what the implementation does."""

ENDS_THE_PROCESS: dict[str, dict[str, str]] = {
    "Intel(R) OpenCL": {
        _FAILURES + "test_what_waits_for_nothing_that_failed_still_runs": (
            "dies at the first enqueue after a command of an out-of-order queue failed"
        ),
    },
}
