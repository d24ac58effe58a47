"""A diagnosis in the terminal: the verdict, at most three actions, the evidence, and what was ruled out.

Words carry the meaning, colour repeats it. Names in logs come from elsewhere and are never read as markup.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from fathom.cli import codes
from fathom.diagnose.actions import actions
from fathom.diagnose.clock import ASSUMED
from fathom.diagnose.evidence.overview import overview
from fathom.diagnose.facts import NOT_NEEDED
from fathom.diagnose.report.clock import LogClock
from fathom.finding import Evidence, Finding, Severity
from fathom.report.plain import one_line, plain

if TYPE_CHECKING:
    from rich.console import Console

    from fathom.diagnose.diagnose import Diagnosis

_STYLES = {
    Severity.CRITICAL: "bold red",
    Severity.WARNING: "bold yellow",
    Severity.NOTE: "bold",
    Severity.GOOD: "bold green",
}
_WIDEST = 100
_MOST_SKIPPED = 4
_LONGEST_EXAMPLE = 80


def exit_code(diagnosis: Diagnosis) -> int:
    """The exit code that scripts get: by the severity of the verdict."""
    if diagnosis.verdict.rule is None:
        return codes.CANNOT_TELL
    return {Severity.CRITICAL: codes.CRITICAL, Severity.WARNING: codes.WARNING}.get(
        diagnosis.verdict.severity, codes.OK
    )


def print_diagnosis(diagnosis: Diagnosis, out: Console) -> None:
    """The whole summary."""
    view, clock = _View(out), LogClock(diagnosis.system.notes)
    verdict = diagnosis.verdict
    label = "CANNOT TELL" if verdict.rule is None else verdict.severity.value.upper()
    view.line(f"{label}: {verdict.sentence}", _STYLES[verdict.severity])
    # Where the logs cannot tell, the likeliest finding knows who waits all the same.
    behind = (f for f in diagnosis.findings if verdict.rule in {None, f.rule})
    harm = next((f.harm for f in behind if f.harm), None)
    parts = [] if verdict.rule is None else [f"{verdict.rule}, confidence {round(100 * verdict.confidence)} %."]
    parts += [f"Harm: {harm}."] if harm else []
    if parts:
        view.line(" ".join(parts), "dim")
    _actions(diagnosis, view)
    for finding in diagnosis.findings:
        _finding(finding, view, clock, harm)
    if verdict.rule is None and (disks := overview(diagnosis.system)):
        view.heading("What the disks did")
        for each in disks:
            view.item(each)
        view.line("`--tier DISK=hdd`, or another kind, states what should be kept.")
    _logs(diagnosis, view, clock)
    if diagnosis.ruled_out:
        view.heading("Looked for and not found")
        view.line(", ".join(diagnosis.ruled_out) + ".")
    if diagnosis.missing:
        view.heading("Missing counters")
        for missing in diagnosis.missing[:4]:
            view.item(f"{missing.what}, for {', '.join(missing.rules)}: {missing.collect}")


def _actions(diagnosis: Diagnosis, view: _View) -> None:
    chosen = actions(diagnosis)
    if not chosen:
        return
    view.heading("What to do")
    several = len({finding.subject for finding, _ in chosen}) > 1
    for number, (finding, remedy) in enumerate(chosen, 1):
        about = f"{finding.subject.removesuffix(':')}: " if several else ""
        view.item(f"{about}{remedy.action}", f"{number}. ")
        for command in remedy.commands:
            view.command(command)
        if remedy.risk:
            view.item(f"Risk: {remedy.risk}", "   ")
        if remedy.verify:
            view.item(f"Verify: {remedy.verify}", "   ")


def _logs(diagnosis: Diagnosis, view: _View, clock: LogClock) -> None:
    """What is wrong with the logs, and what was not read of them."""
    said = [
        f"{check.rule} {check.subject}: {check.what}{_when(check.evidence[0], clock) if check.evidence else ''}"
        for check in diagnosis.checks
    ]
    said += [fact.value for fact in diagnosis.system.facts if fact.name in {"note", "clock"}]
    zones = (fact.value for fact in diagnosis.system.facts if fact.name == "time_zone" and ASSUMED in fact.value)
    said += [f"Times are {zone}" for zone in dict.fromkeys(zones)]
    # What no rule needs matters only where something is missing.
    told = diagnosis.verdict.rule is not None
    skipped = [
        skip for notes in diagnosis.system.notes for skip in notes.skipped if not (told and skip.why == NOT_NEEDED)
    ]
    for skip in skipped[:_MOST_SKIPPED]:
        example = f" ({skip.example[:_LONGEST_EXAMPLE]})" if skip.example else ""
        said.append(f"Not read: {skip.count:,} {skip.what}: {skip.why}{example}")
    if len(skipped) > _MOST_SKIPPED:
        said.append(f"Not read: {len(skipped) - _MOST_SKIPPED} more kinds; `--list` names them")
    if said:
        view.heading("The logs themselves")
    for each in said:
        view.item(each)


def _finding(finding: Finding, view: _View, clock: LogClock, told: str | None) -> None:
    """One finding; harm that was told with the verdict is not told again."""
    # A drive letter brings a colon of its own.
    subject = finding.subject.removesuffix(":")
    view.heading(f"{finding.rule} {subject}: {finding.severity.value}, {round(100 * finding.confidence)} % sure")
    view.line(finding.what)
    for evidence in finding.evidence:
        view.item(f"{evidence.sentence}{_when(evidence, clock)}")
    if finding.harm and finding.harm != told:
        view.item(f"Harm: {finding.harm}.", "  ")
    if finding.refuted_by:
        view.item(f"Wrong if: {finding.refuted_by}.", "  ")


def _when(evidence: Evidence, clock: LogClock) -> str:
    """The moments of an evidence in the log's local time, as its own files and `--compare` have them."""
    if evidence.start_ns is None or evidence.end_ns is None:
        return ""
    start, end = (clock.local(each) for each in (evidence.start_ns, evidence.end_ns))
    # A whole day ends at the hour at which it began.
    last = f"{end:%H:%M:%S}" if start.date() == end.date() else f"{end:%Y-%m-%d %H:%M:%S}"
    return f" ({start:%Y-%m-%d %H:%M:%S} to {last} {clock.name})"


class _View:
    """Lines wrapped at the width of the terminal; commands are never wrapped, so that they can be copied."""

    def __init__(self, out: Console) -> None:
        self._out = out
        self._width = min(out.width, _WIDEST)

    def line(self, text: str, style: str = "") -> None:
        self._print("\n".join(textwrap.wrap(_safe(text), self._width)), style)

    def heading(self, text: str) -> None:
        self._out.print()
        self.line(text, "bold")

    def item(self, text: str, mark: str = "- ") -> None:
        later = " " * len(mark)
        self._print(textwrap.fill(_safe(text), self._width, initial_indent=mark, subsequent_indent=later), "")

    def command(self, text: str) -> None:
        self._print(f"     {_safe(text)}", "cyan")

    def _print(self, text: str, style: str) -> None:
        from rich.text import Text

        self._out.print(Text(text, style=style), soft_wrap=True)


def _safe(text: str) -> str:
    return one_line(plain(text))
