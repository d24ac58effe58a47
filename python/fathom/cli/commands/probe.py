"""`fathom probe`: what is this disk, and does it suit a database's log and data files?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathom.cli.campaigns import AsJson
from fathom.cli.command import Command

if TYPE_CHECKING:
    from fathom.finding import Finding
    from fathom.probe.matrix import Matrix
    from fathom.probe.storage import Storage

Target = Annotated[Path, typer.Argument(metavar="DIR", help="A directory on the disk to probe.", show_default=False)]
Size = Annotated[
    int,
    typer.Option(
        "--size",
        help="Size of the scratch file in MiB, at most a fifth of what is free: 320 MiB must be free.",
        min=64,
    ),
]
Seconds = Annotated[
    float,
    typer.Option("--seconds", help="Seconds per measurement and pass; there are three passes.", min=0.2, max=60),
]
LookOnly = Annotated[bool, typer.Option("--look-only", help="Show the geometry only: measure nothing, write nothing.")]


def probe(
    path: Target, size: Size = 1024, seconds: Seconds = 0.8, look_only: LookOnly = False, as_json: AsJson = False
) -> None:
    """Tell what a disk is and what it suits.

    Describes the disk under a directory, measures it for half a minute, and says what that means for a database's log
    and data files. Does not need root. Writes only to an unnamed scratch file, which is gone when the command ends,
    however it ends.
    """
    from fathom.cli.output import note, print_json
    from fathom.engine import core
    from fathom.probe.advice import advise, knee
    from fathom.probe.matrix import file_size, measure, steps
    from fathom.probe.storage import look

    place = look(path)
    if look_only:
        print_json({"place": place}) if as_json else _print_place(place)
        return
    if not as_json:
        _print_place(place)
    sector = place.device.logical_sector if place.device is not None else None
    todo = steps(sector or 512, seconds=seconds)
    matrix = measure(place.directory, file_size(place.system, size << 20), todo, core(), _ticker())
    if sys.stderr.isatty():
        note("")
    findings = advise(place, matrix)
    if as_json:
        bounds = knee(matrix)
        found = (
            None
            if bounds is None
            else {"iops_per_outstanding": bounds.slope, "iops_ceiling": bounds.ceiling, "outstanding": bounds.n_star}
        )
        print_json({"place": place, "matrix": matrix, "knee": found, "findings": findings})
    else:
        _print_matrix(matrix)
        _print_findings(findings)


def _ticker() -> Any:
    """Progress on one line of a terminal; silence elsewhere."""
    if not sys.stderr.isatty():
        return lambda _share, _words: None

    def tick(share: float, words: str) -> None:
        sys.stderr.write(f"\r{share:4.0%}  {words:<56}")
        sys.stderr.flush()

    return tick


def _print_place(place: Storage) -> None:
    for label, value in place.rows():
        typer.echo(f"{label:<17} {value}")


def _print_matrix(matrix: Matrix) -> None:
    from fathom.probe.storage import size_words
    from fathom.probe.words import time_words

    heads = f"{'IOPS':>10} {'MB/s':>8} {'latency':>10} {'p99':>10} {'scatter':>8}"
    typer.echo(f"\n{'':<17} {'size':>7} {'outstanding':>12} {heads}")
    for cell in matrix.cells:
        apart = "" if cell.scatter is None else f"{cell.scatter:.0%}"
        tail = "" if cell.p99_ms is None else time_words(cell.p99_ms)
        typer.echo(
            f"{cell.step.name:<17} {size_words(cell.step.bytes):>7} {cell.step.depth:>12} {cell.iops:>10,.0f} "
            f"{cell.mb_per_s:>8,.0f} {time_words(cell.latency_ms):>10} {tail:>10} {apart:>8}"
        )
    typer.echo("Medians of three passes; scatter: the longest latency of the three over the shortest, less 1.")
    typer.echo("Log writes include their flush; their p99 adds that of the write and that of the flush.")


def _print_findings(findings: list[Finding]) -> None:
    import textwrap

    from fathom.finding import Severity

    signs = {Severity.GOOD: "+", Severity.NOTE: " ", Severity.WARNING: "!", Severity.CRITICAL: "!"}
    titles = {"log": "Database log", "data": "Data files", "place": "Place", "measurement": "This measurement"}
    for subject in dict.fromkeys(finding.subject for finding in findings):
        typer.echo(f"\n{titles[subject]}")
        for finding in findings:
            if finding.subject != subject:
                continue
            said = [finding.what, *(each.sentence for each in finding.evidence)]
            said += [finding.harm] if finding.harm else []
            said += [remedy.action for remedy in finding.remedies]
            sign = f"{signs[finding.severity]} "
            typer.echo(textwrap.fill(" ".join(said), 96, initial_indent=sign, subsequent_indent="  "))
            for command in (command for remedy in finding.remedies for command in remedy.commands):
                typer.echo(f"    {command}")


COMMAND = Command(
    "probe",
    60,
    probe,
    ("fathom probe .", "fathom probe /var/lib/postgresql --seconds 5", "fathom probe /mnt/data --look-only --json"),
)
