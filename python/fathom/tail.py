"""How many requests stand behind a percentile. Pure.

The 99.9th percentile of 462 requests is their maximum, and says nothing of one in a thousand. Goals, searches and
tables ask here whether enough requests lie beyond a percentile. Runs of a variant count together: a limit that every
one of them keeps is kept by all of their requests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from fathom.results import Run
from fathom.unanswered import quantile, rate

BEYOND = 10
"""Requests that must lie beyond a percentile, so that it is known to about a third of its own share."""

_OF_ONE_KIND = re.compile(r"^(read|write)_latency_p")


@dataclass(frozen=True)
class Few:
    """A percentile that cannot be told: the requests behind it, and how many it takes."""

    requests: int
    needed: int


def few(name: str, runs: Iterable[Run]) -> Few | None:
    """Why a percentile of some runs cannot be told; None where it can, or where nothing was counted.

    What has no count of its own has at most as many requests as the whole run.
    """
    share = quantile(name)
    counted = [count for run in runs if run.ok and (count := _requests(name, run)) is not None]
    if share is None or not counted:
        return None
    needed = round(BEYOND / (1 - share))
    return Few(round(sum(counted)), needed) if sum(counted) < needed else None


def _requests(name: str, run: Run) -> float | None:
    lasted = run.measured_s or run.metrics.get("elapsed_s")
    kind = _OF_ONE_KIND.match(name)
    per_second = run.metrics.get(f"{kind[1]}_iops") if kind else rate(run)
    return None if per_second is None or not lasted else per_second * lasted
