"""Loads in words: who cannot do which, who can, the highest that was sustained, and up to which goals are met. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fathom.analysis.model import Analysis, Overload, Standing
from fathom.analysis.variants import Key, Variant, label, matches, numeric, variant_key, without
from fathom.analysis.words import capital, listed, milliseconds, number, subject
from fathom.results import Level
from fathom.unanswered import LONG_MS, STANDSTILL

_MOST = 4
"""Variants that are named in one sentence."""

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
    said = [f"{capital(_together(group, study, loads))}." for group in alike.values()]
    things = {variant_key(without(s.variant, loads)): without(s.variant, loads) for s in analysis.summaries}
    able = [thing for key, thing in things.items() if key not in first]
    still = {variant_key(thing): longest for thing in able if (longest := stood_still(analysis, thing)) is not None}
    every = "every load" if analysis.load is not None else "it"
    level = [thing for thing in able if variant_key(thing) not in still]
    if level:
        said.append(f"{_names(level, study)} {'sustains' if len(level) == 1 else 'sustain'} {every}.")
    stood = [thing for thing in able if variant_key(thing) in still]
    if stood:
        one, most = len(stood) == 1, milliseconds(max(still.values()) * 1e3)
        does = f"completes {every}, but stands" if one else f"complete {every}, but stand"
        said.append(f"{_names(stood, study)} {does} still for up to {most}.")
    return said


def _names(things: Sequence[Variant], study: Mapping[str, Any]) -> str:
    names = [subject(label(thing, study)) for thing in things]
    return capital(listed(names) if len(names) <= _MOST else f"{len(names)} others")


def stood_still(analysis: Analysis, variant: Mapping[str, Level]) -> float | None:
    """The longest standstill of a variant at any load that it leaves open, s; None below what a guard tells of."""
    mine = (s for s in analysis.summaries if s.metric == STANDSTILL and matches(s.variant, variant))
    longest = max((value for summary in mine for _, value in summary.points), default=0.0)
    return longest / 1e3 if longest >= LONG_MS else None


def limit_of(analysis: Analysis, variant: Mapping[str, Level]) -> float | None:
    """The highest load, in arrivals per second, that a variant was offered, could do and did not stand still at."""
    over = {variant_key(found.variant) for found in analysis.overloads}
    tried = _tried(analysis, variant)
    return max(
        (load for load, v in tried if variant_key(v) not in over and stood_still(analysis, v) is None), default=None
    )


def too_much(analysis: Analysis, variant: Mapping[str, Level]) -> float:
    """The lowest rate per second that a variant was shown not to keep up: done of more, or one it stood still at."""
    stood = [load for load, v in _tried(analysis, variant) if stood_still(analysis, v) is not None]
    return min([*stood, *(found.done for found in analysis.overloads if matches(found.variant, variant))])


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
    done = list(dict.fromkeys(number(value) for value in sorted(found.done for found in group)))
    does = listed(done) if len(done) <= _FEW else f"{done[0]} to {done[-1]}"
    return f"{who} cannot sustain {number(group[0].offered)}/s: they do {does}"


def where_met(standing: Standing, study: Mapping[str, Any], load: str | None) -> str:
    """The loads at which goals are met: `up to 2,000/s`, or each of them where a lower one misses."""
    assert load is not None
    numbers = [numeric(level) for level in standing.missed if level is not None]
    first = min((number for number in numbers if number is not None), default=math.inf)
    said = [label({load: level}, study) for level in standing.met if level is not None]
    rising = all((numeric(level) or 0.0) < first for level in standing.met if level is not None)
    return f"up to {said[-1]}" if rising else f"at {listed(said)}"
