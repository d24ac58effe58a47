"""How many rounds are missing, in words, where there is no verdict yet. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from fathom.analysis.model import Comparison
from fathom.analysis.words import rounds, time

WORTH = 100
"""Rounds beyond which the cause of the scatter comes first."""

_TOO_FEW = {1: "one round is", 2: "two rounds are"}


def needed(undecided: Sequence[Comparison], round_s: float | None) -> str:
    """What would decide: `about 6 rounds more needed (12 min)`, of several comparisons from the first to the last."""
    known = sorted({c.more_rounds for c in undecided if c.more_rounds})
    if not known:
        return "no affordable number of rounds would decide"
    have = max((c.ratio.n for c in undecided if c.ratio is not None), default=0)
    scatter = "find the cause of the scatter before adding rounds"
    worth = known if have in _TOO_FEW else [more for more in known if more <= WORTH]
    if not worth:
        return scatter
    ends = [worth[0], worth[-1]] if len(worth) > 1 else worth
    more = " to ".join(f"{end:,}" for end in ends[:-1]) + (" to " if len(ends) > 1 else "")
    takes = f" ({' to '.join(time(end * round_s) for end in ends)})" if round_s else ""
    if have in _TOO_FEW:
        return f"{_TOO_FEW[have]} too few to tell how many are missing; run {ends[-1]} more{takes}"
    rest = sum(c.more_rounds not in worth for c in undecided)
    why = scatter if len(worth) < len(known) else "no affordable number would decide"
    left = f"; for {rest} of {len(undecided)} {why}" if rest else ""
    return f"about {more}{rounds(ends[-1])} more needed{takes}{left}"
