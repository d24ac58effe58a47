"""Contradictory findings, resolved by the layer measured closest to the cause."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from fathom.finding import Evidence, Finding

_FULL_QUEUE = "the full queue is what holds the rate"
_SOLD = "the rate is held by a limit, and not by the device"
_STRONGER: dict[str, tuple[tuple[str, str], ...]] = {
    "D3": (
        ("D4", "the hypervisor's own queue is full, so the array is not what is slow"),
        ("D1", "the hypervisor's queue is the one measured as full, below the guest's"),
        ("D26", _FULL_QUEUE),
    ),
    "D4": (("D1", "below the hypervisor's queues the device itself is slow"),
           ("D26", "the time was measured below the hypervisor")),
    "D6": (("D5", "the instance's limit holds for all volumes together, and is the one that was reached"),
           ("D20", "the volumes wait for the instance's limit, and for no other user"),
           ("D26", _SOLD)),
    "D7": (("D5", "the limit is the lower one that holds without burst credits"),
           ("D20", "the step is the end of the credits, not another user"),
           ("D1", "the rate is that without credits, so the queue is a consequence"),
           ("D26", _SOLD)),
    "D24": (("D20", "the latency is that of the requests that were caught in the stall"),),
    "D1": (("D26", _FULL_QUEUE),),
    "D2": (("D1", "it is the sum over the adapter's disks that stays at a depth"),
           ("D26", _FULL_QUEUE)),
    "D8": (("D10", "unaligned log writes make each commit slow; batching only hides it"),
           ("D26", "unaligned writes make each of them slow")),
    "D10": (("D26", "commits that wait for one another set the rate"),),
    "D11": (("D1", "the depth is the database's own limit on log writes, not the device's"),
            ("D10", "that many concurrent log writes are the database's limit, not single commits"),
            ("D26", "the database's own limit sets the rate")),
    "D27": (("D20", "it waits for one of its disks, which nobody else uses"),
            ("D26", "the disks beside it do as much in a fraction of the time"),
            ("D1", "the disks beside it do as much in a fraction of the time")),
    "D32": (("D20", "it is slow beside its own discards"),
            ("D24", "it is slow beside its own discards"),
            ("D26", "discards hold the rate down"),
            ("D1", "the queue is a consequence of the discards")),
    "D34": (("D20", "the disk below it is as fast as ever"),
            ("D24", "the disk below it is as fast as ever"),
            ("D26", "the disk below it is as fast as ever"),
            ("D1", "the disk below it is as fast as ever, and has no queue")),
    "D35": (("D20", "its requests wait in the client, or are lost on the way"),
            ("D26", "the client holds the requests back, not the server")),
    "D28": (("D26", "reads for lack of memory keep the device at its highest rate"),
            ("D20", "its own reads for lack of memory are what slows it"),
            ("D1", "the queue is a consequence of the reads for lack of memory")),
    "D5": (("D13", "the volume's limit alone explains the latency"),
           ("D14", "the volume's limit alone explains the latency"),
           ("D1", "the rate is at the volume's limit, so the queue is a consequence"),
           ("D35", "the rate is at the volume's limit, so the queue is a consequence"),
           ("D26", _SOLD)),
}  # fmt: skip
"""What each finding decides against, on the same subject where both name one, and why."""

_SURE = 0.5
"""Confidence from which a finding decides against others."""

_EVERYWHERE = frozenset({"D2", "D3", "D6", "D8", "D4"})
"""Findings that decide against others of whatever subject: their layer is below all of the guest's disks."""

_JOBS = frozenset({"D16", "D17", "D18", "D29"})
"""Loads of a known job: a backup, a check, checkpoints, a file that grows."""

_BY_JOBS = {"D26": 1.0, "D24": 0.6}
"""What a job may be behind, and up to which confidence: a highest rate, and pauses that no interval shows whole."""

_NOT_BY_LOAD = frozenset({"D4", "D20", "D24", "D27", "D30", "D32", "D34"})
"""Causes that make a device slow in their own time, whatever its load is."""

_NAMED = frozenset({"D27"})
"""Findings that decide against others on every device that their evidence is of: one waits for the other."""


def resolved(findings: Sequence[Finding]) -> list[Finding]:
    """The findings without those that a stronger one contradicts; the stronger says so in its evidence."""
    present = {finding.rule for finding in findings if finding.confidence >= _SURE}
    lost: dict[int, tuple[Finding, str]] = {}
    for winner, other, why in _pairs(findings):
        for finding in findings:
            same = winner.rule in _EVERYWHERE or finding.subject == winner.subject
            same |= winner.rule in _NAMED and finding.subject in {each.where for each in winner.evidence}
            if finding.rule == other and same and id(finding) not in lost:
                lost[id(finding)] = winner, why
    # Slow for an unknown reason is said only where no reason is known.
    kept = [f for f in findings if id(f) not in lost and not (f.rule == "L2" and present - {"L2"})]
    return [_with_reasons(finding, findings, lost) for finding in kept]


def unexplained(causes: Sequence[Finding], loads: Sequence[Finding]) -> list[Finding]:
    """The causes without those that a known job explains: the job is what can change."""
    known = any(load.rule in _JOBS and load.confidence >= _SURE for load in loads)
    return [each for each in causes if not (known and each.confidence <= _BY_JOBS.get(each.rule, 0.0))]


def by_load(context: Sequence[Finding], causes: Sequence[Finding]) -> list[Finding]:
    """The context without a load's regime where it is not the load that makes slow: its bounds would be of neither."""
    other = any(cause.rule in _NOT_BY_LOAD and cause.confidence >= _SURE for cause in causes)
    return [each for each in context if not (other and each.rule == "L1")]


def _pairs(findings: Sequence[Finding]) -> Iterator[tuple[Finding, str, str]]:
    """Each sure finding with a rule that it decides against, and why; one device's may differ from another's."""
    for rule, weaker in _STRONGER.items():
        for winner in findings:
            if winner.rule == rule and winner.confidence >= _SURE:
                yield from ((winner, other, why) for other, why in weaker)


def _with_reasons(finding: Finding, findings: Sequence[Finding], lost: dict[int, tuple[Finding, str]]) -> Finding:
    said = [
        Evidence(f"{other.rule} on {other.subject} was considered and rejected: {lost[id(other)][1]}.", other.subject)
        for other in findings
        if id(other) in lost and lost[id(other)][0] is finding
    ]
    return dataclasses.replace(finding, evidence=(*finding.evidence, *said)) if said else finding
