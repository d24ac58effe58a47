"""The charts of a diagnosis: arrays of a device made into what the charts of reports draw."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.clock import NS
from fathom.diagnose.evidence.load import plateau
from fathom.diagnose.report.windows import Window, places
from fathom.report.charts import plane, scatter, strip, timeline
from fathom.report.document import Chart
from fathom.report.format import count, significant
from fathom.report.style.drawing import WIDTH, Drawing
from fathom.report.style.marks import Appearance

if TYPE_CHECKING:
    from fathom.diagnose.evidence.device import Device, Floats
    from fathom.diagnose.evidence.system import System
    from fathom.diagnose.report.clock import LogClock
    from fathom.diagnose.report.follows import Quantity
    from fathom.report.series import Points

NARROW = 350.0
_GREY = 6
_MOST_POINTS = 500
_GAP = 2.5
"""Times the usual interval from which on a line is broken."""
_LABELS = "AB"


def appearances(windows: Sequence[Window], *, rest: bool) -> list[Appearance]:
    """One per window, named by a letter and its time; and one for the rest of the log."""
    named = [Appearance(f"{_LABELS[place]}: {window.label}", place) for place, window in enumerate(windows)]
    return [*named, Appearance("rest of the log", _GREY)] if rest else named


def quantities(device: Device) -> list[tuple[str, str, Floats]]:
    """Title, unit and values of each row: rate, throughput, latency of reads and of writes, requests outstanding."""
    rows = [
        ("I/O rate", "IOPS", device.values("iops")),
        ("Throughput", "MB/s", device.values("bytes_per_s") / 1e6),
        ("Read latency", "ms", device.values("read_latency_s") * 1e3),
        ("Write latency", "ms", device.values("write_latency_s") * 1e3),
        ("Outstanding requests", "", device.load),
    ]
    kept = [row for row in rows if np.isfinite(row[2]).any() and np.nanmax(row[2]) > 0]
    if not any("latency" in title for title, _, _ in kept):
        kept.insert(-1, ("Latency", "ms", device.values("latency_s") * 1e3))
    return [row for row in kept if np.isfinite(row[2]).any()]


def over_time(
    device: Device, windows: Sequence[tuple[str, int, int]], clock: LogClock, name: str, caption: str,
    only: Sequence[str] = (),
) -> Chart | None:  # fmt: skip
    """The whole log of a device with windows shaded; None where there is nothing to draw.

    Args:
        device: whose log it is.
        windows: name, start and end in ns.
        clock: of the log.
        name: of the chart.
        caption: what is said below it.
        only: titles of the rows; all if empty.
    """
    rows = [row for row in quantities(device) if not only or row[0] in only]
    if not rows or len(device.times_ns) < 2:
        return None
    start = int(device.times_ns[0])
    drawn = [strip.StripRow(title, unit, ((0, _points(device, values, start)),)) for title, unit, values in rows]
    spans = [
        strip.Span(label, max(0.0, (begin - start) / NS), (end - start) / NS) for label, begin, end in windows
    ]  # fmt: skip
    zone = f"{clock.local(start):%Y-%m-%d}, {clock.name}"

    def picture(width: float, most: int) -> Drawing:
        ticks = clock.ticks(start, int(device.times_ns[-1]), most)
        return strip.draw([Appearance(device.name, 0)], drawn, spans, ticks, zone, width)

    titles = ", ".join(title.lower() for title, _, _ in rows)
    alt = f"{device.name} over the whole log: {titles}. {caption}"
    return Chart(name, caption, alt, lambda: picture(WIDTH, 10), lambda: picture(NARROW, 4))


def multiples(device: Device, windows: Sequence[Window], caption: str) -> Chart | None:
    """One column per window, equal axes, time from each window's start."""
    chosen = [window.of(device) for window in windows]
    rows = []
    for title, unit, values in quantities(device):
        columns = tuple(
            (("mean of each interval", _points(device, np.where(mine, values, np.nan), window.start_ns, mine)),)
            for window, mine in zip(windows, chosen, strict=True)
        )
        rows.append(timeline.TimelineRow(title, unit, columns))
    if not rows:
        return None
    named = appearances(windows, rest=False)
    alt = f"Small multiples of {device.name} in {', '.join(each.label for each in named)}; the table gives the means."
    return Chart("windows", caption, alt, *timeline.pictures(named, rows, [False] * len(windows)))


def against(device: Device, windows: Sequence[Window], found: Sequence[Quantity]) -> Chart | None:
    """Latency against each quantity."""
    where = places(device, windows)
    latency = device.values("latency_s") * 1e3
    panels = []
    for quantity in found:
        good = np.flatnonzero(np.isfinite(quantity.values) & np.isfinite(latency) & (latency > 0))
        points = tuple((int(where[at]), float(quantity.values[at]), float(latency[at])) for at in _some(good))
        if points:
            panels.append(scatter.Panel(quantity.name, quantity.unit, points, quantity.said))
    if not panels:
        return None
    named = appearances(windows, rest=True)
    said = "; ".join(f"{panel.title}: {panel.said}" for panel in panels)
    caption = (
        "A mark is one interval of the log. Latency axes are equal. Rank r is Spearman's correlation with latency."
    )
    return Chart("causes", caption, f"Latency of {device.name} against each quantity. {said}.",
                 lambda: scatter.draw(named, panels), lambda: scatter.draw(named, panels, NARROW))  # fmt: skip


def load_plane(system: System, device: Device, windows: Sequence[Window]) -> Chart | None:
    """Rate against outstanding requests, with known queue depths and limits and lines of equal latency."""
    load, iops, latency = device.load, device.values("iops"), device.values("latency_s") * 1e3
    where = places(device, windows)
    good = np.flatnonzero(np.isfinite(load) & np.isfinite(iops) & (load > 0) & (iops > 0))
    named = appearances(windows, rest=True)
    points = [
        plane.PlanePoint(int(where[at]), f"{named[where[at]].label}, one interval", float(load[at]), float(iops[at]),
                         float(latency[at]) if math.isfinite(latency[at]) else None)
        for at in _some(good)
    ]  # fmt: skip
    if not points:
        return None
    limits = _limits(system, device)
    caption = (
        "Dashed lines are equal latency (Little's law: latency = outstanding / rate). Vertical lines are usual queue "
        "depths, horizontal ones limits. Marks that move right without rising have met one."
    )
    most = max(points, key=lambda point: point.iops)
    alt = (
        f"I/O rate of {device.name} against outstanding requests. The highest rate is {count(most.iops)} IOPS at "
        f"{significant(most.outstanding)} outstanding."
    )
    return Chart("plane", caption, alt, lambda: plane.draw(named, points, limits))


def _limits(system: System, device: Device) -> list[plane.Limit]:
    depths = sorted({queue.depth for queue in system.limits.queues if queue.scope != "log"})
    # 254 and 256 are one line in the picture.
    kept = [depth for at, depth in enumerate(depths) if not at or depth > 1.05 * depths[at - 1]]
    found = [plane.Limit("queue", outstanding=float(depth)) for depth in kept]
    own = system.number("queue_depth", device.device)
    if own is not None:
        found = [limit for limit in found if limit.outstanding != own]
        found.append(plane.Limit("queue of this device", outstanding=own))
    bought = system.number("provisioned_iops", device.device)
    if bought is not None:
        found.append(plane.Limit("provisioned", iops=bought))
    level = plateau(device, "iops")
    cap = None if level is None else system.limits.cap("iops", level.level)
    if cap is not None and cap.iops is not None and cap.iops != bought:
        found.append(plane.Limit(cap.name, iops=cap.iops))
    return found


def _points(device: Device, values: Floats, start_ns: int, chosen: np.ndarray | None = None) -> Points:
    """(s since start, value) in order; a gap in the log is a point without a value."""
    at = np.flatnonzero(np.ones(len(values), dtype=bool) if chosen is None else chosen)
    found: list[tuple[float, float]] = []
    usual = device.interval_s
    for place in at:
        time = (int(device.times_ns[place]) - start_ns) / NS
        if found and time - found[-1][0] > _GAP * usual:
            found.append((found[-1][0] + usual, math.nan))
        found.append((time, float(values[place])))
    return tuple(found)


def _some(places_: np.ndarray) -> np.ndarray:
    """At most so many of them as a picture shows, evenly."""
    step = -(-len(places_) // _MOST_POINTS)
    some: np.ndarray = places_[:: max(1, step)]
    return some
