"""A rule about a campaign, and what it works from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fathom.analysis.load import LoadTable
from fathom.analysis.model import Analysis
from fathom.analysis.rules import Rules
from fathom.analysis.variants import Variant, given_names, label
from fathom.analysis.words import capital
from fathom.finding import Finding
from fathom.results import Campaign, last_round


@dataclass(frozen=True)
class RuleInput:
    """A campaign with its effective study, its analysis (complete but for findings), and the rules of comparison.

    `spent` are the ids of runs whose burst credits ran out while they were measured; `tables` its tables of loads.
    """

    campaign: Campaign
    study: dict[str, Any]
    analysis: Analysis
    rules: Rules | None
    spent: frozenset[str]
    tables: Sequence[LoadTable] = ()

    def label(self, variant: Variant) -> str:
        """A variant in a few words."""
        return label(variant, self.study)

    def capital(self, text: str) -> str:
        """The text with a capital letter, unless it begins with a name that people gave."""
        return capital(text, given_names(self.study))

    @property
    def rounds(self) -> int:
        """The highest round that was begun."""
        return last_round(self.campaign.runs)


@dataclass(frozen=True)
class Rule:
    """One kind of finding: its name, stable between versions, its place among the others, and what finds it."""

    name: str
    order: int
    find: Callable[[RuleInput], Iterator[Finding]]
