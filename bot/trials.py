"""What the ledger keeps of a night: tested, no new build, install failed, campaign failed.

Invariant: each is a record of its own kind, and only the first two say that a build was tested.
"""

from __future__ import annotations

from dataclasses import replace

from bot.builds.environments import CannotInstall
from bot.errors import MachineryFailure
from bot.files import utc_now
from bot.record import Over, Record
from bot.states import Trial, Tried
from fuzzers.records import Build

REASONS: dict[Over, str] = {
    Over.BUDGET: "its time is used",
    Over.CANDIDATES: "all candidates were tried",
    Over.STOPPED: "it was stopped; the same command goes on with it",
    Over.FAILED: "the machinery failed",
    Over.RUNNING: "it was killed",
}


def of_campaign(record: Record) -> Trial:
    """Of a campaign that is over. One that tried nothing tested nothing, as when starting took its time."""
    spec, reason, outcome = record.spec, REASONS[record.over], Tried.TESTED
    if record.over is Over.FAILED:
        outcome = Tried.CAMPAIGN_FAILED
    elif not record.tally.steps:
        outcome, reason = Tried.CAMPAIGN_FAILED, f"nothing was tried: {reason}"
    return _trial(spec.build, spec.engine, spec.revision, outcome, reason, record.updated_at, record.id)


def of_failure(build: Build, engine: str, revision: str, failure: MachineryFailure) -> Trial:
    """Of a campaign that could not be run; `revision` is empty when the engine had not told it yet."""
    return _trial(build, engine, revision, Tried.CAMPAIGN_FAILED, str(failure).partition("\n")[0])


def of_install(cannot: CannotInstall, python: str, engine: str) -> Trial:
    """Of a build that could not be installed, so that it could not tell the engine's revision."""
    offer = cannot.offer
    build = Build(offer.framework, offer.version, offer.variant, offer.git_sha, "", python)
    return _trial(build, engine, "", Tried.INSTALL_FAILED, cannot.reason)


def of_known(before: Trial) -> Trial:
    """Of a night whose newest build had been tested; which campaign did that stays known."""
    return replace(before, outcome=Tried.NO_NEW_BUILD, at=utc_now(), reason="it had been tested before")


def _trial(
    build: Build, engine: str, revision: str, outcome: Tried, reason: str, at: str = "", campaign: str = ""
) -> Trial:
    return Trial(
        framework=build.framework,
        version=build.version,
        variant=build.variant,
        python=build.python,
        git_sha=build.git_sha,
        engine=engine,
        revision=revision,
        outcome=outcome,
        at=at or utc_now(),
        campaign=campaign,
        reason=reason,
    )
