"""From a diagnosis to the document that every renderer shows: verdict first, then what to do, then why."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.actions import actions
from fathom.diagnose.diagnose import Diagnosis, Outcome
from fathom.diagnose.evidence.overview import overview
from fathom.diagnose.report import pictures
from fathom.diagnose.report.clock import LogClock
from fathom.diagnose.report.comparison import comparison, parsed
from fathom.diagnose.report.names import cleaned
from fathom.diagnose.report.quality import quality
from fathom.diagnose.report.windows import Window, chosen, pictured
from fathom.finding import Evidence, Finding, Severity
from fathom.report.cells import text
from fathom.report.document import (
    Attachment,
    Banner,
    Block,
    BuiltSection,
    Bullets,
    Claim,
    Column,
    Document,
    Findings,
    Paragraph,
    Table,
    Tone,
)
from fathom.report.format import percent, plural

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device

_TONES = {
    Severity.CRITICAL: Tone.BAD,
    Severity.WARNING: Tone.WARN,
    Severity.NOTE: Tone.PLAIN,
    Severity.GOOD: Tone.GOOD,
}
_WORDS = {
    Outcome.LIMIT: "Storage is limited",
    Outcome.HEALTHY: "Storage is not the bottleneck",
    Outcome.LOAD: "The load explains the latency",
    Outcome.UNKNOWN: "The logs cannot tell",
}
_MOST_CHARTS = 6
_CHARTED = ("I/O rate", "Read latency", "Write latency", "Latency", "Outstanding requests")


def build(diagnosis: Diagnosis, *, compare: Sequence[str] = (), anonymise: bool = False) -> Document:
    """The whole report as blocks; charts are drawn later, when a renderer asks.

    Raises:
        UsageError: a window to compare that cannot be read or is outside the log.
    """
    found = cleaned(diagnosis, anonymise=anonymise)
    clock = LogClock(found.system.notes)
    device = pictured(found)
    windows = parsed(compare, device, clock)
    if not windows and device is not None:
        windows = chosen(found, device, clock)
    sections: list[tuple[str, str, Sequence[Block]]] = [
        ("verdict", "Verdict", [_banner(found, device)]),
        ("actions", "What to do", _actions(found)),
        ("evidence", "Evidence", _evidence(device, windows, clock)),
        ("windows", "Two windows compared" if len(windows) > 1 else "What latency follows",
         comparison(found, device, windows, clock)),
        ("findings", "Findings", _findings(found, clock)),
        ("disks", "What the disks did", _disks(found)),
        ("ruled-out", "Looked for and not found", _ruled_out(found)),
        ("quality", "Quality of the logs", quality(found, clock)),
        ("missing", "Missing counters", _missing(found)),
        ("method", "Method", [Bullets(_METHOD)]),
        ("data", "Data", _data(found)),
    ]  # fmt: skip
    built = tuple(BuiltSection(name, title, tuple(blocks)) for name, title, blocks in sections if blocks)
    return Document("Storage diagnosis", "", _facts(found, device, clock, anonymise=anonymise), built)


def _facts(diagnosis: Diagnosis, device: Device | None, clock: LogClock, *, anonymise: bool) -> tuple[str, ...]:
    notes = diagnosis.system.notes
    facts = [plural(len(notes), "log"), *dict.fromkeys(each.title for each in notes)]
    if device is not None:
        facts.append(f"{clock.span(int(device.times_ns[0]), int(device.times_ns[-1]))} {clock.name}")
    return (*facts, *(["names replaced"] if anonymise else []))


def _banner(diagnosis: Diagnosis, device: Device | None) -> Banner:
    verdict = diagnosis.verdict
    behind = next((finding for finding in diagnosis.findings if finding.rule == verdict.rule), None)
    facts = [] if verdict.rule is None else [("Confidence", percent(verdict.confidence)), ("Rule", verdict.rule)]
    if device is not None:
        facts.append(("Shown", device.name))
    rests = []
    # Where the logs cannot tell, the likeliest finding knows who waits all the same.
    harmed = behind or next((finding for finding in diagnosis.findings if finding.harm), None)
    if harmed is not None and harmed.harm:
        rests.append(f"Harm: {harmed.harm}.")
    if behind is not None and behind.refuted_by:
        rests.append(f"Wrong if {behind.refuted_by}.")
    rests += [f"Mind the log: {check.what}" for check in diagnosis.checks[:2]]
    tone = _TONES[verdict.severity]
    return Banner(_WORDS[verdict.outcome], tone, "", verdict.sentence, tuple(facts), tuple(rests))


def _actions(diagnosis: Diagnosis) -> list[Block]:
    items = []
    said: set[str] = set()
    for finding, remedy in actions(diagnosis):
        # What two actions follow from is said once.
        what = "" if finding.what in said else finding.what
        said.add(finding.what)
        items.append(dataclasses.replace(finding, what=what, evidence=(), harm=None, remedies=(remedy,)))
    return [Findings(tuple(items))] if items else []


def _evidence(device: Device | None, windows: Sequence[Window], clock: LogClock) -> list[Block]:
    if device is None:
        return [Paragraph("The logs hold no volume or disk to show.")]
    spans = [("AB"[at], window.start_ns, window.end_ns) for at, window in enumerate(windows)]
    whole = len(spans) == 1 and spans[0][1] <= int(device.times_ns[0]) and spans[0][2] >= int(device.times_ns[-1])
    named = " and ".join(f"{'AB'[at]} is {window.label}" for at, window in enumerate(windows))
    shaded = "" if whole or not spans else f" Shaded: {named}."
    caption = f"The whole log of {device.name}, means of each interval. A broken line: nothing was recorded.{shaded}"
    chart = pictures.over_time(device, [] if whole else spans, clock, "evidence", caption)
    return [] if chart is None else [chart]


def _findings(diagnosis: Diagnosis, clock: LogClock) -> list[Block]:
    shown = {remedy for _, remedy in actions(diagnosis)}
    blocks: list[Block] = []
    drawn: set[tuple[str, int, int]] = set()
    for finding in diagnosis.findings:
        remedies = tuple(
            dataclasses.replace(remedy, commands=(), risk=None) if remedy in shown else remedy
            for remedy in finding.remedies
        )
        timed = tuple(_timed(evidence, clock) for evidence in finding.evidence)
        blocks.append(Claim(dataclasses.replace(finding, evidence=timed, remedies=remedies)))
        chart = _chart(diagnosis, finding, clock, drawn) if len(drawn) < _MOST_CHARTS else None
        blocks += [] if chart is None else [chart]
    return blocks


def _timed(evidence: Evidence, clock: LogClock) -> Evidence:
    if evidence.start_ns is None or evidence.end_ns is None:
        return evidence
    when = clock.span(evidence.start_ns, evidence.end_ns)
    return dataclasses.replace(evidence, sentence=f"{evidence.sentence} ({when} {clock.name})")


def _chart(diagnosis: Diagnosis, finding: Finding, clock: LogClock, drawn: set[tuple[str, int, int]]) -> Block | None:
    """The device of the finding's first evidence with its time range shaded; each picture once, and none of a range
    that is the whole log.
    """
    for evidence in finding.evidence:
        device = next((each for each in diagnosis.system.devices if each.name == evidence.where), None)
        if device is None or evidence.start_ns is None or evidence.end_ns is None:
            continue
        picture = (device.name, evidence.start_ns, evidence.end_ns)
        length = int(device.times_ns[-1] - device.times_ns[0])
        if picture in drawn or evidence.end_ns - evidence.start_ns >= length:
            return None
        drawn.add(picture)
        caption = f"{device.name}, shaded: the time of the first observation of {finding.rule}."
        span = (finding.rule, evidence.start_ns, evidence.end_ns)
        return pictures.over_time(device, [span], clock, f"finding_{len(drawn)}", caption, _CHARTED)
    return None


def _disks(diagnosis: Diagnosis) -> list[Block]:
    """What a reader goes on with where the logs cannot tell."""
    said = overview(diagnosis.system) if diagnosis.verdict.rule is None else []
    return [Bullets(tuple(said))] if said else []


def _ruled_out(diagnosis: Diagnosis) -> list[Block]:
    if not diagnosis.ruled_out:
        return []
    lead = "The logs hold what these need to show, and they did not show:"
    return [Paragraph(lead), Bullets(diagnosis.ruled_out)]


def _missing(diagnosis: Diagnosis) -> list[Block]:
    if not diagnosis.missing:
        return []
    columns = (Column("counter", "Counter"), Column("rules", "Needed by"), Column("collect", "How to collect it"))
    rows = tuple((text(each.what), text(", ".join(each.rules)), text(each.collect)) for each in diagnosis.missing)
    return [Table("missing", "What the logs lack, most useful first", columns, rows)]


def _data(diagnosis: Diagnosis) -> list[Block]:
    def default(value: object) -> object:
        return value.item() if isinstance(value, np.generic) else str(value)

    said = {
        field.name: getattr(diagnosis, field.name) for field in dataclasses.fields(diagnosis) if field.name != "system"
    }
    plain = {name: _plain(value) for name, value in said.items()}
    content = json.dumps(plain, indent=1, default=default, ensure_ascii=False).encode(errors="replace")
    return [Attachment("diagnosis.json", "application/json", content, "the diagnosis as data")]


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


_METHOD = (
    "Every rule is asked whose counters the logs hold; each says what would refute it.",
    "Findings are ordered by harm × confidence. Harm is who waits, never how large a number is.",
    "Contradictory findings are decided, and both say so.",
    "Means over time weigh each interval by its length, mean latencies by their requests.",
    "Outstanding requests are those recorded, otherwise rate × latency (Little's law).",
    "Windows that were not named are cut at change points of rate and latency.",
    "The decisive window is the one with the most waiting; the other carries a like load at the lowest latency.",
    "A quantity is ruled out as the cause where the same device carried as much of it at a third of the latency.",
    "What was not recorded is empty, never zero. Nothing was sent anywhere.",
)
