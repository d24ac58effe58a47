"""Loads in words: who cannot do which, who can, the highest that was sustained, and up to which goals are met. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fathom.analysis.model import Analysis, Overload, Standing
from fathom.analysis.variants import Key, label, numeric, variant_key, without
from fathom.analysis.words import capital, listed, number, subject
from fathom.results import Level

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
    able = [subject(label(thing, study)) for key, thing in things.items() if key not in first]
    if able:
        every = "every load" if analysis.load is not None else "it"
        verb = "sustains" if len(able) == 1 else "sustain"
        said.append(f"{capital(listed(able) if len(able) <= _MOST else f'the other {len(able)}')} {verb} {every}.")
    return said


def limit_of(analysis: Analysis, variant: Mapping[str, Level]) -> float | None:
    """The highest load, in arrivals per second, that a variant without its load was offered and could do."""
    if analysis.load is None or not analysis.load.endswith(".rate"):
        return None
    loads = [analysis.load]
    key, over = variant_key(variant), {variant_key(found.variant) for found in analysis.overloads}
    mine = (s.variant for s in analysis.summaries if variant_key(without(s.variant, loads)) == key)
    done = [numeric(v[analysis.load]) for v in mine if variant_key(v) not in over]
    return max((value for value in done if value is not None), default=None)


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
