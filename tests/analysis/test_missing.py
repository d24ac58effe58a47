"""How many rounds are missing: headline, verdict and advice ask for the same ones."""

from __future__ import annotations

import dataclasses

import pytest

from analysis.conftest import make_campaign
from fathom.analysis.advice import undecided
from fathom.analysis.advice.rule import RuleInput
from fathom.analysis.analyse import analyse
from fathom.analysis.missing import needed
from fathom.analysis.model import Verdict

SCATTER = "find the cause of the scatter before adding rounds"


@pytest.mark.parametrize(
    ("missing", "said", "action", "left"),
    [
        ((20, 40), "about 20 to 40 rounds more needed", "Run about 40 rounds more.", ""),
        ((20, 391), f"about 20 rounds more needed; for 1 of 2 {SCATTER}", "Run about 20 rounds more.", "whose cause"),
        ((20, None), "about 20 rounds more needed; for 1 of 2 no affordable number would decide",
         "Run about 20 rounds more.", "no affordable number"),
        ((391, 500), SCATTER, "Find the cause of the scatter", ""),
        ((391, None), SCATTER, "Find the cause of the scatter", ""),
        ((None, None), "no affordable number of rounds would decide", "Find the cause of the scatter", ""),
    ],
)  # fmt: skip
def test_headline_and_advice_ask_for_the_same_rounds(
    missing: tuple[int | None, ...], said: str, action: str, left: str
) -> None:
    campaign = make_campaign(
        {"a": [1000.0] * 5, "b": [1000.0, 1050.0] * 2 + [980.0], "c": [1000.0, 1060.0] * 2 + [970.0]}
    )
    found = analyse(campaign)
    open_ones = tuple(
        dataclasses.replace(comparison, verdict=Verdict.UNDECIDED, more_rounds=more)
        for comparison, more in zip(found.comparisons, missing, strict=True)
    )
    assert needed(open_ones, None) == said
    given = RuleInput(
        campaign, campaign.study, dataclasses.replace(found, comparisons=open_ones, round_s=None), None, frozenset()
    )
    (finding,) = undecided.find(given)
    assert finding.remedies[0].action.startswith(action)
    assert (left in " ".join(one.sentence for one in finding.evidence)) is True
