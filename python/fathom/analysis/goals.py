"""Goals as an answer: which variants meet all of them, at which loads, and which is the smallest that does. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fathom.analysis.assumed import assumed_of, end_words, figures_of, named, volumes_by_model
from fathom.analysis.capacity import where_met
from fathom.analysis.levels import amount, says_what
from fathom.analysis.model import GoalAnswer, Overload, Reserve, Standing, soonest
from fathom.analysis.repeated import Repeated
from fathom.analysis.variants import (
    Key,
    Variant,
    assigned,
    given_names,
    label,
    matches,
    numeric,
    of_variant,
    place,
    variant_key,
    without,
)
from fathom.analysis.words import (
    capital,
    lateness,
    left_out,
    listed,
    milliseconds,
    number,
    quantity,
    short,
    subject,
    too_few,
)
from fathom.goals import Outcome, outcomes_of
from fathom.lateness import worst
from fathom.metrics import metric as metric_facts
from fathom.results import Run
from fathom.unanswered import STANDSTILL

_VOLUMES = ("workload.volume", "workload.volumes")
_MOST, _NAMES = 2, 5


@dataclass(frozen=True)
class _Thing:
    """A variant without the load: its standing, and how far its worst goal is from its limit (0 where all are met)."""

    standing: Standing
    distance: float


def goal_answer(
    outcomes: Sequence[Outcome],
    study: Mapping[str, Any],
    loads: Sequence[str],
    over: Sequence[Overload] = (),
    reserves: Sequence[Reserve] = (),
    repeated: Sequence[Repeated] = (),
) -> GoalAnswer | None:
    """The answer; None for a study without goals.

    Args:
        outcomes: every goal in every variant.
        study: as resolved.
        loads: the factors that are a load.
        over: variants that could not do their load. Whatever their latency was in the run: the queue grows, so that
            they meet the goals no longer than it lasted.
        reserves: of variants that did more than their storage sustains: they meet the goals no longer than these last.
        repeated: of variants of which runs failed first: a failed run misses the goals, so they meet them only with
            the repeated ones.
    """
    if not outcomes:
        return None
    groups: dict[object, list[Outcome]] = {}
    for outcome in sorted(outcomes, key=lambda one: place(one.variant, study)):
        groups.setdefault(variant_key(without(outcome.variant, loads)), []).append(outcome)
    overloaded = {variant_key(found.variant): found for found in over}
    ending = {variant_key(found.variant): found for found in reserves}
    things = [_thing(group, study, loads, overloaded, ending, repeated) for group in groups.values()]
    factors = _varying([thing.standing.variant for thing in things])
    sized = len(factors) == 1 and _all_sized(things, study)
    if sized:
        sizes = _sizes(things, study)
        things = [thing for _, thing in sorted(zip(sizes, things, strict=True), key=lambda pair: pair[0])]
    listed_volumes = bool(factors) and all(_is_volume(study, factor, things) for factor in factors)
    able = [thing for thing in things if not thing.standing.missed]
    ordered = sized or listed_volumes
    chosen = _first_for_ever(able) if able and ordered else None
    nearest = chosen or min(
        things, key=lambda t: (-len(t.standing.met), t.distance if not ordered or not t.standing.met else 0)
    )
    return GoalAnswer(
        met=sum(outcome.passed for outcome in outcomes),
        total=len(outcomes),
        untold=sum(outcome.untold for outcome in outcomes),
        standings=tuple(thing.standing for thing in things),
        chosen=chosen.standing.variant if chosen is not None else None,
        nearest=nearest.standing.variant if len(things) > 1 else None,
        sentence=" ".join(
            [
                _sentence(things, nearest, outcomes, study, loads, sized=sized, volumes=listed_volumes),
                *_with_repeated(things, study),
            ]
        ),
    )


def _with_repeated(things: Sequence[_Thing], study: Mapping[str, Any]) -> list[str]:
    """Who meets goals only with runs that were carried out again, after others had failed."""
    said = []
    for standing in (thing.standing for thing in things if thing.standing.met):
        if standing.repeated is not None:
            who = capital(label(standing.variant, study), given_names(study)) if len(things) > 1 else "It"
            said.append(f"{who} does so only with repeated runs: {standing.repeated.words}.")
    return said


def _first_for_ever(able: Sequence[_Thing]) -> _Thing:
    """The first of some variants that meets the goals for ever: on a reserve is no choice while there is another."""
    return next((thing for thing in able if thing.standing.reserve is None), able[0])


def goal_flips(
    outcomes: Sequence[Outcome], tried: Sequence[Run], study: Mapping[str, Any], loads: Sequence[str]
) -> tuple[tuple[str, Variant, str], ...]:
    """Where an end of an assumed range changes at which loads a variant meets the goals, variants in their order.

    Of the goals alone: whether a load is sustained is not judged at the ends.
    """
    found = []
    answer = goal_answer(outcomes, study, loads)
    if answer is None:
        return ()
    for model, end in dict.fromkeys(run.assumed for run in tried if run.assumed is not None):
        runs = [run for run in tried if run.assumed == (model, end)]
        words = next((end_words(figures, end) for run in runs if (figures := figures_of(run, model))), "")
        other = goal_answer(outcomes_of(runs, dict(study)), study, loads)
        by_key = {variant_key(s.variant): s for s in other.standings} if other is not None else {}
        for standing in answer.standings:
            there = by_key.get(variant_key(standing.variant))
            if there is None or there.missed == standing.missed:
                continue
            becomes = there.words or f"the goals are met{' at every load' if loads else ''}"
            mine = volumes_by_model([run for run in runs if matches(run.variant, standing.variant)])
            name = named(model, mine.get(model, (model,)))
            found.append((name, standing.variant, f"{name} with {words}: {becomes}"))
    return tuple(found)


def all_tried(runs: Sequence[Run], tried: Sequence[Run]) -> bool:
    """Whether the ends of assumed ranges were tried of every variant that assumes something, and of one at least."""
    known = {variant_key(run.variant) for run in tried}
    return bool(tried) and all(variant_key(run.variant) in known for run in runs if run.ok and assumed_of(run))


def miss_words(outcome: Outcome) -> str:
    """A missed goal: `p99 latency is 12.1 ms (goal: < 10ms)`."""
    goal = outcome.goal
    name = short(goal.metric)
    if outcome.left_out is not None:
        return f"{left_out(outcome.left_out)} (goal: {name} {goal.text})"
    if outcome.few is not None:
        return f"{name} {too_few(outcome.few)} (goal: {goal.text})"
    if outcome.worst is None:
        return f"{name} was not measured (goal: {goal.text})"
    if outcome.late is not None:
        value = quantity(outcome.worst, metric_facts(goal.metric).unit)
        return f"{name} is {value} (goal: {goal.text}), but {lateness(outcome.late)}"
    if goal.metric == STANDSTILL:
        return f"nothing was answered for {milliseconds(outcome.worst)} (goal: {goal.text})"
    if goal.met(outcome.worst):
        return f"{name}: {outcome.met} of {outcome.runs} runs met the goal ({goal.text})"
    return f"{name} is {quantity(outcome.worst, metric_facts(goal.metric).unit)} (goal: {goal.text})"


def _thing(
    group: Sequence[Outcome],
    study: Mapping[str, Any],
    loads: Sequence[str],
    overloaded: Mapping[Key, Overload],
    ending: Mapping[Key, Reserve],
    repeated: Sequence[Repeated],
) -> _Thing:
    by_load: dict[Key, tuple[Variant, list[Outcome]]] = {}
    for outcome in group:
        levels = {factor: outcome.variant[factor] for factor in loads if factor in outcome.variant}
        by_load.setdefault(variant_key(levels), (levels, []))[1].append(outcome)
    cells = sorted(by_load.values(), key=lambda cell: [numeric(level) or 0.0 for level in cell[0].values()])
    missed = [
        (levels, [o for o in found if not o.kept], overloaded.get(variant_key(found[0].variant)))
        for levels, found in cells
    ]
    bad = [(levels, found, over) for levels, found, over in missed if found or over is not None]
    kept = [ending.get(variant_key(found[0].variant)) for levels, found in cells if levels not in [b[0] for b in bad]]
    words = ""
    if bad:
        levels, found, over = bad[0]
        at = f"at {label(levels, study)} " if levels else ""
        if found:
            words = f"{at}{miss_words(max(found, key=_beyond))}"
        elif over is not None:
            words = f"{number(over.offered)}/s are not sustained"
    return _Thing(
        Standing(
            without(group[0].variant, loads),
            tuple(levels for levels, found, over in missed if not found and over is None),
            tuple(levels for levels, _, _ in bad),
            words,
            soonest(reserve for reserve in kept if reserve is not None),
            next(iter(of_variant(repeated, without(group[0].variant, loads))), None),
            worst(outcome.late for outcome in group if outcome.late is not None),
        ),
        max((_beyond(outcome) for _, found, _ in bad for outcome in found), default=0.0),
    )


def _beyond(outcome: Outcome) -> float:
    """How far the worst run is beyond the limit, as a log ratio; endless where there is no figure, or no ratio.

    0 where the limit was kept by too few requests.
    """
    goal, worst = outcome.goal, outcome.worst
    if outcome.few is not None:
        return 0.0
    if outcome.left_out is not None or worst is None or worst <= 0 or goal.limit <= 0:
        return math.inf
    return abs(math.log(worst / goal.limit))


def _varying(variants: Sequence[Variant]) -> list[str]:
    """The factors in which the variants differ."""
    names = dict.fromkeys(name for variant in variants for name in variant)
    return [name for name in names if len({repr(variant.get(name)) for variant in variants}) > 1]


def _all_sized(things: Sequence[_Thing], study: Mapping[str, Any]) -> bool:
    variants = [thing.standing.variant for thing in things]
    return all(amount(study, one, other) is not None for one in variants for other in variants if one is not other)


def _sizes(things: Sequence[_Thing], study: Mapping[str, Any]) -> list[float]:
    """How large each of two or more variants is, which differ in that alone."""
    variants = [thing.standing.variant for thing in things]
    others = [variants[1], *variants[:1] * (len(variants) - 1)]
    return [amount(study, one, other) or 0.0 for one, other in zip(variants, others, strict=True)]


def _is_volume(study: Mapping[str, Any], factor: str, things: Sequence[_Thing]) -> bool:
    """Whether every level of a factor is a volume, by its name, its model or all of its settings."""
    levels = [thing.standing.variant[factor] for thing in things]
    return all(any(p in _VOLUMES or says_what(p) for p in assigned(study, factor, level)) for level in levels)


def _sentence(
    things: Sequence[_Thing],
    nearest: _Thing,
    outcomes: Sequence[Outcome],
    study: Mapping[str, Any],
    loads: Sequence[str],
    *,
    sized: bool,
    volumes: bool,
) -> str:
    if len(things) == 1:
        return capital(_of_one(things[0].standing, outcomes, study), given_names(study))
    able = [thing.standing for thing in things if not thing.standing.missed]
    every = " at every load" if loads and len(things[0].standing.met) + len(things[0].standing.missed) > 1 else ""
    names = [subject(label(standing.variant, study)) for standing in able]
    if not able:
        return capital(_of_none(things, nearest, study, every, sized=sized), given_names(study))
    which = "the smallest" if sized else "the first in the list" if volumes else ""
    ends = _ending(able, study, which)
    lasting = next((one for one in able if one.reserve is None), None)
    passing = which and lasting is not None and lasting is not able[0]
    if len(able) == len(things):
        first = f"; {names[0]} is {which}" if which and not passing else ""
        return capital(f"every variant meets the goals{every}{first}{ends}.", given_names(study))
    if passing:
        said = f"{_named(names)} {_verb(names, 'meet')} the goals{every}{ends}"
    elif sized and able[0] is not things[0].standing:
        said = f"{names[0]} is the smallest that meets the goals{every}{ends}"
    elif volumes and len(able) > 1:
        too = f"{listed(names[1:])} {_verb(names[1:], 'meet')} them, too"
        said = f"{names[0]} is the first in the list that meets the goals{every}{ends}; {too}"
    else:
        said = f"{_named(names)} {_verb(names, 'meet')} the goals{every}{ends}"
    # A larger one that misses what a smaller one meets must not be hidden.
    rest = [thing for thing in things if thing.standing.missed]
    return capital(f"{said}; {_misses(rest, study)}.", given_names(study))


def _ending(able: Sequence[Standing], study: Mapping[str, Any], which: str) -> str:
    """How long those that meet the goals do so, where that ends: of the one named, and who does so for ever."""
    ends = [one for one in able if one.reserve is not None]
    if not ends or (which and able[0].reserve is None):
        return ""
    lasting = next((one for one in able if one.reserve is None), None)
    if which and lasting is None:
        return f",{_how(able[0])}; none does so for ever"
    names = [subject(label(one.variant, study)) for one in ends]
    sources = listed(list(dict.fromkeys(one.reserve.source.value for one in ends if one.reserve is not None)))
    only = "" if len(able) == 1 else " only"
    do = f"{_named(names)} {_verb(names, 'do')} so{only} {sources}"
    if not which or lasting is None:
        return f"; {do}"
    soonest_end = soonest(one.reserve for one in ends if one.reserve is not None)
    brief = f" ({soonest_end.brief})" if soonest_end is not None else ""
    return f"; {subject(label(lasting.variant, study))} is {which} that does so for ever; {do}{brief}"


def _how(standing: Standing) -> str:
    """What goals are met from, where that ends: ` on burst credits (42 min more, then 300 IOPS)`."""
    reserve = standing.reserve
    return "" if reserve is None else f" {reserve.source.value} ({reserve.brief})"


def _of_one(standing: Standing, outcomes: Sequence[Outcome], study: Mapping[str, Any]) -> str:
    if not standing.missed:
        every = " at every load" if len(standing.met) > 1 else ""
        held = [
            f"{short(o.goal.metric)} {quantity(o.worst, metric_facts(o.goal.metric).unit)}"
            f"{' at worst' if o.runs > 1 else ''} (goal: {o.goal.text})"
            for o in outcomes
            if o.worst is not None
        ]
        figures = f": {', '.join(held[:_MOST])}" if len(standing.met) == 1 else ""
        goals = "the goal is" if len(outcomes) == 1 else "all goals are"
        return f"{goals} met{every}{_how(standing)}{figures}."
    if not standing.met:
        every = " at every load" if len(standing.missed) > 1 else ""
        missed = [outcome for outcome in outcomes if not outcome.kept]
        if not missed:
            return f"the storage cannot do the load for long: {standing.words}."
        untold = all(outcome.untold for outcome in missed)
        verb = "cannot be judged" if untold else "is missed" if len(missed) == 1 else "are missed"
        which = "the goal" if len(outcomes) == 1 else f"{len(missed)} of {len(outcomes)} goals"
        return f"{which} {verb}{every}: {standing.words}."
    return f"the goals are met {where_met(standing, study)}{_how(standing)}; {standing.words}."


def _of_none(things: Sequence[_Thing], nearest: _Thing, study: Mapping[str, Any], every: str, *, sized: bool) -> str:
    who = subject(label(nearest.standing.variant, study))
    if nearest.standing.met:
        where, how, words = where_met(nearest.standing, study), _how(nearest.standing), nearest.standing.words
        if sized:
            return f"no variant meets the goals{every}; {who} is the smallest that meets them {where}{how}; {words}."
        met = nearest.standing.met
        others = [thing.standing for thing in things if thing is not nearest and thing.standing.met == met]
        # Who does so for as long as the nearest does: its end is said of all of them.
        alike = [label(one.variant, study) for one in others if how == _how(one)]
        names = [who, *map(subject, alike)]
        of = f"of {who}, " if alike else ""
        return (
            f"no variant meets the goals{every}; {_named(names)} {_verb(names, 'meet')} them {where}{how}; {of}{words}."
        )
    return (
        f"no variant meets the goals{' at any load' if every else ''}; {who} comes nearest: {nearest.standing.words}."
    )


def _misses(rest: Sequence[_Thing], study: Mapping[str, Any]) -> str:
    """Who misses the goals, and from which load on, those alike together: `2 GiB meets them up to 1,000/s only`."""
    groups: dict[str, list[_Thing]] = {}
    for thing in rest:
        where = f"them {where_met(thing.standing, study)}" if thing.standing.met else ""
        groups.setdefault(where, []).append(thing)
    said = []
    for where, alike in groups.items():
        names = [subject(label(thing.standing.variant, study)) for thing in alike]
        if where:
            said.append(f"{_named(names)} {_verb(names, 'meet')} {where} only")
        else:
            best = min(reversed(alike), key=lambda thing: thing.distance)
            at_best = "at best " if len(alike) > 1 else ""
            said.append(f"{_named(names)} {_verb(names, 'miss')} them: {at_best}{best.standing.words}")
    return "; ".join(said)


def _named(names: Sequence[str]) -> str:
    """The variants by name; many of them by their number."""
    return listed(names) if len(names) <= _NAMES else f"{len(names)} variants"


def _verb(names: Sequence[str], verb: str) -> str:
    if len(names) > 1:
        return verb
    return f"{verb}es" if verb.endswith(("s", "o")) else f"{verb}s"
