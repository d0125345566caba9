"""What of a pull request is told, and what is not: the decisions, on a bench whose answers are scripted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from bot.commands.order import Order
from bot.errors import MachineryFailure
from bot.pulls.checkout import file_in
from bot.pulls.result import MOST_FINDINGS, Result
from bot.pulls.review import Review, lines_of
from bot.pulls.workbench import Looked
from bot.settings import Settings
from bot.trackers.pulls import ChangedFile
from fuzzers.engine import Call, Piece, Reading
from fuzzers.records import Aspect, Finding, Kind, Suspect
from tests.unit.made import BUILD, a_finding, a_suspect

NAME = "models/net.py"
MODEL = "def model(): ...\ndef inputs(): ...\n"
CALLS = (Call(3, ("neg",), ("uint8",)), Call(4, ("amax",), ("uint8",)), Call(5, ("relu",), ("float32",)))
BASE_CALLS = (Call(3, ("relu",), ("float32",)),)
PIECES = (Piece({"nodes": 1}, (3, 4)), Piece({"nodes": 2}, (5,)))


class Quiet:
    """Nobody listens."""

    def say(self, line: str) -> None: ...

    def campaign(self, record: Any, budget: Any) -> None: ...

    def triage(self, ident: str, stage: str, outcome: str) -> None: ...


@dataclass
class ScriptedBench:
    """`looked` by side; `named` says what triage makes of a suspect; `mutants` by side."""

    looked: dict[str, Looked]
    named: dict[str, Finding] = field(default_factory=dict)
    mutants: dict[str, frozenset[str]] = field(default_factory=dict)
    known: frozenset[str] = frozenset()
    left: tuple[Suspect, ...] = ()
    broken: bool = False
    settings: Settings = field(default_factory=Settings)
    voice: Quiet = field(default_factory=Quiet)
    build: Any = BUILD
    campaigns: list[str] = field(default_factory=list)
    asked: list[tuple[str, bool]] = field(default_factory=list)
    taken: frozenset[str] = frozenset()

    @property
    def store(self) -> ScriptedBench:
        """Its own."""
        return self

    def pending(self) -> list[str]:
        """There always is something."""
        return ["x"]

    @contextmanager
    def pool(self) -> Iterator[None]:
        """No workers."""
        yield

    def look(self, pool: None, engine: str, path: Path, lines: Sequence[int], *, check: bool) -> Looked:
        """As scripted, by the checkout that the file is in."""
        if self.broken:
            raise MachineryFailure("no worker starts")
        side = path.parent.parent.name
        self.asked.append((side, check))
        found = self.looked[side]
        return found if check else replace(found, suspects=frozenset())

    def take(self, suspects: frozenset[str]) -> None:
        """For triage."""
        self.taken |= suspects

    def triage(self, pool: None, seconds: float) -> int:
        """What is left."""
        return len(self.left)

    def mutate(self, engine: str, pieces: Sequence[Piece], name: str, seconds: float) -> frozenset[str]:
        """As scripted."""
        side = name.partition("-")[0]
        self.campaigns.append(side)
        return self.mutants.get(side, frozenset())

    def findings(self, suspects: frozenset[str]) -> dict[str, tuple[Finding, list[Suspect]]]:
        """What the suspects have been named."""
        told = {i: self.named[i] for i in sorted(suspects) if i in self.named}
        return {f.signature: (f, [a_suspect(detail={"seed": ""})]) for f in told.values()}

    def waiting(self, suspects: frozenset[str]) -> list[Suspect]:
        """Those that triage did not come to."""
        return list(self.left)

    def is_known(self, finding: Finding) -> bool:
        """Whether the night knew it."""
        return finding.signature in self.known


def looked(*suspects: str, calls: tuple[Call, ...] = CALLS, why_not: str = "") -> Looked:
    """A file that differs as it stands by these suspects."""
    return Looked(Reading(calls, PIECES), frozenset(suspects), why_not)


def found(signature: str, *operators: str, kind: Kind = Kind.WRONG) -> Finding:
    """What triage made of a suspect."""
    suspect = a_suspect(kind=kind, aspect=Aspect.VALUES)
    return a_finding(signature, operators=operators, dtypes=("uint8",), suspect=suspect)


AMAX = found("v2-amax", "amax")


@pytest.fixture
def places(tmp_path: Path) -> Path:
    """Checkouts of head and base with the model in both."""
    for side in ("head", "base"):
        (tmp_path / side / "models").mkdir(parents=True)
        (tmp_path / side / NAME).write_text(MODEL)
    return tmp_path


def review(
    places: Path, bench: ScriptedBench, lines: tuple[int, ...] = (3, 4), budget: float = 600.0, **order: Any
) -> Result:
    """What is told of a pull request that changes these lines."""
    given = {"files": (ChangedFile(NAME, "modified", lines),), **order}
    asked = Order(
        "run", "7", "1", "2", "wanda", pull="7", head_sha="a" * 40, base_sha="b" * 40, budget=budget, **given
    )
    one = Review(asked, bench, places / "head", places / "base", clock=lambda: 0.0)  # type: ignore[arg-type]
    return one.run()


def test_what_the_head_shows_and_the_base_does_not_is_told_on_its_line(places: Path) -> None:
    bench = ScriptedBench({"head": looked("s"), "base": looked()}, {"s": AMAX})
    (told,) = review(places, bench).findings
    assert (told.signature, told.path, told.line, told.mutant) == ("v2-amax", NAME, 4, False)


def test_what_the_base_shows_too_is_not_told(places: Path) -> None:
    bench = ScriptedBench({"head": looked("s"), "base": looked("s2")}, {"s": AMAX, "s2": AMAX})
    assert review(places, bench).findings == ()


def test_what_both_show_by_the_same_script_is_old_without_triage(places: Path) -> None:
    bench = ScriptedBench({"head": looked("s"), "base": looked("s", "s2")}, {"s": AMAX})
    result = review(places, bench)
    assert result.findings == ()
    assert bench.taken == frozenset()
    assert f"{NAME}: 1 differences that the base has too are not told" in result.notes


def test_the_base_is_not_compared_when_the_head_is_right(places: Path) -> None:
    bench = ScriptedBench({"head": looked(), "base": looked()})
    assert review(places, bench).findings == ()
    assert bench.asked == [("head", True), ("base", False)]


def test_another_name_for_what_the_base_may_show_is_told_on_changed_lines_alone(places: Path) -> None:
    longer = found("v2-longer", "amax", "neg")
    bench = ScriptedBench({"head": looked("s"), "base": looked("s2")}, {"s": AMAX, "s2": longer})
    assert [f.line for f in review(places, bench, lines=(3, 4)).findings] == [4]
    result = review(places, bench, lines=(5,))
    assert result.findings == ()
    assert any("the base has one like it" in note for note in result.notes)


def test_a_base_that_was_not_looked_into_leaves_doubt(places: Path) -> None:
    looks = {"head": looked("s"), "base": looked("s2")}
    bench = ScriptedBench(looks, {"s": AMAX}, left=(a_suspect(),))
    result = review(places, bench, lines=(5,))
    assert result.findings == ()
    assert any("no time to look into" in note for note in result.notes)


def test_a_base_that_cannot_run_is_said_and_a_known_bug_is_not_told(places: Path) -> None:
    looks = {"head": looked("s"), "base": Looked(Reading(refused="no"), why_not="no")}
    bench = ScriptedBench(looks, {"s": AMAX}, known=frozenset({"v2-amax"}))
    result = review(places, bench, lines=(5,))
    assert result.findings == ()
    assert any("the base's version was not compared" in note for note in result.notes)
    fresh = replace(bench, known=frozenset())
    assert [f.signature for f in review(places, fresh, lines=(5,)).findings] == ["v2-amax"]
    assert result.figures[0].base == "not run"


def test_a_new_file_has_nothing_to_be_compared_with(places: Path) -> None:
    (places / "base" / NAME).unlink()
    bench = ScriptedBench({"head": looked("s")}, {"s": AMAX})
    result = review(places, bench)
    assert [f.signature for f in result.findings] == ["v2-amax"]
    assert result.figures[0].base == "new file"


def test_a_mutant_of_a_changed_line_is_told_as_one(places: Path) -> None:
    looks = {"head": looked(), "base": looked(calls=BASE_CALLS)}
    bench = ScriptedBench(looks, {"m": AMAX}, {"head": frozenset({"m"})})
    (told,) = review(places, bench).findings
    assert (told.line, told.mutant) == (4, True)
    assert bench.campaigns == ["head", "base"]


def test_a_mutant_that_the_base_shows_too_is_not_told(places: Path) -> None:
    looks = {"head": looked(), "base": looked(calls=BASE_CALLS)}
    both = {"head": frozenset({"m"}), "base": frozenset({"n"})}
    bench = ScriptedBench(looks, {"m": AMAX, "n": AMAX}, both)
    assert review(places, bench).findings == ()


def test_a_mutation_that_applies_to_the_base_as_well_is_none_of_the_pull_request(places: Path) -> None:
    mutants = {"head": frozenset({"m"})}
    same = ScriptedBench({"head": looked(), "base": looked()}, {"m": AMAX}, mutants)
    assert review(places, same).findings == ()
    assert same.campaigns == ["head"]
    elsewhere = ScriptedBench(
        {"head": looked(), "base": looked(calls=BASE_CALLS)}, {"m": found("v2-x", "cumsum")}, mutants
    )
    assert review(places, elsewhere).findings == ()


def test_only_pieces_of_changed_lines_are_mutated(places: Path) -> None:
    bench = ScriptedBench({"head": looked(), "base": looked()}, mutants={"head": frozenset({"m"})})
    result = review(places, bench, lines=(1,))
    assert bench.campaigns == []
    assert any("no changed line has a piece" in note for note in result.notes)


def test_without_time_mutants_are_left_out_and_that_is_said(places: Path) -> None:
    bench = ScriptedBench({"head": looked(), "base": looked()})
    result = review(places, bench, budget=20.0)
    assert bench.campaigns == []
    assert any("the time is used up" in note for note in result.notes)


def test_suspects_that_are_left_are_said(places: Path) -> None:
    bench = ScriptedBench({"head": looked("s"), "base": looked()}, left=(a_suspect(),))
    assert any("1 suspects were not looked into" in note for note in review(places, bench).notes)


def test_a_failure_of_the_machinery_is_a_note_not_a_pass(places: Path) -> None:
    result = review(places, ScriptedBench({}, broken=True))
    assert result.figures == ()
    assert any("the machinery failed: no worker starts" in note for note in result.notes)


def test_a_file_that_cannot_be_compared_is_a_note(places: Path) -> None:
    looks = {"head": Looked(Reading(refused="it draws"), why_not="it draws"), "base": looked()}
    result = review(places, ScriptedBench(looks))
    assert any(f"{NAME}: not compared, it draws" in note for note in result.notes)
    assert result.figures[0].checked == 0


def test_no_file_to_look_at_is_said(places: Path) -> None:
    result = review(places, ScriptedBench({}), files=(ChangedFile("README.md", "modified", (1,)),))
    assert result.notes == ("no changed file is one that an engine of this version looks at",)


def test_the_worst_comes_first_and_what_is_too_much_is_counted(places: Path) -> None:
    many = {f"s{k:02}": found(f"v2-{k:02}", "amax", kind=Kind.EXCEPTION) for k in range(MOST_FINDINGS + 3)}
    many["w"] = found("v2-w", "amax")
    result = review(places, ScriptedBench({"head": looked(*many), "base": looked()}, many))
    assert len(result.findings) == MOST_FINDINGS
    assert result.findings[0].signature == "v2-w"
    assert any("4 more findings are not told" in note for note in result.notes)


@pytest.mark.parametrize(
    "name", ["../secret.py", "/etc/passwd", "link.py", "up/secret.py", "models", "none.py"]
)
def test_a_file_outside_of_the_checkout_is_none(places: Path, name: str) -> None:
    (places / "secret.py").write_text(MODEL)
    (places / "head" / "link.py").symlink_to(places / "secret.py")
    (places / "head" / "up").symlink_to(places)
    assert file_in(places / "head", name) is None


def test_a_file_that_is_too_large_is_none(places: Path) -> None:
    (places / "head" / NAME).write_text("#" * (1 << 20) + "\n")
    assert file_in(places / "head", NAME) is None
    (places / "head" / NAME).write_text(MODEL)
    assert file_in(places / "head", NAME) == (places / "head" / NAME).resolve()


def test_the_lines_of_a_piece_are_in_its_origin() -> None:
    assert lines_of("net.py:3,4") == {3, 4}
    assert lines_of("residual") == lines_of("") == set()
