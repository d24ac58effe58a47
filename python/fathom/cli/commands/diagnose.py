"""`fathom diagnose`: logs that exist already, read and diagnosed."""

from __future__ import annotations

import dataclasses
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathom.cli.campaigns import AsJson, Quiet
from fathom.cli.command import Command

if TYPE_CHECKING:
    from fathom.diagnose.diagnose import Diagnosis
    from fathom.diagnose.log import Log, Tick

_NAMES = 5
"""Columns of a listing that are words; the others are numbers."""

Logs = Annotated[
    list[Path] | None,
    typer.Argument(metavar="LOG...", help="Logs of one system, together; any format, also compressed.",
                   show_default=False),
]  # fmt: skip
Table = Annotated[
    Path | None,
    typer.Option("--table", metavar="FILE", help="Write all samples as .parquet or .csv.", show_default=False),
]
List = Annotated[bool, typer.Option("--list", help="List every series in the logs, without a verdict.")]
Formats = Annotated[bool, typer.Option("--formats", help="List the supported formats.")]
Format = Annotated[
    str | None,
    typer.Option("--format", metavar="NAME", help="Read the logs as this format instead of recognising it.",
                 show_default=False),
]  # fmt: skip
TimeZone = Annotated[
    str | None,
    typer.Option(
        "--time-zone",
        metavar="ZONE",
        help="Time zone of local times in logs that name none: +02:00, or Europe/Berlin. UTC if not given.",
        show_default=False,
    ),
]

LimitsFile = Annotated[
    Path | None,
    typer.Option(
        "--limits", metavar="FILE", help="Known limits in addition to the built-in ones, TOML.", show_default=False
    ),
]
Tiers = Annotated[
    list[str] | None,
    typer.Option("--tier", metavar="DISK=KIND", show_default=False,
                 help="What a disk is: hdd, cloud, flash or nvme, or a tier of --limits; decides which latency is "
                 "healthy. Repeatable; without DISK= for all disks."),
]  # fmt: skip

Html = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", show_default=False,
                 help="Write the report as one HTML file; in a directory (.) it is called diagnosis.html."),
]  # fmt: skip
Compare = Annotated[
    tuple[str, str] | None,
    typer.Option("--compare", metavar="A B", show_default=False,
                 help="Two windows of the report, in the log's local time: 02:00-02:10 09:00-09:10; "
                 "also 2026-03-02T02:00-02:10, with Z at the end in UTC."),
]  # fmt: skip
ToStudy = Annotated[
    Path | None,
    typer.Option("--to-study", metavar="FILE", show_default=False,
                 help="Write volume and load as a new study; `fathom simulate` shows what lifting the limit gains."),
]  # fmt: skip
Watch = Annotated[
    float | None,
    typer.Option("--watch", metavar="SECONDS", min=1, max=60, show_default=False,
                 help="Record this Linux host at this interval and diagnose it live; q or Ctrl-C ends with the "
                 "summary. LOG is then a new file for the recording."),
]  # fmt: skip
Anonymise = Annotated[
    bool,
    typer.Option("--anonymise", help="Replace names of hosts, devices, files and databases in the report."),
]


Start = Annotated[
    str | None,
    typer.Option(
        "--start",
        metavar="TIME",
        help="Start of logs whose times count from their start (pgbench -P, DVD Store, traces): 2026-03-02T22:00:00Z.",
        show_default=False,
    ),
]


def diagnose(
    logs: Logs = None,
    table: Table = None,
    listing: List = False,
    formats: Formats = False,
    format_name: Format = None,
    time_zone: TimeZone = None,
    start: Start = None,
    limits: LimitsFile = None,
    tier: Tiers = None,
    html: Html = None,
    compare: Compare = None,
    anonymise: Anonymise = False,
    to_study: ToStudy = None,
    watch: Watch = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find what limits the storage, from existing logs.

    Reads logs of Windows, Linux, ESXi, clouds, databases and benchmarks, and recognises the format by the content.
    Joins several logs of one system by time. Sends nothing anywhere. The exit code tells the severity.
    """
    from fathom.diagnose import log as reader
    from fathom.diagnose.clock import Zone
    from fathom.diagnose.importer import importer_named
    from fathom.diagnose.save import save

    if formats:
        _print_formats(as_json)
        return
    _check(logs, watch, shaped=bool(compare or anonymise) and html is None)
    zone = None if time_zone is None else Zone(time_zone)
    importer = None if format_name is None else importer_named(format_name)
    ticker = _ticker(quiet=quiet) if watch is None else None
    with (
        _recorded(logs, watch, limits, tier or ()) as paths,
        reader.read(paths, zone, importer, ticker, _start_ns(start)) as log,
    ):
        if table is not None:
            save(log, table)
        if listing:
            _list(log, table, as_json=as_json)
            return
        from fathom.cli.diagnosis_view import exit_code, print_diagnosis
        from fathom.cli.output import console, print_json
        from fathom.diagnose.diagnose import diagnose as diagnosis_of
        from fathom.diagnose.evidence.limits import load
        from fathom.diagnose.tiers import tell

        known = load(limits)
        tell(log, tier or (), known)
        diagnosis = diagnosis_of(log, known)
        written = []
        if to_study is not None:
            written.append(_study(diagnosis, to_study))
        if html is not None:
            from fathom.diagnose.report import render

            written.append(f"report: {render(diagnosis, html, compare=compare or (), anonymise=anonymise)}")
        _tell(written, quiet=quiet)
        if as_json:
            print_json(_summary(log, table) | _answer(diagnosis))
        else:
            print_diagnosis(diagnosis, console())
    raise typer.Exit(exit_code(diagnosis))


def _check(logs: list[Path] | None, watch: float | None, *, shaped: bool) -> None:
    """Refuses options that contradict each other."""
    if watch is not None and len(logs or ()) > 1:
        raise typer.BadParameter("with --watch it is the one new file to record into", param_hint="LOG")
    if not logs and watch is None:
        raise typer.BadParameter("name at least one log, or use --formats", param_hint="LOG...")
    if shaped:
        raise typer.BadParameter("they shape the report: name it with --html FILE", param_hint="--compare, --anonymise")


def _study(diagnosis: Diagnosis, out: Path) -> str:
    from fathom.diagnose.study import write_study

    place = write_study(diagnosis, out)
    return f"study: {place}; fathom simulate {shlex.quote(str(place))}"


def _tell(written: list[str], *, quiet: bool) -> None:
    """The files that were written, on standard error."""
    from fathom.cli.output import note

    for line in () if quiet else written:
        note(line)


@contextmanager
def _recorded(
    logs: list[Path] | None, watch: float | None, limits: Path | None, tiers: Sequence[str]
) -> Iterator[list[Path]]:
    """The logs, or the recording of this host, made and diagnosed while somebody watches."""
    if watch is None:
        yield logs or []
        return
    from fathom.cli.watch import watched
    from fathom.diagnose import log as reader
    from fathom.diagnose.diagnose import diagnose as diagnosis_of
    from fathom.diagnose.evidence.limits import load
    from fathom.diagnose.tiers import tell

    known = load(limits)

    def look(place: Path) -> Diagnosis:
        with reader.read([place]) as log:
            tell(log, tiers, known)
            return diagnosis_of(log, known)

    with watched(watch, logs[0] if logs else None, look) as place:
        yield [place]


def _answer(diagnosis: Diagnosis) -> dict[str, Any]:
    """The diagnosis without its series."""
    return {each.name: getattr(diagnosis, each.name) for each in dataclasses.fields(diagnosis) if each.name != "system"}


def _list(log: Log, table: Path | None, *, as_json: bool) -> None:
    from fathom.cli.output import print_json

    if as_json:
        print_json(_summary(log, table))
        return
    _print_logs(log)
    _print_series(log)


def _start_ns(text: str | None) -> int | None:
    from fathom.diagnose.clock import iso_ns
    from fathom.errors import UsageError

    if text is None:
        return None
    try:
        return iso_ns(text)[0]
    except ValueError:
        raise UsageError(
            f'--start "{text}" is no time', "write it as 2026-03-02T22:00:00Z; without a zone it is UTC"
        ) from None


def _ticker(*, quiet: bool) -> Tick | None:
    """Samples read so far, on a terminal only."""
    if quiet or not sys.stderr.isatty():
        return None
    from fathom.cli.output import console
    from fathom.report.plain import one_line, plain

    out = console(stderr=True)

    def tick(path: str, rows: int) -> None:
        out.print(f"{one_line(plain(path))}: {rows:,} samples", end="\r", markup=False)

    return tick


def _print_formats(as_json: bool) -> None:
    from fathom.cli.output import console, print_json
    from fathom.diagnose.importer import importers

    found = [{"name": each.name, "title": each.title, "record": each.record} for each in importers()]
    if as_json:
        print_json(found)
        return
    from rich.table import Table as Grid

    grid = Grid("format", "written by", "record one with", box=None, pad_edge=False)
    for each in found:
        grid.add_row(each["name"], each["title"], each["record"] or "")
    console().print(grid)


def _summary(log: Log, table: Path | None) -> dict[str, Any]:
    series = log.series
    return {
        "logs": log.notes,
        "samples": log.rows,
        "table": table,
        "series": [
            {**row, "first": _iso(row["first"]), "last": _iso(row["last"])} for row in series.iter_rows(named=True)
        ],
    }


def _iso(moment: Any) -> str | None:
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")


def _print_logs(log: Log) -> None:
    from rich.text import Text

    from fathom.cli.output import console
    from fathom.report.plain import one_line, plain

    out = console()
    for notes in log.notes:
        out.print(Text(f"{one_line(plain(notes.path))}: {notes.title}", style="bold"))
        for fact in notes.facts:
            subject = f" of {fact.subject}" if fact.subject else ""
            out.print(Text(one_line(plain(f"{fact.name.replace('_', ' ')}{subject}: {fact.value}"))), soft_wrap=True)
        for skipped in notes.skipped:
            example = f" (first: {skipped.example})" if skipped.example else ""
            words = f"not read: {skipped.count:,} {skipped.what}, {skipped.why}{example}"
            out.print(Text(one_line(plain(words)), style="dim"), soft_wrap=True)
    out.print(Text(f"{log.rows:,} samples"))


def _print_series(log: Log) -> None:
    """One line per series, as wide as its names need: a cut name is no use, and a pipe has no width."""
    from fathom.diagnose.metrics import METRICS
    from fathom.report.format import significant
    from fathom.report.plain import one_line, plain

    lines = [["layer", "host", "device", "metric", "unit", "samples", "missing", "interval s", "mean", "max"]]
    for row in log.series.iter_rows(named=True):
        names = [one_line(plain(str(row[name] or "–"))) for name in ("layer", "host", "device", "metric")]
        counts = [f"{row['samples']:,}", f"{row['missing']:,}"]
        lines.append(
            [
                *names,
                METRICS[row["metric"]].unit,
                *counts,
                *(significant(row[name]) for name in ("interval_s", "mean", "max")),
            ]
        )
    widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
    for line in lines:
        cells = (cell.ljust(width) if place < _NAMES else cell.rjust(width)
                 for place, (cell, width) in enumerate(zip(line, widths, strict=True)))  # fmt: skip
        typer.echo("  ".join(cells).rstrip())


COMMAND = Command(
    "diagnose",
    55,
    diagnose,
    (
        "fathom diagnose perfmon.csv",
        "fathom diagnose perfmon.csv --html diagnosis.html --compare 02:00-02:10 09:00-09:10",
        "fathom diagnose perfmon.csv --to-study what-if.toml",
        "fathom diagnose perfmon.csv --list",
        "fathom diagnose guest.csv esxtop.csv.gz --table night.parquet",
        "fathom diagnose iostat.txt --time-zone Europe/Berlin --json",
        "fathom diagnose --watch 1 --html .",
        "fathom diagnose --formats",
    ),
)
