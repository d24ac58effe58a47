"""Contradictory findings, resolved by the layer measured closest to the cause."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from fathom.finding import Evidence, Finding

_STRONGER: dict[str, tuple[tuple[str, str], ...]] = {
    "D3": (
        ("D4", "the hypervisor's own queue is full, so the array is not what is slow"),
        ("D1", "the hypervisor's queue is the one measured as full, below the guest's"),
    ),
    "D4": (("D1", "below the hypervisor's queues the device itself is slow"),),
    "D6": (("D5", "the instance's limit holds for all volumes together, and is the one that was reached"),),
    "D7": (("D5", "the limit is the lower one that holds without burst credits"),
           ("D20", "the step is the end of the credits, not another user")),
    "D24": (("D20", "the latency is that of the requests that were caught in the stall"),),
    "D2": (("D1", "it is the sum over the adapter's disks that stays at a depth"),),
    "D8": (("D10", "unaligned log writes make each commit slow; batching only hides it"),),
    "D11": (("D1", "the depth is the database's own limit on log writes, not the device's"),
            ("D10", "that many concurrent log writes are the database's limit, not single commits")),
    "D5": (("D13", "the volume's limit alone explains the latency"),
           ("D14", "the volume's limit alone explains the latency"),
           ("D1", "the rate is at the volume's limit, so the queue is a consequence")),
}  # fmt: skip
"""What each finding decides against, on the same subject where both name one, and why."""

_EVERYWHERE = frozenset({"D2", "D3", "D6", "D8", "D4"})
"""Findings that decide against others of whatever subject: their layer is below all of the guest's disks."""


def resolved(findings: Sequence[Finding]) -> list[Finding]:
    """The findings without those that a stronger one contradicts; the stronger says so in its evidence."""
    present = {finding.rule: finding for finding in findings if finding.confidence >= 0.5}
    lost: dict[int, tuple[Finding, str]] = {}
    for rule, weaker in _STRONGER.items():
        winner = present.get(rule)
        for other, why in weaker if winner else ():
            for finding in findings:
                same = rule in _EVERYWHERE or (winner is not None and finding.subject == winner.subject)
                if winner is not None and finding.rule == other and same and id(finding) not in lost:
                    lost[id(finding)] = winner, why
    # Slow for an unknown reason is said only where no reason is known.
    kept = [f for f in findings if id(f) not in lost and not (f.rule == "L2" and present.keys() - {"L2"})]
    return [_with_reasons(finding, findings, lost) for finding in kept]


def _with_reasons(finding: Finding, findings: Sequence[Finding], lost: dict[int, tuple[Finding, str]]) -> Finding:
    said = [
        Evidence(f"{other.rule} on {other.subject} was considered and rejected: {lost[id(other)][1]}.", other.subject)
        for other in findings
        if id(other) in lost and lost[id(other)][0] is finding
    ]
    return dataclasses.replace(finding, evidence=(*finding.evidence, *said)) if said else finding
