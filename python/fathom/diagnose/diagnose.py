"""From a log to its diagnosis: runs the rules, resolves contradictions, orders findings by harm × confidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.evidence import limits as tables
from fathom.diagnose.evidence.commands import addressed
from fathom.diagnose.evidence.episodes import Episode, episodes
from fathom.diagnose.evidence.harm import of_storage
from fathom.diagnose.evidence.load import FEWEST, worked
from fathom.diagnose.evidence.strained import known_of
from fathom.diagnose.evidence.surroundings import fits, fitting
from fathom.diagnose.evidence.system import System, system_of
from fathom.diagnose.evidence.usual import explained
from fathom.diagnose.resolve import by_load, resolved, unexplained
from fathom.diagnose.rule import Kind, Rule, rules
from fathom.finding import Finding, Severity

if TYPE_CHECKING:
    from fathom.diagnose.evidence.limits import Limits
    from fathom.diagnose.log import Log

CERTAIN = 0.5
"""Confidence from which a cause is the verdict; below, the verdict is unknown."""

_UNCLEARED = ("Q9", "Q11")
"""Checks that keep disks from being cleared."""

HARM = {Severity.CRITICAL: 3.0, Severity.WARNING: 2.0, Severity.NOTE: 1.0, Severity.GOOD: 0.5}
"""What a severity weighs in the order of findings."""


class Outcome(StrEnum):
    """What the verdict is."""

    LIMIT = "limit"
    """Storage is limited, and by what is known."""
    HEALTHY = "healthy"
    """Storage is not the bottleneck."""
    LOAD = "load"
    """The load itself explains the latency, and is no defect of the storage."""
    UNKNOWN = "unknown"
    """The logs cannot tell."""


@dataclass(frozen=True)
class Verdict:
    """The answer in one sentence.

    Attributes:
        outcome: what kind of answer it is.
        sentence: for people.
        severity: of the finding behind it; NOTE if the logs cannot tell.
        confidence: of the finding behind it, 0 to 1.
        rule: whose finding it is; None if the logs cannot tell.
    """

    outcome: Outcome
    sentence: str
    severity: Severity
    confidence: float
    rule: str | None


@dataclass(frozen=True)
class Missing:
    """Counters that would have let rules decide.

    Attributes:
        what: metrics, any of which would do, and where.
        rules: identifiers of the rules that could not be asked.
        collect: how to record them.
    """

    what: str
    rules: tuple[str, ...]
    collect: str


@dataclass(frozen=True)
class Diagnosis:
    """What the logs say.

    Attributes:
        verdict: the answer.
        findings: of all causes, contexts and the verdict that storage is healthy; the most important first.
        checks: what is wrong with the logs themselves.
        missing: counters that the logs lack.
        episodes: windows of the log that differ, found by change points.
        ruled_out: titles of the causes that were looked for, could have been seen, and were not there.
        system: the series that the findings come from.
    """

    verdict: Verdict
    findings: tuple[Finding, ...]
    checks: tuple[Finding, ...]
    missing: tuple[Missing, ...]
    episodes: tuple[Episode, ...]
    ruled_out: tuple[str, ...]
    system: System


def diagnose(log: Log, limits: Limits | None = None) -> Diagnosis:
    """The diagnosis of a log. The same log gives the same diagnosis: what is random in it has a fixed seed.

    Args:
        log: all logs of one system.
        limits: the known limits; those that come with the program if None.
    """
    return diagnose_system(system_of(log, limits or tables.load()))


def diagnose_system(system: System) -> Diagnosis:
    """As `diagnose`, of series that were read already."""
    asked = [rule for rule in rules() if all(need.met(system) for need in rule.needs)]
    # Ratios of missing or absent load are missing themselves: NaN fails every comparison, and no rule fires on it.
    with np.errstate(divide="ignore", invalid="ignore"):
        found = {rule: tuple(_usable(each, system) for each in rule.examine(system)) for rule in asked}
        harm = of_storage(system).sentence
        reason = explained(system)
        known = known_of(system)
    checks = tuple(finding for rule in asked if rule.kind is Kind.CHECK for finding in found[rule])
    causes = resolved(_of(Kind.CAUSE, found))
    causes = sorted(unexplained(causes, _of(Kind.LOAD, found)), key=weight, reverse=True)
    elsewhere = sorted(_of(Kind.ELSEWHERE, found), key=weight, reverse=True)
    loads = sorted(map(_no_defect, _of(Kind.LOAD, found)), key=weight, reverse=True)
    context = sorted(by_load(_of(Kind.CONTEXT, found), causes), key=weight, reverse=True)
    missing = _missing(system)
    rated = [device for device in system.devices if device.has("iops")]
    short = bool(rated) and all(worked(device).sum() < FEWEST for device in rated)
    lost = next((_lost(each) for each in checks if each.rule in _UNCLEARED and each.severity is Severity.WARNING), None)
    both = next((each.what for each in context if each.rule == "L4"), known)
    told = _Told(short, harm, reason, lost, both)
    verdict = _verdict(causes, loads, elsewhere, missing, told)
    groups = {Outcome.HEALTHY: (elsewhere, loads, causes), Outcome.LOAD: (loads, elsewhere, causes)}
    if verdict.outcome is Outcome.LIMIT:
        # A sure limit and "not the storage" cannot both be so.
        elsewhere = []
    ordered = groups.get(verdict.outcome, (causes, loads, elsewhere))
    return Diagnosis(
        verdict=verdict,
        findings=(*ordered[0], *ordered[1], *ordered[2], *context),
        checks=checks,
        missing=missing,
        episodes=tuple(episodes(system)),
        ruled_out=tuple(r.title for r in asked if r.kind is Kind.CAUSE and not found[r] and not short),
        system=system,
    )


def _lost(check: Finding) -> str:
    """What the logs lack, and what to do."""
    action = check.remedies[0].action.partition(":")[0].rstrip(".")
    return f"{check.subject.removesuffix(':')}: {check.what}. {action}."


def _usable(finding: Finding, system: System) -> Finding:
    """The finding with those commands only that its system has, for the resource that it is about."""
    return addressed(fitting(finding, system.ruled_out), system)


def _of(kind: Kind, found: Mapping[Rule, tuple[Finding, ...]]) -> list[Finding]:
    return [finding for rule, findings in found.items() if rule.kind is kind for finding in findings]


def _no_defect(load: Finding) -> Finding:
    """A load with a warning at most: users may wait for it, and no storage fails them."""
    return replace(load, severity=Severity.WARNING) if load.severity is Severity.CRITICAL else load


def weight(finding: Finding) -> float:
    """Harm × confidence: the order of findings."""
    return HARM[finding.severity] * finding.confidence


def _verdict(
    causes: Sequence[Finding],
    loads: Sequence[Finding],
    elsewhere: Sequence[Finding],
    missing: Sequence[Missing],
    told: _Told,
) -> Verdict:
    sure = next((finding for finding in causes if finding.confidence >= CERTAIN), None)
    if sure is not None:
        unharmed = "" if sure.harm else " The logs do not show any harm."
        return Verdict(Outcome.LIMIT, sure.what + unharmed, sure.severity, sure.confidence, sure.rule)
    explained = next((finding for finding in loads if finding.confidence >= CERTAIN), None)
    if explained is not None and not elsewhere:
        return Verdict(Outcome.LOAD, explained.what, explained.severity, explained.confidence, explained.rule)
    if elsewhere:
        best = max(elsewhere, key=lambda finding: finding.confidence)
        return Verdict(Outcome.HEALTHY, best.what, best.severity, best.confidence, best.rule)
    sentence = _unknown(causes, missing, told)
    return Verdict(Outcome.UNKNOWN, sentence, Severity.NOTE, causes[0].confidence if causes else 0.0, None)


@dataclass(frozen=True)
class _Told:
    """What a verdict says where the logs cannot tell.

    Attributes:
        short: whether no disk has enough intervals with I/O.
        harm: who waits.
        reason: the requests outstanding that explain it.
        lost: samples that are missing.
        both: what is known of disks and processors without a cause.
    """

    short: bool
    harm: str | None
    reason: str | None
    lost: str | None
    both: str | None


def _unknown(causes: Sequence[Finding], missing: Sequence[Missing], told: _Told) -> str:
    if told.short and not told.lost:
        return (
            f"The logs are too short: fewer than {FEWEST} intervals with I/O of any disk. Record longer, or more often."
        )
    if causes:
        sentence = f"The logs cannot tell for certain. Likeliest: {causes[0].what}"
    elif told.harm:
        why = f"{told.reason} explain most of" if told.reason else "no latency in them explains"
        sentence = f"The logs cannot tell what limits the storage: {told.harm}, and {why} that."
    elif told.lost:
        sentence = f"The logs cannot tell whether the storage is slow. {told.lost}"
    else:
        sentence = "The logs cannot tell what limits the storage."
    if told.both:
        sentence += f" {told.both}"
    record = " Record the missing counters in the slow time." if missing and (causes or not told.lost) else ""
    return sentence + record


def _missing(system: System) -> tuple[Missing, ...]:
    lacking: dict[tuple[str, str], list[str]] = {}
    for rule in rules():
        for need in rule.needs:
            if not need.met(system) and fits(need.collect, system.ruled_out):
                what = f"{' or '.join(need.metrics[:2])} of {' or '.join(layer.value for layer in need.layers[:2])}"
                lacking.setdefault((what, need.collect), []).append(rule.id)
    ordered = sorted(lacking.items(), key=lambda entry: -len(entry[1]))
    return tuple(Missing(what, tuple(ids), collect) for (what, collect), ids in ordered)
