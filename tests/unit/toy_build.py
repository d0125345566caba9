"""A toy build for triage's tests: a script is a line of letters, and each bug needs some of them.

It stands where `bot.target.Pool` and `bot.fresh` stand and answers the same jobs with the same replies, so
the stages under test are the real ones. What a letter does:

    w x   together: a wrong result, from inductor on
    e     an exception from aot_eager on; its message names the size that the script has
    k     a crash of inductor; h a hang
    q     a wrong result from dynamo on, hidden by w
    f     fails every other time; n cannot run; m breaks the machinery; o is dropped by the oracle
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from bot.asking import Question
from bot.localise import LADDER
from fuzzers.records import Aspect, Build, Ending, Expect, Json, Kind, Limits, Run, Suspect, encode
from fuzzers.worker.protocol import Reply

BUILD = Build("torch", "2.13.0", "cpu", "cf30153c4c13", "python", "3.11.7")

HEAD = "letters = "
TAIL = "\nassert letters\n"

EXPECTED = {
    Kind.WRONG: Expect(Ending.ASSERTION),
    Kind.EXCEPTION: Expect(Ending.EXCEPTION, "InductorError", "AssertionError: size <n>"),
    Kind.CRASH: Expect(Ending.SIGNAL, signal="SIGSEGV"),
    Kind.HANG: Expect(Ending.TIMEOUT),
}


def script(letters: str) -> str:
    return f'{HEAD}"{letters}"{TAIL}'


def letters_of(text: str) -> str:
    return text.removeprefix(HEAD).removesuffix(TAIL).strip('"')


def suspect(kind: Kind, letters: str, **more: object) -> Suspect:
    aspect = Aspect.VALUES if kind is Kind.WRONG else Aspect.OUTCOME
    found: Suspect = Suspect(
        engine="toy",
        revision="1",
        build=BUILD,
        kind=kind,
        aspect=aspect,
        script=script(letters),
        expect=EXPECTED[kind],
        program={"letters": letters},
        found_at="2026-01-02T03:04:05Z",
        **more,  # type: ignore[arg-type]
    )
    return found


class BrokenError(Exception):
    """What the letter m does."""


class ToyBuild:
    """The pool of warm workers and the fresh processes of one toy build. `fixed` letters do nothing."""

    size = 2

    def __init__(self, fixed: str = "") -> None:
        self.fixed = fixed
        self.jobs: Counter[str] = Counter()
        self.fresh_runs: Counter[str] = Counter()

    def map(self, questions: Sequence[Question], limits: Limits) -> list[Reply]:
        return [self._reply(i, job, args) for i, (job, args) in enumerate(questions)]

    def fresh(self, scripts: Sequence[str]) -> list[Run]:
        runs = []
        for text in scripts:
            self.fresh_runs[text] += 1
            even = "f" in letters_of(text) and self.fresh_runs[text] % 2 == 0
            runs.append(Run(Ending.OK) if even else self._run(letters_of(text), "inductor"))
        return runs

    def _reply(self, ident: int, job: str, args: Json) -> Reply:
        self.jobs[job] += 1
        try:
            value = getattr(self, "_" + job.replace(".", "_"))(args)
        except BrokenError as error:
            return Reply(ident, Ending.EXCEPTION, error={"type": "BrokenError", "message": str(error)})
        run = value.get("run", value) if job.startswith("script.") else {}
        if run.get("ending") in (Ending.SIGNAL, Ending.TIMEOUT):
            return Reply(ident, Ending(run["ending"]), signal=run["signal"])
        return Reply(ident, Ending.OK, value)

    def _run(self, letters: str, backend: str) -> Run:
        rung = LADDER.index(backend)
        has = set(letters) - set(self.fixed)
        if "m" in has:
            raise BrokenError("the letter m")
        if "n" in has:
            return Run(Ending.CANNOT_RUN, "ImportError", "No module named 'n'", reason="No module named 'n'")
        if "q" in has and "w" not in has:
            return Run(Ending.ASSERTION, "AssertionError")
        if "e" in has and rung >= 1:
            where = ("torch._functorch.aot:trace", "torch._functorch.aot:check")
            message = f"AssertionError: size {len(letters)}"
            return Run(Ending.EXCEPTION, "InductorError", message, compiled_side=True, frames=where)
        if "k" in has and rung == 3:
            return Run(Ending.SIGNAL, signal="SIGSEGV")
        if "h" in has and rung == 3:
            return Run(Ending.TIMEOUT)
        if {"w", "x"} <= has and rung == 3:
            return Run(Ending.ASSERTION, "AssertionError")
        return Run(Ending.ASSERTION, "AssertionError") if "f" in has and rung == 3 else Run(Ending.OK)

    def _script_run(self, args: Json) -> Json:
        return encode(self._run(letters_of(args["script"]), args["backend"] or "inductor"))

    def _script_judge(self, args: Json) -> Json:
        letters = letters_of(args["script"])
        run = self._run(letters, "inductor")
        failed = run.ending in (Ending.ASSERTION, Ending.EXCEPTION)
        before = self._run(letters, args["backend_before"]) if failed and args["backend_before"] else None
        return {
            "run": encode(run),
            "before": encode(before) if before else None,
            "report": self._report(letters) if failed and args["examine"] else None,
        }

    def _compiler_switches(self, args: Json) -> Json:
        return {"switches": ["codegen/fusion"]}

    def _script_ablate(self, args: Json) -> Json:
        """Each letter is lowered; what is not lowered is right."""
        letters = letters_of(args["script"])
        return {"ablations": [self._ablation(letters, set(w), args["backend"]) for w in args["without"]]}

    def _ablation(self, letters: str, without: set[str], backend: str) -> Json:
        parts = {f"lowerings/{letter}": letter for letter in letters}
        off = {parts[w] for w in without & parts.keys()} | (set(letters) if "lowerings" in without else set())
        run = ToyBuild(self.fixed + "".join(off))._run(letters, backend or "inductor")
        return {"run": encode(run), "parts": list(parts)}

    def _report(self, letters: str) -> Json:
        if "o" in letters:
            return {"differences": [], "dropped": "ill-conditioned"}
        detail = {"expected": 1.5, "float64": 1.5, "actual": 2.5, "n_bad": 1, "numel": len(letters)}
        return {
            "differences": [
                {"kind": "wrong", "aspect": "values", "where": "output 0", "index": 0, "detail": detail}
            ],
            "dropped": "",
        }

    def _engine_page(self, args: Json) -> Json:
        text = args["program"]["letters"]
        places = range(args["start"], len(text))[: args["count"]]
        shorter = [text[:i] + text[i + 1 :] for i in places]
        end = args["start"] + len(places)
        return {
            "programs": [{"letters": letters} for letters in shorter],
            "scripts": [script(letters) for letters in shorter],
            "places": list(places),
            "after": end if end < len(text) else None,
        }

    def _engine_emit_all(self, args: Json) -> Json:
        return {"scripts": [script(p["letters"]) for p in args["programs"]]}

    def _engine_operators(self, args: Json) -> Json:
        return {"operators": sorted(args["program"]["letters"]), "dtypes": ["float32"]}
