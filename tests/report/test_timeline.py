"""The picture over time of runs that hardly lasted."""

from __future__ import annotations

import pytest

from fathom.report.charts import timeline
from fathom.report.style.marks import Appearance

Points = tuple[tuple[float, float], ...]


@pytest.mark.parametrize(
    "line",
    [((-0.04, 1.0), (-0.02, 3.0)), ((-3.0, 1.0),), ((0.0, 2.0),), ((0.0, 1.0), (1e-4, 2.0)), ()],
    ids=[
        "nothing was seen while measured",
        "one appearance long before",
        "one appearance at the start",
        "a tenth of a ms",
        "none",
    ],
)
def test_a_run_of_any_length_is_drawn(line: Points) -> None:
    rows = [timeline.TimelineRow("Written", "MB/s", ((("round 1", line),),))]
    drawing = timeline.draw([Appearance("one", 0)], rows, [True])
    assert drawing.height > 0
