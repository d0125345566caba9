"""The lines that a patch adds are those that the new file has and the old one lacks."""

from __future__ import annotations

import difflib

from hypothesis import given
from hypothesis import strategies as st

from bot.trackers.github_pulls import added_lines

LINES = st.lists(
    st.sampled_from(["", "a", "b", "+x", "-y", "@@ -1 +9 @@", " z", "\\ No newline"]), max_size=12
)


def patch(old: list[str], new: list[str], around: int) -> str:
    """As GitHub gives it: the hunks alone."""
    return "\n".join(list(difflib.unified_diff(old, new, lineterm="", n=around))[2:])


@given(old=LINES, new=LINES, around=st.integers(0, 3))
def test_added_lines_and_the_kept_ones_make_the_new_file(old: list[str], new: list[str], around: int) -> None:
    added = list(added_lines(patch(old, new, around)))
    matcher = difflib.SequenceMatcher(None, old, new)
    kept = {b + k + 1 for _, b, size in matcher.get_matching_blocks() for k in range(size)}
    assert added == [n for n in range(1, len(new) + 1) if n not in kept]


def test_a_patch_without_a_newline_at_the_end_is_counted_right() -> None:
    told = "@@ -1,2 +1,3 @@\n a\n-b\n\\ No newline at end of file\n+b\n+c\n\\ No newline at end of file"
    assert list(added_lines(told)) == [2, 3]


def test_a_file_without_a_patch_has_no_changed_line() -> None:
    assert list(added_lines("")) == []
