"""Student's t distribution by the functions of scipy.special: scipy.stats takes a second to import, these do not."""

from __future__ import annotations

from typing import Any


def quantile(upper: Any, freedom: Any) -> Any:
    """The value that t exceeds with probability `upper`."""
    from scipy.special import stdtrit

    return -stdtrit(freedom, upper)


def tail(value: Any, freedom: Any) -> Any:
    """The probability that t exceeds the value."""
    from scipy.special import stdtr

    return stdtr(freedom, -value)
