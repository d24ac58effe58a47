"""The table and its registry: what every importer and every rule relies on."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from fathom.diagnose import log as reader
from fathom.diagnose.facts import Fact, Told
from fathom.diagnose.importer import importers
from fathom.diagnose.metrics import LAYERS, METRICS, Kind, Layer
from fathom.diagnose.save import save
from fathom.diagnose.table import SCHEMA, Rows, Series, Wide, checked, empty
from fathom.errors import UsageError

READ = Series("h", "sda", Layer.GUEST_DISK, "read_iops")
CPU = Series("h", None, Layer.HOST, "cpu_percent")


def test_every_mean_per_event_is_weighted_by_a_rate_and_nothing_else_is() -> None:
    for metric in METRICS.values():
        assert (metric.weight is not None) == (metric.kind is Kind.AVERAGE), metric.name
        if metric.weight is not None:
            assert METRICS[metric.weight].kind is Kind.RATE, metric.name


def test_units_are_those_that_names_promise() -> None:
    endings = {"_percent": "%", "_bytes_per_s": "B/s", "_bytes": "B", "_s_per_s": "s/s", "_iops": "1/s"}
    for metric in METRICS.values():
        for ending, unit in endings.items():
            if metric.name.endswith(ending):
                assert metric.unit == unit, metric.name
                break
    assert set(LAYERS) == set(Layer)


def test_a_wide_batch_keeps_missing_values_and_unknown_intervals_null() -> None:
    times = np.array([1, 2], dtype=np.int64)
    batch = Wide([READ, CPU]).batch(times, np.array([np.nan, 1.0]), np.array([[1.5, np.nan], [np.nan, 4.0]]))
    assert batch.schema == SCHEMA
    assert batch["value"].to_list() == [1.5, None, None, 4.0]
    assert batch["seconds"].to_list() == [None, 1.0, None, 1.0]
    assert batch["device"].to_list() == ["sda", "sda", None, None]
    assert batch["time"].dt.timestamp("ns").to_list() == [1, 2, 1, 2]


def test_rows_and_wide_make_the_same_table() -> None:
    rows = Rows()
    rows.add(1, None, READ, 1.5)
    rows.add(1, None, CPU, None)
    expected = Wide([READ, CPU]).batch(np.array([1], dtype=np.int64), None, np.array([[1.5, np.nan]]))
    assert rows.take().equals(expected)
    assert rows.take().equals(empty())


def test_impossible_values_become_missing_and_are_counted() -> None:
    rows = Rows()
    for value in (-1.0, float("inf"), 0.0, 3.0, None):
        rows.add(1, 1.0, READ, value)
    good, count = checked(rows.take())
    assert (good["value"].to_list(), count) == ([None, None, 0.0, 3.0, None], 2)
    with pytest.raises(TypeError, match="not the table's columns"):
        checked(pl.DataFrame({"value": [1.0]}))


def test_facts_are_a_closed_list_and_told_once() -> None:
    with pytest.raises(ValueError, match="is no fact"):
        Fact("favourite colour", "blue")
    told = Told("a", "b", "c")
    told.fact("os", "Linux", "h")
    told.fact("os", "Linux", "h")
    told.skip("lines", "empty", 2, "line 3")
    told.skip("lines", "empty", 1, "line 9")
    assert len(told.facts) == 1
    assert [(each.count, each.example) for each in told.skipped] == [(3, "line 3")]


def test_importers_have_names_titles_and_a_file_of_their_name() -> None:
    folder = Path(reader.__file__).parent / "importers"
    files = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert {each.name.replace("-", "_") for each in importers()} == files
    assert all(each.title for each in importers())


def test_a_long_log_is_spilled_and_reads_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, samples: Path
) -> None:
    path = samples / "iostat.json"
    with reader.read([path]) as log:
        expected = log.samples.collect()
    monkeypatch.setattr(reader, "IN_MEMORY_ROWS", 5)
    monkeypatch.setattr(reader, "_PART_ROWS", 10)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with reader.read([path]) as log:
        assert log.samples.collect().equals(expected)
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []


def test_saving_is_whole_or_not_at_all(tmp_path: Path, samples: Path) -> None:
    with reader.read([samples / "iostat.json"]) as log:
        save(log, tmp_path / "t.parquet")
        save(log, tmp_path / "t.csv")
        assert pl.read_parquet(tmp_path / "t.parquet").equals(log.samples.collect())
        assert pl.read_csv(tmp_path / "t.csv").columns == [*SCHEMA.names(), "unit"]
        with pytest.raises(UsageError, match="neither"):
            save(log, tmp_path / "t.xlsx")
        with pytest.raises(Exception, match="cannot write"):
            save(log, tmp_path / "nowhere" / "t.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.csv", "t.parquet"]


def test_every_metric_is_filled_by_some_importer() -> None:
    folder = Path(reader.__file__).parent
    files = [path for path in folder.rglob("*.py") if path.name != "metrics.py" and "rules" not in path.parts]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    # Traces make the names of reads and writes from one.
    made = {f"{kind}_{name}" for name in re.findall(r'f"\{kind\}_(\w+)"', text) for kind in ("read", "write")}
    assert [name for name in METRICS if f'"{name}"' not in text and name not in made] == []
