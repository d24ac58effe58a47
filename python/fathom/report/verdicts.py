"""How each verdict is said: its sign, its tone, and its words. Sign and words carry the meaning, not the tone."""

from __future__ import annotations

from collections.abc import Sequence

from fathom.analysis.beside import change_words, differing
from fathom.analysis.guard import Guard
from fathom.analysis.headline import is_lower
from fathom.analysis.missing import WORTH
from fathom.analysis.model import Comparison, Verdict
from fathom.analysis.words import quantity, short
from fathom.metrics import metric
from fathom.report.document import Tone
from fathom.report.format import percent, plural

_TOO_FEW = 2
"""Rounds that tell nothing about how many are missing."""

_LOWER = {
    Verdict.FASTER: "lower",
    Verdict.SLOWER: "higher",
    Verdict.FASTER_SMALL: "lower, but small",
    Verdict.SLOWER_SMALL: "higher, but small",
}
"""A latency or a count is lower, not faster."""

_SIGNS: dict[Verdict, tuple[str, Tone]] = {
    Verdict.FASTER: ("▲", Tone.GOOD),
    Verdict.SLOWER: ("▼", Tone.BAD),
    Verdict.FASTER_SMALL: ("△", Tone.GOOD),
    Verdict.SLOWER_SMALL: ("▽", Tone.BAD),
    Verdict.EQUIVALENT: ("=", Tone.PLAIN),
    Verdict.UNDECIDED: ("?", Tone.WARN),
    Verdict.OVERLOADED: ("!", Tone.BAD),
    Verdict.FIXED: ("!", Tone.WARN),
    Verdict.NOT_COMPARABLE: ("!", Tone.WARN),
}


def sign(verdict: Verdict) -> str:
    """One character that stands for the verdict."""
    return _SIGNS[verdict][0]


def tone(comparison: Comparison) -> Tone:
    """The tone of the verdict's colour: amber for a better or equal result that has a price."""
    found = _SIGNS[comparison.verdict][1]
    fine = found in (Tone.GOOD, Tone.PLAIN)
    return Tone.WARN if fine and (price(comparison) or comparison.flipped) else found


def tone_of_all(comparisons: Sequence[Comparison]) -> Tone:
    """The tone of an answer that rests on several comparisons: good only if each is, and no guard is in doubt."""
    found = {tone(comparison) for comparison in comparisons}
    if found == {Tone.BAD}:
        return Tone.BAD
    doubtful = any(comparison.unclear or comparison.may_be(better=False) for comparison in comparisons)
    return Tone.WARN if doubtful or found & {Tone.WARN, Tone.BAD} else Tone.GOOD if Tone.GOOD in found else Tone.PLAIN


def price(comparison: Comparison) -> str:
    """What a better or equal result, or one without a verdict, is paid with; empty where nothing is."""
    worse = [guard for guard in differing(comparison) if guard.worse]
    if comparison.verdict not in (Verdict.FASTER, Verdict.FASTER_SMALL, Verdict.EQUIVALENT) and not worse:
        return ""
    said = ["not at every level"] if comparison.contrary else []
    if comparison.worsened:
        guard = (worse or comparison.worsened)[0]
        said.append(f"{short(guard.metric)} {grown(guard)}{' worse' if guard.change is not None else ''}")
    elif comparison.larger and comparison.requests is not None:
        rows = comparison.requests[0].unit == "rows"
        said.append("in larger transactions" if rows else "with larger requests")
    if comparison.losses:
        said.append("it may lose data")
    reserve = comparison.reserves[0]
    if reserve is not None:
        said.append(reserve.source.value)
    if comparison.repeated is not None:
        said.append("runs failed first")
    return " and ".join(said)


def grown(guard: Guard) -> str:
    """How much worse a guard is: `2.7 ×`, or its own value where the baseline's is next to nothing: `51.8 s`."""
    if guard.change is not None:
        return change_words(guard, guard.change)
    return "more" if guard.left_out is not None else quantity(guard.variant, metric(guard.metric).unit)


def brief(comparison: Comparison) -> str:
    """The verdict for a chart, where there is room for 35 letters: without its margin, of its price what is short."""
    paid = price(comparison)
    if comparison.reserves[0] is not None and paid == comparison.reserves[0].source.value:
        return f"{name(comparison)}, {paid}"
    if paid:
        # How many rounds are missing leaves no room for the price, which a reader must not miss.
        undecided = comparison.verdict is Verdict.UNDECIDED
        return f"{name(comparison) if undecided else words(comparison).split(', but ')[0]}, at a price"
    return f"{name(comparison)}, on assumptions" if comparison.flipped else words(comparison)


def name(comparison: Comparison) -> str:
    """The verdict alone, for counts: a latency or a count is lower, not faster."""
    lower = is_lower(comparison)
    return _LOWER.get(comparison.verdict, comparison.verdict.value) if lower else comparison.verdict.value


def words(comparison: Comparison) -> str:
    """The verdict in words, with its price, its margin or the rounds it still needs."""
    if comparison.verdict is Verdict.UNDECIDED and comparison.more_rounds is not None:
        few = comparison.ratio is None or comparison.ratio.n <= _TOO_FEW
        worth = comparison.more_rounds <= WORTH
        more = f"about {plural(comparison.more_rounds, 'more round')}" if worth else "too much scatter"
        said = f"undecided, {'too few rounds' if few else more}"
    else:
        said = name(comparison)
    if comparison.verdict is Verdict.EQUIVALENT:
        said = f"equivalent within {percent(comparison.margin)}"
    paid = price(comparison) or ("only if the assumptions hold" if comparison.flipped else "")
    return f"{said}, but {paid}" if paid else said
