"""The evidence at a glance: which variants have a row."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from fathom.analysis.analyse import analyse
from fathom.metrics import METRICS
from fathom.report.charts.runs import RunsPanel, draw
from fathom.report.context import Context
from fathom.report.document import Chart
from fathom.report.sections import evidence
from fathom.report.style.drawing import text_width
from fathom.report.style.marks import Appearance
from fathom.results import Campaign, Run


def test_twelve_tests_of_three_disks_are_all_there() -> None:
    variants: list[dict[str, Any]] = [
        {"disk": disk, "test": f"t{number}"} for disk in ("volume", "drive", "cached") for number in range(12)
    ]
    runs = tuple(
        Run(f"r{n}", variant, 1, n, "ok", {"iops": 1.0 + n}, directory=Path("none"))
        for n, variant in enumerate(variants, 1)
    )
    study: dict[str, Any] = {
        "title": "t",
        "question": "q",
        "factors": {"disk": [], "test": []},
        "variants": [{"levels": variant} for variant in variants],
    }
    made = Campaign(None, study, "", 1, "virtual", runs, 1)  # type: ignore[arg-type]
    (chart,) = evidence.build(Context(analyse(made), made))
    assert isinstance(chart, Chart)
    assert chart.alt.count("cached") == 12
    assert "further variant" not in chart.caption
    assert chart.draw() is not None


def test_digits_beside_marks_do_not_reach_the_next_panel() -> None:
    """Marks all over the axis leave the digits no room beside them, unless the axis goes on."""
    metrics = [METRICS[name] for name in ("rows_per_second", "latency_ms", "latency_p99_ms", "iops")]
    values = (tuple(enumerate((3_100.0, 16_000.0, 36_450.0), 1)), tuple(enumerate((30_000.0, 33_000.0), 1)))
    panels = [RunsPanel(metric, values, (None, None)) for metric in metrics]
    body = draw([Appearance("ca", 0), Appearance("cb", 1)], panels).body("x")
    titles = sorted(float(x) for x in re.findall(r'<text x="([\d.]+)"[^>]*font-weight="bold"', body))
    texts = re.findall(r'<text x="([\d.]+)"[^>]*font-size="([\d.]+)"([^>]*)>([\d,]+)</text>', body)
    digits = [(float(x), text_width(said, float(size)), "end" in rest) for x, size, rest, said in texts if "," in said]
    assert len(digits) == 8
    for x, wide, to_left in digits:
        begin = x - wide if to_left else x
        after = [title for title in titles if title > begin]
        assert begin + wide < min(after, default=900)
