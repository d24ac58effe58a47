"""From an analysis and its campaign to the document that every renderer shows."""

from __future__ import annotations

from fathom.analysis.model import Analysis
from fathom.analysis.sequence import by_level
from fathom.analysis.variants import label, single
from fathom.report.context import Context
from fathom.report.document import Document
from fathom.report.format import moment, plural
from fathom.report.section import build_sections
from fathom.results import Campaign


def build(analysis: Analysis, campaign: Campaign, *, anonymise: bool = False) -> Document:
    """The whole report as blocks; charts are drawn later, when a renderer asks."""
    context = Context(analysis, by_level(campaign), anonymise=anonymise)
    return Document(context.analysis.title, context.analysis.question, _facts(context), build_sections(context))


def _facts(context: Context) -> tuple[str, ...]:
    campaign = context.campaign
    facts = [
        "simulated in virtual time" if campaign.clock == "virtual" else "measured in real time",
        plural(len(context.variants), "variant"),
        plural(context.rounds, "round"),
        f"{len(context.ok_runs):,} of {plural(campaign.planned, 'run')} finished",
        f"seed {campaign.seed}",
    ]
    shared = single(campaign.study)
    if shared and len(context.variants) > 1:
        facts.insert(2, f"{label(shared, campaign.study)} in each")
    if campaign.quick:
        facts.append("tiny scale (--quick)")
    if campaign.created:
        facts.append(moment(campaign.created))
    if context.anonymised:
        facts.append("names replaced")
    return tuple(facts)
