"""Snapshots that Excel saved again: their stamps have no seconds, and several share a minute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from fathom.diagnose import log as reader

START = datetime(2026, 11, 2, 1, 0, 3)
FILES = (
    "sample_time,database_name,physical_name,num_of_reads,num_of_bytes_read,io_stall_read_ms,num_of_writes,"
    "num_of_bytes_written,io_stall_write_ms"
)
WAITS = "sample_time,wait_type,waiting_tasks_count,wait_time_ms,max_wait_time_ms,signal_wait_time_ms"
BGWRITER = "now,checkpoints_timed,checkpoints_req,buffers_checkpoint,buffers_clean,maxwritten_clean"
ACTIVITY = "now,state,wait_event_type,wait_event,sessions"


def views_of_sql_server(stamp: str, second: float) -> list[str]:
    reads = 1_000_000 + round(1200 * second)
    files = [f"{stamp},erp,{name},{reads},{reads * 8192},{reads * 15},0,0,0" for name in (r"E:\erp.mdf", r"F:\erp.ndf")]
    return [FILES, *files, WAITS, f"{stamp},PAGEIOLATCH_SH,{reads},{reads * 15},900,0"]


def views_of_postgresql(stamp: str, second: float) -> list[str]:
    pages = 500_000 + round(300 * second)
    return [BGWRITER, f"{stamp},1,0,{pages},0,0", ACTIVITY, f"{stamp},active,IO,DataFileRead,4"]


def saved(path: Path, views: Callable[[str, float], list[str]], seconds: Sequence[float], form: str) -> Path:
    rows = [row for second in seconds for row in views((START + timedelta(seconds=second)).strftime(form), second)]
    path.write_text("\n".join(rows) + "\n")
    return path


def means(path: Path) -> tuple[dict[tuple[str | None, str], float], str]:
    with reader.read([path]) as log:
        rows = log.samples.drop_nulls("value").collect()
        facts = " ".join(f"{fact.name} {fact.value}" for fact in log.notes[0].facts)
    found = {}
    for (device, metric), part in rows.group_by("device", "metric"):
        weights = part["seconds"].fill_null(1.0).to_numpy()
        found[device, str(metric)] = float(np.average(part["value"].to_numpy(), weights=weights))
    return found, facts


@pytest.mark.parametrize("form", ["%m/%d/%Y %H:%M", "%d.%m.%Y %H:%M", "%m/%d/%Y %I:%M %p"])
@pytest.mark.parametrize("step", [5.0, 10.0, 10.13, 14.9, 25.0])
def test_even_snapshots_without_seconds_have_their_rates(tmp_path: Path, form: str, step: float) -> None:
    seconds = [step * number for number in range(90)]
    found, facts = means(saved(tmp_path / "log.csv", views_of_sql_server, seconds, form))
    assert found[r"E:\erp.mdf", "read_iops"] == pytest.approx(1200, rel=0.02)
    assert found["PAGEIOLATCH_SH", "wait_s_per_s"] == pytest.approx(18, rel=0.02)
    assert "the stamps have no seconds" in facts
    assert "evenly spread" in facts


def test_even_snapshots_of_postgresql_have_their_rates(tmp_path: Path) -> None:
    seconds = [10.0 * number for number in range(60)]
    found, _ = means(saved(tmp_path / "log.csv", views_of_postgresql, seconds, "%m/%d/%Y %H:%M"))
    assert found[None, "checkpoint_pages_per_s"] == pytest.approx(300, rel=0.02)
    assert found["IO:DataFileRead", "active_sessions"] == pytest.approx(4)


def test_a_pause_between_snapshots_is_no_part_of_their_pace(tmp_path: Path) -> None:
    seconds = [10.0 * number for number in range(60)] + [3600 + 10.0 * number for number in range(60)]
    found, facts = means(saved(tmp_path / "log.csv", views_of_sql_server, seconds, "%m/%d/%Y %H:%M"))
    assert found[r"E:\erp.mdf", "read_iops"] == pytest.approx(1200, rel=0.02)
    assert "evenly spread" in facts


def test_of_uneven_snapshots_the_first_of_each_minute_counts(tmp_path: Path) -> None:
    """Four in the first seconds of most minutes: their distance is not what the minute suggests."""
    seconds = [60.0 * minute + second for minute in range(30) for second in ((1, 2, 3, 4) if minute % 3 else (1,))]
    for views, name, metric, right in (
        (views_of_sql_server, r"E:\erp.mdf", "read_iops", 1200),
        (views_of_postgresql, "IO:DataFileRead", "active_sessions", 4),
    ):
        found, facts = means(saved(tmp_path / "log.csv", views, seconds, "%m/%d/%Y %H:%M"))
        assert found[name, metric] == pytest.approx(right)
        assert "the first of each minute is taken" in facts


def test_one_snapshot_a_minute_is_read_as_it_is(tmp_path: Path) -> None:
    seconds = [60.0 * number for number in range(30)]
    found, facts = means(saved(tmp_path / "log.csv", views_of_sql_server, seconds, "%m/%d/%Y %H:%M"))
    assert found[r"E:\erp.mdf", "read_iops"] == pytest.approx(1200)
    assert "no seconds" not in facts
