"""What a program said, shortened to why it failed: what it prints after the cause is often longer than the cause."""

from __future__ import annotations

import re

_NAMES = re.compile(
    r"FATAL|PANIC|ERROR|(?i:error:|could not|cannot|no space left|unrecognized configuration|invalid value)"
)
"""What marks a line that names an error."""

_USAGE = re.compile(r"\s*usage:", re.IGNORECASE)
_MOST = 3


def naming(text: str) -> list[str]:
    """The lines that name an error."""
    return [line.strip() for line in text.splitlines() if _NAMES.search(line)]


def cause(text: str) -> str:
    """In one line the first lines that name an error, else the first ones and the last; how to call it is left out."""
    named = naming(text)
    if named:
        return "; ".join(named[:_MOST])
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    usage = next((index for index, line in enumerate(lines) if _USAGE.match(line)), 0)
    kept = lines[:usage] or lines
    return "; ".join(kept if len(kept) <= _MOST else [*kept[: _MOST - 1], kept[-1]])
