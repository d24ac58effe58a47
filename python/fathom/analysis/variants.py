"""Variants of a campaign: identity, order, and names for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol, TypeVar

from fathom.results import Level, Run

Variant = dict[str, Level]
Key = tuple[tuple[str, str], ...]


class _HasVariant(Protocol):
    @property
    def variant(self) -> Variant: ...


_Of = TypeVar("_Of", bound=_HasVariant)

_OUTSTANDING = "workload.outstanding"

_COUNTED = {
    "workload.rate": ("/s", "/s"),
    "workload.users": (" user", " users"),
    "workload.sessions": (" session", " sessions"),
}
"""Loads as people say them: `2,000/s`, `12 users`."""

_BARE = {"on", "off", "yes", "no", "none", "full", "normal", "default", "auto", "low", "high"}
"""Levels that say nothing without the name of their factor."""


_PARAMETERS = {"innodb_flush_log_at_trx_commit", "synchronous_commit"}
"""Keys of a workload that are a database's own parameters: as those of its `settings` they keep their spelling."""


def variant_key(variant: Mapping[str, Level]) -> Key:
    """A variant as something hashable; `1`, `1.0` and `True` stay apart."""
    return tuple(sorted((factor, repr(level)) for factor, level in variant.items()))


def of_variant(found: Iterable[_Of], variant: Mapping[str, Level]) -> list[_Of]:
    """Those runs, summaries or whatever has a variant that are of this one."""
    key = variant_key(variant)
    # Equality is quick and leaves few over; only the key keeps 1 and True apart.
    return [one for one in found if one.variant == variant and variant_key(one.variant) == key]


def variants_of(runs: Iterable[Run]) -> list[Variant]:
    """Every variant that ran, failed ones included, in the order of their first run."""
    first: dict[Key, Variant] = {}
    for run in runs:
        first.setdefault(variant_key(run.variant), run.variant)
    return list(first.values())


def every_variant(runs: Iterable[Run], study: Mapping[str, Any]) -> list[Variant]:
    """Every variant that ran, and behind them those that the study has and no run of which is there."""
    ran = variants_of(runs)
    known, factors = {variant_key(one) for one in ran}, {frozenset(one) for one in ran}
    # A level that an analysis made a factor of (a place, a number of users) is in no variant as written.
    written = (dict(found["levels"]) for found in study.get("variants", ()))
    return ran + [one for one in written if frozenset(one) in factors and variant_key(one) not in known]


def place(variant: Mapping[str, Level], study: Mapping[str, Any]) -> tuple[int, ...]:
    """Sorts variants as the study writes its factors and levels; what it does not name comes last."""
    order = {factor: [repr(level) for level in levels] for factor, levels in study.get("factors", {}).items()}
    return tuple(
        levels.index(repr(variant[factor])) if factor in variant and repr(variant[factor]) in levels else len(levels)
        for factor, levels in order.items()
    )


def resolved(study: Mapping[str, Any], variant: Mapping[str, Level]) -> Mapping[str, Any]:
    """What the resolved study says of a variant: `settings`, `volumes`, `demand`, `phases`, `lasts_ns`.

    Levels that only one of them names do not matter: the first variant that agrees in the others is meant. Empty where
    none does.
    """
    for found in study.get("variants", ()):
        if all(repr(variant.get(factor, level)) == repr(level) for factor, level in found["levels"].items()):
            return found  # type: ignore[no-any-return]
    return {}


def assigned(study: Mapping[str, Any], factor: str, level: Level) -> Mapping[str, Any]:
    """What choosing a level sets, by path: the level itself, or all values of a set's level, also those in a table."""
    levels = zip(study.get("factors", {}).get(factor, ()), study.get("assigns", {}).get(factor, ()), strict=False)
    found = next((values for known, values in levels if repr(known) == repr(level)), {factor: level})
    return dict(_leaves(found))


def _leaves(values: Mapping[str, Any], under: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{under}{name}.")
        else:
            yield f"{under}{name}", value


def users(study: Mapping[str, Any], variant: Mapping[str, Level]) -> int | None:
    """The users of a variant if they never pause: a closed loop without think time; None for any other load."""
    demand = resolved(study, variant).get("demand") or {"pauses": True}
    return None if demand.get("pauses", True) else demand["users"]


def without(variant: Mapping[str, Level], factors: Iterable[str]) -> Variant:
    """A variant with some factors left open."""
    left_out = set(factors)
    return {factor: level for factor, level in variant.items() if factor not in left_out}


def single(study: Mapping[str, Any]) -> Variant:
    """The factors of a study that have one level, with it: what all variants share."""
    return {factor: levels[0] for factor, levels in study.get("factors", {}).items() if len(levels) == 1}


def load_name(factor: str, study: Mapping[str, Any]) -> str:
    """What a load counts: `rate`, `outstanding`; users, where each of them thinks before the next request."""
    last = factor.rsplit(".", 1)[-1].replace("_", " ")
    if factor != _OUTSTANDING:
        return last
    demands = [variant.get("demand") or {} for variant in study.get("variants", ())]
    return "users" if any(demand.get("pauses") and "users" in demand for demand in demands) else last


def matches(variant: Mapping[str, Level], where: Mapping[str, Level]) -> bool:
    """Whether the variant has all the levels named in `where`."""
    return all(factor in variant and variant[factor] == level for factor, level in where.items())


def numeric(level: Level) -> float | None:
    """The level as a number, None for text and for on/off."""
    return None if isinstance(level, str | bool) else float(level)


def label(variant: Mapping[str, Level], study: Mapping[str, Any], apart_from: Mapping[str, Level] | None = None) -> str:
    """A variant in words: the levels in which it differs from `apart_from`, or all of them.

    The study may give words for levels under `labels`, by factor and level; a text level speaks for itself unless it is
    a word like "off", a load says what is counted, and another level is written behind the last word of its factor, a
    database's parameter in its own spelling. A factor with a single level is left out beside others: every variant has
    it.
    """
    other = apart_from or {}
    chosen = {factor: level for factor, level in variant.items() if factor not in other or other[factor] != level}
    chosen = without(chosen, single(study)) or chosen
    return ", ".join(_level_words(factor, level, study) for factor, level in chosen.items()) or "as written"


def given_names(study: Mapping[str, Any]) -> frozenset[str]:
    """What people called things in a study: levels and words for levels that are one word, databases and volumes.

    A sentence that begins with one does not change its first letter: another spelling is another name. Several words
    ("no cache") are a phrase, not a name.
    """
    levels = (level for levels in study.get("factors", {}).values() for level in levels if isinstance(level, str))
    words = (str(words) for known in study.get("labels", {}).values() for words in known.values())
    things = (name for kind in ("volumes", "databases") for name in study.get(kind) or ())
    return frozenset(name for name in (*levels, *words, *things) if name and " " not in name and name not in _BARE)


def _level_words(factor: str, level: Level, study: Mapping[str, Any]) -> str:
    key = str(level).lower() if isinstance(level, bool) else str(level)
    given = study.get("labels", {}).get(factor, {}).get(key)
    if given is not None:
        return str(given)
    if isinstance(level, str) and not level[:1].isdigit() and level not in _BARE:
        return level
    counted = _COUNTED.get(factor) or ((" IOPS", " IOPS") if factor.endswith(".iops") else None)
    if factor == _OUTSTANDING:
        name = load_name(factor, study)
        counted = (f" {name.removesuffix('s')}", f" {name}")
    if counted is not None and numeric(level) is not None:
        return f"{level:,}{counted[0] if level == 1 else counted[1]}"
    words = factor.rsplit(".", 1)[-1]
    if ".settings." not in factor and words not in _PARAMETERS:
        words = words.replace("_", " ").replace("-", " ")
    return f"{words} {('on' if level else 'off') if isinstance(level, bool) else level}"
