"""Whatever comes in, the compiler answers with a module or a log, and leaves the process as it was."""

from __future__ import annotations

import gc
import random
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from clc_support import FULL, KERNEL
from hypothesis import given, settings
from hypothesis import strategies as st
from test_clc_serial import PROGRAM

from clsim.clc import compile_source, dump, load

_TOKEN = re.compile(r'[A-Za-z_]\w*|\d[\w.]*|"[^"\n]*"|\S|\s+')


def answer(source: str) -> bool:
    """Compile; whether it worked. A failure must have a log with a place."""
    made = compile_source(source, target=FULL)
    if made.module is None:
        assert re.search(r"^(\S+:\d+:\d+: )?(fatal )?error: .", made.log, re.MULTILINE)
        assert made.errors > 0
        return False
    assert dump(load(dump(made.module))) == dump(made.module)
    return True


def test_a_program_with_tokens_dropped_doubled_or_swapped_is_compiled_or_refused() -> None:
    rng = random.Random(7)
    tokens = _TOKEN.findall(PROGRAM)
    words = [t for t in tokens if not t.isspace()]
    worked = 0
    for _ in range(600):
        changed = list(tokens)
        for _ in range(rng.choice((1, 1, 2, 4))):
            k = rng.randrange(len(changed))
            how = rng.randrange(4)
            if how == 0:
                del changed[k]
            elif how == 1:
                changed[k] = rng.choice(words)
            elif how == 2:
                changed.insert(k, rng.choice(words))
            else:
                j = rng.randrange(len(changed))
                changed[k], changed[j] = changed[j], changed[k]
        worked += answer("".join(changed))
    assert 0 < worked < 600


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_compiled_or_refused(text: str) -> None:
    made = compile_source(text, target=FULL)
    assert made.module is not None or made.log


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="()[]{};,=+-*/&|^!~<>?:.#\"'\\ \nabfn019xe_", max_size=60))
def test_any_statement_is_compiled_or_refused(text: str) -> None:
    answer(KERNEL % text)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60))
def test_any_options_are_taken_or_refused(text: str) -> None:
    made = compile_source("kernel void k() {}", text, target=FULL)
    assert made.module is not None or made.option_error or made.log


def test_a_source_cut_anywhere_is_compiled_or_refused() -> None:
    for length in range(0, len(PROGRAM), 5):
        answer(PROGRAM[:length])


def test_the_interpreters_settings_are_as_before_afterwards() -> None:
    limit, collecting = sys.getrecursionlimit(), gc.isenabled()
    answer(PROGRAM)
    answer("kernel void k() {" + "(" * 300)
    assert (sys.getrecursionlimit(), gc.isenabled()) == (limit, collecting)


def test_threads_compile_side_by_side() -> None:
    made = compile_source(PROGRAM, target=FULL).module
    assert made is not None
    expected = dump(made)

    def work(_: int) -> bytes:
        module = compile_source(PROGRAM, target=FULL).module
        assert module is not None
        return dump(module)

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(work, range(12))) == {expected}


def test_importing_the_package_does_not_import_the_compiler_nor_numpy() -> None:
    code = "import sys, clsim.clc; print([m for m in sys.modules if m in ('clsim.clc.parser', 'numpy')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_compiler_needs_no_numpy() -> None:
    code = (
        "import sys; sys.modules['numpy'] = None\n"
        "from clsim.clc import Target, compile_source, dump, load\n"
        "load(dump(compile_source('kernel void k(global int *o) {o[0] = 1;}', target=Target()).module))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
