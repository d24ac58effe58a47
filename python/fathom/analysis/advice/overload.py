"""Variants that could not do the load they were offered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fathom.analysis.advice import commands
from fathom.analysis.advice.rule import Rule, RuleInput
from fathom.analysis.advice.waiting import Waits, waits
from fathom.analysis.capacity import capacity, full_load, limit_of, too_much
from fathom.analysis.model import Overload
from fathom.analysis.variants import Key, Variant, of_variant, variant_key, without
from fathom.analysis.words import listed, number
from fathom.finding import Evidence, Finding, Remedy, Severity

_DELAYED = ".delayed_ns"
_LONGER = "5min"
_MOST = 4
"""Variants that are told with their limits."""


def find(given: RuleInput) -> Iterator[Finding]:
    """One finding for all of them; each variant has one limit, whatever the number of loads that were too much."""
    loads = [] if given.analysis.load is None else [given.analysis.load]
    groups: dict[Key, list[Overload]] = {}
    for found in sorted(given.analysis.overloads, key=lambda one: one.offered):
        groups.setdefault(variant_key(without(found.variant, loads)), []).append(found)
    if not groups:
        return
    things = list(groups.values())
    worst = max((o.growth for group in things for o in group if o.growth is not None), default=0.0)
    of = "phase" if any(o.phase for group in things for o in group) else "run"
    grown = f"Latency grew {number(worst)} × from the first to the last third of a {of}"
    if len(things) == 1:
        sentences = [f"{given.capital(things[0][0].sentence)}."]
        offered = listed([f"{number(found.offered)}/s" for found in things[0][1:]]) if len(things[0]) > 1 else ""
        evidence = [f"Nor can it sustain {offered}."] if offered else []
    else:
        sentences = [text for text in capacity(given.analysis, given.study) if "cannot sustain" in text]
        apart = [f"{given.capital(group[0].sentence)}." for group in things[:_MOST]]
        evidence = [text for text in apart if text not in sentences]
    evidence += [f"{grown}."] if worst > 1 else []
    alike: dict[str, list[str]] = {}
    for group in things[:_MOST]:
        alike.setdefault(_limit(given, without(group[0].variant, loads)), []).append(_who(group))
    to = "with" if len(things) > 1 or without(things[0][0].variant, loads) else "to"
    rest = len(things) - _MOST
    limits = [f"{limit} {to} {listed(names)}" for limit, names in alike.items()]
    limits += [f"less than now {to} {rest} more {'variant' if rest == 1 else 'variants'}"] if rest > 0 else []
    goals = given.analysis.decision.goals is not None
    known = bool(loads) and all("at most" in text for text in limits)
    what = "met the goals" if goals else "was sustained"
    full = _full(given, things, what)
    tried = f", the highest load that {what} here{' with room to spare' if full else ''}" if known else ""
    evidence += full
    if goals and not known:
        evidence.append("The goals may ask for less than what can be sustained: --find-max with them finds the limit.")
    # What sessions did at the lowest load that was too much, where it is known.
    known_waits = [waits(given, group[0].variant) for group in things]
    evidence += [
        f"{given.capital(given.label(group[0].variant))}: {found.words}."
        for group, found in list(zip(things, known_waits, strict=True))[:_MOST]
        if found is not None
    ]
    yield Finding(
        "overload",
        given.label(without(things[0][0].variant, loads)) or things[0][0].sentence.split(" cannot sustain")[0],
        " ".join(sentences),
        Severity.WARNING,
        0.95,
        tuple(Evidence(text) for text in evidence),
        harm=f"The queue grows as long as the {of} lasts, so no ratio of its latency is computed.",
        remedies=(
            Remedy(
                f"Offer {', and '.join(limits)}{tried}{_more(things, known_waits)}.",
                verify="No arrival is refused, and the latency is level over the run.",
            ),
            *_longer_bursts(given, [found for group in things for found in group if found.phase]),
        ),
    )


def _more(things: Sequence[Sequence[Overload]], known: Sequence[Waits | None]) -> str:
    """What else helps: more IOPS, unless the sessions of the databases say that they do not wait for storage."""
    held = [found for found in known if found is not None and not found.storage_matters]
    if not held:
        return f", or give {'it' if len(things) == 1 else 'them'} more IOPS"
    rest = [_who(group) for group, found in zip(things, known, strict=True) if found not in held]
    if rest:
        return (
            f"; faster storage helps {listed(rest)} only" if len(rest) <= _MOST else "; faster storage helps some only"
        )
    reasons = dict.fromkeys(found.reasons for found in held)
    return f"; faster storage does not help: the limit is {' or '.join(reasons)}"


def _longer_bursts(given: RuleInput, bursts: Sequence[Overload]) -> Iterator[Remedy]:
    """What lets a cache take more of a burst: it holds writers back at what goes in place in time."""
    for found in bursts:
        facts: dict[str, str] = {}
        for run in of_variant(given.campaign.runs, found.variant):
            facts |= run.facts if run.ok else {}
        for name in (key.removesuffix(_DELAYED) for key in facts if key.endswith(_DELAYED) and facts[key] != "0"):
            limit = float(facts.get(f"{name}.dirty_limit_bytes", 0))
            if limit > 0:
                who = name.removeprefix("volumes.")
                yield Remedy(
                    f"{given.capital(who)} held writers back: at most {number(limit / 1e9)} GB are dirty, what goes in "
                    "place within `drain_target`, whatever room it has. With longer spans it takes more of a burst.",
                    (commands.setting(f"{name}.drain_target", _LONGER), commands.setting(f"{name}.lag_max", _LONGER)),
                    "The loss of the cache device takes the writes of as long a time.",
                    "No arrival is refused, and the latency stays level through the burst.",
                )
                return


def _limit(given: RuleInput, thing: Variant) -> str:
    """`at most 2,000/s`, which was tried, or `less than 3,000/s`, which was too much."""
    most = limit_of(given.analysis, thing)
    return f"at most {number(most)}/s" if most is not None else f"less than {number(too_much(given.analysis, thing))}/s"


def _full(given: RuleInput, things: Sequence[Sequence[Overload]], what: str) -> list[str]:
    """Why the limit is lower than the highest load that the headline names."""
    alike: dict[float, list[str]] = {}
    for group in things[:_MOST]:
        loads = [given.analysis.load] if given.analysis.load is not None else []
        most = full_load(given.analysis, without(group[0].variant, loads))
        if most is not None:
            alike.setdefault(most, []).append(_who(group))
    return [
        f"{number(most)}/s {what}, too, but it is all that {listed(names)} "
        f"{'does' if len(names) == 1 else 'do'}: what has to wait once is never worked off."
        for most, names in alike.items()
    ]


def _who(group: Sequence[Overload]) -> str:
    return group[0].sentence.split(" cannot sustain")[0]


RULE = Rule("overload", 20, find)
