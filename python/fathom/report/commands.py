"""The commands a report recommends, spelled so that they can be pasted into a shell."""

from __future__ import annotations

import shlex

from fathom.report.context import Context

_DEFAULT_SEED = 1


def resume(context: Context) -> str:
    """Runs what is still missing of the plan; finished runs are kept."""
    return _command(context, [])


def with_rounds(context: Context, rounds: int) -> str:
    """Goes on to that many rounds in all; finished runs are kept."""
    return _command(context, ["--rounds", str(rounds)])


def repeat_failed(context: Context) -> str:
    """Forgets the failed runs and runs them again: a run counts as done while its directory is there."""
    places = [
        f"{context.directory}/runs/{run.directory.name}" for run in context.failed_runs if run.directory is not None
    ]
    forget = [shlex.join(["rm", "-r", "--", *places])] if places else []
    return "\n".join([*forget, resume(context)])


def _command(context: Context, options: list[str]) -> str:
    campaign = context.campaign
    verb = "simulate" if campaign.clock == "virtual" else "run"
    seed = [] if campaign.seed == _DEFAULT_SEED else ["--seed", str(campaign.seed)]
    quick = ["--quick"] if campaign.quick else []
    study = f"{context.directory}/study.toml"
    return shlex.join(["fathom", verb, study, *options, *seed, *quick, "--out", context.directory])
