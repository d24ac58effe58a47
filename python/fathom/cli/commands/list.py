"""`fathom list`: the campaigns that are here, each with its question, state and verdict."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from fathom.cli.campaigns import AsJson
from fathom.cli.command import Command

Places = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[DIR]...", help="Directories with campaigns; . and results if not given.", show_default=False
    ),
]


@dataclass(frozen=True)
class Entry:
    """One campaign as listed; `verdict` is None where none can be given yet, `problem` says why one cannot be read."""

    directory: Path
    created: str
    clock: str
    state: str
    question: str
    verdict: str | None
    problem: str | None = None


def list_campaigns(places: Places = None, as_json: AsJson = False) -> None:
    """List campaigns with question, state and verdict.

    A campaign is a directory written by `run`, `simulate` or `io`. Lists those directly in DIR, newest first. An
    unfinished campaign has no verdict yet.
    """
    from fathom.cli.output import note, print_json
    from fathom.errors import UsageError

    for place in places or ():
        if not place.is_dir():
            what = "is not a directory" if place.exists() else "does not exist"
            raise UsageError(f"{place} {what}", "name a directory with campaigns, or one that is a campaign")
    found = {path.resolve(): path for place in places or _usual() for path in _campaigns(place)}
    entries = sorted((_entry(path) for path in found.values()), key=lambda entry: entry.created, reverse=True)
    if as_json:
        print_json(entries)
    elif not entries:
        where = ", ".join(str(place) for place in places or _usual())
        note(f"no campaigns in {where}; `fathom run STUDY` makes one")
    else:
        for entry in entries:
            _print(entry)


def _usual() -> list[Path]:
    return [path for path in (Path(), Path("results")) if path.is_dir()]


def _campaigns(place: Path) -> list[Path]:
    """Directories in `place` that hold a campaign, or `place` itself if it is one."""
    if (place / "campaign.json").is_file():
        return [place]
    return [path.parent for path in place.glob("*/campaign.json")]


def _entry(directory: Path) -> Entry:
    from fathom import campaign, results
    from fathom.cli.verdict import analysed
    from fathom.errors import FathomError

    try:
        found = results.read(directory)
        failed = sum(not run.ok for run in found.runs)
        state = "finished" if len(found.runs) == found.planned else f"{len(found.runs)} of {found.planned} runs"
        if campaign.is_running(directory):
            state = f"running, {len(found.runs)} of {found.planned} runs"
        state += f", {failed} failed" if failed else ""
        state += ", tiny scale" if found.quick else ""
        words = str(found.study.get("question") or found.study.get("title") or "")
        verdict = analysed(found).headline if len(found.runs) == found.planned and failed < len(found.runs) else None
        return Entry(directory, found.created or "", found.clock, state, words, verdict)
    except FathomError as problem:
        return Entry(directory, "", "", "cannot be read", "", None, problem.what)


def _print(entry: Entry) -> None:
    from fathom.cli.output import console
    from fathom.report.plain import one_line, plain

    day = entry.created[:10]
    head = ", ".join(words for words in (entry.clock and f"{entry.clock} clock", day, entry.state) if words)
    out = console()
    out.print(f"{plain(str(entry.directory))}  ({head})", markup=False, soft_wrap=True)
    for words in (entry.question, entry.verdict, entry.problem):
        if words:
            out.print(f"    {plain(one_line(words))}", markup=False, soft_wrap=True)


COMMAND = Command(
    "list",
    45,
    list_campaigns,
    ("fathom list", "fathom list /srv/results", "fathom list --json | jq -r '.[] | select(.verdict) | .directory'"),
)
