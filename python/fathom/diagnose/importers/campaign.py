"""Fathom's own campaigns: the samples of every run, one host per run.

Volumes are guest volumes; transactions are a benchmark's. Times are the run's start plus the sample's: set-up comes
before the measured phase, so they are early by as long as it took.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fathom.diagnose.clock import NS, iso_ns
from fathom.diagnose.importer import Importer
from fathom.diagnose.metrics import Layer
from fathom.diagnose.source import Head, Source
from fathom.diagnose.table import Block, Rows, Series
from fathom.errors import ResultsError

_OPS = {
    "read": ("read_iops", "read_bytes_per_s", "read_latency_s", "read_latency_p99_s"),
    "write": ("write_iops", "write_bytes_per_s", "write_latency_s", "write_latency_p99_s"),
    "flush": ("flush_iops", None, "flush_latency_s", None),
    "trim": ("discard_iops", "discard_bytes_per_s", "discard_latency_s", None),
    "transaction": ("transactions_per_s", None, "response_s", "response_p99_s"),
}


def recognise(head: Head) -> float:
    """A directory with a campaign's head."""
    return 1.0 if head.directory and '"format_version"' in head.text else 0.0


def read(source: Source) -> Iterator[Block]:
    """Samples of all finished runs, the ramp included."""
    from fathom import results
    from fathom.report.series import WORKLOAD, driven

    if not source.path.is_dir():
        raise source.error("no campaign directory", "give the directory that `fathom run` printed")
    try:
        campaign = results.read(source.path)
        _layers(source, campaign.study)
        # What the load generator sees is what the volumes see that it was given.
        twice = driven(campaign.study) != ()
        for run in campaign.runs:
            rows = Rows()
            variant = ", ".join(f"{factor} = {level}" for factor, level in run.variant.items())
            source.notes.fact("note", variant or "as written", f"run {run.order}")
            samples = run.samples() if run.ok else None
            if samples is None:
                source.notes.skip("runs", "failed, or without samples", 1, run.message or f"run {run.order}")
                continue
            try:
                started = iso_ns(run.started or campaign.created or "")[0]
            except ValueError:
                raise source.error(f"run {run.order} has no start", "the campaign is damaged") from None
            for row in samples.iter_rows(named=True):
                if not twice or row["node"] != WORKLOAD or row["op"] == "transaction":
                    _add(rows, started, f"run {run.order}", row)
            yield from rows.take()
    except ResultsError as problem:
        raise source.error(problem.what.removeprefix(f"{source.path}: "), problem.remedy) from None


def _layers(source: Source, study: dict[str, Any]) -> None:
    """Which volumes stand on which, in any variant: the volumes of a list are alike, as members of a stripe are."""
    from fathom.results import references

    for variant in study.get("variants", ()):
        volumes = variant["settings"].get("volumes", {})
        for name, node in volumes.items():
            below: dict[str, list[str]] = {"members": [], "stands_on": []}
            for key, names in references(node, volumes).items():
                below["members" if isinstance(node[key], list) else "stands_on"] += names
            for fact, each in below.items():
                source.notes.fact(fact, ",".join(each), name)


def _add(rows: Rows, started: int, host: str, row: dict[str, Any]) -> None:
    seconds = row["seconds"]
    names = _OPS.get(row["op"])
    if names is None or not seconds or row["t_s"] is None:
        return
    time = started + round((row["t_s"] + seconds) * NS)
    layer = Layer.BENCHMARK if row["op"] == "transaction" else Layer.GUEST_VOLUME
    count, size, mean, p99 = row["count"], row["bytes"], row["latency_mean_ns"], row["latency_p99_ns"]
    values = (count / seconds, size / seconds, None if mean is None else mean / NS, None if p99 is None else p99 / NS)
    for name, value in zip(names, values, strict=True):
        if name is not None:
            rows.add(time, seconds, Series(host, row["node"], layer, name), value)
    if layer is Layer.GUEST_VOLUME and row["op"] in {"read", "write"}:
        outstanding = Series(host, row["node"], layer, "outstanding_mean")
        rows.add(time, seconds, outstanding, row["outstanding_mean"])


IMPORTER = Importer("campaign", "a campaign of Fathom", recognise, read, "fathom run STUDY")
