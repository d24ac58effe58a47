"""Figures of a probe as text."""

from __future__ import annotations


def time_words(milliseconds: float) -> str:
    """A time with three significant digits at most."""
    return f"{milliseconds * 1e3:.3g} µs" if milliseconds < 0.1 else f"{milliseconds:.3g} ms"
