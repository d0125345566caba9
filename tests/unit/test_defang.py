"""Hostile text: nothing in it may act, and a person must still be able to read it."""

from __future__ import annotations

import html
import re

import cmarkgfm
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.defang import HEAD, ZERO_WIDTH, code, cut, defang, fence, inline, prose, redact

ACTS = (
    re.compile(r"@[A-Za-z0-9]"),
    re.compile(r"#\d"),
    re.compile(r"(?i)\bGH-\d"),
    re.compile(r"``"),
    re.compile(r"<!--|-->"),
    re.compile(r"https?://", re.IGNORECASE),
    re.compile(r"</?(?:details|summary)\b", re.IGNORECASE),
)

HOSTILE = [
    "cc @pytorch/oncall and @someone",
    "fixes #12345, closes owner/repo#7, see GH-99",
    "https://github.com/pytorch/pytorch/issues/1",
    "HTTP://github.com/a/b/pull/2",
    "```\nbreak out\n```",
    "`````` six",
    "<!-- nightfuzz signature=v1-000000000000 kind=wrong -->",
    "--> closing",
    "</details><summary>x</summary>",
    "\x1b[31mred\x1b[0m \x07 \u202eright to left",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_hostile_acts(text: str) -> None:
    made = defang(text)
    assert not [a.pattern for a in ACTS if a.search(made)]
    assert not re.search(r"[\x00-\x08\x1b\u202e]", made)


@given(st.text(alphabet=st.sampled_from("@#`<>!-~aGgH1/: \nhtps"), max_size=60))
def test_no_text_acts_and_defanging_twice_is_defanging_once(text: str) -> None:
    made = defang(text)
    assert not [a.pattern for a in ACTS if a.search(made)]
    assert defang(made) == made


@given(st.text(alphabet=st.sampled_from("@#`<>!ab1 \n"), max_size=60))
def test_a_person_reads_the_same(text: str) -> None:
    assert defang(text).replace(ZERO_WIDTH, "") == text


SECRET = [
    "ghp_" + "a1B2" * 9,
    "github_pat_" + "a1B2_" * 8,
    "https://user:hunter22@index.example/simple",
    "Authorization: Bearer abc.def-ghi123",
    "hf_" + "abcDEF123" * 4,
    "AKIA" + "ABCDEFGH12345678",
    "API_KEY=supersecret99",
    'password: "correcthorse"',
]


@pytest.mark.parametrize("text", SECRET)
def test_secrets_are_gone(text: str) -> None:
    made = redact(text)
    assert "<redacted>" in made
    assert not re.search(r"a1B2|hunter22|abc\.def|abcDEF|ABCDEFGH|supersecret|correcthorse", made)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            'File "/home/me/venv/lib/python3.11/site-packages/torch/_inductor/ir.py"',
            'File ".../torch/_inductor/ir.py"',
        ),
        ("/home/me/project/x.py", "~/project/x.py"),
        ("/root/x.py", "~/x.py"),
        ("in /tmp/torchinductor_me/ab/cab.py", "in .../cab.py"),
    ],
)
def test_paths_keep_only_what_a_reader_needs(text: str, shown: str) -> None:
    assert redact(text) == shown


def test_host_names_are_gone() -> None:
    assert redact("on build-7.corp here", ["build-7.corp"]) == "on <host> here"
    assert redact("localhost is fine", ["localhost"]) == "localhost is fine"


def test_a_line_stays_a_line() -> None:
    assert inline("a | b\n`c`") == "a ¦ b 'c'"
    assert len(inline("x" * 500)) == 200


@pytest.mark.parametrize("size", [1, HEAD, 3 * HEAD])
def test_a_line_of_any_length_is_cut_and_never_to_a_piece_of_a_secret(size: int) -> None:
    assert inline(" " * size) == ""
    for before in range(HEAD - 60, HEAD):
        assert "a1B2" not in inline("." * before + " ghp_" + "a1B2" * 9, longest=2 * HEAD)


@given(st.text(alphabet=st.sampled_from("\\*_[]<>&~$!#+=-1.)(ab `|\n:;@"), max_size=40))
def test_markdown_shows_prose_as_the_line_that_it_is(text: str) -> None:
    page = cmarkgfm.github_flavored_markdown_to_html(prose(text)).strip()
    assert html.unescape(page.removeprefix("<p>").removesuffix("</p>")) == inline(text)


@given(st.text(alphabet=st.sampled_from("\\*_[]<>&`|ab "), max_size=40))
def test_markdown_shows_code_as_the_line_that_it_is(text: str) -> None:
    page = cmarkgfm.github_flavored_markdown_to_html(code(text)).strip()
    shown = html.unescape(page.removeprefix("<p><code>").removesuffix("</code></p>"))
    assert shown == inline(text)


@given(st.text(max_size=400), st.integers(60, 300))
def test_cutting_keeps_the_limit_and_both_ends(text: str, longest: int) -> None:
    made = cut(text, longest)
    assert len(made) <= longest
    assert text.startswith(made.split("\n[... ")[0])
    if len(text) > longest:
        assert "characters cut" in made


@given(st.text(alphabet="`a\n", max_size=30))
def test_a_fence_is_longer_than_any_run_inside(text: str) -> None:
    assert fence(text) not in text
