"""Loads in words: who cannot do which, who can, the highest that was sustained, and up to which goals are met. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fathom.analysis.factors import AMOUNTS
from fathom.analysis.model import Analysis, Overload, Standing, soonest
from fathom.analysis.variants import Key, Variant, given_names, label, matches, numeric, variant_key, without
from fathom.analysis.words import capital, listed, milliseconds, number, subject
from fathom.results import Level
from fathom.unanswered import LONG_MS, STANDSTILL

_MOST = 4
"""Variants that are named in one sentence."""

_FULL = 0.03
"""How near a load is to the most that is done of a higher one, where it is all that can be done."""

_FEW = 2
"""Rates that are told one by one."""


def capacity(analysis: Analysis, study: Mapping[str, Any]) -> list[str]:
    """Who cannot do which load, from the lowest on, one sentence for those alike; then who can."""
    loads = [] if analysis.load is None else [analysis.load]
    first: dict[Key, Overload] = {}
    for found in sorted(analysis.overloads, key=lambda one: one.offered):
        first.setdefault(variant_key(without(found.variant, loads)), found)
    if not first:
        return []
    alike: dict[float, list[Overload]] = {}
    for found in first.values():
        alike.setdefault(float(f"{found.offered:.2g}"), []).append(found)
    said = [f"{capital(_together(group, study, loads), given_names(study))}." for group in alike.values()]
    things = {variant_key(without(s.variant, loads)): without(s.variant, loads) for s in analysis.summaries}
    able = [thing for key, thing in things.items() if key not in first]
    still = {variant_key(thing): longest for thing in able if (longest := stood_still(analysis, thing)) is not None}
    every = "every load" if analysis.load is not None else "it"
    level = [thing for thing in able if variant_key(thing) not in still]
    ends = {variant_key(thing): _source(analysis, thing) for thing in level}
    for source in dict.fromkeys(ends.values()):
        some = [thing for thing in level if ends[variant_key(thing)] == source]
        how = f", {source}" if source else ""
        said.append(f"{_names(some, study)} {'sustains' if len(some) == 1 else 'sustain'} {every}{how}.")
    stood = [thing for thing in able if variant_key(thing) in still]
    if stood:
        one, most = len(stood) == 1, milliseconds(max(still.values()) * 1e3)
        does = f"completes {every}, but stands" if one else f"complete {every}, but stand"
        said.append(f"{_names(stood, study)} {does} still for up to {most}.")
    return said


def _names(things: Sequence[Variant], study: Mapping[str, Any]) -> str:
    names = [subject(label(thing, study)) for thing in things]
    return capital(listed(names) if len(names) <= _MOST else f"{len(names)} others", given_names(study))


def _source(analysis: Analysis, variant: Mapping[str, Level]) -> str:
    """What a variant takes from where it does more than its storage sustains at any load; empty where it does not."""
    found = soonest(one for one in analysis.reserves if matches(one.variant, variant))
    return found.source.value if found is not None else ""


def stood_still(analysis: Analysis, variant: Mapping[str, Level]) -> float | None:
    """The longest standstill of a variant at any load that it leaves open, s; None below what a guard tells of."""
    mine = (s for s in analysis.summaries if s.metric == STANDSTILL and matches(s.variant, variant))
    longest = max((value for summary in mine for _, value in summary.points), default=0.0)
    return longest / 1e3 if longest >= LONG_MS else None


def limit_of(analysis: Analysis, variant: Mapping[str, Level]) -> float | None:
    """The highest load, in arrivals per second, that a variant was offered and could do, whatever else was asked.

    It did not stand still at it, lived on no reserve that ends, and met the goals of the study, if there are any. A
    load that is all a variant does of more is no such load: whatever comes on top, or any wait, is never worked off.
    """
    bad = [load for load, v in _tried(analysis, variant) if _failed(analysis, v) or _is_full(analysis, variant, load)]
    return max((load for load, _ in _tried(analysis, variant) if load < min(bad, default=math.inf)), default=None)


def full_load(analysis: Analysis, variant: Mapping[str, Level]) -> float | None:
    """The highest load above `limit_of` that was done and met the goals, but is all that the variant does of more."""
    failed = [load for load, v in _tried(analysis, variant) if _failed(analysis, v)]
    done = (load for load, _ in _tried(analysis, variant) if load < min(failed, default=math.inf))
    return max((load for load in done if _is_full(analysis, variant, load)), default=None)


def _is_full(analysis: Analysis, variant: Mapping[str, Level], load: float) -> bool:
    most = (found.done for found in analysis.overloads if matches(found.variant, variant))
    return any(abs(load / done - 1) <= _FULL for done in most)


def too_much(analysis: Analysis, variant: Mapping[str, Level]) -> float:
    """The lowest rate per second that is too much: done of more, or one that `limit_of` does not let pass."""
    over = {variant_key(found.variant) for found in analysis.overloads}
    bad = [load for load, v in _tried(analysis, variant) if variant_key(v) not in over and _failed(analysis, v)]
    # What a run did before its credits were gone, or its cache full, says nothing of what it does without them.
    over_here = [found for found in analysis.overloads if matches(found.variant, variant)]
    return min([*bad, *((found.done - found.parked) * _keeps(analysis, found) for found in over_here)])


def _keeps(analysis: Analysis, found: Overload) -> float:
    """The part of what an overloaded variant did that it does without what it lived on."""
    mine = (one for one in analysis.reserves if one.phase == found.phase and matches(one.variant, found.variant))
    return min((one.keeps for one in mine), default=1.0)


def _failed(analysis: Analysis, variant: Variant) -> bool:
    over = any(variant_key(found.variant) == variant_key(variant) for found in analysis.overloads)
    ends = bool(_source(analysis, variant))
    return over or ends or stood_still(analysis, variant) is not None or misses_goals(analysis, variant)


def misses_goals(analysis: Analysis, variant: Mapping[str, Level]) -> bool:
    """Whether a variant misses a goal of the study at its load."""
    goals = analysis.decision.goals
    standings = () if goals is None else goals.standings
    return any(matches(variant, {**one.variant, **levels}) for one in standings for levels in one.missed)


def _tried(analysis: Analysis, variant: Mapping[str, Level]) -> list[tuple[float, Variant]]:
    """The rates of arrivals at which a variant was tried; none where the load is no such rate."""
    if analysis.load is None or not analysis.load.endswith(".rate"):
        return []
    mine = (summary.variant for summary in analysis.summaries if matches(summary.variant, variant))
    return [(load, v) for v in mine if (load := numeric(v[analysis.load])) is not None]


def _together(group: Sequence[Overload], study: Mapping[str, Any], loads: Sequence[str]) -> str:
    if len(group) == 1:
        return group[0].sentence
    who = listed([subject(label(without(found.variant, loads), study)) for found in group])
    done = [number(found.done) for found in group]
    does = done[0] if len(set(done)) == 1 else listed(done)
    if len(set(done)) > 1 and len(done) > _FEW:
        least, most = (number(end(found.done for found in group)) for end in (min, max))
        does = f"{least} to {most}"
    fills = ", in part to fill caches" if any(found.parked for found in group) else ""
    return f"{who} cannot sustain {number(group[0].offered)}/s: they do {does}{fills}"


def where_met(standing: Standing, study: Mapping[str, Any]) -> str:
    """The loads at which goals are met: `up to 2,000/s`, or each of them where a lower one misses."""
    said = [label(levels, study) for levels in standing.met]
    return f"up to {said[-1]}" if rising(standing, study) else f"at {listed(said)}"


def rising(standing: Standing, study: Mapping[str, Any]) -> bool:
    """Whether the load is one amount, and every amount at which goals are met is below all at which they are missed."""
    both = (*standing.met, *standing.missed)
    factors = {factor for levels in both for factor in levels}
    if len(factors) != 1 or study.get("loads", {}).get(*factors) not in AMOUNTS:
        return False
    met, missed = ([numeric(*levels.values()) or 0.0 for levels in some] for some in (standing.met, standing.missed))
    return max(met, default=0.0) < min(missed, default=math.inf)
