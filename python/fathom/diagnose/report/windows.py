"""Windows of a log: given by the user, or chosen from the episodes that differ most."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from fathom.errors import UsageError

if TYPE_CHECKING:
    from fathom.diagnose.diagnose import Diagnosis
    from fathom.diagnose.evidence.device import Device, Flags
    from fathom.diagnose.evidence.episodes import Episode
    from fathom.diagnose.report.clock import LogClock

_FORM = re.compile(
    r"(?:(\d{4}-\d\d-\d\d)[T ])?(\d\d?:\d\d(?::\d\d)?)(?:Z(?=.*Z$))?-(\d\d?:\d\d(?::\d\d)?) ?(Z|UTC)?", re.I
)
_HOW = "write it as 02:00-02:10 in the log's local time, 2026-03-02T02:00-02:10, or with Z behind it in UTC"
_SHORTEST_SHARE = 0.02
_LIKE = 0.2
_DIFFERS = 1.5


@dataclass(frozen=True)
class Window:
    """One window: its name, nanoseconds since 1970 in UTC; samples belong to it whose interval ends within."""

    label: str
    start_ns: int
    end_ns: int

    def of(self, device: Device) -> Flags:
        """The device's moments in the window."""
        inside: Flags = (device.times_ns > self.start_ns) & (device.times_ns <= self.end_ns)
        return inside


def parse(text: str, device: Device, clock: LogClock) -> Window:
    """A window as people write it; without a date on the first day on which the log has samples at that time.

    Raises:
        UsageError: it cannot be read, or the log has no sample in it.
    """
    found = _FORM.fullmatch(text.strip())
    if not found:
        raise UsageError(f'--compare "{text}" is no window', _HOW)
    date, begin, end, utc = found.groups()
    first, last = int(device.times_ns[0]), int(device.times_ns[-1])
    spans = []
    try:
        zone = "+00:00" if utc else ""
        around = [clock.local(first).date() + timedelta(days=day) for day in range(-1, 1 + _days(first, last))]
        for day in [date] if date else [each.isoformat() for each in around]:
            start, stop = (datetime.fromisoformat(f"{day}T{each.zfill(len(each) + (each[1] == ':'))}{zone}")
                           for each in (begin, end))  # fmt: skip
            spans.append((clock.ns(start), clock.ns(stop if stop > start else stop + timedelta(days=1))))
    except ValueError as error:
        raise UsageError(f'--compare "{text}" is no window: {error}', _HOW) from None
    for start_ns, end_ns in spans:
        window = Window(clock.span(start_ns, end_ns), start_ns, end_ns)
        if window.of(device).any():
            return window
    raise UsageError(
        f'--compare "{text}": the log has no sample in it', f"it holds {clock.span(first, last)} {clock.name}"
    )


def _days(first_ns: int, last_ns: int) -> int:
    return 2 + (last_ns - first_ns) // 86_400_000_000_000


def chosen(diagnosis: Diagnosis, device: Device, clock: LogClock) -> list[Window]:
    """The decisive window, and beside it the one with the lowest latency under a comparable load; one or two.

    The decisive one is the episode that costs most: requests outstanding × time.
    """
    mine = [each for each in diagnosis.episodes if each.device == device.name and math.isfinite(each.latency_s)]
    length = sum(each.end_ns - each.start_ns for each in mine)
    mine = [each for each in mine if each.end_ns - each.start_ns >= _SHORTEST_SHARE * length]
    if not mine:
        return [_window(int(device.times_ns[0]) - 1, int(device.times_ns[-1]), clock)] if len(device.times_ns) else []
    worst = max(mine, key=lambda each: each.latency_s * max(each.iops, 1.0))
    better = [each for each in mine if each is not worst and each.iops >= _LIKE * worst.iops]
    best = min(better, key=lambda each: each.latency_s, default=None)
    windows = [worst] + ([best] if best is not None and worst.latency_s > _DIFFERS * best.latency_s else [])
    return [_of(each, clock) for each in windows]


def _of(episode: Episode, clock: LogClock) -> Window:
    return _window(episode.start_ns, episode.end_ns, clock)


def _window(start_ns: int, end_ns: int, clock: LogClock) -> Window:
    return Window(clock.span(start_ns, end_ns), start_ns, end_ns)


def pictured(diagnosis: Diagnosis) -> Device | None:
    """The device that the pictures show: that of the verdict, else of the first finding about one, else the busiest."""
    volumes = diagnosis.system.nearest
    rules = [finding for finding in diagnosis.findings if finding.rule == diagnosis.verdict.rule]
    for finding in (*rules, *diagnosis.findings):
        names = [finding.subject, *(evidence.where for evidence in finding.evidence)]
        for name in names:
            for device in volumes:
                if device.name == name and len(device.times_ns):
                    return device
    return next((device for device in volumes if len(device.times_ns)), None)


def places(device: Device, windows: Sequence[Window]) -> np.ndarray:
    """For each moment the place of the first window that holds it; the number of windows for the rest of the log."""
    found = np.full(len(device.times_ns), len(windows))
    for place in reversed(range(len(windows))):
        found[windows[place].of(device)] = place
    return found
