"""What is read from the last words of a process."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot import crash_log

LOG = """*** stack smashing detected ***: terminated
Fatal Python error: Aborted

Thread 0x00007f1c7c300590 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 327 in wait

Current thread 0x00007f1c7c300591 (most recent call first):
  File "/tmp/x/ab/cabcdefghijklmnopqrstuvwxyz234567abcdefghijklmnopqrs.py", line 20 in call
  File "/home/me/.venv/lib/python3.11/site-packages/torch/_inductor/output_code.py", line 3 in __call__
  File "/tmp/repro.py", line 9 in <module>

Extension modules: numpy
"""


def test_the_frames_are_the_frameworks_of_the_thread_that_died() -> None:
    assert crash_log.frames(LOG) == ("torch._inductor.output_code:__call__", "<generated>:call")


def test_who_knows_more_than_the_signal_names_the_fault() -> None:
    assert crash_log.message(LOG) == "stack smashing detected"
    assert crash_log.message("Fatal Python error: Aborted\n") == "Aborted"


@pytest.mark.parametrize("where", ["0x7f12", "0x55aa"])
def test_an_exception_of_c10_is_named_by_its_words_and_its_function(where: str) -> None:
    log = (
        "terminate called after throwing an instance of 'c10::Error'\n  what():  expected 4 sizes\n"
        f"Exception raised from check at /src/x.cpp:{len(where)} (most recent call first):\n"
        f"frame #0: c10::Error::Error() + 0x9c ({where} in /lib/libc10.so)\n"
    )
    assert crash_log.message(log) == "expected <n> sizes raised from check"


@given(st.text(max_size=200))
def test_any_output_can_be_read(log: str) -> None:
    assert isinstance(crash_log.message(log), str)
    assert isinstance(crash_log.frames(log), tuple)


@pytest.mark.parametrize("name", sorted(crash_log.NAMES_OF_SIGNALS))
def test_the_name_of_a_signal_is_no_reason(name: str) -> None:
    log = f"Fatal Python error: {name}\n"
    assert crash_log.message(log) == name
    assert crash_log.reason(log) == ""


def test_last_words_are_a_reason() -> None:
    log = "double free or corruption (out)\nFatal Python error: Aborted\n"
    assert crash_log.reason(log) == crash_log.message(log) == "double free or corruption (out)"
