"""The evidence at a glance: which variants have a row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fathom.analysis.analyse import analyse
from fathom.report.context import Context
from fathom.report.document import Chart
from fathom.report.sections import evidence
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
