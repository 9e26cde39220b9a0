"""The macros that exist before the first line of a program (OpenCL C 6.10, 6.13.2, 6.13.3)."""

from __future__ import annotations

from functools import lru_cache

from clsim.clc.macros import Macro
from clsim.clc.target import Target

VERSIONS = ((1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2), (3, 0))

_ALWAYS = {
    "__ENDIAN_LITTLE__": "1",
    "NULL": "((void*)0)",
    "true": "1",
    "false": "0",
    "CHAR_BIT": "8", "CHAR_MAX": "SCHAR_MAX", "CHAR_MIN": "SCHAR_MIN",
    "SCHAR_MAX": "127", "SCHAR_MIN": "(-127 - 1)", "UCHAR_MAX": "255",
    "SHRT_MAX": "32767", "SHRT_MIN": "(-32767 - 1)", "USHRT_MAX": "65535",
    "INT_MAX": "2147483647", "INT_MIN": "(-2147483647 - 1)", "UINT_MAX": "0xffffffffU",
    "LONG_MAX": "0x7fffffffffffffffL", "LONG_MIN": "(-0x7fffffffffffffffL - 1)",
    "ULONG_MAX": "0xffffffffffffffffUL",
    "FLT_DIG": "6", "FLT_MANT_DIG": "24", "FLT_MAX_10_EXP": "+38", "FLT_MAX_EXP": "+128",
    "FLT_MIN_10_EXP": "-37", "FLT_MIN_EXP": "-125", "FLT_RADIX": "2",
    "FLT_MAX": "0x1.fffffep127f", "FLT_MIN": "0x1.0p-126f", "FLT_EPSILON": "0x1.0p-23f",
    "MAXFLOAT": "0x1.fffffep127f", "HUGE_VALF": "(1e999f)", "INFINITY": "(1e999f)", "NAN": "(0.0f/0.0f)",
    "FP_ILOGB0": "(-2147483647 - 1)", "FP_ILOGBNAN": "2147483647",
    "CLK_LOCAL_MEM_FENCE": "0x01", "CLK_GLOBAL_MEM_FENCE": "0x02", "CLK_IMAGE_MEM_FENCE": "0x04",
    "memory_scope_work_item": "0", "memory_scope_work_group": "1", "memory_scope_device": "2",
    "memory_scope_all_svm_devices": "3", "memory_scope_all_devices": "3", "memory_scope_sub_group": "4",
    "memory_order_relaxed": "0", "memory_order_acquire": "2", "memory_order_release": "3",
    "memory_order_acq_rel": "4", "memory_order_seq_cst": "5",
}  # fmt: skip

_DOUBLE = {
    "DBL_DIG": "15", "DBL_MANT_DIG": "53", "DBL_MAX_10_EXP": "+308", "DBL_MAX_EXP": "+1024",
    "DBL_MIN_10_EXP": "-307", "DBL_MIN_EXP": "-1021", "DBL_RADIX": "2",
    "DBL_MAX": "0x1.fffffffffffffp1023", "DBL_MIN": "0x1.0p-1022", "DBL_EPSILON": "0x1.0p-52",
    "HUGE_VAL": "(1e999)",
}  # fmt: skip

_HALF = {
    "HALF_DIG": "3", "HALF_MANT_DIG": "11", "HALF_MAX_10_EXP": "+4", "HALF_MAX_EXP": "+16",
    "HALF_MIN_10_EXP": "-4", "HALF_MIN_EXP": "-13", "HALF_RADIX": "2",
    "HALF_MAX": "0x1.ffcp15h", "HALF_MIN": "0x1.0p-14h", "HALF_EPSILON": "0x1.0p-10h",
}  # fmt: skip

_CONSTANTS = {
    "M_E": "2.718281828459045235360287471352662498", "M_LOG2E": "1.442695040888963407359924681001892137",
    "M_LOG10E": "0.434294481903251827651128918916605082", "M_LN2": "0.693147180559945309417232121458176568",
    "M_LN10": "2.302585092994045684017991454684364208", "M_PI": "3.141592653589793238462643383279502884",
    "M_PI_2": "1.570796326794896619231321691639751442", "M_PI_4": "0.785398163397448309615660845819875721",
    "M_1_PI": "0.318309886183790671537767526745028724", "M_2_PI": "0.636619772367581343075535053490057448",
    "M_2_SQRTPI": "1.128379167095512573896158903121545172",
    "M_SQRT2": "1.414213562373095048801688724209698079",
    "M_SQRT1_2": "0.707106781186547524400844362104849039",
}  # fmt: skip


@lru_cache(maxsize=64)
def _texts(target: Target, standard: tuple[int, int], fast_math: bool) -> dict[str, str]:
    out = dict(_ALWAYS)
    for name, value in _CONSTANTS.items():
        out[f"{name}_F"] = f"{value}f"
        if target.has_double:
            out[name] = value
        if target.has_half:
            out[f"{name}_H"] = f"{value}h"
    if target.has_double:
        out |= _DOUBLE
    if target.has_half:
        out |= _HALF
    for major, minor in VERSIONS:
        if (major, minor) <= max(target.opencl_version, standard):
            out[f"CL_VERSION_{major}_{minor}"] = f"{major}{minor}0"
    out["__OPENCL_VERSION__"] = "{}{}0".format(*target.opencl_version)
    out["__OPENCL_C_VERSION__"] = "{}{}0".format(*standard)
    if target.image_support:
        out["__IMAGE_SUPPORT__"] = "1"
    if target.embedded_profile:
        out["__EMBEDDED_PROFILE__"] = "1"
    if fast_math:
        out["__FAST_RELAXED_MATH__"] = "1"
    out |= dict.fromkeys(target.extensions, "1")
    if standard >= (3, 0):
        out |= dict.fromkeys(target.features, "1")
    return out


def predefined(target: Target, standard: tuple[int, int], fast_math: bool) -> dict[str, Macro]:
    """Fresh macros for one compilation for `standard`, a version of OpenCL C."""
    macros = {name: Macro(name, text) for name, text in _texts(target, standard, fast_math).items()}
    macros["__kernel_exec"] = macros["kernel_exec"] = Macro(
        "__kernel_exec",
        "__kernel __attribute__((work_group_size_hint(X, 1, 1))) __attribute__((vec_type_hint(T)))",
        parameters=["X", "T"],
    )
    return macros
