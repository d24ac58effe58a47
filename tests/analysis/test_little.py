"""Little's law finds the tables that cannot be, and MiB/s that call themselves MB/s."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.conftest import stated
from fathom.analysis.little import TOLERANCE, TableRow, audit_runs, audit_table, published_rows
from fathom.results import Run

P2 = TableRow(
    where="70 % read, 8 KB random",
    iops=206_778,
    latency_ms=1.25,
    outstanding=8 * 4 * 8,
    mb_per_s=1_615,
    io_bytes=8_192,
)
"""VMware, "SQL Server 2016 Database Performance and Improvements on vSAN 6.7": 8 VMs x 4 disks x 8 threads."""


def test_the_published_vsan_row_obeys_littles_law() -> None:
    law, size = audit_table([P2])
    assert law.implied == pytest.approx(258.5, abs=0.1)
    assert law.expected == 256
    assert law.passed
    assert "258" in law.sentence
    assert "256 stated" in law.sentence
    assert size.passed


def test_the_published_vsan_throughput_is_binary() -> None:
    size = audit_table([P2])[1]
    assert size.implied == pytest.approx(1_615.5, abs=0.1)
    assert size.sentence.endswith("the stated 1,615 MB/s is MiB/s.")


@given(st.floats(10, 1e6), st.floats(512, 1e6))
def test_decimal_throughput_is_taken_as_decimal(iops: float, size: float) -> None:
    row = TableRow("x", iops, mb_per_s=iops * size / 1e6, io_bytes=size)
    (audit,) = audit_table([row])
    assert audit.passed
    assert "is MiB/s" not in audit.sentence


@given(st.floats(10, 1e6), st.floats(0.01, 1e3), st.floats(0.2, 5))
def test_a_line_passes_exactly_within_the_tolerance(iops: float, latency_ms: float, wrong: float) -> None:
    outstanding = iops * latency_ms / 1e3 / wrong
    (audit,) = audit_table([TableRow("x", iops, latency_ms, outstanding)])
    assert audit.relative_error == pytest.approx(wrong - 1)
    assert audit.passed == (abs(audit.relative_error or 0.0) <= TOLERANCE)
    assert audit.sentence.endswith(".")


def test_without_a_stated_depth_the_implied_one_is_told() -> None:
    (audit,) = audit_table([TableRow("x", 1_600, latency_ms=400)])
    assert (audit.expected, audit.relative_error, audit.passed) == (None, None, True)
    assert audit.implied == 640


SIXTEEN = {"variants": [stated({"workload.outstanding": 4}, demand={"users": 16, "pauses": False})]}


def loop(run: Callable[..., Run], latency_ms: float, outstanding: float | None) -> list[Run]:
    metrics = {"iops": 16_000.0, "latency_ms": latency_ms, "outstanding": outstanding}
    return [run({"workload.outstanding": 4}, n, metrics) for n in (1, 2, 3)]


def test_own_runs_are_checked_against_measurement_and_configuration(run: Callable[..., Run]) -> None:
    audits = audit_runs(loop(run, 1.0, 16.0), SIXTEEN)
    assert [audit.passed for audit in audits] == [True, True]
    assert "configured" in audits[1].sentence


def test_waiting_outside_the_measured_latency_is_found(run: Callable[..., Run]) -> None:
    audits = audit_runs(loop(run, 0.5, 16.0), SIXTEEN)
    assert [audit.passed for audit in audits] == [False, False]
    assert "-50 %" in audits[0].sentence


def test_requests_at_the_ends_of_a_short_run_are_no_contradiction(run: Callable[..., Run]) -> None:
    metrics = {"iops": 5_000.0, "latency_ms": 5.6, "latency_p99_ms": 145.0, "outstanding": 32.0}
    short, long = (replace(run({"v": 1}, 1, metrics), measured_s=seconds) for seconds in (0.5, 60.0))
    assert [audit.passed for audit in audit_runs([short], {})] == [True]
    assert [audit.passed for audit in audit_runs([long], {})] == [False]


LOG_WRITER = {
    "iops": 1000.0,
    "latency_ms": 0.2,
    "flushes_per_second": 1000.0,
    "flush_latency_ms": 0.8,
    "outstanding": 1.0,
}


def test_flushes_are_outstanding_too(run: Callable[..., Run]) -> None:
    """A log writer: 0.2 ms to write, 0.8 ms to flush, one at a time."""
    (audit,) = audit_runs([run({"v": 1}, 1, LOG_WRITER)], {})
    assert audit.passed
    assert audit.implied == pytest.approx(1.0)
    assert "with 0.8 in flushes 1," in audit.sentence


def test_the_latency_of_an_open_loop_has_its_flushes_in_it(run: Callable[..., Run]) -> None:
    """A write of 0.2 ms and its flush of 0.8 ms are one request from the arrival on, and are counted once."""
    metrics = LOG_WRITER | {"arrivals_per_second": 1000.0, "latency_ms": 1.0}
    (audit,) = audit_runs([run({"v": 1}, 1, metrics)], {})
    assert audit.passed
    assert audit.implied == pytest.approx(1.0)
    assert "flushes" not in audit.sentence


def test_a_late_load_generator_has_nothing_outstanding(run: Callable[..., Run]) -> None:
    """Requests of 1 ms that began 3 ms after they were due: 0.5 are outstanding, and 2 by the latency."""
    metrics = {"iops": 500.0, "arrivals_per_second": 500.0, "latency_ms": 4.0, "late_ms": 3.0, "outstanding": 0.5}
    (audit,) = audit_runs([run({"v": 1}, 1, metrics)], {})
    assert audit.passed, audit.sentence
    assert "500 IOPS x 1 ms = 0.5 outstanding (without the 3.00 ms that the load generator was late)" in audit.sentence


@pytest.mark.parametrize("demand", [{"users": 4, "pauses": True}, {"rate": 1000.0}, None])
def test_only_a_closed_loop_without_think_time_configures_its_outstanding(
    run: Callable[..., Run], demand: dict[str, Any] | None
) -> None:
    runs = [run({"v": 1}, 1, {"iops": 100.0, "latency_ms": 1.0, "outstanding": None})]
    assert audit_runs(runs, {"variants": [stated(demand=demand)]}) == ()


def test_failed_or_unmeasured_runs_are_left_out(run: Callable[..., Run]) -> None:
    runs = [run({"v": 1}, 1, None), run({"v": 1}, 2, {"iops": None, "latency_ms": 1.0})]
    assert audit_runs(runs, {"variants": [stated()]}) == ()


def test_a_published_table_is_read() -> None:
    line = {"where": "b", "iops": 5.0, "latency_ms": 1.0, "outstanding": None, "mb_per_s": None, "io_bytes": None}
    assert published_rows({"published": {"table": [line]}}) == (TableRow("b", 5.0, 1.0),)
    assert published_rows({"published": None}) == ()


def test_requests_that_waited_in_a_standstill_at_the_end_are_in_no_latency(run: Callable[..., Run]) -> None:
    """16 requests, of which none was answered in the last 270 of 300 s."""
    samples = pl.DataFrame(
        {
            "t_s": [float(second) for second in range(300)],
            "seconds": 1.0,
            "phase": "measure",
            "node": "workload",
            "op": "read",
            "count": [1000.0] * 30 + [0.0] * 270,
            "outstanding_mean": 16.0,
        }
    )
    metrics = {"iops": 100.0, "latency_ms": 16.0, "outstanding": 16.0, "standstill_ms": 270_000.0}
    frozen = replace(run({"cache": "8GiB"}, 1, metrics, samples=samples), measured_s=300.0)
    (audit,) = audit_runs([frozen], {"variants": [stated({"cache": "8GiB"}, demand={})]})
    assert audit.passed, audit.sentence
    assert "with 14.4 in requests that still waited at the end, for up to 270 s, 16, 16 measured" in audit.sentence
    (audit,) = audit_runs(
        [replace(frozen, metrics={**metrics, "standstill_ms": 900.0})],
        {"variants": [stated({"cache": "8GiB"}, demand={})]},
    )
    assert not audit.passed, "nothing stood still, and the requests are missing all the same"
