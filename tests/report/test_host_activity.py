"""What the host did: requests are shown where they happened, never as a sum over a log and data files."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fathom import record
from fathom.analysis.analyse import analyse
from fathom.report.context import Context
from fathom.report.document import Chart, Table
from fathom.report.sections import comparisons, host_activity, places
from fathom.results import Campaign, Run


@dataclass(frozen=True)
class ObservedRun(Run):
    """A run whose observations are given instead of read."""

    given: pl.DataFrame | None = field(default=None, compare=False)

    def activity(self) -> pl.DataFrame | None:
        return self.given


def activity(places: list[str], copied: float = 0.0) -> pl.DataFrame:
    """Each place is written at 100 requests of 8 KB per second and 2 ms, by a server that is busy."""
    rows: list[dict[str, Any]] = []
    for at in range(4):
        common = {"t_s": float(at), "seconds": 1.0, "phase": "measure", "unit": "", "gauge": False, "instance": ""}
        rows.append({**common, "kind": "server", "name": "db", "measure": "cpu_s", "value": 0.7})
        rows += [
            {**common, "kind": "place", "name": place, "measure": measure, "value": value}
            for place in places
            for measure, value in (("write_bytes", 800_000.0), ("writes", 100.0), ("write_latency_s", 0.2))
        ]
        rows.append({**common, "kind": "volume", "name": "m", "measure": "resync_bytes", "value": copied})
    return record.frame({name: [row.get(name) for row in rows] for name in record.ACTIVITY}, record.ACTIVITY)


def context(places: list[str], copied: float = 0.0) -> Context:
    """One run on these places."""
    metrics: dict[str, float | None] = {"nopm": 1.0, "server_cpus": 0.7, "place_write_iops": 100.0 * len(places)}
    runs = (ObservedRun("r1", {}, 1, 1, "ok", metrics, directory=Path("none"), given=activity(places, copied)),)
    study: dict[str, Any] = {"title": "t", "question": "q", "factors": {}, "variants": []}
    made = Campaign(None, study, "", 1, "real", runs, 1)  # type: ignore[arg-type]
    return Context(analyse(made), made)


@pytest.mark.parametrize(("places", "together"), [(["data"], True), (["data", "log"], False)])
def test_requests_of_several_places_are_not_added_up(places: list[str], together: bool) -> None:
    table, chart = host_activity.build(context(places))
    assert isinstance(table, Table)
    assert isinstance(chart, Chart)
    assert chart.narrow is not None
    rows = [cells[0].text for cells in table.rows]
    assert any(row.startswith("Processors the servers kept busy") for row in rows)
    assert any(row.startswith("Writes at the volume") for row in rows) is together
    assert ("written at the volume" in chart.alt) is together
    assert "servers, processors busy" in chart.alt
    assert chart.draw() is not None


def test_each_layout_has_a_row_for_every_place_of_its_own() -> None:
    """One layout has all files on one disk, whose metrics bear no place's name; the other has a disk for each."""
    own = {"data_place_write_iops": 90.0, "log_place_write_iops": 10.0, "place_write_iops": 100.0}
    layouts: tuple[tuple[str, list[str], dict[str, float | None]], ...] = (
        ("apart", ["data", "log"], {"nopm": 1.0, **own}),
        ("together", ["all"], {"nopm": 2.0, "place_write_iops": 100.0}),
    )
    runs = tuple(
        ObservedRun(f"r{n}", {"layout": layout}, 1, n, "ok", metrics, directory=Path("none"), given=activity(names))
        for n, (layout, names, metrics) in enumerate(layouts, 1)
    )
    variants = [{"levels": {"layout": layout}} for layout, _, _ in layouts]
    study: dict[str, Any] = {"title": "t", "question": "q", "factors": {"layout": []}, "variants": variants}
    made = Campaign(None, study, "", 1, "real", runs, 1)  # type: ignore[arg-type]
    given = Context(analyse(made), made)
    table, *charts = places.build(given)
    assert isinstance(table, Table)
    writes = [column.key for column in table.columns].index("place_write_iops")
    assert [(row[0].text, row[1].text, row[writes].value) for row in table.rows] == [
        ("apart", "data", 90.0),
        ("apart", "log", 10.0),
        ("together", "all", 100.0),
    ]
    assert "too short" not in (table.note or "")
    assert [chart.name for chart in charts if isinstance(chart, Chart)] == ["place-1", "place-2", "place-3"]
    for chart in charts:
        assert isinstance(chart, Chart)
        name = chart.caption.removeprefix("At the place ").split(",")[0]
        assert f"writes at {name}, written at {name}, write latency at {name}, write size at {name}" in chart.alt

    # The sum over both disks of "apart" stands nowhere.
    means = [block for block in comparisons.build(given) if isinstance(block, Table)][-1]
    assert [(row[0].text, row[1].text, row[2].value) for row in means.rows if "rites at the" in row[1].text] == [
        ("together", "Writes at the volume", 100.0),
        ("apart", "Writes at the volume, data", 90.0),
        ("apart", "Writes at the volume, log", 10.0),
    ]


def test_a_rebuild_stands_beside_the_requests_and_how_long_they_took() -> None:
    chart = host_activity.build(context(["data"], copied=5e7))[-1]
    assert isinstance(chart, Chart)
    assert chart.name == "rebuild-activity"
    assert "copied, writes at the volume, write latency at the volume." in chart.alt
    assert chart.draw() is not None
