"""What the sessions of a database do decides whether advice asks for faster storage."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import pytest

from analysis.conftest import FACTOR, make_campaign, make_run, stated
from fathom.analysis.advice import saturation
from fathom.analysis.advice.rule import RuleInput
from fathom.analysis.analyse import analyse
from fathom.analysis.model import Analysis, Estimate, Knee
from fathom.results import Campaign, Level

RATE = "workload.rate"
GOAL = {"metric": "latency_p99_ms", "comparison": "<", "limit": 50.0, "text": "< 50ms"}
LOCKED = {"CPU": 1.4, "Lock tuple": 1.1, "Lock transactionid": 0.9, "IO DataFileExtend": 0.02}
FLUSHING = {"CPU": 0.8, "IO WALSync": 0.9, "LWLock WALWrite": 0.9, "Lock transactionid": 1.0}
UNKNOWN: dict[str, float] = {}


def campaign_of(waits: Mapping[str, Mapping[str, float]], kind: str = "postgresql", met: float = 10.0) -> Campaign:
    """Variants that keep up with 200 transactions/s and not with 20,000/s, by what their sessions did then."""
    wants = {"databases": {"db": {"kind": kind}}, "places": {}, "volumes": {}, "loads": {}}
    runs, variants = [], []
    for name, found in waits.items():
        for rate, done, p99 in ((200, 200.0, met), (20_000, 1500.0, 6000.0)):
            levels: dict[str, Level] = {FACTOR: name, RATE: rate}
            variants.append(stated(levels, demand={"rate": float(rate)}, wants=wants))
            metrics = {"iops": done, "arrivals_per_second": float(rate), "elapsed_s": 60.0, "latency_p99_ms": p99}
            for number in (1, 2, 3):
                run = make_run(levels, number, metrics)
                runs.append(dataclasses.replace(run, waits={"db": dict(found)}))
    study = {
        "factors": {FACTOR: list(waits), RATE: [200, 20_000]},
        "loads": {RATE: "rate"},
        "variants": variants,
        "goals": [GOAL],
    }
    made = make_campaign({name: [] for name in waits}, compare={"rounds": 3}, study=study)
    return dataclasses.replace(made, runs=tuple(runs), planned=len(runs))


def overloaded(waits: Mapping[str, Mapping[str, float]], kind: str = "postgresql", met: float = 10.0) -> Analysis:
    """The analysis of them."""
    return analyse(campaign_of(waits, kind, met))


def actions(found: Analysis, rule: str) -> str:
    """The first step of the one finding of a rule."""
    (finding,) = (one for one in found.findings if one.rule == rule)
    return finding.remedies[0].action


@pytest.mark.parametrize(
    ("waits", "kind", "overload", "goals"),
    [
        (
            {"slow": LOCKED, "fast": LOCKED},
            "postgresql",
            "; faster storage does not help: the limit is locks and processors.",
            "at or below 200/s: beyond it the limit is locks and processors, not the storage.",
        ),
        (
            {"slow": FLUSHING, "fast": FLUSHING},
            "postgresql",
            ", or give them more IOPS.",
            "at or below 200/s, or try faster storage.",
        ),
        ({"slow": UNKNOWN, "fast": UNKNOWN}, "postgresql", ", or give them more IOPS.", "or try faster storage."),
        # The states of MariaDB do not tell who waits for storage.
        ({"slow": LOCKED, "fast": LOCKED}, "mariadb", ", or give them more IOPS.", "or try faster storage."),
    ],
)
def test_storage_is_advised_only_where_sessions_may_wait_for_it(
    waits: dict[str, dict[str, float]], kind: str, overload: str, goals: str
) -> None:
    found = overloaded(waits, kind)
    assert actions(found, "overload").endswith(overload)
    assert actions(found, "goals").endswith(goals)


def test_of_two_variants_the_one_that_storage_helps_is_named() -> None:
    found = overloaded({"slow": FLUSHING, "fast": LOCKED})
    assert actions(found, "overload").endswith("; faster storage helps slow only.")
    (finding,) = (one for one in found.findings if one.rule == "overload")
    assert "fast, 20,000/s: of 3.4 sessions at work 1.4 compute, 2 wait for locks, hardly any for storage." in [
        one.sentence for one in finding.evidence
    ]


def test_where_no_load_meets_the_goals_the_waits_decide_as_well() -> None:
    action = actions(overloaded({"slow": LOCKED, "fast": LOCKED}, met=90.0), "goals")
    assert action == (
        "Try a lower load before choosing any of these: the limit is locks and processors, not the storage."
    )


@pytest.mark.parametrize(
    ("waits", "action"),
    [
        (
            LOCKED,
            "Try a lower load: the goals are missed at every one that was tried, by locks and processors, not storage.",
        ),
        (FLUSHING, "Try faster storage: the goals are missed at every load that was tried."),
    ],
)
def test_a_saturation_point_beyond_the_goals_asks_for_storage_only_where_it_helps(
    waits: dict[str, float], action: str
) -> None:
    campaign = campaign_of({"slow": waits, "fast": waits}, met=90.0)
    sure = Estimate(900.0, 900.0, 900.0, 0.95, 3, "t")
    knee = Knee(RATE, sure, sure, sure, None, {FACTOR: "slow"}, points=((200.0, 200.0, 90.0), (20_000.0, 1500.0, 6e3)))
    found = dataclasses.replace(analyse(campaign), knees=(knee,))
    (finding,) = saturation.find(RuleInput(campaign, campaign.study, found, None, frozenset()))
    assert finding.remedies[0].action == action
