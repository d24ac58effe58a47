"""The advice that follows a deeper adapter queue: the exact setting, and nothing where PVSCSI could not have it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fathom.analysis.analyse import analyse
from fathom.finding import Finding
from fathom.results import Campaign

Make = Callable[..., list[Finding]]
TABLE = {"kind": "adapter", "backing": "lun", "per_device": 254, "per_adapter": 1024}


@pytest.fixture
def found(campaign: Callable[..., Campaign], factor: str) -> Make:
    """Findings about adapters where `after` has those settings and is twice as good, or as good."""

    def make(before: dict[str, Any], after: dict[str, Any], factor_of: float = 2.0) -> list[Finding]:
        values = {"before": [100.0, 101.0, 100.5], "after": [100.5 * factor_of, 101.0 * factor_of, 100.0 * factor_of]}
        made = campaign(values, study={"factors": {factor: ["before", "after"]}, "assigns": {factor: [before, after]}})
        return [finding for finding in analyse(made).findings if finding.rule == "adapter-queue"]

    return make


OLD = {"volumes.a.per_device": 64, "volumes.a.per_adapter": 256}


@pytest.mark.parametrize("after", [{"volumes.a": TABLE}, {"volumes.a.per_device": 254, "volumes.a.per_adapter": 1024}])
def test_a_deeper_queue_that_helps_comes_with_its_setting(found: Make, after: dict[str, Any]) -> None:
    (finding,) = found(OLD, after)
    windows, linux = finding.remedies
    assert 'DriverParameter /t REG_SZ /d "RequestRingPages=32,MaxQueueDepth=254"' in windows.commands[0]
    assert "restart" in (windows.risk or "")
    assert linux.commands == ("vmw_pvscsi.ring_pages=32 vmw_pvscsi.cmd_per_lun=254",)


@pytest.mark.parametrize(
    ("after", "factor_of"),
    [
        ({"volumes.a": TABLE}, 1.0),
        ({"volumes.a": TABLE}, 0.5),
        (OLD, 2.0),
        ({"volumes.a": TABLE | {"per_device": 300}}, 2.0),
        ({"volumes.a": TABLE | {"per_adapter": 1000}}, 2.0),
        ({"volumes.a.size": "1GiB"}, 2.0),
    ],
)
def test_what_does_not_help_or_cannot_be_set_is_no_advice(found: Make, after: dict[str, Any], factor_of: float) -> None:
    assert found(OLD, after, factor_of) == []
