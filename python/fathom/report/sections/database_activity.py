"""What the databases did: log, checkpoints, pages, and what their sessions waited for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fathom.report import activity, cells
from fathom.report.context import Context
from fathom.report.document import Block, Cell, Column, Table
from fathom.report.section import Section

_METRICS = (
    "log_mb_per_s", "log_flushes_per_second", "bytes_per_log_flush", "log_page_images_per_second", "checkpoints",
    "pages_read_per_second", "pages_written_per_second",
)  # fmt: skip
_JOBS = ("background_jobs", "background_job_s", "background_mb_per_s")
_SAMPLED = (
    activity.Sampled("Log written", "MB/s", "database", "log_bytes", 1e-6),
    activity.Sampled("Log since the last checkpoint", "MB", "database", "log_since_checkpoint_bytes", 1e-6),
    activity.Sampled("Pages written back", "1/s", "database", "checkpoint_pages"),
)
_MOST_VARIANTS, _MOST_WAITS = 6, 6
_WAITS = (
    Column("variant", "Variant"),
    Column("database", "Database"),
    Column("wait", "Waiting for"),
    cells.values("sessions", "Sessions"),
)


def build(context: Context) -> Sequence[Block]:
    """The table of means, what sessions waited for, and the picture over time."""
    caption = "As the database itself counts, twice a second; a line per run, equal axes."
    rows = tuple(row for variant in context.variants[:_MOST_VARIANTS] for row in _waits(context, variant))
    how = "as the model has it" if context.campaign.clock == "virtual" else "sampled ten times a second"
    note = (
        f"Mean number of sessions at work, by what they waited for, {how}, in the first run of each variant. CPU: "
        "waiting for nothing the database knows of."
    )
    found: list[Block | None] = [
        activity.table(context, "jobs", "Jobs in the background: backup, consistency check", _JOBS),
        activity.table(context, "database", "Log, checkpoints and pages", _METRICS),
        Table("waits", "What sessions waited for", _WAITS, rows, note, collapsed=len(rows) > 14) if rows else None,
        activity.picture(context, "database-activity", caption, _SAMPLED),
    ]
    return [block for block in found if block is not None]


def _waits(context: Context, variant: dict[str, str | int | float | bool]) -> Iterator[tuple[Cell, ...]]:
    for run in context.runs(variant)[:1]:
        for database, events in run.waits.items():
            for event, sessions in list(events.items())[:_MOST_WAITS]:
                yield (
                    cells.text(context.label(variant)),
                    cells.text(database),
                    cells.text(event),
                    cells.plain_number(sessions, 2),
                )


SECTION = Section("database_activity", "What the database did", 112, ("waits",), build)
