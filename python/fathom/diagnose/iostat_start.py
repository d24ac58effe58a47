"""Whether a report of iostat covers the time since the machine's start, as its first one does without -y."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fathom.diagnose.iostat_command import Command
from fathom.diagnose.iostat_interval import (
    ALL_COUNTS,
    COUNTS,
    STEPS_S,
    Disks,
    amounts_over,
    interval_of,
    is_count,
    rates,
    shortest,
)

_NO_REQUEST = 0.5
"""Requests in an interval that are less than one, however long it was really."""
_OTHER_LENGTH = 0.2
"""Relative difference of the first report's length from the others' that no late start of iostat makes."""
_LONG_S = 10.0
"""A report that covers more is no usual interval, if it is none of the longer ones."""
_MUCH_LONGER = 5.0
"""How much more the first report covers than rates of the others show."""
_CHANCE = 0.0001
"""How likely rates may be counts over another time by chance."""
_LONGEST_S = 3600.0
"""Nobody waits longer for one report."""


def first_is_since_start(
    first: Disks, others: Sequence[Disks], stamped: float | None, command: Command | None = None
) -> bool:
    """Whether the first report covers the time since the start: its rates are no counts over the interval of the
    others, or it lists devices that were never used again.

    Args:
        first: the first report.
        others: the reports behind it, at least one.
        stamped: the usual interval by the reports' times, s; None where they have none.
        command: the command line above them.
    """
    used, others = rates([first]), [disks for disks in others if disks][:20]
    if not used or (command is not None and command.from_now):
        return False
    lengths, usual = amounts_over(first), interval_of(others)
    if lengths and usual is not None:
        return abs(max(lengths) / usual.seconds - 1) > _OTHER_LENGTH
    step: float | None = None if usual is None else usual.seconds
    if stamped is not None and any(rate * stamped < _NO_REQUEST for rate in used):
        return True
    if step is None and stamped is not None and stamped <= STEPS_S[-1]:
        few = [rate for rate in rates(others) if rate * stamped <= 50]
        # A known interval needs less proof: some intervals are longer than they should be.
        step = stamped if few and sum(is_count(rate, stamped) for rate in few) >= 0.75 * len(few) else None
    low = [rate for rate in used if step is not None and rate * step <= 50]
    if step is not None and low:
        return sum(is_count(rate, step) for rate in low) < 0.5 * len(low)
    if command is not None and command.seconds is not None and _since_start_by(command.seconds, command, first):
        return True
    if stamped is None and step is None and _covers_more(first, others):
        return True
    never_again = [
        device
        for device, columns in first.items()
        if any(columns.get(name) for name in COUNTS)
        and not any(report.get(device, {}).get(name) for report in others for name in COUNTS)
    ]
    return bool(others) and len(never_again) >= max(1, len(first) // 3)


def only_is_since_start(disks: Disks, command: Command | None) -> bool:
    """Whether a report without others covers the time since the start."""
    if not rates([disks], ALL_COUNTS) or (command is not None and command.from_now):
        return False
    if command is not None and command.seconds is None:
        return True
    lengths = amounts_over(disks)
    if lengths:
        return float(np.median(lengths)) > _LONGEST_S
    if command is not None and command.seconds is not None:
        return _since_start_by(command.seconds, command, disks)
    least = shortest(disks)
    steps = [step for step in (*STEPS_S, 60) if step >= least]
    return least > _LONG_S and not any(_counted_over(disks, step, 0.9) for step in steps)


def _since_start_by(seconds: int, command: Command, disks: Disks) -> bool:
    """Whether the first report below a command line without -y is no later one: those above may have been left out."""
    low = [rate for rate in rates([disks], ALL_COUNTS) if rate * seconds <= 50]
    return (command.headed or bool(low)) and not _counted_over(disks, seconds)


def _counted_over(disks: Disks, seconds: float, most: float = 0.5) -> bool:
    """Whether at least a share of rates are whole counts over so many seconds: the low ones, which some milliseconds
    more do not change, else all as printed.
    """
    found = rates([disks], ALL_COUNTS)
    low = [rate for rate in found if rate * seconds <= 50]
    if low:
        return sum(is_count(rate, seconds) for rate in low) >= most * len(low)
    exact = [_is_whole(rate, seconds) for rate in found]
    return sum(exact) >= most * len(exact)


def is_surely_counted_over(disks: Disks, seconds: float) -> bool:
    """Whether rates are whole counts over so many seconds, the low ones or all as printed, and too many for chance."""
    found = set(rates([disks], ALL_COUNTS))
    low = {rate for rate in found if rate * seconds <= 50}
    whole = found if all(_is_whole(rate, seconds) for rate in found) else low
    by_chance = min(1.0, 0.01 * seconds)
    return by_chance ** len(whole) <= _CHANCE and all(is_count(rate, seconds) for rate in low)


def _is_whole(rate: float, seconds: float) -> bool:
    """Whether a rate as printed is a whole count over so many seconds."""
    return abs(round(round(rate * seconds) / seconds, 2) - rate) < 1e-6


def _covers_more(first: Disks, others: Sequence[Disks]) -> bool:
    """Whether the first report has rates so low that it covers far more time than the others need to."""
    found = shortest(first)
    return found > _LONG_S and bool(others) and found > _MUCH_LONGER * max(map(shortest, others))
