"""What the host did: CPU of servers and driver apart, requests at the places, dirty pages."""

from __future__ import annotations

from collections.abc import Sequence

from fathom.report import activity, series
from fathom.report.context import Context
from fathom.report.document import Block
from fathom.report.section import Section

_CPU = ("server_cpus", "server_cpu_percent", "driver_cpus", "driver_cpu_percent", "volume_cpus")
_PLACE = (
    "place_read_iops", "place_write_iops", "place_read_mb_per_s", "place_write_mb_per_s",
    "average_read_kib", "average_write_kib", "place_outstanding",
)  # fmt: skip
_SAMPLED = (
    activity.Sampled("Servers, processors busy", "", "server", "cpu_s"),
    activity.Sampled("Driver, processors busy", "", "driver", "cpu_s"),
    activity.Sampled("Written at the volume", "MB/s", "place", "write_bytes", 1e-6),
    activity.Sampled("Read at the volume", "MB/s", "place", "read_bytes", 1e-6),
    activity.Sampled("Outstanding I/O at the volume", "", "place", "outstanding_s"),
    activity.Sampled("Dirty pages of the host", "MB", "host", "dirty_bytes", 1e-6),
)

_REBUILD = (
    activity.Sampled("Rebuild or rebalancing: copied", "MB/s", "volume", "resync_bytes", 1e-6, after=True),
    activity.Sampled("Reads at the volume", "IOPS", "place", "reads", after=True),
    activity.Sampled("Writes at the volume", "IOPS", "place", "writes", after=True),
    activity.Sampled("Read latency at the volume", "ms", "place", "read_latency_s", 1000.0, after=True, per="reads"),
    activity.Sampled("Write latency at the volume", "ms", "place", "write_latency_s", 1000.0, after=True, per="writes"),
)
_REBUILD_CAPTION = (
    "What a mirror or pool copies beside what the database asks of it, on one time line; a line per run, equal axes."
)

_CACHE = (
    activity.Sampled("In the write-back cache, not yet in place", "MB", "volume", "dirty_bytes", 1e-6, after=True),
    activity.Sampled("Reads that the cache answered", "1/s", "volume", "cached_reads"),
    activity.Sampled("Reads that went to the volume behind it", "1/s", "volume", "origin_reads"),
)
_CACHE_CAPTION = (
    "How the write-back cache filled and drained, and who answered the reads, as fathomd counts; a line per run, equal "
    "axes."
)


def build(context: Context) -> Sequence[Block]:
    """The table of means, and the pictures over time: of the host, and of a write-back cache if there is one."""
    caption = "As the kernel counts, twice a second; a line per run, equal axes."
    metrics: tuple[str, ...] = (*_CPU, *_PLACE, "dirty_mb_max")
    sampled: tuple[activity.Sampled, ...] = _SAMPLED
    rebuild: tuple[activity.Sampled, ...] = _REBUILD
    several = _several_places(context)
    if several:
        # A sum over a log and data files is nobody's figure: the section about each place has them apart.
        metrics = (*_CPU, "dirty_mb_max")
        sampled = tuple(row for row in sampled if row.kind != "place")
        rebuild = tuple(row for row in rebuild if row.kind != "place")
    else:
        caption += (
            " The volume is the block device under the place; on a directory of a shared disk it also counts what "
            "others do there."
        )
    found: list[Block | None] = [
        activity.table(context, "host", "CPU and memory" if several else "CPU and I/O", metrics),
        activity.picture(context, "host-activity", caption, sampled),
        activity.picture(context, "cache-activity", _CACHE_CAPTION, _CACHE),
        activity.picture(context, "rebuild-activity", _REBUILD_CAPTION, rebuild) if _rebuilds(context) else None,
    ]
    return [block for block in found if block is not None]


def _several_places(context: Context) -> bool:
    frames = (context.activity(run) for run in context.campaign.runs)
    return any(len(series.places(frame)) > 1 for frame in frames if frame is not None)


def _rebuilds(context: Context) -> bool:
    """Whether any mirror or pool copied anything."""
    frames = (context.activity(run) for run in context.campaign.runs)
    return any(
        (frame.filter(frame["measure"] == "resync_bytes")["value"] > 0).any() for frame in frames if frame is not None
    )


SECTION = Section("host_activity", "What the host did", 114, ("activity",), build, fold=lambda _: True)
