"""What nfsiostat's reports mean: intervals, the report that covers the time since the mount, and metrics of a mount.

Followed: tools/nfs-iostat/nfs-iostat.py of nfs-utils from 1.2.9 to 2.9.2 and its manual page. Amounts are in units of
1,024 bytes, times in ms, and each rate is a count over the interval that was given, to three decimals. `avg exe` is
`avg queue`, the time until a request is sent, and `avg RTT`, the network and the file server, and what the client needs
afterwards. `rpc bklog` is the mean number of requests without a slot, as each request sent met it, over the interval:
the script divides by the interval once too often, so it counts here times the interval.

The counts of the mount's connection are those of the last one where it has several (nconnect).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.clock import NS
from fathom.diagnose.iostat import stamps
from fathom.diagnose.metrics import Layer
from fathom.diagnose.table import Block, Rows, Series

if TYPE_CHECKING:
    from fathom.diagnose.source import Source

RECORD = "nfsiostat 5 | ts '%F %T' > nfsiostat.txt"
_READS_AND_WRITES = ("read", "write")
_LONGEST_S = 300
"""Longest interval that figures can tell."""
_LOOKED_AT = 200
"""Reports that are looked at for it."""
_SURE, _ENOUGH = math.log(1e6), math.log(1e3)
"""How much less likely chance must be: for the interval of a log, and for one report that has the known interval."""
_SEVERAL = 1.5
"""How many times what its last connection sent a mount reads and writes from which it has more than one."""


@dataclass(frozen=True)
class Command:
    """A command line of nfsiostat above its reports.

    Attributes:
        text: as in the log.
        seconds: the interval; None if it has none, so that nfsiostat writes the mean since the mount only.
    """

    text: str
    seconds: int | None


@dataclass
class Mount:
    """One mount in one report.

    Attributes:
        export: server and path that are mounted.
        sent: requests per second that its connection sent; None if the line was cut.
        backlog: `rpc bklog` as printed.
        operations: operation to column to number as printed.
    """

    export: str
    sent: float | None = None
    backlog: float | None = None
    operations: dict[str, dict[str, float]] = field(default_factory=dict)

    @property
    def rates(self) -> list[float]:
        """Rates of operations that are not zero."""
        return [each["ops/s"] for each in self.operations.values() if each.get("ops/s")]


@dataclass
class Report:
    """One report of nfsiostat.

    Attributes:
        stamp: as in the log; None without one.
        call: which call of nfsiostat wrote it.
        command: that call's command line, where the log has it.
        line: where it begins.
        mounts: mount point to what was printed of it.
    """

    stamp: str | None
    call: int
    command: Command | None
    line: int
    mounts: dict[str, Mount] = field(default_factory=dict)


def samples(source: Source, reports: Sequence[Report]) -> Iterator[Block]:
    """The reports as batches.

    Raises:
        LogError: a stamp cannot be read, only some calls have one, or no report has reads and writes.
    """
    operations = {name for report in reports for mount in report.mounts.values() for name in mount.operations}
    if operations and not operations & set(_READS_AND_WRITES):
        problem = "the reports have no reads and writes (nfsiostat -a or -d)"
        raise source.error(problem, f"record with `{RECORD}`", line=reports[0].line)
    step, times, seconds = _times(source, reports)
    rows = Rows()
    sent: dict[str, list[float]] = defaultdict(list)
    before: set[tuple[int, str | None]] = set()
    for report, time, length in zip(reports, times, seconds, strict=True):
        headed = report.command is not None and (report.call, None) not in before
        for point, mount in report.mounts.items():
            if _covers_the_past(mount.rates, step, first=(report.call, point) not in before, headed=headed):
                why = "the mean since the mount, which nfsiostat writes first whenever it is called"
                source.notes.skip("reports", why, 1, f"line {report.line}")
                continue
            for metric, value in _metrics(mount, length).items():
                rows.add(time, length, Series(None, point, Layer.GUEST_VOLUME, metric), value)
            source.notes.fact("export", mount.export, point)
            if mount.sent:
                done = sum(mount.operations.get(name, {}).get("ops/s", 0.0) for name in _READS_AND_WRITES)
                sent[point].append(done / mount.sent)
        before |= {(report.call, None), *((report.call, point) for point in report.mounts)}
        yield from rows.take_if()
    for point, shares in sent.items():
        if (several := float(np.median(shares))) >= _SEVERAL:
            source.notes.fact("connections", f"at least {round(several)}", point)
    other = operations - set(_READS_AND_WRITES)
    source.notes.skip("operations", "neither reads nor writes", len(other), ", ".join(sorted(other)[:6]))
    yield from rows.take()


def interval_of(reports: Sequence[Report]) -> int | None:
    """The interval by which rates are whole counts, s, in at least half of the reports that are not a call's first.

    The script divides by the interval that it was given and not by the time that has passed, so the counts are exact.
    Half, as calls of nfsiostat may follow one another unseen, each with its report since the mount.
    """
    reports = reports[:_LOOKED_AT]
    rates = [[rate for mount in report.mounts.values() for rate in mount.rates] for report in reports]
    later = sum(after.call == before.call for before, after in pairwise(reports))
    for step in range(1, _LONGEST_S + 1):
        fitting = [found for found in rates if found and _whole(found, step)]
        distinct = {rate for found in fitting for rate in found}
        if fitting and len(fitting) >= 0.5 * later and _surprise(len(distinct), step) >= _SURE:
            return step
    return None


def _whole(rates: Sequence[float], step: int) -> bool:
    """Whether all rates, which have three decimals, are whole counts over an interval."""
    counts = np.array(rates) * step
    return bool((np.abs(counts - np.round(counts)) <= 0.0005 * step + 1e-6).all())


def _surprise(rates: int, step: int) -> float:
    """How unlikely it is by chance that so many different rates are whole counts: of 1,000 decimals `step` are."""
    return rates * math.log(1000 / step)


def _covers_the_past(rates: Sequence[float], step: int | None, *, first: bool, headed: bool) -> bool:
    """Whether a mount's report is the mean since it was mounted: the first of a call, or of a mount that is new.

    Where figures prove the interval, someone has left out the first one. Where they exclude it, nfsiostat was called
    again.

    Args:
        rates: rates of operations that are not zero.
        step: the interval, s.
        first: whether the call had no report of the mount before.
        headed: whether it follows its command line at once.
    """
    if step is None or not rates:
        return first
    if not first:
        return not _whole(rates, step)
    return headed or not (_whole(rates, step) and _surprise(len(set(rates)), step) >= _ENOUGH)


def _times(source: Source, reports: Sequence[Report]) -> tuple[int | None, list[int], list[float | None]]:
    """The interval, when each report was written, and how much time it covers.

    A stamp of a call is that of its first report: the others follow it. Without any, times count from --start.
    """
    stamped = [report for report in reports if report.stamp is not None]
    texts, where = [str(each.stamp) for each in stamped], [f"line {each.line}" for each in stamped]
    known = stamps(source, texts, where, None) if stamped else np.empty(0, dtype=np.int64)
    steps = np.diff(known)[np.diff(known) > 0] / NS
    usual = float(np.median(steps)) if len(stamped) == len(reports) and len(steps) else None
    step, why = _step(reports, usual)
    length = usual if step is None else float(step)
    if not stamped:
        begin, since = source.start_ns or 0, "--start" if source.start_ns is not None else "1970; --start is better"
        source.notes.fact("clock", f"the reports have no times: counted from {since}, {why}")
        counted = [begin + place * (step or 1) * NS for place in range(1, len(reports) + 1)]
        return step, counted, [length] * len(reports)
    found: list[int] = []
    left = iter(known.tolist())
    for place, report in enumerate(reports):
        if report.stamp is not None:
            found.append(next(left))
        elif place and reports[place - 1].call == report.call and step is not None:
            found.append(found[-1] + step * NS)
        else:
            raise source.error("this report has no time, others have", f"record with `{RECORD}`", line=report.line)
    return step, found, [length] * len(reports)


def _step(reports: Sequence[Report], usual: float | None) -> tuple[int | None, str]:
    """The interval, s, and how it is known: by figures; by the command line, or the usual time between stamps, where
    these do not contradict it, as a whole count over 1 s is one over 5 s, too.
    """
    step = interval_of(reports)
    told = {report.command.seconds for report in reports if report.command and report.command.seconds}
    command = told.pop() if len(told) == 1 else None
    if command is not None and (step is None or command % step == 0):
        return command, f"every {command} s, as the command line in the log says"
    if step is None:
        return None, "every 1 s, as the log does not say"
    if usual is not None and round(usual) >= step and round(usual) % step == 0:
        step = round(usual)
    return step, f"every {step} s, which the rates are whole counts of"


def _metrics(mount: Mount, seconds: float | None) -> Mapping[str, float | None]:
    """Metrics of a mount; what is a mean over no request is missing."""
    found: dict[str, float | None] = {}
    again = failed = 0.0
    errors = False
    for name in _READS_AND_WRITES:
        columns = mount.operations.get(name, {})
        rate = columns.get("ops/s")
        if rate is None:
            continue
        found[f"{name}_iops"] = rate
        for unit, scale in (("kB/s", 1024.0), ("MB/s", 1024.0**2)):
            if unit in columns:
                found[f"{name}_bytes_per_s"] = columns[unit] * scale
        for column, metric in (("avg exe (ms)", "latency_s"), ("avg RTT (ms)", "device_latency_s"),
                               ("avg queue (ms)", "queue_latency_s")):  # fmt: skip
            if column in columns:
                found[f"{name}_{metric}"] = columns[column] * 1e-3 if rate else None
        again += columns.get("retrans", 0.0)
        failed += columns.get("errors", 0.0)
        errors |= "errors" in columns
    if found and seconds:
        found["retransmits_per_s"] = again / seconds
        if errors:
            found["failed_per_s"] = failed / seconds
    if mount.backlog is not None:
        found["queued_mean"] = mount.backlog * (seconds or 1.0)
    return found
