"""How each verdict is said: its sign, its tone, and its words. Sign and words carry the meaning, not the tone."""

from __future__ import annotations

from fathom.analysis.model import Comparison, Verdict
from fathom.report.document import Tone
from fathom.report.format import percent, plural

_SIGNS: dict[Verdict, tuple[str, Tone]] = {
    Verdict.FASTER: ("▲", Tone.GOOD),
    Verdict.SLOWER: ("▼", Tone.BAD),
    Verdict.FASTER_SMALL: ("△", Tone.GOOD),
    Verdict.SLOWER_SMALL: ("▽", Tone.BAD),
    Verdict.EQUIVALENT: ("=", Tone.PLAIN),
    Verdict.UNDECIDED: ("?", Tone.WARN),
    Verdict.NOT_COMPARABLE: ("!", Tone.WARN),
}


def sign(verdict: Verdict) -> str:
    """One character that stands for the verdict."""
    return _SIGNS[verdict][0]


def tone(verdict: Verdict) -> Tone:
    """The tone of the verdict's colour."""
    return _SIGNS[verdict][1]


def words(comparison: Comparison) -> str:
    """The verdict in words, with its margin or the rounds it still needs."""
    if comparison.verdict is Verdict.EQUIVALENT:
        return f"equivalent within {percent(comparison.margin)}"
    if comparison.verdict is Verdict.UNDECIDED and comparison.more_rounds is not None:
        return f"undecided, about {plural(comparison.more_rounds, 'more round')}"
    return comparison.verdict.value
