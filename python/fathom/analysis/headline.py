"""The answer in a few words, for those who read nothing else: absolute values stand beside ratios."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fathom.analysis.beside import differing, differing_first, guard_words, joined_beside, seen_beside
from fathom.analysis.capacity import capacity
from fathom.analysis.factors import load_words
from fathom.analysis.figures import figures_in_words
from fathom.analysis.missing import needed
from fathom.analysis.model import (
    DECIDED,
    Analysis,
    Comparison,
    Estimate,
    Group,
    Prediction,
    Reserve,
    Verdict,
    soonest,
)
from fathom.analysis.sweep_words import of_sweeps
from fathom.analysis.variants import Variant, given_names, label, single, without
from fathom.analysis.words import (
    boundless,
    capital,
    effect_of,
    evidence,
    level,
    listed,
    milliseconds,
    number,
    pair,
    percent,
    quantity,
    rounds,
    short,
    tells_nothing,
)
from fathom.metrics import metric as metric_facts

if TYPE_CHECKING:
    from fathom.analysis.load import LoadTable
    from fathom.results import Run

WITHIN = 0.10
"""Published cells count as met within this relative error."""

_BETTER = (Verdict.FASTER, Verdict.FASTER_SMALL, Verdict.EQUIVALENT)

_MOST_LOADS = 3
_MOST_BESIDE = 2
"""Guards told of each of several comparisons."""
_TIMES = ("s", "ms")
"""Units of what is done the faster the less it is."""

_WIDE = 2.0
"""An interval whose ends are this many times apart is told as factors: per cent of what is lost end at 100."""


def headline(analysis: Analysis, study: Mapping[str, Any], tables: Sequence[LoadTable], runs: Sequence[Run]) -> str:
    """The sentence for an analysis that is complete but for it: the goals, if there are any, then the figures."""
    goals = analysis.decision.goals
    told = [] if goals is None else [goals.sentence, *(sentence for _, sentence in goals.near)]
    return " ".join([*told, _figures(analysis, study, tables, runs)])


def _figures(analysis: Analysis, study: Mapping[str, Any], tables: Sequence[LoadTable], runs: Sequence[Run]) -> str:
    comparisons, load = analysis.comparisons, analysis.load
    if comparisons:
        swept = load is not None and any(c.variant.get(load) != c.baseline.get(load) for c in comparisons)
        return (_of_sweeps(analysis, tables, study) if swept else "") or _of_comparisons(analysis, study)
    if tables and (said := _of_sweeps(analysis, tables, study)):
        checked = any(p.relative_error is not None and not p.calibrated for p in analysis.predictions)
        return f"{said} {_of_predictions(analysis.predictions, study)}" if checked else said
    if analysis.predictions:
        return _of_predictions(analysis.predictions, study)
    if not any(summary.mean is not None for summary in analysis.summaries):
        return "No run finished, so there is no result yet."
    return " ".join([*capacity(analysis, study), *figures_in_words(analysis, study, runs)])


def claim(comparison: Comparison, study: Mapping[str, Any], round_s: float | None = None) -> str:
    """One comparison as a sentence: who, how much, in absolute values, how sure, and at what price."""
    who = label(comparison.variant, study, apart_from=comparison.baseline)
    base = label(comparison.baseline, study, apart_from=comparison.variant)
    where = _shared(comparison, study)
    ratio, margin = comparison.decisive, percent(comparison.margin)
    if comparison.verdict is Verdict.OVERLOADED:
        return " ".join(_sentence(reason, study) for reason in comparison.reasons if "cannot sustain" in reason)
    if ratio is None or comparison.verdict is Verdict.NOT_COMPARABLE:
        why = comparison.reasons[0] if comparison.reasons else "no complete round"
        return _sentence(f"{who} and {base}{where} are not comparable: {why}", study)
    values = _values(comparison)
    if comparison.verdict is Verdict.EQUIVALENT:
        sure = open_evidence(comparison, ratio)
        said = f"{who} and {base}{where} are equivalent{_in(comparison)} within {margin}{values} ({sure})"
        said += _contrary(comparison, study)
        return _sentence(said + _price(comparison, who=who, base=base), study)
    if comparison.verdict is Verdict.FIXED:
        same = pair(*comparison.values, metric_facts(comparison.metric).unit) if comparison.values else ""
        said = f"{who} against {base}{where}: the arrivals fix the {short(comparison.metric)}"
        said += f"{f' ({same})' if same else ''}, so it cannot tell them apart"
        more = [seen_beside(comparison)] if differing(comparison) else []
        more += [f"{who} may lose data: {comparison.losses[0]}"] if comparison.losses else []
        return _sentence("; ".join([said, *more]), study)
    if comparison.verdict is Verdict.UNDECIDED:
        said = f"{who} against {base}{where}: undecided{_in(comparison)}{values} ({open_evidence(comparison, ratio)})"
        if comparison.stood_still is not None:
            return _sentence(f"{said}{_price(comparison, base=base)}", study)
        said += _contrary(comparison, study)
        return _sentence(f"{said}{joined_beside(comparison)}; {needed([comparison], round_s)}", study)
    sure = evidence(ratio, factor=is_latency(comparison))
    small = ""
    if comparison.verdict in (Verdict.FASTER_SMALL, Verdict.SLOWER_SMALL):
        small = f", which is within the margin of {margin}" if comparison.within_margin else ", but that is small"
    said = f"{_difference(comparison, who, base)}{where}{small}{values} ({sure}){_contrary(comparison, study)}"
    return _sentence(f"{said}{_price(comparison, base=base)}", study)


def _contrary(comparison: Comparison, study: Mapping[str, Any]) -> str:
    """What single levels say against their mean: `, but 50 % slower at 16 users`."""
    said = contrary_words(comparison, study)
    return f", but {'; '.join(said)}" if said else ""


def contrary_words(comparison: Comparison, study: Mapping[str, Any]) -> list[str]:
    """Each level that contradicts the mean: `2.00 × slower at 16 users`."""
    said = []
    for levels, ratio in zip(comparison.averaged, comparison.by_level, strict=True):
        if ratio is not None and levels in comparison.contrary:
            up = ratio.value >= 1
            way = ("lower" if up else "higher") if is_lower(comparison) else "faster" if up else "slower"
            said.append(f"{effect_of(ratio, factor=is_latency(comparison))} {way} at {label(levels, study)}")
    return said


def _in(comparison: Comparison) -> str:
    """The metric, where the unit of its values does not say which it is: ` in p99 latency`."""
    known = metric_facts(comparison.metric).unit not in ("", "ms", "s", "%")
    return "" if known else f" in {short(comparison.metric)}"


def is_latency(comparison: Comparison) -> bool:
    """Whether a latency is compared: that is so many times lower or higher, since per cent would mean two things."""
    return "latency" in comparison.metric and metric_facts(comparison.metric).higher_is_better is False


def is_lower(comparison: Comparison) -> bool:
    """Whether a variant that is better is lower, not faster: a latency, or a count of what should be few."""
    facts = metric_facts(comparison.metric)
    return facts.higher_is_better is False and ("latency" in comparison.metric or facts.unit not in _TIMES)


def request_words(comparison: Comparison) -> str:
    """What requests of other work take: `a transaction of 9 rows takes 2.1 ms (p99), a transaction of 1 row 0.4 ms`."""
    assert comparison.requests is not None
    mine, other = comparison.requests
    guard = next((one for one in comparison.guards if one.requests == comparison.requests), None)
    if guard is None:
        return f"one request is {mine.words}, not {other.words}"
    which = short(guard.metric).removesuffix(" latency")
    times = milliseconds(guard.variant), milliseconds(guard.baseline)
    return f"{mine.words} takes {times[0]} ({which}), {other.words} {times[1]}"


def averaged_words(comparison: Comparison, study: Mapping[str, Any]) -> str:
    """The levels behind a mean of ratios: `2, 6 and 12 users`."""
    names = [label(levels, study) for levels in comparison.averaged]
    counted = [name.partition(" ") for name in names]
    if len({unit for _, _, unit in counted}) == 1 and all(amount[:1].isdigit() for amount, _, _ in counted):
        return f"{listed([amount for amount, _, _ in counted])} {counted[0][2]}".strip()
    return listed(names)


def _difference(comparison: Comparison, who: str, base: str) -> str:
    """`A is 1.5 × faster than B`; of a latency or a count `A: p99 latency is 3.5 × lower than that of B`."""
    assert comparison.ratio is not None
    size, up = effect_of(comparison.ratio, factor=is_latency(comparison)), comparison.ratio.value >= 1
    facts = metric_facts(comparison.metric)
    if facts.higher_is_better is None:
        return f"{who} is {size} {'larger' if up else 'smaller'} than {base}"
    if is_lower(comparison):
        return f"{who}: {short(comparison.metric)} is {size} {'lower' if up else 'higher'} than that of {base}"
    return f"{who} is {size} {'faster' if up else 'slower'} than {base}"


def _values(comparison: Comparison) -> str:
    if comparison.values is None:
        return ""
    return f": {pair(*comparison.values, metric_facts(comparison.metric).unit)}"


def _price(comparison: Comparison, at: str = "", who: str = "it", base: str = "the baseline") -> str:
    """What a result is paid with: a guard that got worse, at which load, what may be lost, a reserve that ends."""
    said = ""
    if comparison.worsened:
        more = len(comparison.worsened) - 1
        others = f" and {more} more {'guards' if more > 1 else 'guard'} worse" if more else ""
        slower = comparison.verdict in (Verdict.SLOWER, Verdict.SLOWER_SMALL)
        said = f", {'and' if slower else 'but'} {guard_words(comparison.worsened[0])}{others}{at}"
    if comparison.larger and not said and comparison.verdict in _BETTER:
        said = f", but {request_words(comparison)}"
    if comparison.losses:
        said += f"{'; ' if said else ', but '}it may lose data: {comparison.losses[0]}"
    mine, other = comparison.reserves
    if mine is not None and comparison.verdict in _BETTER:
        said += f"{'; ' if said else ', but '}{who} {mine.words}"
    elif other is not None and comparison.verdict not in (Verdict.FASTER, Verdict.FASTER_SMALL):
        said += f"{'; ' if said else ', but '}{base} {other.words}"
    return said


def _shared(comparison: Comparison, study: Mapping[str, Any]) -> str:
    """The levels both sides have in common, where some factor is not compared."""
    same = same_levels(comparison, study)
    at = f" at {label(same, study)}" if same else ""
    return f"{at} on average over {averaged_words(comparison, study)}" if comparison.averaged else at


def same_levels(compared: Comparison | Group, study: Mapping[str, Any]) -> Variant:
    """What variant and baseline have in common, and other variants of the study have not."""
    alike = {factor: level for factor, level in compared.variant.items() if compared.baseline.get(factor) == level}
    return without(alike, single(study))


def _of_comparisons(analysis: Analysis, study: Mapping[str, Any]) -> str:
    comparisons, decision = analysis.comparisons, analysis.decision
    if all(c.alike for c in comparisons) and len(comparisons) > 1:
        return _all_alike(analysis, study)
    over = capacity(analysis, study)
    told = decision.told
    if told is not None and told.decided:
        said = over_loads(told, analysis, study)
        same = [label(variant, study) for variant in decision.as_good]
        if same:
            said += (
                f" {_sentence(f'{listed(same)} {_no_more(same)} more within {percent(comparisons[0].margin)}', study)}"
            )
        return " ".join([said, *_others(analysis, study), *over])
    if len(comparisons) == 1:
        return claim(comparisons[0], study, analysis.round_s)
    different = sum(c.verdict in DECIDED for c in comparisons)
    if told is not None and told.alike and different:
        return " ".join(
            [
                _alike(told, study),
                f"Of {len(comparisons)} comparisons {different} {'shows' if different == 1 else 'show'} a difference.",
                *over,
            ]
        )
    open_ones = [c for c in comparisons if c.verdict is not Verdict.OVERLOADED]
    if over and (not open_ones or (told is not None and told.relieved)):
        return " ".join(over)
    return " ".join([*_open(open_ones, study, analysis.round_s), *over])


def _others(analysis: Analysis, study: Mapping[str, Any]) -> list[str]:
    """Who may be the best as well, and who gains more at a price."""
    decision, said = analysis.decision, []
    if decision.rivals:
        names = [label(variant, study) for variant in decision.rivals]
        said.append(_sentence(f"{listed(names)} {'is' if len(names) == 1 else 'are'} not told apart from it", study))
    dearer = decision.dearer
    if dearer is not None and dearer.decided:
        said.append(over_loads(dearer, analysis, study))
    return said


def _alike(told: Group, study: Mapping[str, Any]) -> str:
    """That the variant told of is equivalent to its baseline, where others are not."""
    first = told.comparisons[0]
    if len(told.comparisons) == 1:
        return claim(first, study)
    who = label(told.variant, study, apart_from=told.baseline)
    base = label(told.baseline, study, apart_from=told.variant)
    within = percent(first.margin)
    return _sentence(f"{who} and {base} are equivalent{_in(first)} within {within} at every load", study)


def _all_alike(analysis: Analysis, study: Mapping[str, Any]) -> str:
    """That no variant differs from its baseline, and what the dearest of them is paid with."""
    comparisons, groups = analysis.comparisons, analysis.decision.groups
    within = percent(comparisons[0].margin)
    bases = {label(group.baseline, study, apart_from=group.variant) for group in groups}
    among = f"{_in(comparisons[0])} within {within}"
    if len(groups) == 1:
        who = label(groups[0].variant, study, apart_from=groups[0].baseline)
        loads = "both loads" if len(comparisons) == 2 else f"all {len(comparisons)} loads"
        said = f"{who} and {' or '.join(bases)} are equivalent{among} at {loads}"
    else:
        who = "both variants" if len(groups) == 2 else f"all {len(groups)} variants"
        everywhere = " at every load" if len(comparisons) > len(groups) else _range(comparisons)
        said = f"{who} are equivalent to {' or '.join(sorted(bases))}{among}{everywhere}"
    dear = max((c for c in comparisons if c.worsened), key=lambda c: c.worsened[0].harm, default=None)
    dear = dear or next((c for c in comparisons if c.losses), None)
    price = _price(dear).removeprefix(", but ").removeprefix(", and ").removeprefix("; ") if dear is not None else ""
    more = [f"{label(dear.variant, study)}: {price}"] if dear is not None else []
    return _sentence(
        ", but ".join([said, *(["; ".join(paid)] if (paid := more + _ending(analysis, dear, study)) else [])]), study
    )


def _ending(analysis: Analysis, told: Comparison | None, study: Mapping[str, Any]) -> list[str]:
    """Who is alike only for as long as a reserve lasts: `a and b do so on burst credits (42 min more, then 300 IOPS)`.

    Of the comparison that is told of otherwise, what `_price` has said of it is left out.
    """
    ends: dict[str, Reserve] = {}
    for comparison in analysis.comparisons:
        mine, other = comparison.reserves
        sides = ((comparison.variant, comparison.baseline, mine), (comparison.baseline, comparison.variant, other))
        for side, apart, end in sides if comparison is not told else sides[1:] if mine is not None else ():
            if end is not None:
                name = label(without(side, analysis.loads), study, apart_from=apart)
                ends[name] = soonest([end, *([ends[name]] if name in ends else [])]) or end
    if not ends:
        return []
    first = min(ends.values(), key=lambda end: end.lasts_s)
    sources = listed(list(dict.fromkeys(end.source.value for end in ends.values())))
    return [f"{listed(list(ends))} {'does' if len(ends) == 1 else 'do'} so {sources} ({first.brief})"]


def _range(comparisons: Sequence[Comparison]) -> str:
    """The values of several variants against one baseline: `: 990 to 1,010 against 1,000 IOPS`."""
    values = [c.values for c in comparisons if c.values is not None]
    if not values or len({other for _, other in values}) > 1:
        return ""
    unit = metric_facts(comparisons[0].metric).unit
    ends = list(dict.fromkeys(number(end) for end in (min(v for v, _ in values), max(v for v, _ in values))))
    return f": {' to '.join(ends)} against {quantity(values[0][1], unit)}"


def _no_more(names: Sequence[str]) -> str:
    return "brings no" if len(names) == 1 else "bring no"


def over_loads(group: Group, analysis: Analysis, study: Mapping[str, Any]) -> str:
    """A variant with a difference, at the loads that show one: figures at the lowest first."""
    loads, comparisons = analysis.loads, analysis.comparisons
    first = group.decided[0]
    if not loads or len(group.comparisons) == 1:
        said = claim(first, study)
        if len(comparisons) == 1:
            return said
        more = f"{_rank(first, [c for c in comparisons if c.verdict in DECIDED])} of {len(comparisons)} comparisons."
        return f"{said} This is {more}" if _price(first) else f"{said[:-1]}; {more}"
    assert first.ratio is not None
    unit = metric_facts(first.metric).unit
    who = label(group.variant, study, apart_from=group.baseline)
    base = label(group.baseline, study, apart_from=group.variant)
    same = same_levels(group, study)
    among = f" with {label(same, study)}" if same else ""

    def at(comparison: Comparison) -> str:
        values = f" ({pair(*comparison.values, unit)})" if comparison.values is not None else ""
        return f" at {load_words(comparison.variant, loads, study)}{values}"

    said = f"{_difference(first, who, base)}{among}{at(first)}"
    for comparison in _shown(group)[1:]:
        if comparison.ratio is not None:
            way = "" if (comparison.ratio.value >= 1) == (first.ratio.value >= 1) else " the other way"
            said += f", {effect_of(comparison.ratio, factor=is_latency(comparison))}{way}{at(comparison)}"
    worst = group.paid
    price = _price(first) if worst is None else _price(worst, f" at {load_words(worst.variant, loads, study)}")
    unknown = [f"at {load_words(c.variant, loads, study)} {unknown_words(c)}" for c in group.unknown[:_MOST_BESIDE]]
    rest = len(group.unknown) - len(unknown)
    unknown += [f"at {rest} more {'loads' if rest > 1 else 'load'} it is not known"] if rest > 0 else []
    return _sentence("; ".join([f"{said}{price}", *unknown]), study)


def unknown_words(comparison: Comparison) -> str:
    """Why a comparison does not tell which side is better: `it is undecided (2,738 against 5,127 IOPS, ...)`."""
    if comparison.verdict is Verdict.NOT_COMPARABLE or comparison.ratio is None:
        why = comparison.reasons[0] if comparison.reasons else "no complete round"
        return f"it is not comparable ({why.rstrip('.')})"
    values = _values(comparison).removeprefix(": ")
    return f"it is undecided ({values + ', ' if values else ''}{open_evidence(comparison, comparison.ratio)})"


def _rank(told: Comparison, decided: Sequence[Comparison]) -> str:
    """What one is of several: it need not be the best, where goals or a smaller size decide."""
    if told is largest(decided):
        return "the largest"
    ratios = [c.ratio.value for c in decided if c.ratio is not None]
    best = told.ratio is not None and told.ratio.value >= max(ratios, default=0.0)
    return "the best" if best else "one"


def _shown(group: Group) -> Sequence[Comparison]:
    """The differences that are told: the first, and among them one of each direction."""
    shown, rest = group.decided[:_MOST_LOADS], group.decided[_MOST_LOADS:]

    def up(comparison: Comparison) -> bool:
        return comparison.ratio is not None and comparison.ratio.value >= 1

    other = next((c for c in rest if up(c) != up(shown[0])), None)
    alike = all(up(c) == up(shown[0]) for c in shown)
    return (*shown[:-1], other) if other is not None and alike else shown


def largest(decided: Sequence[Comparison]) -> Comparison:
    """The comparison whose ratio is farthest from 1, in either direction."""
    return max(
        decided, key=lambda c: abs(math.log(c.ratio.value)) if c.ratio is not None and c.ratio.value > 0 else 0.0
    )


def _without_verdict(comparisons: Sequence[Comparison], study: Mapping[str, Any]) -> str:
    """How comparisons ended that found no difference, and with what."""
    bases = {label(c.baseline, study, apart_from=c.variant) for c in comparisons}
    alone = len(comparisons) == 1
    among = f"{len(comparisons)} comparison{'' if alone else 's'}{f' with {bases.pop()}' if len(bases) == 1 else ''}"
    have = max((c.ratio.n for c in comparisons if c.ratio is not None), default=0)
    if all(c.verdict is Verdict.FIXED for c in comparisons):
        return f"the arrivals fix the {short(comparisons[0].metric)}, so it shows no difference in {among}"
    if all(c.verdict is Verdict.UNDECIDED for c in comparisons):
        after = f" after {rounds(have)}" if have else ""
        none = f"{among} shows no difference" if alone else f"none of {among} shows a difference"
        return f"{none}{_in(comparisons[0])}{after}"
    count = {v: sum(c.verdict is v for c in comparisons) for v in dict.fromkeys(c.verdict for c in comparisons)}
    told = ", ".join(f"{amount} {verdict.value}" for verdict, amount in count.items())
    return f"of {among} none shows a difference{_in(comparisons[0])}: {told}"


def _open(comparisons: Sequence[Comparison], study: Mapping[str, Any], round_s: float | None) -> list[str]:
    """Several comparisons without a difference: how they ended, what was seen with its range, and what would decide."""
    told = [c for c in comparisons if c.ratio is not None and (c.verdict is not Verdict.FIXED or differing(c))]
    # What differs beside the metric must not be left to "more below".
    seen = [_seen(c, study) for c in differing_first(told)]
    more = f"; {len(seen) - _MOST_LOADS} more below" if len(seen) > _MOST_LOADS else ""
    said = [_sentence(_without_verdict(comparisons, study), study)]
    said += [_sentence("; ".join(seen[:_MOST_LOADS]) + more, study)] if seen else []
    undecided = [c for c in comparisons if c.verdict is Verdict.UNDECIDED and c.stood_still is None]
    return [*said, _sentence(needed(undecided, round_s), study)] if undecided else said


def _seen(comparison: Comparison, study: Mapping[str, Any]) -> str:
    """What a comparison that shows nothing saw: `B: 984 against 962 IOPS (95 % interval −4 % to 8.8 %)`."""
    assert comparison.ratio is not None
    who = label(comparison.variant, study, apart_from=comparison.baseline)
    if comparison.verdict is Verdict.FIXED:
        return f"{who}{_shared(comparison, study)}: {seen_beside(comparison, _MOST_BESIDE)}"
    values = _values(comparison) or f": {quotient(comparison, comparison.ratio)[0]}"
    sure = open_evidence(comparison, comparison.ratio).removesuffix(f", {rounds(comparison.ratio.n)}")
    return f"{who}{_shared(comparison, study)}{values} ({sure}){joined_beside(comparison, _MOST_BESIDE)}"


def open_evidence(comparison: Comparison, ratio: Estimate) -> str:
    """What stands behind a ratio that has no better side: one that is undecided, or equivalent."""
    if not ratio.has_interval or ratio.low == ratio.high or tells_nothing(ratio):
        return evidence(ratio)
    return f"{level(ratio.level)} interval {quotient(comparison, ratio)[1]}, {rounds(ratio.n)}"


def quotient(comparison: Comparison, ratio: Estimate) -> tuple[str, str]:
    """A ratio of a comparison and its interval, as the quotient of the values beside it: it has no better side.

    A change in per cent, or a factor where the interval is wide: `−1.7 % to 11 %`, `0.34 to 3.73 ×`.
    """
    value, low, high = ratio.value, ratio.low, ratio.high
    if metric_facts(comparison.metric).higher_is_better is False:
        value, low, high = 1 / value, 1 / high, 1 / low if low > 0 else math.inf
    if 0 < high <= _WIDE * low:
        return percent(value - 1), f"{percent(low - 1)} to {percent(high - 1)}"
    ends = (boundless(end, value) or number(end) for end in (low, high))
    return f"{number(value)} ×", f"{' to '.join(ends)} ×"


def _of_sweeps(analysis: Analysis, tables: Sequence[LoadTable], study: Mapping[str, Any]) -> str:
    """Where each table of loads saturates; empty without a table."""
    return " ".join(_sentence(text, study) for text in of_sweeps(analysis.knees, tables[:_MOST_LOADS], study))


def _of_predictions(predictions: Sequence[Prediction], study: Mapping[str, Any]) -> str:
    given = [p for p in predictions if p.relative_error is not None]
    independent = [p for p in given if not p.calibrated]
    open_cells = [p for p in predictions if p.published is None and p.predicted is not None]
    parts = []
    if independent:
        met = sum(abs(p.relative_error or 0.0) <= WITHIN for p in independent)
        errors = ", ".join(f"{(p.relative_error or 0.0) * 100:+.0f} %".replace("-", "−") for p in independent[:4])
        checks = "check" if len(independent) == 1 else "checks"
        parts.append(
            f"{met} of {len(independent)} independent {checks} held within {percent(WITHIN)} (off by {errors})"
        )
    fitted = len(given) - len(independent)
    if fitted:
        parts.append(f"{fitted} published {'cell was' if fitted == 1 else 'cells were'} used for calibration")
    if open_cells:
        parts.append(f"{len(open_cells)} unpublished {'cells are' if len(open_cells) > 1 else 'cell is'} predicted")
    missing = len(predictions) - len(given) - len(open_cells)
    if missing:
        parts.append(f"{missing} could not be predicted")
    return _sentence("; ".join(parts), study)


def _sentence(text: str, study: Mapping[str, Any]) -> str:
    return capital(text, given_names(study)).rstrip(".") + "."
