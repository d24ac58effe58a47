"""Student's t distribution by the functions of scipy.special: scipy.stats takes a second to import, these do not."""

from __future__ import annotations

from functools import lru_cache


@lru_cache(maxsize=1024)
def quantile(upper: float, freedom: float) -> float:
    """The value that t exceeds with probability `upper`."""
    from scipy.special import stdtrit

    return -float(stdtrit(freedom, upper))


def tail(value: float, freedom: float) -> float:
    """The probability that t exceeds the value."""
    from scipy.special import stdtr

    return float(stdtr(freedom, -value))
