"""What happened at every place of a database by itself: its data, its log, its temporary files, each disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from fathom.report import activity, cells
from fathom.report.context import Context
from fathom.report.document import Block, Cell, Column, Table
from fathom.report.section import Section

_MOST_VARIANTS = 6
_METRICS = (
    ("place_read_iops", "Reads/s", "IOPS"),
    ("place_write_iops", "Writes/s", "IOPS"),
    ("place_read_mb_per_s", "Read, MB/s", "MB/s"),
    ("place_write_mb_per_s", "Written, MB/s", "MB/s"),
    ("place_read_latency_ms", "Read latency, ms", "ms"),
    ("place_write_latency_ms", "Write latency, ms", "ms"),
    ("average_read_kib", "Read size, KiB", "KiB"),
    ("average_write_kib", "Write size, KiB", "KiB"),
    ("place_outstanding", "Outstanding", ""),
)
_COLUMNS = (
    Column("variant", "Variant"),
    Column("place", "Place"),
    *(cells.values(name, title) for name, title, _ in _METRICS),
)
_NOTE = (
    "As the kernel counts at the block device under each place (/proc/diskstats), means over the runs. Latency runs "
    "from when the kernel queued a request to its completion; on a shared disk, what others do there counts. "
    "Linux counts a flush by itself as a write without bytes, too."
)
_NOTHING = "A row of dashes: the runs were too short, or sampled too seldom, for figures of that place alone."


def build(context: Context) -> Sequence[Block]:
    """The table, and a picture for each place."""
    names = activity.place_names(context, context.campaign.runs)
    if not names:
        return []
    rows = tuple(_rows(context))
    blocks: list[Block] = []
    if any(_told(row) for row in rows):
        kept, cut = cells.without_empty(_COLUMNS, rows)
        note = " ".join([_NOTE, *_missing(context, names, rows)])
        blocks.append(Table("places", "Each place separately", kept, cut, note))
    for number, name in enumerate(names, 1):
        chart = activity.picture(context, f"place-{number}", _caption(name), _sampled(name))
        if chart is not None:
            blocks.append(chart)
    return blocks


def _rows(context: Context) -> Iterator[tuple[Cell, ...]]:
    """A row for each place that a variant has: variants of one study may lie on one disk, or on three."""
    for variant in context.shown(_MOST_VARIANTS, context.activity):
        names = activity.place_names(context, context.runs(variant))
        for name in names:
            # A single place is all places together.
            keys = [metric if len(names) == 1 else f"{name}_{metric}" for metric, _, _ in _METRICS]
            means = [activity.mean(context, variant, key) for key in keys]
            values = [cells.quantity(mean, unit) for mean, (_, _, unit) in zip(means, _METRICS, strict=True)]
            yield (cells.text(context.label(variant)), cells.text(name), *values)


def _missing(context: Context, names: Sequence[str], rows: Sequence[tuple[Cell, ...]]) -> Iterator[str]:
    """What the table leaves out, and why."""
    study = context.campaign.study.get("places") or {}
    untold = [name for name in study if name not in names]
    if untold:
        verb = "is" if len(untold) == 1 else "are"
        yield (
            f"{context.capital(' and '.join(untold))} {verb} not told apart: on the block device of a place above, "
            "whose figures hold both, or on none that the kernel counts."
        )
    if not all(_told(row) for row in rows):
        yield _NOTHING


def _told(row: tuple[Cell, ...]) -> bool:
    """Whether anything was counted for the row's variant and place."""
    return any(cell.value is not None for cell in row[2:])


def _caption(name: str) -> str:
    return f"At the place {name}, twice a second; a line per run, equal axes."


def _sampled(name: str) -> tuple[activity.Sampled, ...]:
    sampled = (
        activity.Sampled("Reads", "IOPS", "place", "reads"),
        activity.Sampled("Writes", "IOPS", "place", "writes"),
        activity.Sampled("Read", "MB/s", "place", "read_bytes", 1e-6),
        activity.Sampled("Written", "MB/s", "place", "write_bytes", 1e-6),
        activity.Sampled("Read latency", "ms", "place", "read_latency_s", 1000.0, per="reads"),
        activity.Sampled("Write latency", "ms", "place", "write_latency_s", 1000.0, per="writes"),
        activity.Sampled("Read size", "KiB", "place", "read_bytes", 1 / 1024, per="reads"),
        activity.Sampled("Write size", "KiB", "place", "write_bytes", 1 / 1024, per="writes"),
        activity.Sampled("Outstanding I/O", "", "place", "outstanding_s"),
    )
    # The caption stands below some ten rows: each says whose it is.
    return tuple(replace(row, name=name, title=f"{row.title} at {name}") for row in sampled)


SECTION = Section("places", "At each place: data, log, temporary files", 116, ("activity",), build, fold=lambda _: True)
