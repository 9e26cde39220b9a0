"""Images (section 5.3). clsim does not run them yet: what a board claims of them fails at its use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clsim.api.entry import entry, live
from clsim.objects import Context
from clsim.spec import CL_INVALID_OPERATION, CLError


@entry(live("context", Context))
def clCreateImage(
    context: Context, flags: int, image_format: Any, image_desc: Any, host_ptr: object = None
) -> object:
    """Raises CL_INVALID_CONTEXT, CL_INVALID_OPERATION.

    On a device without images that is the standard's code; one that claims images gives a finding too.
    """
    raise _refused("clCreateImage", context)


@entry(live("context", Context))
def clCreateImageWithProperties(
    context: Context,
    properties: Sequence[int] | None,
    flags: int,
    image_format: Any,
    image_desc: Any,
    host_ptr: object = None,
) -> object:
    """As clCreateImage."""
    raise _refused("clCreateImageWithProperties", context)


@entry(live("context", Context))
def clGetSupportedImageFormats(context: Context, flags: int, image_type: int) -> tuple[tuple[int, int], ...]:
    """Pairs of channel order and channel type; none."""
    return ()


def _refused(routine: str, context: Context) -> CLError:
    claiming = [d for d in context.devices if d.profile.info.get("CL_DEVICE_IMAGE_SUPPORT")]
    if not claiming:
        return CLError(CL_INVALID_OPERATION, routine, "no device of the context supports images")
    reason = f"{claiming[0].label} has images, which clsim does not simulate"
    platform = context.platform
    platform.findings.add(
        "not-simulated",
        "warning",
        reason,
        objects=(context.label,),
        sites=(("called", platform.site()),),
        advice='open the platform with claims="honest" to have devices without them',
    )
    return CLError(CL_INVALID_OPERATION, routine, reason)
