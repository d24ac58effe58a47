"""What `run` and `simulate` share: options to plan, plan to campaign, campaign to verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathom.cli import codes
from fathom.cli.output import note

StudyPath = Annotated[Path, typer.Argument(metavar="STUDY", help="The study, a TOML file.", show_default=False)]
Rounds = Annotated[
    int | None,
    typer.Option(
        "--rounds",
        "-r",
        help="Rounds (every variant once each); the study's own number if not given. More "
        "than before extends a finished campaign.",
        show_default=False,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", help="Seed of the order and of every run; the study's own, or 1.", show_default=False),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="Campaign directory; results/STUDY-CLOCK-HASH if not given.", show_default=False),
]
Resume = Annotated[
    bool, typer.Option("--resume/--no-resume", help="Resume an unfinished campaign, or start another beside it.")
]
Scratch = Annotated[
    Path | None,
    typer.Option(
        "--scratch",
        help="An existing directory on the disk under test; the campaign's own if not given.",
        show_default=False,
    ),
]
Models = Annotated[
    list[Path] | None,
    typer.Option(
        "--models", metavar="PATH", help="Your own models: a TOML file, or a folder of them.", show_default=False
    ),
]
Quick = Annotated[bool, typer.Option("--quick", help="Tiny scale (the study's [quick] table): does it work at all?")]
AsJson = Annotated[bool, typer.Option("--json", help="Print data instead of tables.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bars; one line per run.")]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        min=1,
        help="Parallel runs; one per processor if not given. Results do not depend on it.",
        show_default=False,
    ),
]
Sensitivity = Annotated[
    bool | None,
    typer.Option(
        "--sensitivity/--no-sensitivity",
        help="Also run both ends of each assumed range; without the option where that takes seconds, not with --quick.",
        show_default=False,
    ),
]
RetryFailed = Annotated[
    bool, typer.Option("--retry-failed", help="Repeat failed runs; their records go to DIR/retried.")
]
FindMax = Annotated[
    str | None,
    typer.Option(
        "--find-max",
        metavar="KEY=LOW..HIGH",
        help="Find the highest value that meets the study's [goals], by bisection, one campaign per value.",
        show_default=False,
    ),
]
FindFirst = Annotated[
    str | None,
    typer.Option(
        "--find-first",
        metavar="KEY=A,B,...",
        help="Find the first value of a list that meets the [goals], such as the smallest volume.",
        show_default=False,
    ),
]
Anonymous = Annotated[bool, typer.Option("--anonymise", help="Keep the names of host, user and paths out of results.")]


if TYPE_CHECKING:
    from fathom.engine import Engine
    from fathom.plan import Plan
    from fathom.search import First, Highest


@dataclass(frozen=True)
class Request:
    """What the command line asked for."""

    study: Path
    clock: str
    rounds: int | None
    seed: int | None
    out: Path | None
    resume: bool
    scratch: Path | None
    models: Sequence[Path]
    quick: bool
    as_json: bool
    quiet: bool
    anonymise: bool
    jobs: int = 1
    sensitivity: bool | None = None
    text: str | None = None
    """The study itself, where `study` is only a name for messages."""
    retry_failed: bool = False
    search: Highest | First | None = None


def carry_out(request: Request) -> None:
    """Plans, runs and judges; ends with the exit code of `codes`.

    Raises:
        typer.Exit: always.
    """
    from fathom import campaign, sensitivity
    from fathom.cli.progress import observer
    from fathom.cli.verdict import show
    from fathom.engine import core
    from fathom.plan import plan
    from fathom.run import Options, execute
    from fathom.study import load, parse, read_models

    engine = core()
    begun = campaign.begun(request.out) if request.out and request.resume else {}
    models = campaign.models(request.out) or read_models(request.models)
    quick = request.quick or begun.get("quick", False)
    if quick and not request.quick:
        note(f"{request.out} was begun with --quick and is resumed at tiny scale; give another --out for the full one")
    if request.text is None:
        study = load(request.study, engine, clock=request.clock, quick=quick, models=models)
    else:
        study = parse(request.text, request.study, engine, clock=request.clock, quick=quick, models=models)
    seed = begun.get("seed") if request.seed is None else request.seed
    wanted = plan(study, seed=seed, rounds=request.rounds)
    if request.search is not None:
        raise typer.Exit(_find(request, request.search, wanted, engine))
    directory = request.out or campaign.default_directory(wanted)
    if not request.resume:
        directory = campaign.unused_directory(directory)
    options = Options(directory, request.scratch, request.anonymise, request.jobs, request.retry_failed)
    _tell_rounds(request, directory)
    try:
        with observer(quiet=request.quiet or request.as_json, jobs=request.jobs) as watching:
            found = execute(wanted, options, engine, watching)
            if request.sensitivity is not False:
                for want, why in (
                    (sensitivity.missing, "trying the ends of what the models assume"),
                    (
                        sensitivity.in_doubt,
                        "an end seems to turn the verdict: more rounds there tell whether by chance",
                    ),
                ):
                    tries = want(wanted, found)
                    events, takes = sensitivity.cost(tries, found)
                    if tries and (request.sensitivity or (events <= sensitivity.CHEAP_EVENTS and not quick)):
                        note(f"{why}: {len(tries)} runs, about {takes:.0f} s")
                        found = sensitivity.carry_out(wanted, tries, options, engine, note)
    except KeyboardInterrupt:
        note(f"stopped; finished runs are in {directory}; the same command resumes with the rest")
        raise typer.Exit(codes.STOPPED) from None
    raise typer.Exit(show(found, as_json=request.as_json, report=None, anonymise=request.anonymise))


def _tell_rounds(request: Request, directory: Path) -> None:
    """A campaign only grows: fewer rounds than it has are not what is carried out, and that is said."""
    from fathom import campaign

    before = campaign.rounds_of(directory)
    if request.rounds is not None and before is not None and request.rounds < before:
        note(f"{directory} has {before} rounds, and --rounds {request.rounds} takes none away; give another --out")


def _find(request: Request, search: Highest | First, wanted: Plan, engine: Engine) -> int:
    from fathom.cli.finding import directory_of, find
    from fathom.run import Options

    parent = request.out or directory_of(wanted, search.key)
    options = Options(parent, request.scratch, request.anonymise, request.jobs, request.retry_failed)
    try:
        return find(search, wanted, options, engine, as_json=request.as_json, quiet=request.quiet)
    except KeyboardInterrupt:
        note(f"stopped; finished runs are below {parent}; the same command resumes with the rest")
        return codes.STOPPED
