"""`fathom plan`: every run of a study spelled out, without running anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fathom.cli.campaigns import AsJson, Models, Quick, Rounds, Seed, StudyPath
from fathom.cli.command import Command

if TYPE_CHECKING:
    from fathom.plan import Plan

Clock = Annotated[
    str | None, typer.Option("--clock", help="real or virtual; the study's own if not given.", show_default=False)
]

Commands = Annotated[
    bool, typer.Option("--commands", help="Print the commands around each variant: mkfs, mounts, servers.")
]


def plan(
    study: StudyPath,
    rounds: Rounds = None,
    seed: Seed = None,
    clock: Clock = None,
    models: Models = None,
    quick: Quick = False,
    as_json: AsJson = False,
    commands: Commands = False,
) -> None:
    """Check a study and print its plan.

    Lists every run in the order of execution. Nothing is run.
    """
    from fathom.cli.output import note, print_json
    from fathom.cli.progress import count_words, duration_words, spelled, variant_words
    from fathom.engine import core
    from fathom.plan import plan as make
    from fathom.provision.rights import is_root, on_volumes
    from fathom.study import load, read_models

    checked = load(study, core(), clock=clock, quick=quick, models=read_models(models or ()))
    made = make(checked, seed=seed, rounds=rounds)
    if as_json:
        print_json(made.as_dict())
        return
    typer.echo(f"{checked.title}\n{checked.resolved['question']}".rstrip())
    runs = f"{count_words(len(made.runs), 'run')} in {count_words(made.rounds, 'round')}"
    typer.echo(f"{runs}, {checked.clock} clock, seed {made.seed}")
    if made.measured_s is not None:
        more = "measured in all; set-up, loading and checks come on top"
        if checked.clock == "virtual":
            more = "of virtual time, which passes faster"
        typer.echo(f"{duration_words(made.measured_s)} {more}")
    for path, level in checked.resolved["overrides"].items():
        typer.echo(f"  everywhere: {path} = {spelled(level)}")
    for run in made.runs:
        typer.echo(f"{run.order:>4}  round {run.round:<3} {run.id}  {variant_words(dict(run.variant))}")
    if places := on_volumes(made, made.runs):
        rest = "you are root" if is_root() else "run it with sudo"
        note(f"needs root: {', '.join(places)} on volumes (FUSE, a loop device, a mount); {rest}")
    if commands:
        _print_commands(made)


def _print_commands(made: Plan) -> None:
    from fathom.cli.progress import variant_words
    from fathom.provision.dry import commands
    from fathom.provision.failure import ProvisionError

    for run in (run for run in made.runs if run.round == 1):
        typer.echo(f"\n# {variant_words(dict(run.variant)) or 'every run'}")
        try:
            lines = commands(made, run)
        except ProvisionError as problem:
            lines = [f"# not available here: {problem.message}"]
        typer.echo("\n".join(lines) or "# nothing has to be provided")


COMMAND = Command(
    "plan",
    30,
    plan,
    (
        "fathom plan studies/batch-insert.toml",
        "fathom plan studies/batch-insert.toml --seed 7 --json",
        "fathom plan studies/allocation-unit.toml --commands",
    ),
)
