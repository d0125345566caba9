"""Which builds lie between two that a person names."""

from __future__ import annotations

import pytest

from bot.builds.offer import Offer
from bot.commits import compare_link, is_of_branch
from bot.ends import place, stretch
from bot.errors import UserMistake

NIGHTLIES = [
    Offer("torch", f"2.15.0.dev202611{day:02}+cpu", "cpu", f"2026-11-{day:02}") for day in (1, 2, 4, 5)
]
RELEASES = [Offer("torch", version) for version in ("2.9.0", "2.9.1", "2.13.0", "2.14.1")]
TWO_LABELS = [Offer("torch", "2.9.0+cpu", "cpu"), Offer("torch", "2.9.0+cu130", "cu130")]


@pytest.mark.parametrize("name", ["2.15.0.dev20261102+cpu", "2.15.0.dev20261102", "2026-11-02", "20261102"])
def test_a_build_is_named_by_its_version_or_its_day(name: str) -> None:
    assert place(NIGHTLIES, name) == 1


@pytest.mark.parametrize(
    ("offers", "name", "said"),
    [
        (NIGHTLIES, "2026-11-03", "there is 2.15.0.dev20261102+cpu and 2.15.0.dev20261104+cpu"),
        (NIGHTLIES, "2026-10-01", "there is 2.15.0.dev20261101+cpu"),
        (RELEASES, "2.13", "there is 2.13.0"),
        (RELEASES, "2026-11-03", "no build '2026-11-03'; there is "),
        (TWO_LABELS, "2.9.0", "'2.9.0' means several builds: 2.9.0+cpu, 2.9.0+cu130"),
    ],
)
def test_a_name_of_no_build_is_answered_with_those_close_to_it(
    offers: list[Offer], name: str, said: str
) -> None:
    with pytest.raises(UserMistake) as told:
        place(offers, name)
    assert said in str(told.value)


def test_the_ends_may_be_named_either_way_round() -> None:
    forward = stretch(RELEASES, "2.9.1", "2.14.1")
    assert [offer.version for offer in forward.offers] == ["2.9.1", "2.13.0", "2.14.1"]
    assert forward.good_is_older
    back = stretch(RELEASES, "2.14.1", "2.9.1")
    assert (back.offers, back.good_is_older) == (forward.offers, False)
    for one in (forward, back):
        assert {one.good.version, one.bad.version} == {"2.9.1", "2.14.1"}
    assert back.good.version == "2.14.1"


def test_without_names_the_ends_are_the_oldest_and_the_newest() -> None:
    assert stretch(NIGHTLIES, "", "").offers == tuple(NIGHTLIES)
    assert stretch(NIGHTLIES, "2026-11-04", "").offers == tuple(NIGHTLIES[2:])


def test_one_build_is_no_stretch() -> None:
    with pytest.raises(UserMistake, match=r"both ends are torch 2\.9\.0; name two"):
        stretch(RELEASES, "2.9.0", "2.9.0")
    with pytest.raises(UserMistake, match="the channel has 1"):
        stretch(RELEASES[:1], "", "")


def test_a_link_compares_two_known_commits() -> None:
    assert compare_link("torch", "aaa", "bbb").endswith("/pytorch/pytorch/compare/aaa...bbb")
    assert compare_link("mindspore", "aaa", "bbb").endswith("/compare/aaa...bbb")


@pytest.mark.parametrize(
    ("framework", "older", "newer"),
    [("torch", "", "b"), ("torch", "a", ""), ("torch", "a", "a"), ("toy", "a", "b")],
)
def test_there_is_no_link_to_nothing(framework: str, older: str, newer: str) -> None:
    assert compare_link(framework, older, newer) == ""


def test_only_torchs_nightlies_have_a_branch() -> None:
    assert is_of_branch("torch", NIGHTLIES[0].name)
    assert not is_of_branch("torch", RELEASES[0].name)
    assert not is_of_branch("mindspore", "mindspore 2.11.0.dev1")
