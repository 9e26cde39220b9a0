"""Pre-compiled programs: the format, and when binaries are used, refused and asked for anew."""

from __future__ import annotations

import json
import struct
import warnings
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.cl.codes import ErrorCode
from runtime.programs import (
    PrecompiledProgram,
    PrecompiledProgramsWarning,
    ProgramLibrary,
    ProgramsFormatError,
    decode_programs,
    encode_programs,
)
from tests.runtime.fake_cl import IDENTITY, Cl, FakeContext, FakeDevice

SOURCES = {"add": "add", "sub": "sub", "mul": "mul"}

HEADER = struct.Struct("<8sHI32s")


def program(name: str = "add", **changes) -> PrecompiledProgram:
    fields = {"source_sha256": "0" * 64, "options": "", "identity": IDENTITY, "binary": b"\x7fELF"}
    return PrecompiledProgram(name, **{**fields, **changes})


def library(cl: Cl | None = None, sources: dict[str, str] = SOURCES, driver: str = "1.0") -> ProgramLibrary:
    device = FakeDevice(cl or Cl(), driver)
    return ProgramLibrary(FakeContext(device.cl, [device]), device, sources)


def build_all(programs: ProgramLibrary) -> None:
    for name in programs.names:
        programs.program(name)


def set_and_build(programs: ProgramLibrary, data: bytes) -> None:
    programs.set(data)
    build_all(programs)


def quietly_set(programs: ProgramLibrary, data: bytes) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        set_and_build(programs, data)


class TestFormat:
    def test_programs_come_back_as_they_were_in_order_of_name(self):
        programs = [program("b", options="-DX=1"), program("a", binary=b"\0" * 1000)]
        assert decode_programs(encode_programs(programs)) == ([programs[1], programs[0]], [])

    def test_the_order_of_programs_makes_no_difference_to_the_bytes(self):
        programs = [program(name) for name in ("c", "a", "b")]
        assert encode_programs(programs) == encode_programs(reversed(programs))

    def test_one_blob_holds_programs_of_several_devices(self):
        other = program("add", identity=FakeDevice(driver="2.0").identity, binary=b"other")
        assert decode_programs(encode_programs([program("add"), other]))[0] == [program("add"), other]

    def test_no_programs_are_an_empty_blob(self):
        assert decode_programs(encode_programs([])) == ([], [])

    @pytest.mark.parametrize("data", [b"", b"CLRTPROG", b"x" * 200, b"\x7fELF" + b"\0" * 100])
    def test_other_bytes_are_refused(self, data):
        with pytest.raises(ProgramsFormatError, match="do not begin"):
            decode_programs(data)

    def test_a_version_that_is_not_known_is_refused_by_its_number(self):
        data = bytearray(encode_programs([program()]))
        data[8:10] = (2).to_bytes(2, "little")
        with pytest.raises(ProgramsFormatError, match="version 2; this release reads version 1"):
            decode_programs(bytes(data))

    def test_one_damaged_binary_is_named_and_the_others_are_read(self):
        data = bytearray(encode_programs([program("a", binary=b"A" * 10), program("b", binary=b"B" * 10)]))
        data[-15] ^= 1
        programs, damaged = decode_programs(bytes(data))
        assert ([p.name for p in programs], damaged) == (["b"], ["a"])

    def test_bytes_after_the_end_are_refused(self):
        with pytest.raises(ProgramsFormatError, match="1 bytes follow"):
            decode_programs(encode_programs([program()]) + b"x")

    @given(cut=st.integers(0, 10**6))
    def test_a_blob_cut_off_anywhere_never_gives_a_wrong_program(self, cut):
        whole = [program(name, binary=name.encode() * 50) for name in "abc"]
        data = encode_programs(whole)
        try:
            programs, damaged = decode_programs(data[: cut % len(data)])
        except ProgramsFormatError:
            return
        assert damaged
        assert all(program in whole for program in programs)

    @given(position=st.integers(0, 10**6), bit=st.integers(0, 7))
    def test_a_flipped_bit_anywhere_never_gives_a_wrong_program(self, position, bit):
        whole = [program(name, binary=name.encode() * 50) for name in "abc"]
        data = bytearray(encode_programs(whole))
        data[position % len(data)] ^= 1 << bit
        try:
            programs, damaged = decode_programs(bytes(data))
        except ProgramsFormatError:
            return
        assert len(damaged) == 1
        assert all(program in whole for program in programs)

    @pytest.mark.parametrize(
        "change",
        [
            lambda index: index["programs"][0].update(identity=1),
            lambda index: index["programs"][0].update(identity=-1),
            lambda index: index["programs"][0].update(identity=True),
            lambda index: index["programs"][0].update(size_bytes=-4),
            lambda index: index["programs"][0].update(size_bytes=0),
            lambda index: index["programs"][0].update(name=None),
            lambda index: index["programs"][0].pop("options"),
            lambda index: index["identities"][0].pop("driver_version"),
            lambda index: index.update(programs={}),
            lambda index: index.pop("identities"),
        ],
    )
    def test_a_false_index_with_a_true_checksum_is_refused(self, change):
        data = encode_programs([program()])
        magic, version, size, _ = HEADER.unpack_from(data)
        index = json.loads(data[HEADER.size : HEADER.size + size])
        change(index)
        packed = json.dumps(index).encode()
        forged = HEADER.pack(magic, version, len(packed), sha256(packed).digest()) + packed + b"\x7fELF"
        with pytest.raises(ProgramsFormatError, match="index"):
            decode_programs(forged)

    def test_an_index_nested_without_end_is_refused(self):
        packed = b"[" * 100_000
        with pytest.raises(ProgramsFormatError, match="index"):
            decode_programs(HEADER.pack(b"CLRTPROG", 1, len(packed), sha256(packed).digest()) + packed)


class TestBuilding:
    def test_a_program_is_built_once_when_first_asked_for(self):
        cl = Cl()
        programs = library(cl)
        assert cl.compiled == []
        assert programs.program("add") is programs.program("add")
        assert cl.compiled == ["add"]

    def test_an_unknown_program_is_a_key_error(self):
        with pytest.raises(KeyError, match="div"):
            library().program("div")

    def test_programs_travel_to_another_library_and_no_source_is_compiled_there(self):
        data = library().get()
        cl = Cl()
        quietly_set(library(cl), data)
        assert cl.compiled == []
        assert cl.log.count("build binary") == 3

    def test_equal_programs_are_equal_bytes(self):
        assert library().get() == library(sources=dict(reversed(SOURCES.items()))).get()

    def test_programs_read_where_they_were_loaded_are_the_same_bytes(self):
        data = library().get()
        programs = library()
        programs.set(data)
        assert programs.get() == data

    def test_every_kernel_is_created_before_binaries_are_read_of_a_lazy_compiler(self):
        cl = Cl()
        cl.lazy_compiler = True
        data = library(cl, {"add": "add helper"}).get()
        assert decode_programs(data)[0][0].binary == b"binary of add helper"
        assert cl.live["kernel"] == 0

    def test_closing_releases_the_programs(self):
        cl = Cl()
        programs = library(cl)
        build_all(programs)
        assert cl.live["program"] == 3
        programs.close()
        assert cl.live["program"] == 0

    def test_anything_but_bytes_is_refused(self):
        with pytest.raises(TypeError, match="not str"):
            library().set("programs")


def assert_one_warning_and_source_builds(data: bytes, message: str, cl: Cl | None = None, **of) -> Cl:
    cl = cl or Cl()
    programs = library(cl, **of)
    with pytest.warns(PrecompiledProgramsWarning, match=message) as caught:
        set_and_build(programs, data)
    assert len(caught) == 1
    assert programs.changed, "the bytes are worth saving anew"
    return cl


class TestRefusing:
    def test_programs_of_another_driver_version(self):
        data = library(driver="1.0").get()
        cl = assert_one_warning_and_source_builds(
            data, "driver version '1.0', while this is '1.1'", driver="1.1"
        )
        assert sorted(cl.compiled) == ["add", "mul", "sub"]
        assert "program from binaries" not in cl.log, "a driver must not be given what is not its own"

    def test_programs_of_another_source(self):
        data = library(sources={**SOURCES, "add": "add other"}).get()
        cl = assert_one_warning_and_source_builds(data, "1 of 3 have another source or options, first add")
        assert cl.compiled == ["add"]

    def test_programs_of_another_module(self):
        data = library(sources={"div": "div"}).get()
        assert_one_warning_and_source_builds(data, "another source or options, first div")

    def test_a_damaged_program_costs_the_others_nothing(self):
        data = bytearray(library().get())
        data[-1] ^= 1
        cl = assert_one_warning_and_source_builds(bytes(data), "1 of 3 are damaged, first sub")
        assert cl.compiled == ["sub"]

    @pytest.mark.parametrize("data", [b"", b"nonsense", b"CLRTPROG" + b"\xff" * 60])
    def test_bytes_that_are_no_programs(self, data):
        cl = assert_one_warning_and_source_builds(data, "sources are built instead")
        assert sorted(cl.compiled) == ["add", "mul", "sub"]

    @pytest.mark.parametrize(
        ("call", "code"),
        [
            ("program from binaries", ErrorCode.CL_INVALID_BINARY),
            ("program from binaries", ErrorCode.CL_INVALID_VALUE),
            ("build binary", ErrorCode.CL_INVALID_BINARY),
            ("build binary", ErrorCode.CL_BUILD_PROGRAM_FAILURE),
        ],
    )
    def test_binaries_that_the_driver_refuses_at_loading_or_at_the_build(self, call, code):
        cl = Cl()
        cl.fail[call] = [code] * 3
        assert_one_warning_and_source_builds(library().get(), "the driver refused the binary of program", cl)
        assert sorted(cl.compiled) == ["add", "mul", "sub"]
        assert cl.live["program"] == 3, "what was refused is released"

    def test_a_binary_that_builds_but_lacks_the_kernel(self):
        key = {"identity": IDENTITY, "options": ""}
        data = encode_programs(
            PrecompiledProgram(name, sha256(text.encode()).hexdigest(), binary=b"binary of other", **key)
            for name, text in SOURCES.items()
        )
        cl = assert_one_warning_and_source_builds(data, "CL_INVALID_KERNEL_NAME")
        assert sorted(cl.compiled) == ["add", "mul", "sub"]

    def test_programs_of_other_devices_beside_ours_are_no_reason_to_warn(self):
        ours, _ = decode_programs(library().get())
        theirs, _ = decode_programs(library(driver="2.0").get())
        cl = Cl()
        quietly_set(library(cl), encode_programs(ours + theirs))
        assert cl.compiled == []

    def test_each_set_may_warn_once(self):
        programs = library()
        for _ in range(2):
            with pytest.warns(PrecompiledProgramsWarning) as caught:
                programs.set(b"nonsense")
            assert len(caught) == 1


class TestChanged:
    def test_nothing_has_changed_before_a_build(self):
        assert not library().changed

    def test_a_source_build_changes_and_reading_settles(self):
        programs = library()
        programs.program("add")
        assert programs.changed
        programs.get()
        assert not programs.changed

    def test_programs_built_from_given_binaries_change_nothing(self):
        data = library().get()
        programs = library()
        quietly_set(programs, data)
        assert not programs.changed

    def test_a_program_that_the_bytes_lack_changes_when_built(self):
        data = library(sources={"add": "add", "sub": "sub"}).get()
        programs = library()
        programs.set(data)
        programs.program("add")
        assert not programs.changed
        programs.program("mul")
        assert programs.changed

    def test_a_build_before_a_set_does_not_count(self):
        programs = library()
        programs.program("add")
        programs.set(library().get())
        assert not programs.changed
