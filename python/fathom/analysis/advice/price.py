"""What a variant is paid with, what staying with its baseline forgoes, and what may be a price without being shown."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fathom.analysis.advice.rule import RuleInput
from fathom.analysis.beside import better_words, doubt_words, guard_words
from fathom.analysis.factors import load_words
from fathom.analysis.guard import Guard
from fathom.analysis.model import Comparison, Group
from fathom.analysis.repeated import UNLESS
from fathom.analysis.variants import Variant, label, of_variant, variant_key
from fathom.analysis.words import listed, short

MOST_LOADS = 4
"""Loads that are told one by one."""

_MOST = 3
"""Guards that are told."""


def worse(told: Group, given: RuleInput) -> list[str]:
    """The guards that got worse, at the load at which the headline tells them."""
    worst = told.paid
    if worst is None:
        return []
    return [f"{guard_words(guard)}{_where(told, worst, given)}" for guard in worst.worsened[:_MOST]]


def repeated(variant: Variant, given: RuleInput) -> list[str]:
    """That runs of a variant failed before they were carried out again."""
    return [f"{one.words}; {UNLESS}" for one in of_variant(given.analysis.repeated, variant)]


def forgone(told: Group, given: RuleInput) -> list[str]:
    """The guards that the variant does better in, at the load with the most of them."""
    best = max(told.comparisons, key=lambda c: len(c.bettered))
    who = label(told.variant, given.study, apart_from=told.baseline)
    return [f"{better_words(guard)} with {who}{_where(told, best, given)}" for guard in best.bettered[:_MOST]]


def doubted(told: Group) -> str:
    """The guards of which it is not certain that they held: `p95 latency and p99 latency`."""
    names = list(dict.fromkeys(short(guard.metric) for c in told.doubtful for guard in c.unclear))
    return listed(names if len(names) <= MOST_LOADS else [*names[:_MOST], f"{len(names) - _MOST} more guards"])


def doubts(told: Group, given: RuleInput) -> list[str]:
    """Those guards, each at the load where it may be worst, and what would settle it."""
    found: dict[str, tuple[Comparison, Guard]] = {}
    for comparison in told.doubtful:
        for guard in comparison.unclear:
            if guard.metric not in found or _most(guard) > _most(found[guard.metric][1]):
                found[guard.metric] = comparison, guard
    return [f"{doubt_words(guard)}{_where(told, at, given)}" for at, guard in list(found.values())[:MOST_LOADS]]


def losses_of(told: Group, *, variant: bool) -> tuple[str, ...]:
    """What may be lost of the variant and not of its baseline, or the other way round."""
    return tuple(dict.fromkeys(words for c in told.comparisons for words in (c.losses if variant else c.spared)))


def losses_by(variant: Variant, given: RuleInput) -> tuple[str, ...]:
    """What a variant may lose that another may not, whichever it was compared with."""
    return tuple(words for one, words in given.analysis.losses if variant_key(one) == variant_key(variant))


def at_load(comparison: Comparison, given: RuleInput) -> str:
    """The load of a comparison in words."""
    return load_words(comparison.variant, given.analysis.loads, given.study)


def places(cells: Sequence[Comparison], given: RuleInput) -> str:
    """The loads of comparisons: `1 user and 16 users`."""
    named = [at_load(c, given) for c in cells[:MOST_LOADS]]
    return listed([*named, f"{len(cells) - MOST_LOADS} more"] if len(cells) > MOST_LOADS else named)


def _where(told: Group, at: Comparison, given: RuleInput) -> str:
    """The load of a comparison, where there are several: ` at 16 users`."""
    return f" at {where}" if len(told.comparisons) > 1 and (where := at_load(at, given)) else ""


def _most(guard: Guard) -> float:
    return math.inf if guard.most is None else guard.most
