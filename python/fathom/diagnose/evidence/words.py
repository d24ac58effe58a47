"""Numbers of findings as text, with units; and evidence with its device and time range."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fathom.finding import Evidence
from fathom.report.format import significant

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Flags


def number(value: float) -> str:
    """Three significant digits, thousands separators."""
    return significant(value)


def time(seconds: float) -> str:
    """A time in ms; above 10 s in s."""
    return f"{significant(seconds)} s" if seconds >= 10 else f"{significant(seconds * 1e3)} ms"


def length(seconds: float) -> str:
    """A length of time in s, min or h."""
    unit, word = (1.0, "s") if seconds < 120 else (60.0, "min") if seconds < 5400 else (3600.0, "h")
    return f"{significant(seconds / unit, 2)} {word}"


def megabytes(bytes_per_s: float) -> str:
    """A throughput in MB/s."""
    return f"{significant(bytes_per_s / 1e6)} MB/s"


def size(size_bytes: float) -> str:
    """A size in KiB."""
    return f"{significant(size_bytes / 1024)} KiB"


def share(part: float) -> str:
    """A fraction as percent."""
    return f"{round(100 * part)} %"


def seen(device: Device, sentence: str, chosen: Flags | None = None) -> Evidence:
    """Evidence about a device, at the chosen moments or all of the log."""
    import numpy as np

    return beside(device, device, sentence, np.ones(len(device.times_ns), dtype=bool) if chosen is None else chosen)


def beside(device: Device, other: Device, sentence: str, chosen: Flags) -> Evidence:
    """Evidence about another device at the chosen moments of the one that a finding is about."""
    return Evidence(sentence, other.name, *device.span(chosen))
