"""What to do first: every sure cause has its turn before any has its second."""

from __future__ import annotations

import pytest

from fathom.diagnose.actions import actions
from fathom.diagnose.diagnose import Diagnosis, Outcome, Verdict
from fathom.diagnose.evidence import limits
from fathom.diagnose.evidence.system import System
from fathom.finding import Finding, Remedy, Severity


def finding(rule: str, confidence: float, *steps: str, harm: str | None = None) -> Finding:
    remedies = tuple(Remedy(step) for step in steps)
    return Finding(rule, rule.lower(), "so", Severity.NOTE, confidence, harm=harm, remedies=remedies)


def first(*findings: Finding) -> list[str]:
    verdict = Verdict(Outcome.LIMIT, "so", Severity.NOTE, findings[0].confidence, findings[0].rule)
    nothing = System([], [], limits.load())
    return [remedy.action for _, remedy in actions(Diagnosis(verdict, findings, (), (), (), (), nothing))]


D5 = finding("D5", 0.8, "buy", "tune", "wait")


@pytest.mark.parametrize(
    ("others", "wanted"),
    [
        ((finding("D20", 0.65, "look", "ask"),), ["buy", "look", "tune"]),
        ((finding("D20", 0.65, "look"), finding("D24", 0.6, "stop", "go")), ["buy", "look", "stop"]),
        ((finding("D20", 0.45, "look"),), ["buy", "tune", "wait"]),
        ((finding("D20", 0.45, "look", harm="9 sessions wait"),), ["buy", "look", "tune"]),
        ((finding("D19", 0.9, "context"),), ["buy", "tune", "wait"]),
        ((finding("D20", 0.65, "buy", "look"),), ["buy", "tune", "look"]),
        ((finding("D20", 0.65),), ["buy", "tune", "wait"]),
    ],
    ids=["second cause", "third cause", "unsure", "harm", "context", "the same step", "no step"],
)
def test_at_most_three_of_all_sure_causes(others: tuple[Finding, ...], wanted: list[str]) -> None:
    assert first(D5, *others) == wanted
