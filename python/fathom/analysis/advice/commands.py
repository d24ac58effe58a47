"""The commands that advice recommends, spelled so that they can be pasted into a shell."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from fathom.compare import PLACE
from fathom.results import Campaign, Level, Places

_DEFAULT_SEED = 1


def resume(campaign: Campaign) -> tuple[str, ...]:
    """Runs what is still missing of the plan; finished runs are kept."""
    return tuple(_command(campaign, place, []) for place in places(campaign))


def with_rounds(campaign: Campaign, rounds: int) -> tuple[str, ...]:
    """Goes on to that many rounds in all, at both places of a comparison of two campaigns; finished runs are kept."""
    return tuple(_command(campaign, place, ["--rounds", str(rounds)]) for place in places(campaign))


def with_sensitivity(campaign: Campaign) -> tuple[str, ...]:
    """Tries the ends of what the models assume."""
    return tuple(_command(campaign, place, ["--sensitivity"]) for place in places(campaign))


def repeat_failed(campaign: Campaign) -> tuple[str, ...]:
    """Repeats the failed runs; their records move to the folder `retried`."""
    return tuple(_command(campaign, place, ["--retry-failed"]) for place in places(campaign))


def measured_again(campaign: Campaign, places: Places, names: Sequence[str], rounds: int) -> tuple[str, ...]:
    """Measures both places of a comparison once more, each on its own disk, and compares them, their rounds in turn."""
    study = [f"{campaign.directory}/study.toml", "--rounds", "1", *_same(campaign)]
    runs = (
        ["fathom", "run", *study, "--scratch", scratch, "--out", name]
        for name, scratch in zip(names, places.scratch, strict=True)
    )
    return tuple(map(shlex.join, [*runs, ["fathom", "compare", *names, "--rounds", str(rounds)]]))


def setting(factor: str, level: Level) -> str:
    """A setting as it is written in a study."""
    if isinstance(level, bool):
        return f"{factor} = {'true' if level else 'false'}"
    if isinstance(level, str):
        escaped = level.replace("\\", "\\\\").replace('"', '\\"')
        return f'{factor} = "{escaped}"'
    return f"{factor} = {level}"


def places(campaign: Campaign) -> tuple[Path, ...]:
    """The directories that hold a campaign's runs: two where two campaigns are compared."""
    if PLACE not in campaign.study.get("factors", {}):
        return (campaign.directory,)
    found = dict.fromkeys(run.directory.parent.parent for run in campaign.runs if run.directory is not None)
    return tuple(found) or (campaign.directory,)


def _command(campaign: Campaign, place: Path, options: list[str]) -> str:
    verb = "simulate" if campaign.clock == "virtual" else "run"
    return shlex.join(["fathom", verb, f"{place}/study.toml", *options, *_same(campaign), "--out", str(place)])


def _same(campaign: Campaign) -> list[str]:
    """The options without which another plan would be run."""
    seed = [] if campaign.seed == _DEFAULT_SEED else ["--seed", str(campaign.seed)]
    return [*seed, *(["--quick"] if campaign.quick else [])]
