"""Audit by Little's law: requests outstanding = rate x latency, in any stable system, whatever its distributions.

(Little, Operations Research 9, 1961.) It catches mixed averages, wrong units and unmeasured queues, in our own runs
as in a published table. Beside it stands the other identity of such tables, throughput = rate x size, which tells
MB/s from MiB/s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fathom.analysis.model import LittleAudit
from fathom.analysis.series import frozen_end
from fathom.analysis.transient import is_too_short
from fathom.analysis.variants import label, of_variant, place, users, variants_of
from fathom.analysis.words import listed, milliseconds, number, percent
from fathom.results import Run
from fathom.unanswered import LONG_MS, STANDSTILL

TOLERANCE = 0.05
"""Relative error up to which a line passes; published figures are rounded to two or three digits."""

_TOLD = 0.01
"""Of the latency: how late a load generator must have been to be told."""

_UNIT_TELLS = 0.01
"""An error of decimal MB/s above this, and of MiB/s below half of it, means that MiB/s was written as MB/s."""

_MB = 1e6
_MIB = 2.0**20


@dataclass(frozen=True)
class TableRow:
    """One line of a published table. Rate in 1/s, latency in ms, throughput in MB/s as stated, size in bytes."""

    where: str
    iops: float
    latency_ms: float | None = None
    outstanding: float | None = None
    mb_per_s: float | None = None
    io_bytes: float | None = None


def audit_runs(runs: Sequence[Run], study: Mapping[str, Any]) -> tuple[LittleAudit, ...]:
    """One audit per variant and source of the outstanding I/O: measured in the run, and configured by the study."""
    audits: list[LittleAudit] = []
    for variant in sorted(variants_of(runs), key=lambda variant: place(variant, study)):
        mine = [run for run in of_variant(runs, variant) if run.ok]
        measured = [_terms(run) for run in mine]
        complete = np.array([row for row in measured if row is not None])
        if not len(complete):
            continue
        means = (float(column) for column in complete.mean(axis=0))
        iops, latency_ms, in_flushes, outstanding, edge, at_end, late_ms, _ = means
        where = label(variant, study)
        # The mean of products, not the product of means: each run obeys the law by itself.
        implied = float((complete[:, 0] * complete[:, 1]).mean() / 1e3)
        waited = f"requests that still waited at the end, for up to {milliseconds(complete[:, -1].max() * 1e3)},"
        said = _product(iops, latency_ms, implied, {"flushes": in_flushes, waited: at_end})
        if late_ms >= _TOLD * latency_ms:
            said += f" (without the {milliseconds(late_ms)} that the load generator was late)"
        implied += in_flushes + at_end
        if any(is_too_short(run, study) for run in mine):
            text = f"{said}; too short a run to compare: requests took up to {percent(edge)} of the measured time."
            audits.append(LittleAudit(where, None, implied, None, True, text))
            continue
        if outstanding > 0:
            audits.append(_audit(where, said, implied, outstanding, "measured", TOLERANCE + edge))
        configured = users(study, variant)
        if configured is not None:
            audits.append(_audit(where, said, implied, configured, "configured", TOLERANCE + edge))
    return tuple(audits)


def _terms(run: Run) -> tuple[float, ...] | None:
    """Rate, latency in ms, flushes beside them, measured outstanding I/O (flushes included), edge, the end, lateness.

    A closed loop takes its latencies from the volume, where a flush is a request of its own. An open loop counts a
    write from its arrival to the end of the flush that belongs to it: its flushes are within the latency already.
    It counts a request from when it was due, and has it outstanding once the load generator has begun with it: what
    that was late, in ms, is left out of its latency, and a term of its own.
    The edge is what requests in progress at the two ends of the measured phase may add to the relative error: they
    count whole in rate and latency, in part in the outstanding I/O. It is the 99th percentile of latency over the
    length of the phase: nothing in a minute, much in the half second of a tiny scale. Requests that waited in a
    standstill when the phase ended are in neither rate nor latency: their mean number over the phase and how
    long nothing was completed at its end, s, are terms as well.
    """
    iops, latency = run.metrics.get("iops"), run.metrics.get("latency_ms")
    if not iops or not latency:
        return None
    open_loop = run.metrics.get("arrivals_per_second") is not None
    rate = 0.0 if open_loop else run.metrics.get("flushes_per_second") or 0.0
    flushes = rate * (run.metrics.get("flush_latency_ms") or 0.0) / 1e3
    edge = (run.metrics.get("latency_p99_ms") or latency) / 1e3 / run.measured_s if run.measured_s else 0.0
    stood_s, waiting = frozen_end(run) if (run.metrics.get(STANDSTILL) or 0.0) >= LONG_MS else (0.0, 0.0)
    at_end = stood_s * waiting / run.measured_s if run.measured_s else 0.0
    late = run.metrics.get("late_ms") or 0.0
    return iops, latency - late, flushes, run.metrics.get("outstanding") or 0.0, edge, at_end, late, stood_s


def published_rows(study: Mapping[str, Any]) -> tuple[TableRow, ...]:
    """The lines of `published.table`."""
    return tuple(TableRow(**line) for line in (study.get("published") or {}).get("table", ()))


def audit_table(rows: Sequence[TableRow]) -> tuple[LittleAudit, ...]:
    """Every identity that the given columns allow, line by line."""
    audits: list[LittleAudit] = []
    for row in rows:
        if row.latency_ms is not None:
            implied = row.iops * row.latency_ms / 1e3
            said = _product(row.iops, row.latency_ms, implied)
            audits.append(_audit(row.where, said, implied, row.outstanding, "stated"))
        if row.mb_per_s is not None and row.io_bytes is not None:
            audits.append(_audit_size(row, row.mb_per_s, row.io_bytes))
    return tuple(audits)


def _product(iops: float, latency_ms: float, outstanding: float, more: Mapping[str, float] | None = None) -> str:
    found = {what: amount for what, amount in (more or {}).items() if amount > 0}
    total = f" {number(outstanding + sum(found.values()))}" if found else ""
    beside = f", with {listed([f'{number(amount)} in {what}' for what, amount in found.items()])}" if found else ""
    return f"{number(iops)} IOPS x {number(latency_ms)} ms = {number(outstanding)} outstanding{beside}{total}"


def _audit(
    where: str, said: str, implied: float, expected: float | None, source: str, tolerance: float = TOLERANCE
) -> LittleAudit:
    """The line of an audit; `said` is the product in words, `source` who claims the expected number."""
    if expected is None:
        return LittleAudit(where, None, implied, None, True, f"{said}; no figure is stated to compare with.")
    error = implied / expected - 1
    if abs(error) <= tolerance:
        text = f"{said}, {number(expected)} {source}: consistent ({_signed(error)})."
        return LittleAudit(where, expected, implied, error, True, text)
    hint = (
        "requests waited where the latency was not measured, or latency and rate are means of different requests"
        if error < 0
        else "the latency is not the mean of these requests, or more were outstanding than that"
    )
    text = f"{said}, but {number(expected)} {source} ({_signed(error)}): {hint}."
    return LittleAudit(where, expected, implied, error, False, text)


def _audit_size(row: TableRow, stated: float, io_bytes: float) -> LittleAudit:
    decimal, binary = row.iops * io_bytes / _MB, row.iops * io_bytes / _MIB
    error, binary_error = decimal / stated - 1, binary / stated - 1
    product = (
        f"{number(row.iops)} IOPS x {number(io_bytes / 1024)} KiB = {number(decimal)} MB/s = {number(binary)} MiB/s"
    )
    if abs(error) > _UNIT_TELLS and abs(binary_error) < abs(error) / 2 and abs(binary_error) <= TOLERANCE:
        text = f"{product}: the stated {number(stated)} MB/s is MiB/s."
        return LittleAudit(row.where, stated, binary, binary_error, True, text)
    passed = abs(error) <= TOLERANCE
    verdict = f"consistent ({_signed(error)})" if passed else f"does not fit ({_signed(error)}): another size or mix"
    return LittleAudit(
        row.where, stated, decimal, error, passed, f"{product}, {number(stated)} MB/s stated: {verdict}."
    )


def _signed(error: float) -> str:
    return f"{'+' if error >= 0 else '-'}{percent(abs(error))}"
