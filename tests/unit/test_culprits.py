"""Culprits are found by what runs show, on a scripted compiler whose every part can be switched off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot import culprits as module
from bot.asking import Asker, Question
from bot.culprits import Culprits, culprits_of, in_order
from bot.errors import MachineryFailure
from bot.localise import LADDER, STAGES, Place
from fuzzers.records import Ending, Json, Limits, Run, encode
from fuzzers.worker.protocol import Reply, failure

BAD = Run(Ending.ASSERTION)
OK = Run(Ending.OK)
SILENT = Run(Ending.CANNOT_RUN, reason="no such operator")
CRASH = Run(Ending.SIGNAL, signal="SIGSEGV")
HANG = Run(Ending.TIMEOUT)

PASSES = tuple(f"post_grad_passes/{name}" for name in ("noop", "sink", "sort"))
LOWERINGS = ("lowerings/cat", "lowerings/abs", "lowerings/sum")
SWITCHES = ("codegen/fusion", "codegen/vectorisation", "config/fallback_random", "partition/cse")


def places() -> dict[str, Place]:
    return {STAGES[rung][0]: Place(STAGES[rung][0], STAGES[rung][1], rung) for rung in LADDER}


INDUCTOR, DECOMP = places()["inductor"], places()["decomp"]


@dataclass
class Compiler:
    """A pool whose workers run one program. `ends` says how, by what is off; a process that dies lists no
    parts. `asked` holds what was off in each run."""

    ends: Callable[[frozenset[str]], Run]
    parts: tuple[str, ...] = (*PASSES, *LOWERINGS)
    switches: tuple[str, ...] = SWITCHES
    size: int = 2
    asked: list[frozenset[str]] = field(default_factory=list)

    def map(self, questions: Sequence[Question], limits: Limits) -> list[Reply]:
        return [getattr(self, "_" + job.replace(".", "_"))(args) for job, args in questions]

    def _compiler_switches(self, args: Json) -> Reply:
        return Reply(1, Ending.OK, {"switches": list(self.switches)})

    def _script_ablate(self, args: Json) -> Reply:
        done: list[Json] = []
        for without in args["without"]:
            off = frozenset(without)
            self.asked.append(off)
            run = self.ends(off)
            died = run.ending in (Ending.SIGNAL, Ending.TIMEOUT)
            done.append({"run": encode(run)} if died else {"run": encode(run), "parts": list(self.parts)})
            if run.ending is Ending.TIMEOUT:
                break
        return Reply(1, Ending.OK, {"ablations": done})


def right_without(*parts: str, otherwise: Run = BAD) -> Callable[[frozenset[str]], Run]:
    """A program that is right as soon as one of `parts`, or the subsystem of one, is off."""
    enough = {*parts, *(part.partition("/")[0] for part in parts)}
    return lambda off: OK if off & enough else otherwise


def blame(compiler: Compiler, place: Place = INDUCTOR) -> Culprits:
    return culprits_of("the script", place, Asker(compiler, Limits()))


def test_every_part_that_alone_makes_it_right_is_a_culprit_in_the_order_of_the_compiler() -> None:
    found = blame(Compiler(right_without("codegen/fusion", "lowerings/sum", "lowerings/cat")))
    assert found.parts == ("lowerings/cat", "lowerings/sum", "codegen/fusion")
    assert found.reason == ""
    assert found.without["lowerings/sum"] and not found.without["lowerings/abs"]


def test_members_of_a_subsystem_that_changes_nothing_are_not_tried() -> None:
    compiler = Compiler(right_without("lowerings/abs"))
    found = blame(compiler)
    assert found.parts == ("lowerings/abs",)
    assert not any(off & set(PASSES) for off in compiler.asked)
    assert found.tried == len(compiler.asked)


def test_the_only_member_of_a_subsystem_is_not_tried_twice() -> None:
    compiler = Compiler(right_without("lowerings/abs"), parts=("lowerings/abs",))
    assert blame(compiler).parts == ("lowerings/abs",)
    assert frozenset({"lowerings/abs"}) not in compiler.asked


def test_parts_that_help_only_together_are_told_as_their_subsystem() -> None:
    found = blame(Compiler(lambda off: OK if "lowerings" in off else BAD))
    assert found.parts == ("lowerings",)
    assert found.named() == ("lowerings", "")
    assert "lowerings" not in found.without


def test_nothing_helps_and_the_answer_says_so() -> None:
    found = blame(Compiler(lambda off: BAD))
    assert (found.parts, found.named()) == ((), ("", ""))
    assert "whatever is switched off" in found.reason


@pytest.mark.parametrize(
    "silent", [SILENT, Run(Ending.SIGNAL, signal="SIGKILL")], ids=["cannot-run", "killed"]
)
def test_a_run_that_says_nothing_clears_no_part(silent: Run) -> None:
    def ends(off: frozenset[str]) -> Run:
        return silent if off & {"lowerings/abs", "codegen/fusion"} else right_without("lowerings/cat")(off)

    found = blame(Compiler(ends))
    assert found.parts == ("lowerings/cat",)
    assert "lowerings/abs" in found.reason and "codegen/fusion" in found.reason
    assert not {"lowerings/abs", "codegen/fusion"} & found.without.keys()


def test_a_program_that_is_right_in_a_warm_worker_has_no_culprits() -> None:
    found = blame(Compiler(lambda off: OK))
    assert (found.parts, found.without) == ((), {})
    assert "does not fail" in found.reason


def test_a_crash_is_taken_apart_though_the_process_that_crashes_lists_no_parts() -> None:
    assert blame(Compiler(right_without("lowerings/abs", otherwise=CRASH))).parts == ("lowerings/abs",)


def test_a_hang_costs_each_worker_one_time_limit() -> None:
    compiler = Compiler(lambda off: HANG)
    found = blame(compiler)
    assert len(compiler.asked) == compiler.size
    assert found.parts == () and "hang" in found.reason


def test_a_failure_of_the_machinery_is_no_answer() -> None:
    class Broken(Compiler):
        def _script_ablate(self, args: Json) -> Reply:
            return Reply(1, Ending.EXCEPTION, error=failure("KeyError", "no such job"))

    with pytest.raises(MachineryFailure, match="KeyError: no such job"):
        blame(Broken(lambda off: BAD))


def test_a_job_that_died_says_nothing_of_its_scripts() -> None:
    class Dying(Compiler):
        def _script_ablate(self, args: Json) -> Reply:
            return Reply(1, Ending.SIGNAL, signal="SIGKILL", error=failure("WorkerDied", "the worker ended"))

    found = blame(Dying(lambda off: OK))
    assert found.parts == () and "the worker ended" in found.reason


@pytest.mark.parametrize("stage", ["unknown", "eager"])
def test_stages_without_parts_are_not_asked_about(stage: str) -> None:
    compiler = Compiler(lambda off: BAD)
    found = blame(compiler, Place(stage, ""))
    assert not compiler.asked and stage in found.reason


PROGRAM = "def f(x):\n    return x.narrow(0, 1, 1).relu()\n\n\nassert f\n"


class Capturing(Compiler):
    """A compiler that captures `narrow` wrongly; of the operator `silent` it says nothing."""

    silent = ""

    def _script_run(self, args: Json) -> Reply:
        outside = args["script"].partition("def f(")[2]
        run = OK if "_outside(x.narrow, " in outside else BAD
        return Reply(1, Ending.OK, encode(SILENT if self.silent and f".{self.silent}, " in outside else run))


@pytest.mark.parametrize("stage", ["dynamo", "aot"])
def test_a_failure_of_capturing_is_asked_about_operators_outside_of_the_graph(stage: str) -> None:
    found = culprits_of(PROGRAM, places()[stage], Asker(Capturing(lambda off: BAD), Limits()))
    assert found.parts == ("graph/narrow",)
    assert found.without == {"graph/narrow": True, "graph/relu": False}
    assert found.named() == ("graph", "narrow")


def test_an_operator_that_cannot_run_outside_is_neither_to_blame_nor_not() -> None:
    compiler = Capturing(lambda off: BAD)
    compiler.silent = "narrow"
    found = culprits_of(PROGRAM, places()["dynamo"], Asker(compiler, Limits()))
    assert found.parts == () and "graph/narrow" not in found.without


def test_a_failure_of_the_decompositions_is_asked_about_those_and_the_partitioner_alone() -> None:
    compiler = Compiler(right_without("partition/cse"), parts=("decomposition/aten.silu",))
    assert blame(compiler, DECOMP).parts == ("partition/cse",)
    assert set(compiler.asked) == {frozenset(), frozenset({"decomposition"}), frozenset({"partition/cse"})}


def test_a_failure_of_inductor_is_not_asked_about_the_decompositions() -> None:
    compiler = Compiler(lambda off: BAD, parts=("decomposition/aten.silu", *LOWERINGS))
    blame(compiler)
    assert not any("decomposition" in part or "partition" in part for off in compiler.asked for part in off)


def test_more_parts_than_are_tried_is_told() -> None:
    many = tuple(f"lowerings/op{i}" for i in range(module.MOST_MEMBERS + 5))
    found = blame(Compiler(right_without(many[1], many[-1]), parts=many))
    assert found.parts == (many[1],)
    assert f"{module.MOST_MEMBERS} of {len(many)} parts" in found.reason
    assert many[-1] not in found.without


def test_an_operator_of_the_program_names_the_bug_before_what_the_compiler_put_in() -> None:
    found = Culprits(("lowerings/full", "lowerings/abs", "lowerings/sum", "codegen/fusion"))
    assert found.named(("sum", "abs")) == ("lowerings", "abs")
    assert found.named() == ("lowerings", "full")
    assert Culprits(("decomposition/aten.add", "decomposition/aten.silu")).named(("silu",)) == (
        "decomposition",
        "aten.silu",
    )


@given(st.sets(st.sampled_from((*PASSES, *LOWERINGS, *SWITCHES[:3]))), st.integers(1, 5))
def test_exactly_the_parts_that_help_alone_are_found_by_any_number_of_workers(
    helping: set[str], size: int
) -> None:
    found = blame(Compiler(right_without(*helping), size=size))
    assert set(found.parts) == helping
    assert {part for part, right in found.without.items() if right} == helping
    assert found.parts == in_order(helping, (*PASSES, *LOWERINGS, *SWITCHES))
    assert found == blame(Compiler(right_without(*helping), size=size + 1))
