"""Who had the devices below a cache: the table of device time by class of request."""

from __future__ import annotations

import dataclasses

import report_scenes

from fathom.report.context import Context
from fathom.report.document import Table
from fathom.report.sections import volumes


def shared(scene: report_scenes.Scene, facts: dict[str, str]) -> list[dict[str, object]]:
    """The rows of the table; none where it is not drawn."""
    runs = tuple(dataclasses.replace(run, facts=facts) for run in scene.campaign.runs)
    context = Context(scene.analysis, dataclasses.replace(scene.campaign, runs=runs))
    tables = [block for block in volumes.build(context) if isinstance(block, Table) and block.name == "sharing"]
    return [
        {column.key: cell.value for column, cell in zip(table.columns, row, strict=True)}
        for table in tables
        for row in table.rows
    ]


def test_shares_waiting_and_rate_are_told_by_class(pair: report_scenes.Scene) -> None:
    node = next(iter(pair.campaign.study["volumes"]))
    facts = {
        "users_device_ns": "6000000000",
        "destage_device_ns": "3000000000",
        "scrub_device_ns": "1000000000",
        "fill_device_ns": "0",
        "background_wait_ns": "500000000",
        "applied_bytes": "80000000",
        "open_ns": "20000000000",
    }
    users, destage, scrub = shared(pair, {f"volumes.{node}.{name}": value for name, value in facts.items()})[:3]
    assert (users["class"], users["device_s"], users["share_percent"], users["waited_s"]) == ("users", 6, 60, 0.5)
    assert (destage["class"], destage["share_percent"]) == ("destaging", 30)
    assert (destage["destaged_mb"], destage["destaged_mb_s"]) == (80, 4)
    assert (scrub["class"], scrub["share_percent"], scrub["waited_s"]) == ("scrub", 10, None)


def test_there_is_no_table_without_background_work(pair: report_scenes.Scene) -> None:
    node = next(iter(pair.campaign.study["volumes"]))
    assert shared(pair, {}) == []
    assert shared(pair, {f"volumes.{node}.users_device_ns": "5000000000"}) == []
    assert shared(pair, {f"volumes.{node}.destage_device_ns": "not known"}) == []
