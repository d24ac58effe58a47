"""The BLG reader: logs written here, real logs where they are at hand, and what damage does."""

from __future__ import annotations

import csv
import gzip
import itertools
import os
import random
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diagnose import blg_writer as blg
from diagnose.blg_logs import START, UTC, counters_log, objects_log
from fathom._core import BadInput, BlgLog
from fathom.diagnose.importer import importers, recognised
from fathom.diagnose.log import blocks
from fathom.diagnose.source import LogError, Source
from fathom.diagnose.table import rows

REAL = Path(os.environ.get("FATHOM_SAMPLE_LOGS", Path(__file__).parents[3] / "shared" / "data"))


def values(path: Path) -> dict[tuple[str, str, str], list[tuple[int, float]]]:
    """Everything in a log: (object, instance, counter) to (UTC in ns, value)."""
    log = BlgLog(path)
    found: dict[tuple[str, str, str], list[tuple[int, float]]] = {}
    while (columns := log.batch(1000)) is not None:
        names = log.series(0)
        times, series, numbers = (
            np.frombuffer(columns[name], kind)
            for name, kind in (("time_ns", np.int64), ("series", np.uint32), ("value", np.float64))
        )
        for time, number, value in zip(times, series, numbers, strict=True):
            found.setdefault(names[number][1:4], []).append((int(time), float(value)))
    return found


def values_or_fault(path: Path) -> dict[tuple[str, str, str], list[tuple[int, float]]] | str:
    """Everything in a log, or what is wrong with it."""
    try:
        return values(path)
    except BadInput as problem:
        return str(problem)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "a log"
    path.write_bytes(objects_log())
    return path


@pytest.mark.parametrize("wide", [True, False], ids=["64-bit", "32-bit"])
def test_object_mode_yields_rates_means_and_gauges(tmp_path: Path, wide: bool) -> None:
    path = tmp_path / "log"
    path.write_bytes(objects_log(wide=wide))
    found = values(path)
    first = int((START + UTC - datetime(1970, 1, 1)).total_seconds()) * 10**9
    assert found["PhysicalDisk", "0 C:", "Current Disk Queue Length"] == [
        (first + i * 15 * 10**9, 3.0) for i in range(4)
    ]
    reads = found["PhysicalDisk", "0 C:", "Disk Reads/sec"]
    assert reads == [(first + i * 15 * 10**9, 10.0) for i in (1, 2, 3)], "the first sample has no rate"
    assert [v for _, v in found["PhysicalDisk", "0 C:", "Avg. Disk sec/Read"]] == pytest.approx([0.005] * 3)
    assert [v for _, v in found["PhysicalDisk", "1 D:", "Avg. Disk sec/Read"]] == [0.0] * 3, "as Windows prints it"


def test_counter_mode_yields_the_same_kinds(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(counters_log())
    found = values(path)
    assert [v for _, v in found["PhysicalDisk", "0 C:", "Avg. Disk Bytes/Read"]] == [8192.0, 8192.0]
    assert [v for _, v in found["PhysicalDisk", "0 C:", "Disk Reads/sec"]] == [30.0, 30.0]
    assert [v for _, v in found["Processor", "_Total", "Interrupts/sec"]] == [80.0, 80.0]


def test_local_time_becomes_utc_across_the_end_of_daylight_saving(tmp_path: Path) -> None:
    """New York, 2026-11-01: 01:59 is shown twice."""
    writer = blg.Writer(bias=300, saving=60)
    writer.list_counters([blg.Counter("System", "", "Processor Queue Length", blg.GAUGE)])
    for local in (datetime(2026, 11, 1, 1, 30), datetime(2026, 11, 1, 1, 59), datetime(2026, 11, 1, 1, 10)):
        writer.sample(local, [(1, 0)])
    path = tmp_path / "log"
    path.write_bytes(writer.finish())
    times = [time for time, _ in values(path)["System", "", "Processor Queue Length"]]
    assert [(b - a) // 10**9 for a, b in itertools.pairwise(times)] == [29 * 60, 11 * 60]


def test_a_sample_without_data_is_missing(tmp_path: Path) -> None:
    writer = blg.Writer()
    writer.list_counters([blg.Counter("System", "", "Processor Queue Length", blg.GAUGE)])
    for number, value in enumerate([(7, 0), None, (9, 0)]):
        writer.sample(START + timedelta(seconds=number), [value])
    path = tmp_path / "log"
    path.write_bytes(writer.finish())
    assert [value for _, value in values(path)["System", "", "Processor Queue Length"]] == [7.0, 9.0]


def test_the_importer_fills_the_table(log: Path) -> None:
    source = Source(log)
    assert recognised(source).name == "blg"
    table = rows(blocks(source))
    disk = table.filter(pl.col("device").cast(pl.String) == "0 C:")
    by_metric = {str(name[0]): frame for name, frame in disk.group_by("metric")}
    assert by_metric["read_latency_s"]["value"].to_list() == pytest.approx([0.005] * 3)
    assert by_metric["outstanding"]["value"].to_list() == [3.0] * 4
    assert by_metric["read_iops"]["seconds"].to_list() == [15.0] * 3
    assert by_metric["read_iops"]["time"][0] == datetime.fromisoformat("2026-08-14T19:40:53+00:00")
    idle = table.filter(
        (pl.col("device").cast(pl.String) == "1 D:") & (pl.col("metric").cast(pl.String) == "read_latency_s")
    )
    assert idle["value"].to_list() == [None] * 3, "a mean over no reads is missing, not zero"


def test_localised_disks_are_known_by_index(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(
        objects_log({234: "Physikalischer Datenträger", 208: "Mittlere Sek./Lesevorgänge", 214: "x", 198: "y"})
    )
    table = rows(blocks(Source(path)))
    assert set(table["metric"].cast(pl.String)) == {"outstanding", "read_latency_s", "read_iops"}


def test_a_compressed_log_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(objects_log()))
    assert rows(blocks(Source(path))).height > 0


def test_a_type_without_a_formula_is_told(tmp_path: Path) -> None:
    writer = blg.Writer()
    writer.list_counters(
        [blg.Counter("X", "", "Odd", blg.MULTI_TIMER), blg.Counter("System", "", "Processor Queue Length", blg.GAUGE)]
    )
    writer.sample(START, [(1, 1), (2, 0)])
    path = tmp_path / "log"
    path.write_bytes(writer.finish())
    source = Source(path)
    list(blocks(source))
    assert any("0x22410500" in skipped.why for skipped in source.notes.skipped)


@pytest.mark.parametrize("make", [objects_log, counters_log])
def test_a_cut_log_is_an_error_with_its_byte(tmp_path: Path, make: object) -> None:
    whole = make()  # type: ignore[operator]
    path = tmp_path / "log"
    for length in (0, 7, 0x67, 0x48 + 100, blg.BUFFER - 1, blg.BUFFER, blg.BUFFER + 70, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises((BadInput, LogError), match=r"byte 0x|empty"):
            values(path)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damage_is_an_error_or_a_value_but_never_a_crash(data: st.DataObject) -> None:
    """Every byte of structure matters; a flipped bit of a raw value cannot be notes, and only changes that value."""
    whole = bytearray(data.draw(st.sampled_from([objects_log(), counters_log()])))
    events = [at for at, byte in enumerate(whole) if byte not in (0, 0xFF)]
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.one_of(st.sampled_from(events), st.integers(0, len(whole) - 1)))
        whole[at] ^= 1 << data.draw(st.integers(0, 7))
    path = Path(os.environ.get("TMPDIR", "/tmp")) / f"fathom-blg-{os.getpid()}"
    path.write_bytes(whole)
    try:
        found = values_or_fault(path)
        if isinstance(found, str):
            assert "byte 0x" in found
        else:
            assert all(np.isfinite(value) for series in found.values() for _, value in series)
    finally:
        path.unlink()


def test_nothing_but_a_blg_is_taken_for_one(tmp_path: Path) -> None:
    known = next(importer for importer in importers() if importer.name == "blg")
    noise = random.Random(1).randbytes(70_000)
    for content in (b"", b"\x00" * 200, noise, b'"(PDH-CSV 4.0) (UTC)(0)"', b"\x00\x00\x01\x00" + bytes(100)):
        path = tmp_path / "log"
        path.write_bytes(content)
        assert known.recognise(Source(path).head()) == 0.0


@pytest.mark.skipif(not (REAL / "PAL_SampleLog.blg").is_file(), reason=f"no real logs in {REAL.name}/")
def test_real_object_mode_agrees_with_the_prototype() -> None:
    found = values(REAL / "PAL_SampleLog.blg")
    rows = list(csv.DictReader((REAL / "PAL_SampleLog.expected_prototype.csv").open()))
    assert len(rows) == 730
    by_time: dict[tuple[str, str, str], dict[int, float]] = {
        key: {round(time / 1e9): value for time, value in series} for key, series in found.items()
    }
    for row in rows:
        # The prototype's column says UTC and holds the local time of New York.
        local = datetime.fromisoformat(row["sample_time_utc_systemtime"])
        second = round((local + UTC - datetime(1970, 1, 1)).total_seconds())
        series = by_time[row["object"], row["instance"], row["counter"]]
        assert series[second] == pytest.approx(float(row["value"]), rel=1e-6, abs=1e-9), row
    for instance in ("0 C:", "_Total"):
        rates = [by_time["PhysicalDisk", instance, f"Disk {what}/sec"] for what in ("Reads", "Writes", "Transfers")]
        for time, transfers in rates[2].items():
            assert rates[0][time] + rates[1][time] == pytest.approx(transfers, rel=1e-8)


@pytest.mark.skipif(not (REAL / "Tx_BasicPerfCounters.blg").is_file(), reason=f"no real logs in {REAL.name}/")
def test_real_counter_mode_agrees_with_the_prototype() -> None:
    found = values(REAL / "Tx_BasicPerfCounters.blg")
    rows = list(csv.DictReader((REAL / "Tx_BasicPerfCounters.expected_prototype.csv").open()))
    assert len(rows) == 600
    for counter in ("Avg. Disk Bytes/Read", "Avg. Disk Queue Length", "Avg. Disk Write Queue Length"):
        ours = [value for _, value in found["PhysicalDisk", "0 C:", counter]]
        theirs = [float(row[rf"PhysicalDisk(0 C:)\{counter}"]) for row in rows]
        assert ours == pytest.approx(theirs, rel=1e-6, abs=1e-9), counter
    first = datetime.fromisoformat(rows[0]["filetime_local"]) + timedelta(hours=8)
    time = found["PhysicalDisk", "0 C:", "Avg. Disk Bytes/Read"][0][0]
    assert time == pytest.approx((first - datetime(1970, 1, 1)).total_seconds() * 1e9, abs=1e6)
