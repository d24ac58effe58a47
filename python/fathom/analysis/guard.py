"""The types of what a better result may not be paid with; `guards.py` judges them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fathom.unanswered import STANDSTILL, LeftOut


@dataclass(frozen=True)
class Request:
    """What one request or transaction of a workload is.

    Attributes:
        words: with an article: `a transaction of 100 rows`.
        unit: what `size` counts, `rows` or `bytes`.
        size: how much it moves, on average; infinite for all that a run moves.
    """

    words: str
    unit: str
    size: float


@dataclass(frozen=True)
class Guard:
    """A metric that a better result may not pay with.

    Attributes:
        change: how many times worse the variant is, geometric mean over rounds; None where a side is next to nothing
            in some round.
        variant, baseline: mean over the rounds both have, in the metric's unit.
        worse: beyond the guard margin, and certain where there are rounds enough to tell.
        unclear: neither that, nor shown to be within the guard margin.
        better: as `worse`, the other way round.
        most: of one that is unclear, how many times worse it may be; None where the rounds do not bound it.
        more_rounds: of one that is unclear, about how many more rounds would tell; None if not affordable to say.
        requests: of a latency whose requests are other work in the variant than in the baseline, both: that is told and
            judges nothing. None where they are the same.
        left_out: of a latency, what it leaves out of the variant's worst run, where that is more than the percentile
            may: then it is worse, whatever the completed requests took.
    """

    metric: str
    change: float | None
    variant: float
    baseline: float
    worse: bool
    unclear: bool = False
    requests: tuple[Request, Request] | None = None
    left_out: LeftOut | None = None
    better: bool = False
    most: float | None = None
    more_rounds: int | None = None

    @property
    def harm(self) -> tuple[bool, bool, bool, float]:
        """What sorts guards: certain ones first, of those standstills, then the larger change."""
        of_all = self.metric in _OF_ALL
        size = math.inf if self.change is None and self.worse else self.change or 1.0
        size = self.variant if self.stood_still else size * _ALIKE if of_all else size
        return self.worse, self.unclear, self.stood_still or (of_all and not self.worse), size

    @property
    def stood_still(self) -> bool:
        """Whether it is a standstill that the variant has and the baseline has not: more rounds cannot change that."""
        return self.worse and self.metric == STANDSTILL


_OF_ALL = ("latency_p99_ms", "errors", "refused")
_ALIKE = 1.1
"""A guard of all requests is told before another one that changed up to so many times as much."""
