"""Failed runs that were carried out again: counted for each variant, and no free choice, whatever the repeats did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from fathom.analysis.analyse import analyse
from fathom.analysis.model import Analysis, Verdict
from fathom.analysis.sequence import USERS, by_level
from fathom.goals import outcomes
from fathom.report import Report
from fathom.results import Campaign, Run
from fathom.steps import Step

OLD, NEW = [4000.0, 4010.0, 3990.0, 4005.0, 3995.0], [4800.0, 4790.0, 4812.0, 4780.0, 4820.0]
GOALS = [{"metric": "iops", "comparison": ">", "limit": 3000.0, "text": "> 3000"}]


@pytest.fixture
def repeated(campaign: Callable[..., Campaign], run: Callable[..., Run], factor: str) -> Callable[..., Campaign]:
    """A finished campaign of five rounds in some of which runs of a variant failed first."""

    def made(who: str, rounds: list[int], reason: str = "lost", **words: Any) -> Campaign:
        study = {"factors": {factor: ["old", "new"]}, **words}
        found = campaign({"old": OLD, "new": NEW}, study=study)
        first = [run({factor: who}, number, None, reason=reason) for number in rounds]
        return replace(found, retried=tuple(first))

    return made


def advice(found: Analysis) -> str:
    """The first remedy of what the verdict asks for."""
    return next(one for one in found.findings if one.rule in ("choice", "trade-off")).remedies[0].action


def test_a_faster_variant_whose_runs_failed_first_is_no_free_choice(repeated: Callable[..., Campaign]) -> None:
    assert advice(analyse(repeated("new", []))).startswith("Choose new")
    found = analyse(repeated("new", [2, 3, 5]))
    assert found.comparisons[0].verdict is Verdict.FASTER
    assert "new: 3 of 5 runs failed first (lost) and were repeated." in found.headline
    assert advice(found) == "Weigh the gain of new against its price."
    said = next(one for one in found.findings if one.rule == "repeated")
    assert "if the cause was outside of the variant" in said.remedies[0].action
    assert "3 runs failed first and were repeated: the figures are those of the further attempts." in found.warnings


def test_a_baseline_whose_runs_failed_first_is_none_either(repeated: Callable[..., Campaign]) -> None:
    found = repeated("new", [4])
    swapped = {**found.study, "compare": {**found.study["compare"], "baseline": {"workload.transaction": "new"}}}
    result = analyse(replace(found, study=swapped))
    assert result.comparisons[0].verdict is Verdict.SLOWER
    assert advice(result) == "Weigh the gain of new against its price."


def test_a_run_that_failed_twice_counts_once_and_one_that_a_person_stopped_not_at_all(
    repeated: Callable[..., Campaign],
) -> None:
    (found,) = analyse(repeated("new", [3, 3])).repeated
    assert (found.failed, found.runs) == (1, 5)
    assert found.words == "1 of 5 runs failed first (lost) and was repeated"
    assert analyse(repeated("new", [3], reason="cancelled")).repeated == ()


def test_goals_are_met_with_repeated_runs_only(repeated: Callable[..., Campaign]) -> None:
    found = repeated("new", [1, 2, 4], goals=GOALS)
    result = analyse(found)
    said = "new does so only with repeated runs: 3 of 5 runs failed first (lost) and were repeated."
    assert result.decision.goals is not None
    assert said in result.decision.goals.sentence
    assert result.headline.count("3 of 5 runs failed first") == 1, "it is said once"
    assert [one.repeated for one in outcomes(found, ())] == [0, 3]
    assert advice(result) == "Weigh new against its price: it meets the goals."
    page = Report(result, found).markdown()
    assert "met with repeated runs" in page


def test_the_report_does_not_say_that_none_failed(repeated: Callable[..., Campaign]) -> None:
    found = repeated("new", [2])
    page = Report(analyse(found), found).markdown()
    assert "none failed" not in page
    assert "10 of 10 planned runs finished, 1 failed first." in page
    assert "faster, but runs failed first" in page
    assert "1 run failed first and was repeated" in page


def test_a_sequence_of_users_failed_at_every_level(run: Callable[..., Run], repeated: Callable[..., Campaign]) -> None:
    found = repeated("new", [2])
    steps = tuple(Step(n, users, False, {"iops": 1.0}, None, (0.0, 1.0)) for n, users in ((1, 2), (2, 6)))
    found = by_level(replace(found, runs=tuple(replace(one, steps=steps) for one in found.runs)))
    assert [one.variant[USERS] for one in found.retried] == [2, 6]
