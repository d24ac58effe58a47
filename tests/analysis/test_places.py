"""Two campaigns as one: what must be the same, what changed within a side, and what sessions make of a verdict."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fathom.analysis.analyse import analyse
from fathom.analysis.model import Verdict
from fathom.compare import measured_in, merge
from fathom.errors import NotComparableError
from fathom.finding import Severity
from fathom.report import Report
from fathom.report.context import Context
from fathom.report.document import Banner
from fathom.report.sections import verdict
from fathom.results import Campaign, Run

_HERE: dict[str, Any] = {"machine": {"cpu": "A", "kernel": "6.1"}, "build": {"commit": "abc"}}
_LATER: dict[str, Any] = {"machine": {"cpu": "A", "kernel": "6.12"}, "build": {"commit": "def"}}
_COMPARE = {
    "metric": "iops", "baseline": {}, "margin": 0.02, "mean_over": [], "rounds": 5, "max_rounds": None,
    "looks": None, "guards": None, "guard_margin": 0.1,
}  # fmt: skip


def _campaign(name: str, factor: float, *, first_minute: int = 0, apart: int = 1, environments: Any = ()) -> Campaign:
    scatter = np.exp(0.01 * np.random.default_rng(len(name)).standard_normal(5))
    runs = tuple(
        Run(
            f"{name}{number}",
            {},
            number + 1,
            number + 1,
            "ok",
            {"iops": 1000 * factor * float(scatter[number])},
            started=f"2026-11-01T10:{first_minute + number * apart:02}:00+00:00",
            environment=environments[number] if environments else _HERE,
        )
        for number in range(5)
    )
    study = {
        "title": "Places",
        "question": "Which?",
        "factors": {},
        "compare": _COMPARE,
        "variants": [
            {"levels": {}, "settings": {}, "volumes": [], "lasts_ns": 60 * 10**9, "demand": None, "phases": []}
        ],
        "loads": {},
    }
    return Campaign(Path("/tmp") / name, study, "", 7, "real", runs, 5)


def _word(campaign: Campaign) -> str:
    """The first words of the report's box."""
    blocks = verdict.build(Context(analyse(campaign), campaign))
    return next(block.word for block in blocks if isinstance(block, Banner))


def _one_after_the_other(**of_b: Any) -> Campaign:
    return merge(_campaign("a", 1.0), _campaign("bb", 1.3, first_minute=30, **of_b))


def test_places_that_were_not_measured_in_turn_get_a_verdict_and_no_advice_to_choose() -> None:
    found = analyse(_one_after_the_other())
    assert [c.verdict for c in found.comparisons] == [Verdict.FASTER]
    assert found.decision.taken is None
    assert not [finding for finding in found.findings if finding.severity is Severity.GOOD]
    card = found.findings[0]
    assert (card.rule, card.severity) == ("sessions", Severity.WARNING)
    assert "fathom compare a-again bb-again --rounds 5" in card.remedies[0].commands
    assert any("one after the other" in warning for warning in found.warnings)
    assert found.headline.endswith(" The two were not measured in turn.")
    assert _word(_one_after_the_other()) == "▲ faster, but not measured in turn"


def test_what_is_repeated_is_measured_on_the_same_disks() -> None:
    first, second = _campaign("a", 1.0), _campaign("bb", 1.3, first_minute=30)
    joined = merge(replace(first, scratch="/mnt/slow disk"), replace(second, scratch=None))
    commands = analyse(joined).findings[0].remedies[0].commands
    assert commands[0].endswith("--rounds 1 --seed 7 --scratch '/mnt/slow disk' --out a-again")
    assert commands[1].endswith("--rounds 1 --seed 7 --scratch /tmp/bb --out bb-again")


def test_a_campaign_that_was_copied_is_measured_again_where_it_ran() -> None:
    copied = _campaign("bb", 1.3, environments=[{**_HERE, "disk": {"directory": "/mnt/fast/bb"}}] * 5)
    assert measured_in(copied) == "/mnt/fast/bb"
    assert measured_in(_campaign("bb", 1.3, environments=[{**_HERE, "disk": {"directory": "bb"}}] * 5)) == "/tmp/bb"


def test_places_that_were_measured_in_turn_are_chosen_between() -> None:
    in_turn = merge(_campaign("a", 1.0, apart=2), _campaign("bb", 1.3, first_minute=1, apart=2))
    found = analyse(in_turn)
    assert in_turn.places is not None
    assert in_turn.places.in_turn
    assert found.decision.taken == {"place": "bb"}
    assert found.findings[0].rule == "choice"
    assert "in turn" not in found.headline + _word(in_turn)


def test_places_without_a_difference_need_no_word_about_sessions() -> None:
    sides = _campaign("a", 1.0), _campaign("bb", 1.3, first_minute=30)
    undecided = merge(*(replace(one, runs=one.runs[:1]) for one in sides))
    assert {c.verdict for c in analyse(undecided).comparisons} == {Verdict.UNDECIDED}
    assert "in turn" not in analyse(undecided).headline + _word(undecided)


def test_what_changed_within_a_place_forbids_a_verdict() -> None:
    found = analyse(_one_after_the_other(environments=[_HERE, *[_LATER] * 4]))
    assert [c.verdict for c in found.comparisons] == [Verdict.NOT_COMPARABLE]
    assert "did not share one environment" in found.comparisons[0].reasons[0]


def test_what_differs_between_the_places_is_listed_and_forbids_nothing(tmp_path: Path) -> None:
    merged = _one_after_the_other(environments=[_LATER] * 5)
    assert merged.places is not None
    assert merged.places.differences == (("machine.kernel", "6.1", "6.12"), ("build.commit", "abc", "def"))
    found = analyse(merged)
    assert [c.verdict for c in found.comparisons] == [Verdict.FASTER]
    Report(found, merged).page(tmp_path / "both.html")
    page = (tmp_path / "both.html").read_text(encoding="utf-8")
    assert "What differs between the places" in page
    assert "one after the other" in page


def test_every_value_that_a_place_had_is_told() -> None:
    merged = _one_after_the_other(environments=[_HERE, *[_LATER] * 4])
    assert merged.places is not None
    assert merged.places.differences[0] == ("machine.kernel", "6.1", "6.1 and 6.12")


def test_campaigns_of_a_search_with_other_settings_or_models_are_refused() -> None:
    one, other = _campaign("a", 1.0), _campaign("bb", 1.3)
    slow, fast = replace(one, fixed={"workload.rate": 500}), replace(other, fixed={"workload.rate": 6000})
    with pytest.raises(NotComparableError, match=r"another value of workload\.rate \(500 and 6000\)"):
        merge(slow, fast)
    with pytest.raises(NotComparableError, match="another set of models"):
        merge(replace(one, models=(("m.toml", "a"),)), replace(other, models=(("m.toml", "b"),)))
    assert merge(slow, replace(fast, fixed={"workload.rate": 500}))


def test_looks_at_either_place_are_paid_for() -> None:
    merged = merge(replace(_campaign("a", 1.0), looks=(3,)), replace(_campaign("bb", 1.3), looks=(4,)))
    assert merged.looks == (3, 4)


def test_a_campaign_that_was_looked_at_and_extended_says_what_chance_alone_shows() -> None:
    runs = [
        replace(run, id=f"{run.id}-{more}", round=run.round + more, order=run.order + more)
        for more in (0, 5)
        for run in _campaign("a", 1.0).runs
    ]
    extended = replace(_campaign("a", 1.0), runs=tuple(runs))
    said = [warning for warning in analyse(replace(extended, looks=(5,))).warnings if "Looks beyond" in warning]
    assert len(said) == 1
    assert "in 6." in said[0]
    planned = replace(extended, study={**extended.study, "compare": {**_COMPARE, "max_rounds": 10}}, looks=(5,))
    assert not [warning for warning in analyse(planned).warnings if "Looks beyond" in warning]


def test_what_failed_first_at_a_place_stays_with_it() -> None:
    here, there = _campaign("here", 1.0), _campaign("there", 1.2, first_minute=10)
    failed = replace(there.runs[1], status="failed", reason="lost")
    both = merge(here, replace(there, retried=(failed,)))
    assert [(run.id, run.variant["place"]) for run in both.retried] == [("there-there1", "there")]
    assert "there: 1 of 5 runs failed first (lost) and was repeated." in analyse(both).headline


def test_variants_that_are_alike_at_two_places_are_told_apart() -> None:
    """Each has itself at the other place as its baseline, from which only the place sets it apart."""
    sides = []
    for name in ("here", "there"):
        found = _campaign(name, 1.0)
        scatter = np.random.default_rng(len(name)).normal(1, 1e-4, 10)
        runs = tuple(
            replace(
                run, id=f"{run.id}{level}", variant={"storage": level}, metrics={"iops": 1000 * float(scatter[place])}
            )
            for place, (level, run) in enumerate((level, run) for level in ("v0", "v1") for run in found.runs)
        )
        sides.append(replace(found, runs=runs, study={**found.study, "factors": {"storage": ["v0", "v1"]}}))
    result = analyse(merge(*sides))
    assert "There with v0 and there with v1 are equivalent to here" in result.findings[0].what.capitalize()


def _simulated(name: str, at_the_end: float | None) -> Campaign:
    """A simulation with a goal of 10 ms, met at 5 ms, and what an end of an assumed range makes of it."""
    goal = {"metric": "latency_ms", "comparison": "<", "limit": 10.0, "text": "< 10ms"}
    found = _campaign(name, 1.0)
    facts = {"volumes.disk.assumed_read": "1 ms (500 us to 3 ms)"}
    runs = tuple(replace(run, metrics={**run.metrics, "latency_ms": 5.0}, facts=facts) for run in found.runs)
    first = replace(runs[0], id=f"{name}-high", assumed=("disk", "high"))
    tried = () if at_the_end is None else (replace(first, metrics={**first.metrics, "latency_ms": at_the_end}),)
    study = {**found.study, "goals": [goal]}
    return replace(found, runs=runs, sensitivity=tried, study=study, clock="virtual")


def _rests_on(campaign: Campaign) -> str:
    blocks = verdict.build(Context(analyse(campaign), campaign))
    return " ".join(next(block.rests_on for block in blocks if isinstance(block, Banner)))


def test_what_an_assumption_turns_at_a_place_is_known_of_both_together() -> None:
    stays = "What becomes of the goals does not change over the plausible ranges."
    turning = merge(_simulated("here", 30.0), _simulated("there", 30.0))
    assert [run.variant["place"] for run in turning.sensitivity] == ["here", "there"]
    assert "Whether the goals are met by here turns within the plausible range" in _rests_on(turning)
    assert stays in _rests_on(merge(_simulated("here", 6.0), _simulated("there", 6.0)))
    # What was not tried at one of the places is not known.
    assert stays not in _rests_on(merge(_simulated("here", 6.0), _simulated("there", None)))
