"""Comparisons without a verdict: how many more rounds, how long they take, and when that cannot be told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fathom.analysis.advice import commands
from fathom.analysis.advice.rule import Rule, RuleInput
from fathom.analysis.beside import differing, differing_first, guard_words, seen_beside
from fathom.analysis.missing import WORTH
from fathom.analysis.model import Comparison, Verdict
from fathom.analysis.words import listed, rounds, time
from fathom.finding import Evidence, Finding, Remedy, Severity

_MOST = 3
"""Comparisons that are named."""

_FEW = 2
"""Rounds whose scatter says next to nothing."""

_SCATTERS = "Find the cause of the scatter, lengthen the runs, or accept a wider margin before adding rounds."


def find(given: RuleInput) -> Iterator[Finding]:
    """One finding for all that more rounds decide, one for standstills; none while planned runs are missing."""
    if len(given.campaign.runs) < given.campaign.planned:
        return
    undecided = [c for c in given.analysis.comparisons if c.verdict is Verdict.UNDECIDED]
    if stood := [c for c in undecided if c.stood_still is not None]:
        yield _stood_still(stood, given)
    open_ones = [c for c in undecided if c.stood_still is None]
    if not open_ones:
        return
    every = f"any of {len(open_ones)} comparisons" if len(open_ones) == len(given.analysis.comparisons) else ""
    some = every or f"{len(open_ones)} of {len(given.analysis.comparisons)} comparisons"
    names = listed([given.label(c.variant) for c in open_ones]) if len(open_ones) <= _MOST else some
    needed = [c.more_rounds for c in open_ones if c.more_rounds]
    have = max((c.ratio.n for c in open_ones if c.ratio is not None), default=0)
    what = f"No verdict yet on {names}."
    if not needed:
        why = "At the scatter seen so far, no affordable number of rounds would decide."
        yield Finding("undecided", names, what, Severity.NOTE, 0.8, (Evidence(why),), remedies=(Remedy(_SCATTERS),))
        return
    worth = [more for more in needed if more <= WORTH] if have > _FEW else needed
    if not worth:
        yield _too_many(names, what, max(needed))
        return
    more, each = max(worth), given.analysis.round_s
    takes = f", {time(more * each)}" if each else ""
    if have <= _FEW:
        why = (
            f"{rounds(have).capitalize()} are too few to tell how many are missing."
            if have == 2
            else "One round shows no scatter, so nothing can be decided."
        )
        action = f"Run {rounds(more)} more{takes}, then look again."
    else:
        why = "At the scatter seen so far, four of five such comparisons have a verdict then."
        action = f"Run about {rounds(more)} more{takes}."
    beside = differing_first([c for c in open_ones if differing(c)])[:_MOST]
    evidence = [
        Evidence(why),
        *(Evidence(f"{given.capital(given.label(c.variant))}: {seen_beside(c)}.") for c in beside),
    ]
    if rest := len(open_ones) - len(worth):
        why = "no affordable number of rounds would decide"
        if len(worth) < len(needed):
            why = f"they take more than {WORTH} rounds at this scatter, whose cause comes first"
        evidence.append(Evidence(f"{rest} of {len(open_ones)} stay open: {why}."))
    remedy = Remedy(
        action,
        commands.with_rounds(given.campaign, given.rounds + more),
        risk="Every earlier look widens the interval.",
        verify="The report then gives a verdict, or says how many rounds are still missing.",
    )
    yield Finding(
        "undecided", names, what, Severity.NOTE, 0.6 if have > _FEW else 0.3, tuple(evidence), remedies=(remedy,)
    )


def _too_many(names: str, what: str, more: int) -> Finding:
    """So many rounds that nobody runs them. A difference that is known to be small takes fewer: it is the scatter."""
    why = f"At the scatter seen so far, about {rounds(more)} more would decide."
    return Finding("undecided", names, what, Severity.NOTE, 0.6, (Evidence(why),), remedies=(Remedy(_SCATTERS),))


def _stood_still(stood: Sequence[Comparison], given: RuleInput) -> Finding:
    """What stands still loses by that, however close the rest is: no round more changes it."""
    names = listed([given.label(c.variant) for c in stood]) if len(stood) <= _MOST else f"{len(stood)} variants"
    guards = {given.label(c.variant): c.stood_still for c in stood[:_MOST]}
    return Finding(
        "standstill",
        names,
        f"{given.capital(names)} stood still while requests waited; more rounds do not change that.",
        Severity.WARNING,
        0.9,
        tuple(
            Evidence(f"{given.capital(who)}: {guard_words(guard)}.")
            for who, guard in guards.items()
            if guard is not None
        ),
        remedies=(Remedy(f"Do not choose {names} before you know what the requests waited for."),),
    )


RULE = Rule("undecided", 40, find)
