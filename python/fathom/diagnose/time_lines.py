"""Times on lines of their own, as loops and OSWatcher write them above each call of a tool."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from fathom.diagnose.iostat import is_stamp

_DATE = re.compile(
    r"(?:zzz \*{3})?[A-Z][a-z]{2} +(?:([A-Z][a-z]{2}) +(\d{1,2})|(\d{1,2}) +([A-Z][a-z]{2})) +"
    r"(?:(\d{4}) +)?(\d\d:\d\d:\d\d)(?: ([AP]M))?(?: +([A-Z]{2,5}|[+-]\d\d))?(?: +(\d{4}))?"
)
"""What date(1) prints in English, also behind the mark of OSWatcher."""
_EPOCH = re.compile(r"\d{10}(?:\.\d{1,9})?")


def time_line(text: str) -> str | None:
    """The time that a line holds and nothing else, as `iostat.stamps` reads it; None for any other line."""
    return in_numbers(text) or dated(text)


def in_numbers(text: str) -> str | None:
    """The time of a line that begins with a number: seconds since 1970, or as iostat prints it between its reports."""
    if not text[:1].isdigit():
        return None
    if _EPOCH.fullmatch(text):
        return datetime.fromtimestamp(float(text), UTC).isoformat()
    return text if is_stamp(text) else None


def dated(text: str) -> str | None:
    """The time of a line that date(1) or OSWatcher wrote, which no tool prints in its reports."""
    found = _DATE.fullmatch(text)
    if found is None:
        return None
    year, half = found[5] or found[9], found[7]
    form = "%Y %b %d %I:%M:%S %p" if half else "%Y %b %d %H:%M:%S"
    words = (year, found[1] or found[4], found[2] or found[3], found[6], half)
    try:
        moment = datetime.strptime(" ".join(word for word in words if word), form)
    except ValueError:
        return None
    zone = found[8] or ""
    offset = "+00:00" if zone in {"UTC", "GMT"} else f"{zone}:00" if zone[:1] in {"+", "-"} else ""
    return moment.isoformat() + offset
