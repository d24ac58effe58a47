"""Failed runs, and runs that were never made."""

from __future__ import annotations

from collections.abc import Iterator

from fathom.analysis.advice import commands
from fathom.analysis.advice.rule import Rule, RuleInput
from fathom.analysis.conditions import repeated_sentence
from fathom.analysis.repeated import UNLESS
from fathom.analysis.variants import matches
from fathom.analysis.words import time
from fathom.finding import Evidence, Finding, Remedy, Severity


def find(given: RuleInput) -> Iterator[Finding]:
    """One finding for all failed runs, else one for what is missing."""
    campaign = given.campaign
    failed = [run for run in campaign.runs if not run.ok]
    missing = campaign.planned - len(campaign.runs)
    yield from _repeated(given)
    if failed:
        reasons = ", ".join(dict.fromkeys(run.reason or "unknown" for run in failed))
        first = failed[0]
        said = f"{given.capital(given.label(first.variant))}, round {first.round}: {first.message or 'no message left'}"
        # What a study asks for is fixed once its campaign has begun.
        wrong = all(run.reason == "settings" for run in failed)
        remedy = (
            Remedy("Correct your study, and begin a new campaign with it (--out names its directory).")
            if wrong
            else Remedy(
                "Remove the cause, then repeat the failed runs.",
                commands.repeat_failed(campaign),
                risk="The records of the failed runs move to the folder `retried`, and reports go on counting them.",
                verify="Every run has then finished.",
            )
        )
        yield Finding(
            "failures",
            "campaign",
            f"{len(failed)} of {len(campaign.runs)} runs failed ({reasons}).",
            Severity.CRITICAL,
            1.0,
            (Evidence(said, where=first.id),),
            remedies=(remedy,),
        )
    elif missing > 0:
        each = given.analysis.round_s
        size = len(campaign.runs) / given.rounds if given.rounds else 0.0
        takes = f" ({time(missing * each / size)})" if each and size else ""
        yield Finding(
            "unfinished",
            "campaign",
            f"The campaign is incomplete: {missing} of {campaign.planned:,} runs are missing{takes}.",
            Severity.WARNING,
            1.0,
            (Evidence("A verdict over incomplete rounds uses only the complete ones."),),
            remedies=(Remedy("Finish the campaign.", commands.resume(campaign)),),
        )


def _repeated(given: RuleInput) -> Iterator[Finding]:
    """One finding about each variant of which runs failed first: a variant that fails now and then is no good one."""
    for one in given.analysis.repeated:
        first = next(run for run in given.campaign.retried if matches(run.variant, one.variant) and run.failed)
        yield Finding(
            "repeated",
            given.label(one.variant),
            repeated_sentence(one, given.study),
            Severity.WARNING,
            1.0,
            (Evidence(f"Round {first.round}: {first.message or 'no message left'}", where=first.id),),
            harm="The figures are those of the further attempts alone.",
            remedies=(Remedy(f"Find out why, before you rely on {given.label(one.variant)}: {UNLESS}."),),
        )


RULE = Rule("failures", 10, find)
