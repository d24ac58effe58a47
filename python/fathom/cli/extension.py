"""More rounds for several campaigns, a round of each in turn, so that what changes with time meets all alike."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

import typer

from fathom import campaign, environment, results
from fathom.cli import codes
from fathom.cli.output import note
from fathom.cli.progress import observer
from fathom.engine import Engine, core
from fathom.errors import CampaignError
from fathom.plan import Plan, plan
from fathom.results import Campaign, last_round
from fathom.run import Options, execute
from fathom.study import parse


def extend(found: Sequence[Campaign], rounds: int, *, quiet: bool) -> list[Campaign]:
    """The campaigns with that many rounds each; finished runs are kept.

    Raises:
        CampaignError: one began on another machine or disk (before anything is run), is in use, or cannot be written.
        ResultsError: one is damaged.
        typer.Exit: a person stopped it; finished runs are kept.
    """
    engine = core()
    for each in found:
        _check_place(each, rounds, engine)
    last = max(last_round(each.runs) for each in found)
    jobs = os.cpu_count() or 1
    current = list(found)
    try:
        with observer(quiet=quiet, jobs=jobs) as watching:
            for number in range(min(last, rounds), rounds + 1):
                for index, each in enumerate(found):
                    options = Options(each.directory, jobs=jobs)
                    current[index] = execute(_plan(each, number, engine), options, engine, watching)
    except KeyboardInterrupt:
        note("stopped; finished runs are kept, and the same command resumes with the rest")
        raise typer.Exit(codes.STOPPED) from None
    return current


def _plan(found: Campaign, rounds: int, engine: Engine) -> Plan:
    """The plan that the campaign was begun with, for that many rounds."""
    fixed, models = campaign.begun(found.directory).get("fixed", {}), campaign.models(found.directory)
    path = found.directory / "study.toml"
    study = parse(found.study_text, path, engine, clock=found.clock, quick=found.quick, fixed=fixed, models=models)
    return plan(study, seed=found.seed, rounds=rounds)


def _check_place(found: Campaign, rounds: int, engine: Engine) -> None:
    """Refuses a campaign that this machine cannot go on with."""
    began = results.read_head(found.directory)["fingerprint"]
    if found.clock == "virtual" or began is None:
        return
    place = campaign.settle_place(found.directory, None)
    if not place.is_dir() or environment.fingerprint(environment.capture(place, engine)) != began:
        here = str(found.directory)
        there = ("fathom", "run", f"{here}/study.toml", "--rounds", str(rounds), "--out", here)
        raise CampaignError(
            f"{found.directory}: began on another machine, kernel or disk and cannot be extended here",
            f"run `{shlex.join(there)}` there, then compare again without --rounds",
        )
