"""What the verdict asks for: a choice, a trade-off where a guard or durability pays for it, or none.

A load is never offered as a choice, nor is a condition: a rebuild, a backup, the size of the data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from fathom.analysis.advice import commands
from fathom.analysis.advice.rule import Rule, RuleInput
from fathom.analysis.headline import DECIDED, averaged_words, guard_words, is_latency, largest, request_words
from fathom.analysis.model import Comparison, Verdict
from fathom.analysis.variants import label
from fathom.analysis.words import capital, effect, evidence, pair, percent, short
from fathom.finding import Evidence, Finding, Remedy, Severity
from fathom.metrics import metric


def find(given: RuleInput) -> Iterator[Finding]:
    """At most one: about the best of the decided comparisons, else about what cannot be compared or is alike."""
    load = given.analysis.load
    choices = [c for c in given.analysis.comparisons if load is None or c.variant.get(load) == c.baseline.get(load)]
    decided = [c for c in choices if c.verdict in DECIDED and c.ratio is not None]
    if decided:
        best = max(decided, key=lambda c: c.ratio.value if c.ratio is not None else 0.0)
        yield _of(best, given) if _chosen(given) else _effect(decided, given)
    elif choices and not _chosen(given):
        return
    elif choices and all(c.verdict is Verdict.EQUIVALENT for c in choices):
        yield _alike(choices[0], given)
    elif broken := [c for c in choices if c.verdict is Verdict.NOT_COMPARABLE]:
        yield _broken(broken[0], given)


def _chosen(given: RuleInput) -> bool:
    """Whether a person can choose between the variants at all."""
    return given.rules is None or given.rules.choice


def _effect(decided: Sequence[Comparison], given: RuleInput) -> Finding:
    """What conditions do: to be planned for, since nobody chooses them."""
    found = largest(decided)
    who = label(found.variant, given.study, apart_from=found.baseline)
    return Finding(
        "effect",
        who,
        _what(found, given),
        Severity.NOTE,
        found.ratio.level or 0.5 if found.ratio is not None else 0.5,
        tuple(Evidence(f"{capital(guard_words(guard))}.") for guard in found.worsened[:3]),
        remedies=(Remedy(f"Plan for it: {who} is a condition, not a choice."),),
    )


def _of(best: Comparison, given: RuleInput) -> Finding:
    assert best.ratio is not None
    small = best.verdict in (Verdict.FASTER_SMALL, Verdict.SLOWER_SMALL)
    if small and best.equivalence is not None and best.equivalence.within(best.margin):
        return _alike(best, given)
    if metric(best.metric).higher_is_better is None:
        return _neither(best, given)
    faster = best.verdict in (Verdict.FASTER, Verdict.FASTER_SMALL)
    taken, left = (best.variant, best.baseline) if faster else (best.baseline, best.variant)
    guards = best.worsened if faster else ()
    lost = best.losses if faster else best.spared
    who = label(taken, given.study, apart_from=left)
    price = [guard_words(guard) for guard in guards[:3]]
    if faster and best.larger:
        price.append(request_words(best))
    risk = "; ".join(lost) or None
    if best.flipped and faster:
        action = f"Do not choose {who} yet: the verdict depends on an assumed latency."
    elif price or lost:
        action = f"Weigh the gain of {who} against its price" + (": it is no free choice." if small else ".")
    else:
        action = f"{'Choose' if faster else 'Stay with'} {who}" + (", if it costs nothing." if small else ".")
    settings = tuple(commands.setting(f, v) for f, v in taken.items() if left.get(f) != v)
    return Finding(
        "trade-off" if price or lost or best.flipped else "choice",
        who,
        _what(best, given),
        Severity.WARNING if price or lost or best.flipped else Severity.GOOD,
        best.ratio.level or 0.5,
        tuple(Evidence(f"{capital(text)}.") for text in (*price, *_held(best))),
        harm=f"What may be lost: {risk}." if risk else None,
        remedies=(Remedy(action, settings, risk=_risk(best, risk)),),
    )


def _what(best: Comparison, given: RuleInput) -> str:
    assert best.ratio is not None
    who = label(best.variant, given.study, apart_from=best.baseline)
    base = label(best.baseline, given.study, apart_from=best.variant)
    better = "better" if best.ratio.value >= 1 else "worse"
    unit = metric(best.metric).unit
    values = f": {pair(*best.values, unit)}" if best.values is not None else ""
    over = f" on average over {averaged_words(best, given.study)}" if best.averaged else ""
    same = {f: level for f, level in best.variant.items() if best.baseline.get(f) == level}
    at = f" at {label(same, given.study)}" if same else ""
    compared = f"{effect(best.ratio.value, factor=is_latency(best))} {better} than {base} in {short(best.metric)}"
    return f"{capital(who)} is {compared}{at}{over}{values} ({evidence(best.ratio, factor=is_latency(best))})."


def _held(best: Comparison) -> list[str]:
    held = [guard for guard in best.judged if not guard.worse and not guard.unclear]
    unclear = [short(guard.metric) for guard in best.judged if guard.unclear]
    said = [f"{len(held)} of {len(best.judged)} guards held"] if best.judged else []
    if unclear:
        said.append(f"uncertain, perhaps worse: {', '.join(unclear[:3])}")
    return said


def _risk(best: Comparison, lost: str | None) -> str:
    if best.flipped:
        flip = best.flipped[0]
        return f"The verdict turns if {flip.volume} has {flip.assumptions}: then the ratio is {flip.ratio:.2f} ×."
    if lost is not None:
        return lost
    if best.guards and not best.judged:
        return "No guard compares equal work: judge latency, price and operation yourself."
    if not best.judged:
        return "No guard was measured: errors, tail latency and durability were not checked."
    return "Guards cover errors, tail latency and declared losses; judge price and operation yourself."


def _alike(comparison: Comparison, given: RuleInput) -> Finding:
    who = label(comparison.variant, given.study, apart_from=comparison.baseline)
    base = label(comparison.baseline, given.study, apart_from=comparison.variant)
    price = [guard_words(guard) for guard in comparison.worsened[:3]]
    sure = comparison.equivalence or comparison.ratio
    said = evidence(sure) if sure is not None else ""
    if price or comparison.losses:
        action = f"Prefer {base}: {who} is no faster and has a price."
    else:
        action = "Choose by price or simplicity, not by speed."
    return Finding(
        "alike",
        who,
        f"{capital(who)} and {base} are equivalent within {percent(comparison.margin)} ({said}).",
        Severity.WARNING if price or comparison.losses else Severity.GOOD,
        0.95,
        tuple(Evidence(f"{capital(text)}.") for text in price),
        harm=f"What may be lost: {'; '.join(comparison.losses)}." if comparison.losses else None,
        remedies=(Remedy(action),),
    )


def _neither(comparison: Comparison, given: RuleInput) -> Finding:
    assert comparison.ratio is not None
    who = label(comparison.variant, given.study, apart_from=comparison.baseline)
    size = f"{effect(comparison.ratio.value)} {'larger' if comparison.ratio.value >= 1 else 'smaller'}"
    return Finding(
        "difference",
        who,
        f"{capital(short(comparison.metric))} of {who} is {size}; neither direction is better.",
        Severity.NOTE,
        comparison.ratio.level or 0.5,
        remedies=(Remedy("Judge by the metric that your users see.", verify="Name it as compare.metric."),),
    )


def _broken(comparison: Comparison, given: RuleInput) -> Finding:
    reasons = comparison.reasons or ("the rules of comparison were not met",)
    finite = comparison.ratio is not None and math.isfinite(comparison.ratio.value)
    return Finding(
        "not-comparable",
        label(comparison.variant, given.study, apart_from=comparison.baseline),
        f"The variants cannot be compared: {reasons[0].rstrip('.')}.",
        Severity.CRITICAL,
        0.9,
        tuple(Evidence(f"{capital(reason).rstrip('.')}.") for reason in reasons[1:4]),
        harm="Do not rely on the ratio printed below." if finite else None,
        remedies=(Remedy("Remove this cause and repeat the campaign before reading any ratio."),),
    )


RULE = Rule("choice", 30, find)
