"""Tables and charts as files."""

from __future__ import annotations

import csv
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest
import report_scenes

from fathom.analysis.model import Estimate
from fathom.report import Report, cells
from fathom.report.csvfile import csv_bytes
from fathom.report.document import Column, Table


def test_every_table_and_chart_in_every_format(scene: report_scenes.Scene, tmp_path: Path) -> None:
    written = Report(scene.analysis, scene.campaign).export(tmp_path / "out", ["csv", "parquet", "svg", "png"])
    assert sorted(written) == sorted((tmp_path / "out").iterdir())
    by_kind = {
        kind: {path.stem for path in written if path.suffix == f".{kind}"} for kind in ("csv", "parquet", "svg", "png")
    }
    assert by_kind["csv"] == by_kind["parquet"]
    assert by_kind["svg"] == by_kind["png"]
    assert "runs" in by_kind["csv"]
    assert "runs" in by_kind["svg"]
    for path in written:
        if path.suffix == ".svg":
            assert ElementTree.parse(path).getroot().get("width") == "900"
        if path.suffix == ".png":
            assert int.from_bytes(path.read_bytes()[16:20], "big") == 1800


def test_exports_hold_full_precision_and_empty_fields(tmp_path: Path) -> None:
    scene = report_scenes.failed(tmp_path)
    Report(scene.analysis, scene.campaign).export(tmp_path / "out", ["csv", "parquet"])
    with (tmp_path / "out" / "runs.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["iops"] for row in rows] == ["500.0", "", "500.0", "", "500.0"]
    frame = pl.read_parquet(tmp_path / "out" / "runs.parquet")
    assert frame["iops"].to_list() == [500.0, None, 500.0, None, 500.0]
    assert frame["status"].to_list() == ["ok", "failed", "ok", "failed", "ok"]


def test_an_interval_is_exported_as_two_numbers(pair: report_scenes.Scene, tmp_path: Path) -> None:
    Report(pair.analysis, pair.campaign).export(tmp_path / "out", ["csv", "parquet"])
    for name in ("means", "comparisons"):
        with (tmp_path / "out" / f"{name}.csv").open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert "interval" not in rows[0]
        known = [(float(row["low"]), float(row["high"])) for row in rows if row["low"]]
        assert known
        assert all(low <= high for low, high in known)
        assert pl.read_parquet(tmp_path / "out" / f"{name}.parquet").schema["low"] == pl.Float64


def test_a_negative_end_of_an_interval_stays_a_number() -> None:
    estimate = Estimate(1.0, -0.5, 2.5, 0.95, 3, "t")
    table = Table("t", "T", (Column("knee_interval", "Interval"),), ((cells.interval(estimate, ""),),))
    assert csv_bytes(table).decode() == "knee_low,knee_high\n-0.5,2.5\n"


def test_an_unknown_format_is_refused_by_name(pair: report_scenes.Scene, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot export docx: choose from csv, parquet, svg, png"):
        Report(pair.analysis, pair.campaign).export(tmp_path / "out", ["csv", "docx"])
    assert not (tmp_path / "out").exists()
