"""Other programs that read from the disk of a database while it was measured: a disk counts for all of them."""

from __future__ import annotations

from collections.abc import Iterator

from fathom.analysis.advice.rule import Rule, RuleInput
from fathom.analysis.variants import resolved
from fathom.analysis.words import number
from fathom.finding import Evidence, Finding, Remedy, Severity
from fathom.results import Run

_PAGE_MB = {"postgresql": 8192 / 1e6, "mariadb": 16384 / 1e6, "mysql": 16384 / 1e6}
"""Size of what each of them counts as a page that it read, MB."""

_TIMES = 2.0
"""A disk may read so many times as much as the database asks for: the kernel reads ahead."""

_TOLD_MB_PER_S = 2.0
"""Reads beyond that from which on they are told, MB/s."""


def find(given: RuleInput) -> Iterator[Finding]:
    """At most one, about the run in which others read the most. Writes are not judged: file systems add to them."""
    runs = [run for run in given.campaign.runs if run.ok]
    found = [(read, own, run) for run in runs if (both := _reads(given, run)) is not None for read, own in [both]]
    others = [one for one in found if one[0] - _TIMES * one[1] >= _TOLD_MB_PER_S]
    if not others:
        return
    read, own, run = max(others, key=lambda one: one[0] - one[1])
    of = "the run" if len(runs) == 1 else f"{len(others)} of {len(runs)} runs"
    yield Finding(
        "other-programs",
        "disk",
        f"Other programs read from the database's disk in {of}.",
        Severity.NOTE,
        0.8,
        (
            Evidence(
                f"{given.label(run.variant)}, round {run.round}: the disk read {number(read)} MB/s, and the database "
                f"asked for {number(own) if own >= 0.01 else 'less than 0.01'} MB/s."
            ),
        ),
        harm="Rates, latencies and what is outstanding at the disk are those of all of them.",
        remedies=(
            Remedy(
                "Stop what else uses the disk and measure again, or measure on a disk of its own.", ("pidstat -d 1",)
            ),
        ),
    )


def _reads(given: RuleInput, run: Run) -> tuple[float, float] | None:
    """What the disk read and what its databases asked for, MB/s; None where the latter is not known in full."""
    databases = resolved(given.study, run.variant).get("wants", {}).get("databases", {}).values()
    kinds = {settings.get("kind") for settings in databases}
    beside = any(
        settings.get(key) not in (None, "none")
        for settings in databases
        for key in ("background", "standby", "restore")
    )
    read, pages = run.metrics.get("place_read_mb_per_s"), run.metrics.get("pages_read_per_second")
    if len(kinds) != 1 or beside or read is None or pages is None or (size := _PAGE_MB.get(str(*kinds))) is None:
        return None
    # What a sort spills is read again, though seldom from the disk.
    return read, pages * size + _spilled(run)


def _spilled(run: Run) -> float:
    """What databases wrote to temporary files, MB/s, where it was sampled."""
    seen = run.activity()
    if seen is None:
        return 0.0
    rows = seen.filter((seen["measure"] == "temporary_bytes") & (seen["phase"] == "measure"))
    total = rows["seconds"].sum()
    return float((rows["value"] * rows["seconds"]).sum()) / float(total) / 1e6 if total else 0.0


RULE = Rule("other-programs", 66, find)
