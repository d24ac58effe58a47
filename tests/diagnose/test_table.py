"""The table and its registry: what every importer and every rule relies on."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import polars.testing
import pytest

from fathom.diagnose import log as reader
from fathom.diagnose.facts import Fact, LogNotes
from fathom.diagnose.importer import importers
from fathom.diagnose.metrics import LAYERS, METRICS, Kind, Layer
from fathom.diagnose.save import save
from fathom.diagnose.summary import summary
from fathom.diagnose.table import SCHEMA, Block, Rows, Series, checked, rows
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


def block(series: tuple[Series, ...], seconds: list[float], values: list[list[float]]) -> Block:
    return Block(series, np.arange(1, len(seconds) + 1), np.array(seconds), np.array(values))


def test_a_table_keeps_missing_values_and_unknown_intervals_null() -> None:
    table = rows([block((READ, CPU), [np.nan, 1.0], [[1.5, np.nan], [np.nan, 4.0]])])
    assert table.schema == SCHEMA
    assert table["value"].to_list() == [1.5, None, None, 4.0]
    assert table["seconds"].to_list() == [None, 1.0, None, 1.0]
    assert table["device"].to_list() == ["sda", "sda", None, None]
    assert table["time"].dt.timestamp("ns").to_list() == [1, 2, 1, 2]
    assert rows([]).equals(pl.DataFrame(schema=SCHEMA))


def test_single_values_and_wide_rows_make_the_same_table() -> None:
    collected = Rows()
    collected.add(1, None, READ, 1.5)
    collected.add(1, None, CPU, None)
    collected.add(2, 1.0, READ, None)
    collected.add(2, 1.0, CPU, 4.0)
    expected = rows([block((READ, CPU), [np.nan, 1.0], [[1.5, np.nan], [np.nan, 4.0]])])
    assert rows(collected.take()).equals(expected)
    assert collected.take() == []


def test_impossible_values_become_missing_and_are_counted() -> None:
    good, count = checked(block((READ,), [1.0] * 5, [[-1.0], [np.inf], [0.0], [3.0], [np.nan]]))
    assert (rows([good])["value"].to_list(), count) == ([None, None, 0.0, 3.0, None], 2)
    with pytest.raises(TypeError, match="for 1 moments of 2 series"):
        checked(block((READ, CPU), [1.0], [[1.0]]))


def test_a_summary_over_parts_is_that_of_the_whole() -> None:
    """Against polars, which does it by rows; one series has no value, one has gaps and other moments."""
    random = np.random.default_rng(5)
    values = np.where(random.random((40, 2)) < 0.2, np.nan, random.gamma(2, 3, (40, 2)))
    values[:, 1] = np.nan
    other = Block((CPU._replace(metric="run_queue"),), np.arange(7), random.random(7), random.random((7, 1)))
    whole = block((READ, CPU), list(random.random(40)), values.tolist())
    parts = [Block(*(whole.series, *(each[at : at + 9] for each in whole[1:]))) for at in range(0, 40, 9)]
    found = summary([*parts, other])
    value = pl.col("value")
    expected = (
        rows([whole, other]).group_by("layer", "host", "device", "metric").agg(
            value.count().alias("samples"), value.null_count().alias("missing"),
            pl.col("time").min().alias("first"), pl.col("time").max().alias("last"),
            pl.col("seconds").median().alias("interval_s"), value.mean().alias("mean"), value.max().alias("max"),
        ).with_columns(pl.col("host", "device").cast(pl.String)).sort("layer", "host", "device", "metric")
    )  # fmt: skip
    assert found.schema == expected.schema
    polars.testing.assert_frame_equal(found, expected, abs_tol=1e-12)


def test_facts_are_a_closed_list_and_told_once() -> None:
    with pytest.raises(ValueError, match="is no fact"):
        Fact("favourite colour", "blue")
    notes = LogNotes("a", "b", "c")
    notes.fact("os", "Linux", "h")
    notes.fact("os", "Linux", "h")
    notes.skip("lines", "empty", 2, "line 3")
    notes.skip("lines", "empty", 1, "line 9")
    assert len(notes.facts) == 1
    assert [(each.count, each.example) for each in notes.skipped] == [(3, "line 3")]


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
    monkeypatch.setattr(reader, "IN_MEMORY", 50)
    monkeypatch.setattr(reader, "_PART", 100)
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
