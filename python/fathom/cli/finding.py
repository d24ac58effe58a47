"""`--find-max` and `--find-first`: one campaign per value tried, until the goals of the study draw the line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from fathom.analysis.words import left_out
from fathom.campaign import default_directory
from fathom.cli import codes
from fathom.cli.output import note, plain, print_json
from fathom.cli.progress import observer
from fathom.engine import Engine
from fathom.errors import StudyError, UsageError
from fathom.goals import Outcome, outcomes
from fathom.metrics import metric
from fathom.plan import Plan, plan
from fathom.results import Level
from fathom.run import Options, execute
from fathom.search import First, Found, Highest, first, highest


def asked(find_max: str | None, find_first: str | None) -> Highest | First | None:
    """The search that options ask for; None if they ask for none.

    Raises:
        UsageError: they ask for two, or for none that can be meant.
    """
    if find_max is not None and find_first is not None:
        raise UsageError("two searches at once", "give either --find-max or --find-first")
    if find_max is not None:
        return highest(find_max)
    return None if find_first is None else first(find_first)


def find(search: Highest | First, wanted: Plan, options: Options, engine: Engine, *, as_json: bool, quiet: bool) -> int:
    """Searches and prints the answer.

    Args:
        search: what for.
        wanted: the plan without the setting that is searched for.
        options: as of a campaign; its directory is the parent of one campaign for each value.
        engine: runs them.
        as_json: print data.
        quiet: lines instead of bars.

    Returns:
        The exit code.

    Raises:
        UsageError: the study has no goals, or the setting cannot be searched for.
        StudyError: the study cannot be meant with a value that is searched.
        KeyboardInterrupt: a person stopped it; finished runs are kept.
    """
    _check(search, wanted, engine)
    steps: list[tuple[Level, Path, tuple[Outcome, ...]]] = []
    failed: list[Path] = []

    def meets(level: Level) -> bool:
        directory = options.directory / f"{search.key}={str(level).replace('/', '-')}"
        note(f"{search.key} = {level}")
        here = Options(directory, options.scratch, options.anonymous, options.jobs, options.retry_failed)
        with observer(quiet=quiet or as_json, jobs=options.jobs) as watching:
            found = execute(_at(wanted, search.key, level, engine), here, engine, watching)
        if any(not run.ok for run in found.runs):
            failed.append(directory)
            raise _RunFailedError
        steps.append((level, directory, outcomes(found)))
        passed = all(outcome.passed for outcome in steps[-1][2])
        note("  " + ("goals met" if passed else "missed: " + _missed(steps[-1][2])))
        return passed

    try:
        answer = search.search(meets)
    except _RunFailedError:
        note(f"a run failed: see `fathom report {failed[0]}`; rerun the same command with --retry-failed")
        return codes.RUN_FAILED
    if as_json:
        print_json(
            {
                "key": search.key,
                "met": answer.met,
                "missed": answer.missed,
                "steps": [
                    {
                        "value": level,
                        "directory": str(directory),
                        "passed": all(outcome.passed for outcome in found),
                        "goals": [plain(outcome) | {"passed": outcome.passed} for outcome in found],
                    }
                    for level, directory, found in steps
                ],
            }
        )
    else:
        typer.echo(sentence(search, answer))
    return codes.OK if answer.met is not None else codes.GOAL_MISSED


def sentence(search: Highest | First, answer: Found) -> str:
    """The answer in words."""
    if isinstance(search, First):
        if answer.met is None:
            return f"No value of {search.key} meets the goals; the last tried was {answer.missed}."
        rest = f"; {answer.missed} misses them" if answer.missed is not None else ""
        return f"{search.key} = {answer.met} is the first that meets the goals{rest}."
    if answer.met is None:
        return f"Not even {search.key} = {answer.missed} meets the goals."
    if answer.missed is None:
        return f"{search.key} = {answer.met} meets the goals, the upper end of the range: the limit is higher."
    return f"{search.key} = {answer.met} meets the goals, {answer.missed} misses them."


class _RunFailedError(Exception):
    pass


def _at(wanted: Plan, key: str, level: Level, engine: Engine) -> Plan:
    return plan(wanted.study.fixing({key: level}, engine), seed=wanted.seed, rounds=wanted.rounds)


def _check(search: Highest | First, wanted: Plan, engine: Engine) -> None:
    study = wanted.study
    if not study.resolved["goals"]:
        raise UsageError(
            f"{study.path}: there are no goals to search by",
            'add a [goals] table, for example: latency_p99_ms = "< 5ms"',
        )
    if search.key in study.resolved["factors"]:
        raise UsageError(
            f"{search.key} is a factor of the study: its levels are tried anyway",
            "take it out of [factors], or search for another setting",
        )
    levels = search.levels if isinstance(search, First) else (search.low, search.high)
    for level in levels:
        try:
            _at(wanted, search.key, level, engine)
        except StudyError as mistakes:
            # The screen has an "error:" for each mistake.
            raise StudyError(f"{search.key} = {level}\n{mistakes.screen()}", mistakes.diagnostics) from None


def _missed(found: Sequence[Outcome]) -> str:
    words = []
    for outcome in found:
        if not outcome.passed:
            unit = metric(outcome.goal.metric).unit
            value = "not measured" if outcome.worst is None else f"{outcome.worst:,.4g} {unit}".strip()
            if outcome.left_out is not None:
                value += f", {left_out(outcome.left_out)}"
            words.append(f"{outcome.goal.words} ({value})")
    return ", ".join(words)


def directory_of(wanted: Plan, key: str) -> Path:
    """Where the campaigns of a search go if nobody says."""
    usual = default_directory(wanted)
    return usual.with_name(f"{usual.name}-find-{key}")
