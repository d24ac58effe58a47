"""What the server did with its data, log and temporary files, and how its buffer pool filled, by its own counters."""

from __future__ import annotations

from collections.abc import Sequence

from fathom.analysis.variants import variant_key
from fathom.report import activity, series
from fathom.report.charts import timeline
from fathom.report.context import Context
from fathom.report.document import Block, Chart
from fathom.report.section import Section
from fathom.results import Run

_METRICS = tuple(
    f"{role}_file_{way}_{figure}"
    for role in ("data", "log", "temp")
    for way in ("read", "write")
    for figure in ("iops", "latency_ms")
)
_PANELS = (
    series.Panel("reads", "Reads", "1/s", ("read",), "count", 1.0, per_second=True),
    series.Panel("writes", "Writes", "1/s", ("write",), "count", 1.0, per_second=True),
    series.Panel("read_latency", "Read latency", "ms", ("read",), "latency_mean_ns", 1e-6),
    series.Panel("write_latency", "Write latency", "ms", ("write",), "latency_mean_ns", 1e-6),
)
_FILLED = (series.Panel("filled", "Buffer pool filled", "MB", ("filled_bytes",), "bytes", 1e-6),)
_MOST_COLUMNS = 4
_MOST_FILES = 6
_POOL = "buffer pool"


def build(context: Context) -> Sequence[Block]:
    """The table by kind of file, a picture for each of the busiest files, and one of the buffer pool."""
    busiest = _busiest(context)
    names = list(busiest)[:_MOST_FILES]
    found: list[Block | None] = [activity.table(context, "files", "By kind of file", _METRICS)]
    for number, name in enumerate(names, 1):
        file = name.removeprefix(series.FILE).strip()
        caption = f"{file}, as the server counts; a line per run, equal axes. No latency where nothing passed."
        found.append(_picture(context, f"file-{number}", caption, name, _PANELS))
    caption = "While the users began and the caches warmed; a line per run. The measured phase begins at 0 s."
    found.append(_picture(context, "buffer-pool", caption, _POOL, _FILLED))
    return [block for block in found if block is not None]


def _busiest(context: Context) -> dict[str, int]:
    """Nodes of files and the bytes that passed in the first run of each variant, the busiest first."""
    moved: dict[str, int] = {}
    for variant in context.variants:
        for run in context.runs(variant)[:1]:
            frame = context.samples(run)
            if frame is not None:
                for node in dict.fromkeys(frame["node"].to_list()):
                    if node.startswith(series.FILE):
                        passed = int(frame["bytes"].filter(frame["node"] == node).sum())
                        moved[node] = moved.get(node, 0) + passed
    return dict(sorted(moved.items(), key=lambda item: -item[1]))


def _picture(context: Context, name: str, caption: str, node: str, panels: Sequence[series.Panel]) -> Chart | None:
    def sampled(run: Run) -> object:
        frame = context.samples(run)
        return None if frame is None or not (frame["node"] == node).any() else frame

    shown = context.shown(_MOST_COLUMNS, sampled)
    frames = {
        variant_key(variant): [
            (run.round, frame) for run in context.runs(variant) if (frame := context.samples(run)) is not None
        ]
        for variant in shown
    }
    made = [
        timeline.TimelineRow(
            panel.title,
            panel.unit,
            tuple(
                tuple(
                    (f"round {number}", series.timeline(frame, panel, node))
                    for number, frame in frames[variant_key(variant)]
                )
                for variant in shown
            ),
        )
        for panel in panels
    ]
    rows = [row for row in made if any(value > 0 for column in row.lines for _, line in column for _, value in line)]
    if not rows:
        return None
    appearances = [context.appearance(variant) for variant in shown]
    ramps = [
        any(time < 0 for row in rows for _, line in row.lines[place] for time, _ in line) for place in range(len(shown))
    ]
    titles = ", ".join(row.title.lower() for row in rows)
    alt = f"Over time, for {', '.join(each.label for each in appearances)}: {titles}. The table gives the means."
    return Chart(name, caption, alt, *timeline.pictures(appearances, rows, ramps, context.few(shown, sampled)))


SECTION = Section("files", "The server's files and buffer pool", 118, ("samples",), build, fold=lambda _: True)
