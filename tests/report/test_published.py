"""Pictures and tables of the published experiments: improvement by load and size, a rebuild and its users, machines."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import pytest

from fathom.analysis.analyse import analyse
from fathom.engine import core
from fathom.plan import plan
from fathom.report.build import build
from fathom.report.document import Chart, Document, Table
from fathom.run import Options, execute
from fathom.study import parse
from pipeline.fake import Notes

CACHES = """
title = "sizes"
clock = "virtual"

[volumes.slow]
kind    = "model"
size    = "1GiB"
servers = 4
read    = { latency = "2ms" }

[volumes.fast]
kind    = "model"
size    = "256MiB"
servers = 4
read    = { latency = "100us" }

[volumes.cached]
kind    = "writeback"
backing = "slow"
cache   = "fast"
size    = "64MiB"
segment = "1MiB"
batch   = "1MiB"
ring_size = "16MiB"

[workload]
kind     = "io"
volumes  = ["slow"]
read     = "50%"
sizes    = [{ size = "4KiB", weight = 1 }, { size = "64KiB", weight = 1 }]
duration = "500ms"
interval = "100ms"

[factors]
cache                  = ["none", "small", "large"]
"workload.outstanding" = [1, 4]

[sets.cache]
none  = { "workload.volumes" = ["slow"] }
small = { "workload.volumes" = ["cached"], "volumes.cached.size" = "64MiB" }
large = { "workload.volumes" = ["cached"], "volumes.cached.size" = "128MiB" }

[compare]
metric    = "iops"
baseline  = { cache = "none" }
mean_over = ["workload.outstanding"]
rounds    = 2
"""

REBUILD = """
title = "rebuild"
clock = "virtual"

[volumes.disk]
kind    = "mirror"
legs    = ["old", "new"]
initial = "copy"

[volumes.old]
kind    = "model"
size    = "1GiB"
servers = 4
read    = { latency = "200us" }

[volumes.new]
kind    = "model"
size    = "1GiB"
servers = 4
read    = { latency = "200us" }

[workload]
kind     = "io"
volumes  = ["disk"]
read     = "50%"
interval = "100ms"

[[workload.phases]]
name     = "alone"
duration = "300ms"
think    = "1h"

[[workload.phases]]
name     = "steady"
duration = "300ms"
"""

REBALANCING = (
    REBUILD.replace('kind    = "mirror"', 'kind    = "pool"')
    .replace('legs    = ["old", "new"]', 'members = ["old"]\nadded   = ["new"]\nextent  = "1MiB"')
    .replace('initial = "copy"', 'size    = "512MiB"')
)

MACHINES = """
title = "machines"
clock = "virtual"

[volumes.vm1-disk]
kind    = "model"
size    = "1GiB"
servers = 1
read    = { latency = "1ms" }

[volumes.vm2-disk]
kind    = "model"
size    = "1GiB"
servers = 1
read    = { latency = "4ms" }

[workload]
kind     = "io"
volumes  = ["vm1-disk", "vm2-disk"]
workers  = 2
duration = "400ms"
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Document]:
    """The report of a study, simulated once."""

    @functools.cache
    def get(text: str) -> Document:
        return simulated(text, tmp_path_factory.mktemp("published"))

    return get


def simulated(text: str, place: Path) -> Document:
    engine = core()
    made = plan(parse(text, place / "study.toml", engine, clock="virtual"))
    campaign = execute(made, Options(place / "campaign", anonymous=True), engine, Notes())
    assert all(run.ok for run in campaign.runs)
    return build(analyse(campaign), campaign)


def table(document: Document, name: str) -> Table:
    return next(table for table in document.tables() if table.name == name)


def chart(document: Document, name: str) -> Chart:
    return next(chart for chart in document.charts() if chart.name == name)


def test_the_improvement_is_told_for_every_load_and_cache_size(
    report: Callable[[str], Document],
) -> None:
    document = report(CACHES)
    rows = table(document, "improvement").rows
    assert [row[0].text for row in rows] == ["1 outstanding", "4 outstanding", "geometric mean", "mean (Cpi)"]
    for place in (1, 3):
        low, high, geometric, mean = (float(row[place].value or 0) for row in rows)
        assert 0 < min(low, high) <= geometric <= mean <= max(low, high)
    assert "over cached size, MiB" in chart(document, "improvement-size").alt
    assert "mean (Cpi): 0: 1" in chart(document, "improvement-size").alt, "every line begins at the baseline"
    assert "64: " in chart(document, "improvement-size").alt
    assert "128: " in chart(document, "improvement-size").alt
    assert "over outstanding" in chart(document, "improvement-load").alt
    values = chart(document, "improvement-values").alt
    assert "none: 1: " in values
    for name in ("improvement-load", "improvement-size", "improvement-values"):
        found = chart(document, name)
        assert found.narrow is not None
        assert (found.draw().width, found.narrow().width) == (900, 350)


def test_a_single_line_is_named_in_the_caption(report: Callable[[str], Document]) -> None:
    assert not chart(report(CACHES), "improvement-load").caption.startswith("small")
    one = CACHES.replace('["none", "small", "large"]', '["none", "small"]')
    one = "\n".join(line for line in one.splitlines() if not line.startswith("large"))
    assert chart(report(one), "improvement-load").caption.startswith("small. Marks are rounds")


def test_sizes_of_requests_are_drawn_where_they_vary(report: Callable[[str], Document]) -> None:
    assert "read size, write size" in chart(report(CACHES), "before-after").alt


def test_sizes_that_are_a_setting_are_not(report: Callable[[str], Document]) -> None:
    assert "read size" not in chart(report(MACHINES), "before-after").alt


def test_a_rebuild_stands_beside_its_users_with_the_phases_marked(report: Callable[[str], Document]) -> None:
    found = chart(report(REBUILD), "rebuild")
    assert found.narrow is not None
    assert "Dotted: where alone, steady begin." in found.caption
    assert "rebuild, users' reads, users' writes" in found.alt
    found.draw()


def test_rebalancing_stands_beside_its_users(report: Callable[[str], Document]) -> None:
    found = chart(report(REBALANCING), "rebuild")
    assert found.caption.startswith("What the pool disk moves beside what its users do")
    assert "rebalancing, users' reads, users' writes" in found.alt
    found.draw()


def test_without_a_rebuild_there_is_no_such_picture(report: Callable[[str], Document]) -> None:
    names = {found.name for found in report(MACHINES).charts()}
    assert "rebuild" not in names
    assert "improvement-load" not in names


def test_each_machine_has_a_row(report: Callable[[str], Document]) -> None:
    rows = table(report(MACHINES), "machines").rows
    assert [row[1].text for row in rows] == ["vm1", "vm2"]
    fast, slow = (row[3].value for row in rows)
    assert fast == pytest.approx(4 * float(slow or 0), rel=0.1)
