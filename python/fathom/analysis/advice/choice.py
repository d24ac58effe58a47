"""What the verdict asks for: a choice, a trade-off where a guard or durability pays for it, or none.

A load is never offered as a choice, nor is a condition: a rebuild, a backup, the size of the data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from fathom.analysis.advice import commands
from fathom.analysis.advice.alike import alike
from fathom.analysis.advice.price import (
    MOST_LOADS,
    at_load,
    doubted,
    doubts,
    forgone,
    losses_by,
    losses_of,
    places,
    repeated,
    worse,
)
from fathom.analysis.advice.rule import Rule, RuleInput
from fathom.analysis.advice.waiting import without_storage
from fathom.analysis.capacity import capacity, rising, stood_still, where_met
from fathom.analysis.factors import same_load
from fathom.analysis.headline import claim, over_loads, request_words, same_levels, unknown_words
from fathom.analysis.levels import amount
from fathom.analysis.model import Comparison, GoalAnswer, Group, Sensitivity, Verdict, soonest
from fathom.analysis.stripes import stripe_words
from fathom.analysis.variants import Variant, label, matches, of_variant, variant_key
from fathom.analysis.words import capital, effect, listed, milliseconds, percent, short
from fathom.finding import Evidence, Finding, Remedy, Severity
from fathom.metrics import metric


def find(given: RuleInput) -> Iterator[Finding]:
    """At most one: about the variant that the decision tells of, else about what cannot be compared or is alike."""
    loads, decision = given.analysis.loads, given.analysis.decision
    if not any(run.ok for run in given.campaign.runs):
        # Why nothing can be compared is told with the runs that failed.
        return
    choices = [c for c in given.analysis.comparisons if same_load(c, loads)]
    if not choices:
        return
    told, goals = decision.told, decision.goals
    if not _chosen(given):
        if told is not None and told.decided and given.campaign.places is None:
            yield _effect(told, given)
    elif goals is not None and goals.nearest is not None:
        yield _by_goals(goals, given)
    elif told is not None and (told.decided or told.relieved or told.sunk):
        yield _of(told, given)
    elif split := [group for group in decision.groups if group.split]:
        yield _by_level(split[0], given)
    elif all(c.verdict is Verdict.EQUIVALENT for c in choices):
        yield alike(decision.groups, given)
    elif broken := [c for c in choices if c.verdict is Verdict.NOT_COMPARABLE]:
        yield _broken(broken[0], given)


def _chosen(given: RuleInput) -> bool:
    """Whether a person can choose between the variants at all."""
    return given.rules is None or given.rules.choice


def _effect(told: Group, given: RuleInput) -> Finding:
    """What conditions do: to be planned for, since nobody chooses them."""
    found = told.decided[0]
    who = label(told.variant, given.study, apart_from=told.baseline)
    action = f"Plan for it: {who} is a condition, not a choice."
    if all(c.within_margin for c in told.decided) and told.paid is None:
        action = f"Nothing to plan for: the difference is within {percent(found.margin)}."
    return Finding(
        "effect",
        who,
        _what(told, given),
        Severity.NOTE,
        found.ratio.level or 0.5 if found.ratio is not None else 0.5,
        tuple(Evidence(f"{given.capital(text)}.") for text in worse(told, given)),
        remedies=(Remedy(action),),
    )


def _of(told: Group, given: RuleInput) -> Finding:
    """What the best variant asks for, judged over all loads."""
    decided = told.decided
    small = all(c.verdict in (Verdict.FASTER_SMALL, Verdict.SLOWER_SMALL) for c in decided) and bool(decided)
    if decided and told.alike:
        groups = given.analysis.decision.groups
        return alike(groups if all(group.alike for group in groups) else [told], given)
    if decided and metric(told.comparisons[0].metric).higher_is_better is None:
        return _neither(decided[0], given)
    taken = given.analysis.decision.taken
    if told.split and taken is None:
        return _by_level(told, given)
    if taken is None:
        return _by_load(told, given) if told.ahead and told.behind else _in_part(told, given)
    faster = variant_key(taken) == variant_key(told.variant)
    left = told.baseline if faster else told.variant
    who = label(taken, given.study, apart_from=left)
    price = _price(told, given) if faster else [*forgone(told, given), *repeated(taken, given)]
    lost = losses_of(told, variant=faster) or losses_by(taken, given)
    price += _reserve(taken, given)
    flipped = _flipped(told)
    same = same_levels(told, given.study)
    at = f" with {label(same, given.study)}" if same else ""
    if flipped and faster:
        action = f"Do not choose {who} yet: the verdict depends on an assumed latency."
    elif price or lost:
        action = f"Weigh the gain of {who} against its price" + (": it is no free choice." if small else ".")
    elif faster and told.doubtful:
        action = f"Choose {who}{at} once it is known that {doubted(told)} held."
    elif faster and (rivals := given.analysis.decision.rivals):
        names = listed([who, *(label(one, given.study, apart_from=left) for one in rivals)])
        action = f"Choose among {names}{at} by price: which of them is the fastest is not known."
    else:
        action = f"{'Choose' if faster else 'Stay with'} {who}{at}" + (", if it costs nothing." if small else ".")
    return _finding(told, given, taken, left, action=action, price=price, lost=lost)


def _finding(
    told: Group,
    given: RuleInput,
    taken: Variant,
    left: Variant,
    *,
    action: str,
    price: Sequence[str],
    lost: Sequence[str],
) -> Finding:
    risk = "; ".join(lost) or None
    paid = bool(price or lost or _flipped(told))
    ratio = told.decided[0].ratio if told.decided else None
    settings = tuple(commands.setting(f, v) for f, v in taken.items() if left.get(f) != v)
    faster, what = variant_key(taken) == variant_key(told.variant), _what(told, given)
    unsure = doubts(told, given) if faster else []
    said = (*price, *_held(told, given, faster=faster), *unsure, *(_dearer(given) if faster else ()))
    return Finding(
        "trade-off" if paid else "choice",
        label(taken, given.study, apart_from=left),
        what,
        Severity.WARNING if paid or unsure else Severity.GOOD,
        (ratio.level if ratio is not None else 0.95) or 0.5,
        tuple(Evidence(f"{given.capital(text)}.") for text in said),
        harm=f"What may be lost: {risk}." if risk and risk not in what else None,
        remedies=(Remedy(action, settings, risk=_with_stripes(_risk(told, risk), taken, left, given)),),
    )


def _with_stripes(risk: str | None, taken: Variant, left: Variant, given: RuleInput) -> str | None:
    """The risk, and that of stripes that only what is taken stands on: no guard sees a lost member."""
    return " ".join(text for text in (risk, stripe_words(given.study, taken, left)) if text) or None


def _by_load(told: Group, given: RuleInput) -> Finding:
    """A variant that is better at some loads and worse at others is chosen by the load."""
    who = label(told.variant, given.study, apart_from=told.baseline)
    base = label(told.baseline, given.study, apart_from=told.variant)
    better = [c for c in told.comparisons if c in told.relieved or c.verdict in (Verdict.FASTER, Verdict.FASTER_SMALL)]
    worse = [c for c in told.comparisons if c in told.sunk or c.verdict in (Verdict.SLOWER, Verdict.SLOWER_SMALL)]
    at, other = (places(some, given) for some in (better, worse))
    return Finding(
        "by-load",
        who,
        _what(told, given),
        Severity.NOTE,
        0.9,
        tuple(Evidence(f"{given.capital(text)}.") for text in _price(told, given)),
        remedies=(Remedy(f"Choose by the load that you have: {who} is better at {at}, {base} at {other}."),),
    )


def _by_level(told: Group, given: RuleInput) -> Finding:
    """A mean that single levels contradict is no answer for these levels."""
    mean = told.split[0]
    who = label(told.variant, given.study, apart_from=told.baseline)
    base = label(told.baseline, given.study, apart_from=told.variant)
    better, worse = (mean.leaning(better=way) for way in (True, False))
    sides = [(who, better), (base, worse)]
    said = [f"{name} is better at {listed([label(one, given.study) for one in at])}" for name, at in sides if at]
    return Finding(
        "by-load",
        who,
        claim(mean, given.study),
        Severity.WARNING,
        0.9,
        tuple(Evidence(f"{given.capital(text)}.") for text in (*_price(told, given), *doubts(told, given))),
        remedies=(Remedy(f"Choose by the load that you have: {', '.join(said)}; their mean hides that."),),
    )


def _in_part(told: Group, given: RuleInput) -> Finding:
    """What is known at some loads only: no other load may be answered from them."""
    side, other = (told.variant, told.baseline) if told.ahead else (told.baseline, told.variant)
    who = label(side, given.study, apart_from=other)
    known = [c for c in told.comparisons if not c.may_be(better=not told.ahead)]
    at, unknown = (places(some, given) for some in (known, told.unknown))
    price = _price(told, given) if told.ahead else [*forgone(told, given), *repeated(told.baseline, given)]
    what = f"{'Choose' if told.ahead else 'Stay with'} {who} at {at} only"
    if price:
        what = f"Weigh the gain of {who} at {at} against its price"
    said = [f"{at_load(c, given)}: {unknown_words(c)}" for c in told.unknown[:MOST_LOADS]]
    return Finding(
        "by-load",
        who,
        _what(told, given),
        Severity.WARNING,
        0.9,
        tuple(Evidence(f"{given.capital(text)}.") for text in (*said, *price, *doubts(told, given))),
        remedies=(
            Remedy(
                f"{what}: at {unknown} it is not known whether it is worse.",
                verify="The report then has a verdict at every load.",
            ),
        ),
    )


def _by_goals(goals: GoalAnswer, given: RuleInput) -> Finding:
    """The variant that meets the goals, at its price; or that none does."""
    decision = given.analysis.decision
    taken, told = decision.taken, decision.told
    if taken is None:
        return _unmet(goals, given)
    able = [label(standing.variant, given.study) for standing in goals.free if standing.repeated is None]
    who = label(taken, given.study)
    group = next(iter(of_variant(decision.groups, taken)), None)
    price = _price(group, given) if group is not None else repeated(taken, given)
    lost = (losses_of(group, variant=True) if group is not None else ()) or losses_by(taken, given)
    price += _reserve(taken, given)
    turns = any(variant_key(variant) == variant_key(taken) for _, variant, _ in goals.flips)
    if turns:
        action = f"Do not settle on {who} yet: whether it meets the goals depends on an assumed latency."
    elif price or lost:
        action = f"Weigh {who} against its price: it meets the goals."
    elif len(able) > 1 and _by_price(goals, group, given):
        action = f"Choose the cheapest of {listed(able)}: {'both' if len(able) == 2 else 'all'} meet the goals."
    elif group is None:
        action = f"Stay with {who}: it meets the goals."
    else:
        action = f"Choose {who}: it meets the goals."
    risk = "; ".join(lost) or None
    factors = given.study.get("factors", {})
    settings = tuple(commands.setting(f, v) for f, v in taken.items() if len(factors.get(f, ())) > 1)
    what = _what(told, given) if told is not None and (told.decided or told.relieved) else ""
    return Finding(
        "trade-off" if price or lost or turns else "choice",
        who,
        goals.sentence,
        Severity.WARNING if price or lost or turns else Severity.GOOD,
        0.9,
        tuple(Evidence(text) for text in [what] if text) + tuple(Evidence(f"{given.capital(text)}.") for text in price),
        harm=f"What may be lost: {risk}." if risk and risk not in what else None,
        remedies=(Remedy(action, settings, risk=_risk(group, risk) if group is not None else None),),
    )


def _by_price(goals: GoalAnswer, group: Group | None, given: RuleInput) -> bool:
    """Whether only a price tells between those that meet the goals: `group` is that of the variant taken."""
    if goals.chosen is not None:
        return group is not None and not _sized(goals, given)
    keys = [variant_key(standing.variant) for standing in goals.free]
    return all(one.alike for one in given.analysis.decision.groups if variant_key(one.variant) in keys)


def _sized(goals: GoalAnswer, given: RuleInput) -> bool:
    first, second = (standing.variant for standing in goals.standings[:2])
    return amount(given.study, first, second) is not None


def _unmet(goals: GoalAnswer, given: RuleInput) -> Finding:
    assert goals.nearest is not None
    who = label(goals.nearest, given.study)
    nearest = next(iter(of_variant(goals.standings, goals.nearest)))
    first = {**nearest.variant, **nearest.missed[0]} if nearest.missed else nearest.variant
    held = without_storage(given, first)
    limit = f"the limit is {held.reasons}, not the storage" if held is not None else ""
    again = "measure again where the load generator is not late" if nearest.late is not None else ""
    faster = "" if limit else f", or {again or 'try faster storage'}"
    if nearest.met and rising(nearest, given.study):
        most = label(nearest.met[-1], given.study)
        action = f"Keep the load of {who} at or below {most}{faster or f': beyond it {limit}'}."
    elif nearest.met:
        action = f"Use {who} {where_met(nearest, given.study)} only{faster or f': elsewhere {limit}'}."
    elif again:
        action = f"{capital(again)}, before choosing any of these."
    elif goals.only_untold:
        action = "Measure longer or in more rounds: a percentile needs ten requests beyond it."
    elif limit:
        action = f"Try a lower load before choosing any of these: {limit}."
    else:
        action = "Try faster storage or a lower load before choosing any of these."
    lost = losses_by(goals.nearest, given) if nearest.met else ()
    return Finding(
        "goals",
        who,
        goals.sentence,
        Severity.WARNING,
        0.9,
        harm=f"What may be lost: {'; '.join(lost)}." if lost else None,
        remedies=(Remedy(action, verify="The report then names the variant that meets the goals."),),
    )


def _what(told: Group, given: RuleInput) -> str:
    """The claim of the headline, word for word."""
    if told.decided:
        return over_loads(told, given.analysis, given.study)
    return " ".join(capacity(given.analysis, given.study))


def _price(told: Group, given: RuleInput) -> list[str]:
    """Guards that got worse, at the load at which the headline tells them, failed runs, and larger requests."""
    said = worse(told, given)
    if not said and told.relieved and (longest := stood_still(given.analysis, told.variant)) is not None:
        said = [f"it stands still for up to {milliseconds(longest * 1e3)}"]
    said += repeated(told.variant, given)
    larger = next((c for c in told.decided if c.larger), None)
    return [*said, request_words(larger)] if larger is not None else said


def _reserve(variant: Variant, given: RuleInput) -> list[str]:
    """That a variant does more than its storage sustains, of all loads where that ends first."""
    found = soonest(one for one in given.analysis.reserves if matches(one.variant, variant))
    return [f"it {found.words}"] if found is not None else []


def _flipped(told: Group) -> tuple[Sensitivity, ...]:
    return tuple(flip for c in told.decided for flip in c.flipped)


def _dearer(given: RuleInput) -> list[str]:
    """The variant that gains more than the one that is advised, and why it is not."""
    more = given.analysis.decision.dearer
    if more is None:
        return []
    price = [*worse(more, given), *(f"{at_load(c, given)}: {unknown_words(c)}" for c in more.unknown)]
    return [f"{label(more.variant, given.study, apart_from=more.baseline)} gains more, but {price[0]}"] if price else []


def _held(told: Group, given: RuleInput, *, faster: bool) -> list[str]:
    """What became of the guards of the variant at all loads; of one that is left, what is worse with it besides."""
    judged = [guard for c in told.comparisons for guard in c.judged]
    held = [guard for guard in judged if not guard.worse and not guard.unclear]
    if not faster:
        worse = list(dict.fromkeys(short(guard.metric) for guard in judged if guard.worse))
        who = label(told.variant, given.study, apart_from=told.baseline)
        return [f"also worse with {who}: {listed(worse[:3])}"] if worse else []
    return [f"{len(held)} of {len(judged)} guards held"] if judged else []


def _risk(told: Group, lost: str | None) -> str | None:
    """What the choice may cost besides what is said to be lost."""
    flipped = _flipped(told)
    if flipped:
        flip = flipped[0]
        return f"The verdict turns with {flip.words}: then the ratio is {flip.ratio:.2f} ×."
    if lost is not None:
        return None
    guards = [guard for c in told.comparisons for guard in c.guards]
    if not guards and not told.decided:
        return "No ratio was judged by guards; judge price and operation yourself."
    if guards and not any(c.judged for c in told.comparisons):
        return "No guard compares equal work: judge latency, price and operation yourself."
    if not guards:
        return "No guard was measured: errors, tail latency and durability were not checked."
    return "Guards cover errors, tail latency and declared losses; judge price and operation yourself."


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
        tuple(Evidence(f"{given.capital(reason).rstrip('.')}.") for reason in reasons[1:4]),
        harm="Do not rely on the ratio printed below." if finite else None,
        remedies=(Remedy("Remove this cause and repeat the campaign before reading any ratio."),),
    )


RULE = Rule("choice", 18, find)
