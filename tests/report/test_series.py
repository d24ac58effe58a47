"""Lines drawn from samples and histograms show what is there: gaps as gaps, stalls as stalls, each I/O once."""

from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.report.series import (
    PANELS,
    Counts,
    activity,
    counted,
    gaps,
    has_ramp,
    measured_end,
    node_with,
    operations,
    percentile_curve,
    places,
    thin,
    timeline,
    top_volumes,
)

STUDY = {"volumes": {"disk": {"kind": "model"}, "data": {"kind": "stripe", "members": ["disk"]}}}


def samples(rows: list[tuple[float, str, str, int, float | None]]) -> pl.DataFrame:
    """(t_s, node, op, count, latency in ns) to a frame with intervals of 1 s and 10 bytes per request."""
    return pl.DataFrame(
        [
            {
                "t_s": t,
                "seconds": 1.0,
                "phase": "ramp" if t < 0 else "measure",
                "node": node,
                "op": op,
                "count": count,
                "bytes": count * 10,
                "latency_mean_ns": latency,
                "outstanding_mean": 4.0,
            }
            for t, node, op, count, latency in rows
        ],
        infer_schema_length=None,
    )


def counts(*frames: pl.DataFrame) -> list[Counts]:
    """What each of these runs counted."""
    return list(counted({str(number): frame for number, frame in enumerate(frames)}).values())


def test_a_remnant_in_which_nothing_happened_is_no_fall_to_0() -> None:
    frame = samples([(float(t), "workload", "read", 100, 1e6) for t in range(3)] + [(3.0, "workload", "read", 0, None)])
    short = frame.with_columns(pl.when(pl.col("t_s") == 3.0).then(0.004).otherwise(pl.col("seconds")).alias("seconds"))
    assert [value for _, value in timeline(short, panel("iops"), "workload")] == [100, 100, 100]
    # A whole interval without a request is one, and so is a short one with a request.
    assert [value for _, value in timeline(frame, panel("iops"), "workload")] == [100, 100, 100, 0]
    busy = short.with_columns(pl.when(pl.col("t_s") == 3.0).then(1).otherwise(pl.col("count")).alias("count"))
    assert len(timeline(busy, panel("iops"), "workload")) == 4


def panel(name: str) -> object:
    return next(panel for panel in PANELS if panel.name == name)


def test_rates_add_operations_but_not_layers() -> None:
    frame = samples([(0, "data", "read", 30, 1.0), (0, "data", "write", 12, 1.0), (0, "disk", "read", 60, 1.0)])
    assert timeline(frame, panel("iops"), "data") == ((0.5, 42.0),)
    assert timeline(frame, panel("mb_per_s"), "data") == ((0.5, pytest.approx(42 * 10 / 1e6)),)


def test_outstanding_is_held_once_for_all_operations() -> None:
    frame = samples([(0, "data", "read", 1, 1.0), (0, "data", "write", 1, 1.0)])
    assert timeline(frame, panel("outstanding"), "data") == ((0.5, 4.0),)


def test_an_interval_without_a_value_and_a_missing_interval_are_gaps() -> None:
    frame = samples(
        [(0, "d", "read", 5, 2e6), (1, "d", "read", 0, None), (2, "d", "read", 5, 3e6), (5, "d", "read", 5, 4e6)]
    )
    found = timeline(frame, panel("read_latency"), "d")
    assert [time for time, _ in found] == [0.5, 1.5, 2.5, 3.0, 5.5]
    assert [None if math.isnan(value) else value for _, value in found] == [2.0, None, 3.0, None, 4.0]
    assert gaps(frame) == 1


def test_the_workload_stands_before_volumes_and_the_busiest_top_before_what_it_stands_on() -> None:
    frame = samples([(0, "disk", "read", 9, 1.0), (0, "data", "read", 2, 1.0), (0, "log", "write", 3, 1.0)])
    user = samples([(0, "workload", "read", 1, 1.0)])
    idle = samples([(0, "workload", "read", 0, None)])
    study = {"volumes": {**STUDY["volumes"], "log": {"kind": "file"}}}
    assert top_volumes(study) == ("data", "log")
    assert node_with(counts(frame), ("read",), study) == "data"
    assert node_with(counts(frame), ("read", "write"), study) == "log"
    assert node_with(counts(frame), ("read",), {}) == "disk"
    assert node_with(counts(frame, user), ("read",), study) == "workload"
    assert node_with(counts(frame, idle), ("read",), study) == "data"
    assert node_with(counts(frame), ("flush",), study) is None
    own = samples([(0, "database checkpoint", "write", 99, None)])
    assert node_with(counts(own), ("write",), {}) is None, "what a database counts is no volume's"
    assert node_with(counts(frame, own), ("write",), study) == "log"


def test_operations_are_listed_reads_first() -> None:
    (seen,) = counts(samples([(0, "d", "write", 1, 1.0), (0, "d", "read", 1, 1.0), (0, "e", "flush", 1, 1.0)]))
    assert operations(seen, "d") == ("read", "write")


def test_activity_ends_with_the_measured_phase_unless_asked_to_go_on() -> None:
    frame = pl.DataFrame(
        [
            {
                "t_s": t,
                "seconds": 1.0,
                "phase": phase,
                "kind": "volume",
                "name": name,
                "measure": "dirty_bytes",
                "value": 2e6,
            }
            for t, phase in ((-1.0, "ramp"), (0.0, "measure"), (1.0, "after"))
            for name in ("a", "b")
        ]
    )
    assert activity(frame, "volume", "dirty_bytes", 1e-6) == ((-0.5, 4.0), (0.5, 4.0))
    assert activity(frame, "volume", "dirty_bytes", 1e-6, after=True)[-1] == (1.5, 4.0)
    assert measured_end(frame) == 1.0


def test_a_ramp_is_what_lies_before_zero() -> None:
    assert has_ramp(samples([(-1, "d", "read", 1, 1.0), (0, "d", "read", 1, 1.0)]))
    assert not has_ramp(samples([(0, "d", "read", 1, 1.0)]))


@given(
    values=st.lists(st.one_of(st.just(math.nan), st.floats(0, 1e9)), min_size=1, max_size=400),
    columns=st.integers(2, 20),
)
def test_thinning_loses_no_extreme_no_end_and_no_gap(values: list[float], columns: int) -> None:
    points = tuple((float(index), value) for index, value in enumerate(values))
    kept = thin(points, columns)
    known = [value for value in values if not math.isnan(value)]
    left = [value for _, value in kept if not math.isnan(value)]
    assert len(left) <= max(4 * columns, 0)
    assert sum(math.isnan(value) for _, value in kept) == len(values) - len(known)
    assert [time for time, _ in kept] == sorted({time for time, _ in kept})
    if known:
        assert (min(left), max(left), left[0], left[-1]) == (min(known), max(known), known[0], known[-1])


def latencies(buckets: list[tuple[int, int]]) -> pl.DataFrame:
    """(upper edge in ns, count) to a histogram of reads."""
    return pl.DataFrame(
        [
            {"node": "d", "op": "read", "measure": "latency", "low": high // 2, "high": high, "count": count}
            for high, count in buckets
        ]
    )


def test_percentiles_are_steps_at_the_upper_edges_of_wide_buckets() -> None:
    points, thin_from = percentile_curve(latencies([(1_000_000, 90), (2_000_000, 9), (9_000_000, 1)]), "d", "read")
    assert [(pytest.approx(x), y) for x, y in points] == [(0, 1.0), (1, 1.0), (1, 2.0), (2, 2.0), (2, 9.0)]
    assert thin_from == pytest.approx(1.0)


def test_a_distribution_of_one_bucket_is_a_flat_line() -> None:
    points, _ = percentile_curve(latencies([(5_000_000, 1000)]), "d", "read")
    assert points == ((0.0, 5.0), (pytest.approx(3.0), 5.0))


@given(st.lists(st.integers(1, 500), min_size=1, max_size=300))
def test_percentile_curves_rise_and_end_at_the_slowest_request(counts: list[int]) -> None:
    buckets = [(1000 * (index + 1), count) for index, count in enumerate(counts)]
    points, _ = percentile_curve(latencies(buckets), "d", "read")
    assert list(points) == sorted(points)
    assert points[-1][1] == pytest.approx(len(counts) * 1e-3)


def test_activity_of_one_source_and_per_request() -> None:
    rows = [
        {
            "t_s": t,
            "seconds": 1.0,
            "phase": "measure",
            "kind": "place",
            "name": name,
            "measure": measure,
            "value": value,
        }
        for t, name, measure, value in (
            (0.0, "data", "reads", 10.0),
            (0.0, "data", "read_bytes", 40960.0),
            (0.0, "log", "reads", 90.0),
            (1.0, "data", "reads", 0.0),
            (1.0, "data", "read_bytes", 0.0),
        )
    ]
    frame = pl.DataFrame(rows)
    assert activity(frame, "place", "reads", 1.0) == ((0.5, 100.0), (1.5, 0.0))
    assert activity(frame, "place", "reads", 1.0, name="data") == ((0.5, 10.0), (1.5, 0.0))
    (first, second) = activity(frame, "place", "read_bytes", 1 / 1024, name="data", per="reads")
    assert first == (0.5, 4.0)
    assert math.isnan(second[1]), "nothing was read: there is no size"
    assert places(frame) == ("data", "log")
