"""The volume stack as set up, and what each layer of it counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fathom.report import cells
from fathom.report.context import Context, level_text
from fathom.report.document import Block, Bullets, Cell, Column, Paragraph, Table
from fathom.report.format import size
from fathom.report.plain import flatten
from fathom.report.section import Section
from fathom.report.series import WORKLOAD, top_volumes
from fathom.results import Run, facts_of

_MOST_VARIANTS = 4
_KINDS_OF_REQUEST = ("read", "write", "flush", "trim", "write_zeroes", "transaction")

_STACK = (Column("volume", "Volume"), Column("kind", "Kind"), Column("settings", "Settings"))
_COUNTERS = (
    Column("variant", "Variant"),
    Column("node", "Layer"),
    Column("kind", "Kind"),
    Column("op", "Operation"),
    cells.values("count", "Requests"),
    cells.values("mean_bytes", "Mean size"),
    cells.values("latency_mean_ms", "Latency, ms"),
    cells.values("waiting_mean_ms", "Waiting, ms"),
    cells.values("outstanding_mean", "Outstanding"),
    cells.values("outstanding_max", "At most"),
    cells.values("errors", "Errors"),
)


# Classes of requests that share a device, by the counter `CLASS_device_ns` of a cache, mirror or pool.
_CLASSES = {
    "users": "users",
    "destage": "destaging",
    "resync": "rebuild, rebalancing",
    "scrub": "scrub",
    "fill": "filling of the read cache",
}
_SHARING = (
    Column("variant", "Variant"),
    Column("node", "Layer"),
    Column("class", "Requests of"),
    cells.values("device_s", "Device time, s"),
    cells.values("share_percent", "Share, %"),
    cells.values("waited_s", "Waiting for background work, s"),
    cells.values("destaged_mb", "Destaged, MB"),
    cells.values("destaged_mb_s", "Destaged, MB/s"),
)


def build(context: Context) -> Sequence[Block]:
    """The tree of the study's volumes, then the counters of one run per variant, and who had the devices."""
    blocks: list[Block] = []
    tree = list(_tree(context.campaign.study))
    if tree:
        rows = tuple(_setup(context, depth, name, node) for depth, name, node in tree)
        note = "A volume is on top of the ones indented below it."
        blocks.append(Table("stack", "The volumes", _STACK, rows, note if any(depth for depth, _, _ in tree) else None))
    if left_out := tuple(_left_out(context)):
        blocks += [Paragraph("What the catalogue's models leave out, or where they are wrong:"), Bullets(left_out)]
    shown = [context.runs(variant)[0] for variant in context.shown(_MOST_VARIANTS, lambda run: run.volumes or None)]
    rows = tuple(row for run in shown for row in _counters(context, run, [name for _, name, _ in tree]))
    if rows:
        kept, cut = cells.without_empty(_COUNTERS, rows)
        blocks.append(Paragraph("What each layer counted in the measured phase of the first run of each variant."))
        blocks.append(Table("counters", "Counters by layer", kept, cut, collapsed=len(cut) > 14))
    if rows := tuple(row for run in shown for row in _sharing(context, run, [name for _, name, _ in tree])):
        kept, cut = cells.without_empty(_SHARING, rows)
        note = (
            "From the first request to the end of the run, ramp and planned stop included. Device time is estimated "
            "from completions. Waiting is that of all users' requests together for background requests before them."
        )
        blocks.append(Table("sharing", "Device time by class of request", kept, cut, note))
    return blocks


def _sharing(context: Context, run: Run, order: Sequence[str]) -> Iterator[tuple[Cell, ...]]:
    for name in order:

        def counted(counter: str, name: str = name) -> float:
            value = str(run.facts.get(f"volumes.{name}.{counter}", "0"))
            return float(value) if value.isdecimal() else 0.0

        used = {kind: counted(f"{kind}_device_ns") for kind in _CLASSES}
        total = sum(used.values())
        destaged, open_ns = counted("applied_bytes"), counted("open_ns")
        for kind, time in used.items():
            if time <= 0 or used["users"] == total:
                continue
            yield (
                cells.text(context.label(run.variant)),
                cells.text(name),
                cells.text(_CLASSES[kind]),
                cells.plain_number(time / 1e9),
                cells.plain_number(100 * time / total),
                cells.plain_number(counted("background_wait_ns") / 1e9 if kind == "users" else None),
                cells.plain_number(destaged / 1e6 if kind == "destage" else None),
                cells.plain_number(destaged / open_ns * 1e3 if kind == "destage" and open_ns else None),
            )


def _tree(study: dict[str, Any]) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    """(depth, name, settings) from the volumes a workload is given down to the devices, each volume once."""
    volumes = study.get("volumes")
    if not isinstance(volumes, dict):
        return
    seen: set[str] = set()

    def below(name: str, depth: int) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
        node = volumes.get(name)
        if name in seen or not isinstance(node, dict):
            return
        seen.add(name)
        yield depth, name, node
        for _, value in flatten(node):
            for part in str(value).split(", "):
                yield from below(part, depth + 1)

    for name in (*top_volumes(study), *volumes):
        yield from below(name, 0)


def _left_out(context: Context) -> Iterator[str]:
    """What the models of the runs say of themselves: `ebs: More than 32,000 IOPS need ...`; alike ones once."""
    said: dict[str, dict[str, None]] = {}
    for run in context.campaign.runs:
        for volume, facts in facts_of(run, ("left_out",)).items():
            said.setdefault(facts["left_out"], {})[volume] = None
    return (f"{', '.join(volumes)}: {words}" for words, volumes in said.items())


def _setup(context: Context, depth: int, name: str, node: Mapping[str, Any]) -> tuple[Cell, ...]:
    settings = [
        f"{path} = {'varies' if f'volumes.{name}.{path}' in context.factors else level_text(value)}"
        for path, value in flatten(dict(node))
        if path != "kind"
    ]
    kind = "varies" if f"volumes.{name}.kind" in context.factors else str(node.get("kind", ""))
    indent = "\u2003" * (depth - 1) + "└ " if depth else ""
    return Cell(f"{indent}{name}", name), cells.text(kind), cells.text(", ".join(settings))


def _counters(context: Context, run: Run, order: Sequence[str]) -> Iterator[tuple[Cell, ...]]:
    ranks = {name: rank for rank, name in enumerate((WORKLOAD, *order))}
    for name in sorted(run.volumes, key=lambda name: ranks.get(name, len(ranks))):
        node = run.volumes[name]
        for op in _KINDS_OF_REQUEST if isinstance(node, dict) else ():
            counted = node.get(op)
            if not isinstance(counted, dict) or not counted.get("count"):
                continue
            each = counted["bytes"] / counted["count"] if counted.get("bytes") else None
            yield (
                cells.text(context.label(run.variant)),
                cells.text(name),
                cells.text(str(node.get("kind") or "")),
                cells.text(op.replace("_", " ")),
                cells.whole(counted["count"]),
                Cell(size(each), each),
                cells.quantity(_ms(counted.get("latency_mean_ns")), "ms"),
                cells.quantity(_ms(counted.get("waiting_mean_ns")), "ms"),
                cells.plain_number(node.get("outstanding_mean")),
                cells.whole(node.get("outstanding_max")),
                cells.whole(counted.get("errors") or None),
            )


def _ms(nanoseconds: float | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e6


SECTION = Section("volumes", "Volumes, layer by layer", 120, ("volumes",), build, detail=True)
