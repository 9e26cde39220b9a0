"""What a board claims and clsim does not run fails at its use, and an honest platform does not claim it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from host import Host

from clsim import api
from clsim import spec as cl
from clsim.spec import CLError

RGBA = (cl.CL_RGBA, cl.CL_UNORM_INT8)


def test_an_image_on_a_board_that_claims_images_is_refused_with_a_finding(host: Callable[..., Host]) -> None:
    h = host(profile="adreno-750")
    assert api.clGetDeviceInfo(h.device, cl.CL_DEVICE_IMAGE_SUPPORT) is True
    assert api.clGetDeviceInfo(h.device, cl.CL_DEVICE_IMAGE2D_MAX_WIDTH) == 16384
    with pytest.raises(CLError, match="does not simulate") as refused:
        api.clCreateImage(h.context, cl.CL_MEM_READ_WRITE, RGBA, None)
    assert refused.value.code == cl.CL_INVALID_OPERATION
    (finding,) = h.platform.findings.of("not-simulated")
    assert finding.sites[0].file == __file__


def test_an_image_on_a_device_without_images_is_the_programs_own_fault(host: Callable[..., Host]) -> None:
    h = host(profile="adreno-750", claims="honest")
    assert api.clGetDeviceInfo(h.device, cl.CL_DEVICE_IMAGE_SUPPORT) is False
    with pytest.raises(CLError, match="supports images") as refused:
        api.clCreateImageWithProperties(h.context, None, cl.CL_MEM_READ_WRITE, RGBA, None)
    assert refused.value.code == cl.CL_INVALID_OPERATION
    assert not list(h.platform.findings)
    assert api.clGetSupportedImageFormats(h.context, 0, cl.CL_MEM_OBJECT_IMAGE2D) == ()


@pytest.mark.parametrize(
    ("version", "query", "there"),
    [
        ("1.2", cl.CL_DEVICE_BUILT_IN_KERNELS, True),
        ("1.2", cl.CL_DEVICE_SVM_CAPABILITIES, False),
        ("2.0", cl.CL_DEVICE_SVM_CAPABILITIES, True),
        ("2.0", cl.CL_DEVICE_NUMERIC_VERSION, False),
        ("3.0", cl.CL_DEVICE_NUMERIC_VERSION, True),
        ("3.0", cl.CL_DEVICE_HALF_FP_CONFIG, False),  # of cl_khr_fp16, which the device lacks
    ],
)
def test_a_device_answers_the_queries_of_its_version_and_extensions(
    host: Callable[..., Host], profile_with: Callable[..., Any], version: str, query: int, there: bool
) -> None:
    device = host(profile=profile_with(version=version)).device
    if there:
        api.clGetDeviceInfo(device, query)
    else:
        with pytest.raises(CLError, match="CL_INVALID_VALUE"):
            api.clGetDeviceInfo(device, query)
