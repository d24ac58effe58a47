"""The picture over time of runs that hardly lasted."""

from __future__ import annotations

import pytest

from fathom.report.charts import timeline
from fathom.report.style.marks import Appearance
from fathom.report.style.svg import inline_svg

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


def test_a_narrow_page_gets_a_picture_of_its_own_with_as_many_variants_as_it_has_room_for() -> None:
    line = ((0.0, 1.0), (1.0, 2.0))
    rows = [timeline.TimelineRow("Written", "MB/s", tuple((("round 1", line),) for _ in range(3)))]
    columns = [Appearance(name, place) for place, name in enumerate(("first", "second", "third"))]
    wide, narrow = timeline.pictures(columns, rows, [False] * 3, [0, 2], marks=[(0.5, "filling")])
    assert (wide().width, narrow().width) == (900, 350)
    drawn = [inline_svg(picture(), prefix="c", label="") for picture in (wide, narrow)]
    assert ["second" in svg for svg in drawn] == [True, False]
    assert ["filling" in svg for svg in drawn] == [True, False], "the caption names the phases"
    assert timeline.pictures(columns[:1], rows, [False], [])[1]().width == 350
