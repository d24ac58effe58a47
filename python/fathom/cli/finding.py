"""`--find-max` and `--find-first`: one campaign per value tried, until the goals of the study draw the line."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import typer

from fathom.analysis.filling import too_short
from fathom.analysis.goals import miss_words
from fathom.analysis.model import Overload, Reserve, soonest
from fathom.analysis.overload import overloads_of
from fathom.analysis.repeated import Repeated, repeated_runs
from fathom.analysis.reserves import reserves_in
from fathom.analysis.variants import label
from fathom.analysis.words import capital, lateness, left_out, listed, quantity
from fathom.campaign import default_directory
from fathom.cli import codes
from fathom.cli.output import note, plain, print_json
from fathom.cli.progress import observer
from fathom.engine import Engine
from fathom.errors import StudyError, UsageError
from fathom.goals import Outcome, outcomes
from fathom.lateness import Late, worst
from fathom.metrics import metric
from fathom.plan import Plan, plan
from fathom.results import Level
from fathom.run import Options, execute
from fathom.search import First, Found, Highest, first, highest

_NO_SETTINGS = ("compare", "goals", "factors", "sets", "labels", "scale", "published", "calibration")
"""Tables of a study that say what is tried and judged: no value of theirs meets a goal."""

_LARGE = 1000.0
"""From here on a value is told as everywhere else, in s instead of ms and without an exponent."""

_SHORT = "Its runs ended while the cache was still filling: lengthen workload.ramp to see what lasts."


@dataclass(frozen=True)
class _Step:
    """A value that was tried, its campaign, what became of the goals, and of the load.

    `overloads` are of the variants that could not do it, `reserves` of those that do it no longer than these last.
    `short` is whether runs ended while a cache filled that may well keep up. `repeated` are the variants of which runs
    failed first.
    """

    level: Level
    seed: int
    directory: Path
    goals: tuple[Outcome, ...]
    overloads: tuple[Overload, ...]
    reserves: tuple[Reserve, ...]
    short: bool = False
    repeated: tuple[Repeated, ...] = ()

    @property
    def kept(self) -> bool:
        """Whether no goal was missed, by however few requests, and the load was sustained.

        Goals that were met over a queue that grows are met no longer than the run lasted.
        """
        return all(outcome.kept or outcome.few is not None for outcome in self.goals) and not self.overloads

    @property
    def late(self) -> Late | None:
        """How late the load generator was where that may be all that missed the goals; else None."""
        missed = [outcome for outcome in self.goals if not outcome.kept and outcome.few is None]
        if self.overloads or any(outcome.late is None for outcome in missed):
            return None
        return worst(outcome.late for outcome in missed if outcome.late is not None)

    @property
    def untold(self) -> str | None:
        """Why it is not known whether it meets the goals; None where it is."""
        if not self.kept and self.late is None:
            return None
        why = [outcome for outcome in self.goals if outcome.late is not None or outcome.few is not None]
        return next((miss_words(outcome) for outcome in sorted(why, key=lambda one: one.late is None)), None)


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
    steps: list[_Step] = []

    def attempt(level: Level, *, again: bool) -> bool:
        name = f"{search.key}={str(level).replace('/', '-')}"
        directory = options.directory / (f"{name}-again" if again else name)
        seed = wanted.seed + again
        note(f"{search.key} = {level}{f' again, seed {seed}' if again else ''}")
        here = Options(directory, options.scratch, options.anonymous, options.jobs, options.retry_failed)
        with observer(quiet=quiet or as_json, jobs=options.jobs) as watching:
            found = execute(_at(wanted, search.key, level, engine, seed), here, engine, watching)
        if any(not run.ok for run in found.runs):
            raise _StopError(
                f"a run failed: see `fathom report {shlex.quote(str(directory))}`; rerun the same command with "
                "--retry-failed",
                codes.RUN_FAILED,
            )
        short = any(too_short(run, found.study) for run in found.runs)
        over = overloads_of(found)
        goals = outcomes(found, (one.variant for one in over))
        step = _Step(
            level, seed, directory, goals, over, reserves_in(found), short, repeated_runs(found.runs, found.retried, ())
        )
        steps.append(step)
        note("  " + _became(step))
        return step.kept

    def lasts(level: Level) -> bool:
        return not any(step.level == level and step.reserves for step in steps)

    try:
        answer = search.search(partial(attempt, again=False), lasts, partial(attempt, again=True))
    except _StopError as stopped:
        note(stopped.why)
        return stopped.code
    late = _late(steps)
    nearest = (answer.missed, late[answer.missed]) if answer.missed is not None and answer.missed in late else None
    answer = answer.without(sorted(late) if isinstance(search, Highest) else list(late))
    if as_json:
        print_json(
            {
                "key": search.key,
                "met": answer.met,
                "missed": answer.missed,
                "lasting": answer.lasting,
                "unclear": answer.unclear,
                "late": answer.late,
                "steps": [
                    {
                        "value": step.level,
                        "seed": step.seed,
                        "directory": str(step.directory),
                        "passed": step.kept and step.untold is None,
                        "untold": step.untold,
                        "goals": [plain(outcome) | {"passed": outcome.passed} for outcome in step.goals],
                        "overloads": [found.sentence for found in step.overloads],
                        "reserves": [_ends(found, wanted) for found in step.reserves],
                        "too_short": step.short,
                        "repeated": plain(step.repeated),
                        "late": None if step.late is None else plain(step.late) | {"share": step.late.share},
                    }
                    for step in steps
                ],
            }
        )
    else:
        too_much = any(step.level == answer.missed and not _missed(step.goals) for step in steps)
        met = next((step for step in steps if step.level == answer.met), None)
        reserve = soonest(met.reserves) if met is not None else None
        said = sentence(search, answer, too_much=too_much, reserve=reserve, late=nearest)
        short = met is not None and met.short and reserve is None
        again = [f"Of its runs, {one.words}." for one in met.repeated] if met is not None else []
        typer.echo(" ".join([said, *([_SHORT] if short else []), *again]))
    untold = next((why for step in steps if step.level == answer.met and (why := step.untold) is not None), None)
    if untold is not None:
        note(f"not known of {search.key} = {answer.met}: {untold}; measure longer, or ask for more --rounds")
    return codes.OK if answer.met is not None and untold is None else codes.GOAL_MISSED


def _late(steps: Sequence[_Step]) -> dict[Level, Late]:
    """The values that missed goals while the load generator was late, and at no attempt otherwise; and how late."""
    found: dict[Level, Late] = {}
    for level in dict.fromkeys(step.level for step in steps):
        missed = [step for step in steps if step.level == level and not step.kept]
        known = [step.late for step in missed if step.late is not None]
        if missed and len(known) == len(missed):
            found[level] = max(known, key=lambda one: one.late_ms)
    return found


def _not_known(late: tuple[Level, Late], key: str = "", does: str = "does") -> str:
    """`whether 16210 does is not known, as the load generator was late by 3.00 ms in the mean, 93 % of the latency`."""
    return f"whether {key}{late[0]} {does} is not known, as {lateness(late[1])}"


def sentence(
    search: Highest | First,
    answer: Found,
    *,
    too_much: bool = False,
    reserve: Reserve | None = None,
    late: tuple[Level, Late] | None = None,
) -> str:
    """The answer in words.

    Args:
        search: what was searched for.
        answer: what was found.
        too_much: the value that misses does so since its load is not sustained.
        reserve: what the value that meets the goals does so from, where that ends first.
        late: the nearest value that did not meet the goals, where nothing is known of it as the load generator was
            late, and by how much.
    """
    misses = "is a load that is not sustained" if too_much else "misses them"
    ends = "" if reserve is None else f", {reserve.source.value}: {reserve.brief}"
    if isinstance(search, First):
        if answer.met is None and late is not None:
            return f"No value of {search.key} is known to meet the goals: {_not_known(late)}."
        if answer.met is None:
            why = ", a load that is not sustained" if too_much else ""
            return f"No value of {search.key} meets the goals; the last tried was {answer.missed}{why}."
        lasting = "" if reserve is None else f"; {_of_lasting(answer)}"
        rest = f"; {answer.missed} {misses}" if answer.missed is not None else ""
        rest = rest if late is None else f"; {_not_known(late)}"
        return f"{search.key} = {answer.met} is the first that meets the goals{ends}{lasting}{rest}."
    if answer.met is None and late is not None:
        return f"{capital(_not_known(late, f'{search.key} = ', 'meets the goals'))}."
    if answer.met is None:
        why = ": that load is not sustained" if too_much else ""
        return f"Not even {search.key} = {answer.missed} meets the goals{why}."
    if answer.missed is None and late is None:
        both = f"{search.low} and {search.high}"
        return (
            f"{search.key} = {search.high} meets the goals{ends}. Both ends of the range do, {both}: if less of it is "
            "better, --find-first names the smallest of a list; else the limit is higher."
        )
    between = listed([str(level) for level in answer.unclear])
    unclear = f"; {between} did so with one seed of two" if between else ""
    rest = f"{answer.missed} {misses}" if late is None else _not_known(late)
    return f"{search.key} = {answer.met} meets the goals{ends}; {rest}{unclear}."


def _of_lasting(answer: Found) -> str:
    if answer.lasting is None:
        return "no value does so for ever"
    return f"{answer.lasting} is the first that does so for ever"


def _ends(reserve: Reserve, wanted: Plan) -> str:
    """A variant that lives on a reserve, as a sentence."""
    who = label(reserve.variant, wanted.study.resolved) if reserve.variant else "it"
    return f"{capital(who)} {reserve.words}"


class _StopError(Exception):
    """Why a search cannot go on, and the exit code."""

    def __init__(self, why: str, code: int) -> None:
        super().__init__(why)
        self.why, self.code = why, code


def _at(wanted: Plan, key: str, level: Level, engine: Engine, seed: int) -> Plan:
    return plan(wanted.study.fixing({key: level}, engine), seed=seed, rounds=wanted.rounds)


def _check(search: Highest | First, wanted: Plan, engine: Engine) -> None:
    study = wanted.study
    if not study.resolved["goals"]:
        raise UsageError(
            f"{study.path}: there are no goals to search by",
            'add a [goals] table, for example: latency_p99_ms = "< 5ms"',
        )
    if search.key.partition(".")[0] in _NO_SETTINGS:
        raise UsageError(
            f"{search.key} is no setting of what runs",
            "search for a key of workload, volumes, places or databases",
        )
    if search.key in study.resolved["factors"]:
        raise UsageError(
            f"{search.key} is a factor of the study: its levels are tried anyway",
            "take it out of [factors], or search for another setting",
        )
    levels = search.levels if isinstance(search, First) else (search.low, search.high)
    for level in levels:
        try:
            _at(wanted, search.key, level, engine, wanted.seed)
        except StudyError as mistakes:
            # The screen has an "error:" for each mistake.
            raise StudyError(f"{search.key} = {level}\n{mistakes.screen()}", mistakes.diagnostics) from None


def _became(step: _Step) -> str:
    reserve = soonest(step.reserves)
    ends = "" if reserve is None else f", {reserve.source.value}: {reserve.brief}"
    if step.untold is not None:
        return f"not known: {step.untold}"
    if step.kept:
        still = ends or (", but the cache was still filling when runs ended" if step.short else "")
        return f"goals met{still}{''.join(f'; {one.words}' for one in step.repeated)}"
    missed = _missed(step.goals)
    over = "; ".join(found.sentence for found in step.overloads)
    return f"missed: {missed}" if missed else f"missed, overloaded: {over}"


def _missed(found: Sequence[Outcome]) -> str:
    words = []
    for outcome in found:
        if not outcome.kept:
            unit = metric(outcome.goal.metric).unit
            value = "not measured" if outcome.worst is None else value_words(outcome.worst, unit)
            if outcome.left_out is not None:
                value += f", {left_out(outcome.left_out)}"
            words.append(f"{outcome.goal.words} ({value})")
    return ", ".join(words)


def value_words(value: float, unit: str) -> str:
    """A value that missed a goal: four digits, so that one that misses by little looks like it; a large one as it is
    read easily, `17.7 s` or `17,680 IOPS`.
    """
    return quantity(value, unit) if abs(value) >= _LARGE else f"{value:.4g} {unit}".strip()


def directory_of(wanted: Plan, key: str) -> Path:
    """Where the campaigns of a search go if nobody says."""
    usual = default_directory(wanted)
    return usual.with_name(f"{usual.name}-find-{key}")
