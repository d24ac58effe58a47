"""Limits that volumes told the runs, and latency over time: what the plane and the heat map are given to draw."""

from __future__ import annotations

import dataclasses
import html
import math
import re
from pathlib import Path

import pytest
import report_scenes

from fathom.analysis.model import Estimate
from fathom.metrics import Metric
from fathom.report.charts import heat, load
from fathom.report.charts.plane import Limit, PlanePoint, draw
from fathom.report.context import Context
from fathom.report.sections import latency_map, plane
from fathom.report.series import worst
from fathom.report.style.marks import Appearance


def with_facts(scene: report_scenes.Scene, facts: dict[str, str], **metrics: float) -> Context:
    runs = [dataclasses.replace(run, facts=facts, metrics={**run.metrics, **metrics}) for run in scene.campaign.runs]
    return Context(scene.analysis, dataclasses.replace(scene.campaign, runs=tuple(runs)))


def test_limits_of_volumes_are_drawn_once(pair: report_scenes.Scene) -> None:
    facts = {
        "volumes.ebs.iops_limit": "3000",
        "volumes.ebs.iops_peak": "16000",
        "volumes.hba.outstanding_limit": "64",
        "volumes.ebs.device.late": "0",
        "sqlite.version": "3.50",
    }
    found = {limit.label: (limit.iops, limit.outstanding) for limit in plane._measured(with_facts(pair, facts))}
    assert found == {"ebs limit": (3000, None), "ebs burst": (16000, None), "hba depth": (None, 64)}


def test_throughput_is_a_rate_where_all_requests_are_alike(pair: report_scenes.Scene) -> None:
    facts = {"volumes.ebs.bytes_per_s_limit": "131072000"}
    (limit,) = plane._measured(with_facts(pair, facts, iops=1000.0, mb_per_s=16.384))
    assert limit.iops == 8000
    assert limit.label == "ebs 131 MB/s at 16 KiB"
    mixed = with_facts(pair, facts, iops=1000.0, mb_per_s=16.384)
    odd = dataclasses.replace(mixed.campaign.runs[0], metrics={"iops": 1000.0, "mb_per_s": 8.192})
    runs = (odd, *mixed.campaign.runs[1:])
    assert plane._measured(Context(pair.analysis, dataclasses.replace(mixed.campaign, runs=runs))) == []


def test_facts_that_are_no_numbers_draw_nothing(pair: report_scenes.Scene) -> None:
    assert plane._measured(with_facts(pair, {"volumes.<script>.iops_limit": "many"})) == []


def test_a_ceiling_says_whose_it_is_and_is_none_where_runs_exceed_it(tmp_path: Path) -> None:
    sweep = report_scenes.sweep(tmp_path)
    fastest = max(run.metrics["iops"] or 0.0 for run in sweep.campaign.runs)
    (knee,) = sweep.analysis.knees
    runs = tuple(dataclasses.replace(run, variant={**run.variant, "cache": "8 GiB"}) for run in sweep.campaign.runs)

    def ceilings(rate: float) -> list[str]:
        throughput = report_scenes.estimate(rate, 0.01)
        own = dataclasses.replace(
            knee, variant={"cache": "8 GiB"}, bottleneck="the adapter", throughput_ceiling=throughput
        )
        analysis = dataclasses.replace(sweep.analysis, knees=(own,))
        found = plane._limits(Context(analysis, dataclasses.replace(sweep.campaign, runs=runs)))
        return [limit.label for limit in found if "ceiling" in limit.label]

    # The study states 16,000 IOPS, and a ceiling within 5 % of that is that.
    assert ceilings(fastest) == []
    assert ceilings(fastest * 1.2) == ["ceiling of cache 8 GiB, the adapter"]
    assert ceilings(fastest / 1.06) == []


def test_a_column_shows_its_worst_interval() -> None:
    points = ((0.5, 1.0), (1.5, 9.0), (2.5, 2.0), (3.5, math.nan), (4.5, 3.0))
    assert worst(points, 0.5, 4.5, 2) == (9.0, 3.0)
    assert worst(points, 0.5, 4.5, 5) == (1.0, 9.0, 2.0, None, 3.0)


@pytest.mark.parametrize("values", [[], [0.0], [5.0, 5.0], [5.0, 9.0]])
def test_values_about_equal_need_no_shades(values: list[float]) -> None:
    assert heat.steps(values) == ()


def test_shades_are_equal_ratios_between_lowest_and_highest() -> None:
    edges = heat.steps([1.0, 128.0])
    assert [round(edge, 6) for edge in edges] == [2, 4, 8, 16, 32, 64]
    shades = [shade for _, _, shade in heat._runs((1.0, 1.5, 3.0, None, 128.0), edges)]
    assert shades == [0, 1, None, 6]


def test_the_map_has_a_row_per_run_and_names_the_slowest(pair: report_scenes.Scene) -> None:
    charts = latency_map.build(Context(pair.analysis, pair.campaign))
    assert 1 <= len(charts) <= 2
    runs = sum(run.ok for run in pair.campaign.runs)
    assert f"{runs}\xa0runs. Highest: " in charts[0].alt
    drawing = charts[0].draw()
    assert drawing.height > 18 * runs


def words_of(limits: list[Limit]) -> dict[str, tuple[float, float]]:
    """The labels of a plane with one point and these limits, and where they stand (x, y)."""
    drawing = draw([Appearance("a", 0)], [PlanePoint(0, "round 1", 20.0, 3000.0, 6.0)], limits)
    found = re.findall(r'<text[^>]* x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]+)</text>', drawing.body("t"))
    return {html.unescape(text): (float(x), float(y)) for x, y, text in found}


def test_limits_that_nearly_meet_share_a_label() -> None:
    near = [Limit("gp3 limit", iops=3000.0), Limit("ceiling", iops=3040.0), Limit("burst", iops=6000.0)]
    said = [text for text in words_of(near) if "IOPS" in text and ":" in text]
    assert sorted(said) == ["burst: 6,000 IOPS", "ceiling: 3,040 IOPS; gp3 limit: 3,000 IOPS"]


def test_depths_stand_on_a_row_each() -> None:
    found = words_of([Limit("device depth", outstanding=20.0), Limit("adapter depth", outstanding=24.0)])
    one, other = (found[text][1] for text in ("device depth: 20", "adapter depth: 24"))
    assert abs(one - other) >= 12


def test_the_interval_of_two_rounds_does_not_flatten_what_was_measured() -> None:
    mean = Estimate(2.0, 0.005, 357.0, 0.95, 2, "Student's t")
    series = load.LoadSeries(Appearance("a", 0), ((1.0, 1, 1.9), (1.0, 2, 2.1)), ((1.0, mean),))
    assert load._top(load.LoadPanel(Metric("ratio", "ratio", "×", True), (series,))) < 6


def test_the_first_of_the_key_is_on_top_and_no_tick_stands_outside() -> None:
    points = [PlanePoint(place, f"{who}, round 1", 64.0, 3000.0, 21.0) for place, who in enumerate(("window", "rest"))]
    body = draw([Appearance("window", 0), Appearance("rest", 6)], points, [Limit("queue", outstanding=128.0)]).body("t")
    assert body.rindex("window, round 1") > body.rindex("rest, round 1")
    assert ">128<" in body
    assert ">256<" not in body
