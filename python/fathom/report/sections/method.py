"""The method in ten lines, so that a reader can object to it."""

from __future__ import annotations

from collections.abc import Sequence

from fathom.report.context import Context
from fathom.report.document import Block, Bullets
from fathom.report.format import level, percent
from fathom.report.section import Section


def build(context: Context) -> Sequence[Block]:
    """Ten sentences, with this campaign's numbers where it has its own."""
    comparisons = context.analysis.comparisons
    margin = percent(comparisons[0].margin) if comparisons else "the margin"
    levels = sorted({c.ratio.level for c in comparisons if c.ratio is not None and c.ratio.has_interval})
    stated = " to ".join(dict.fromkeys(level(one) for one in (levels[0], levels[-1]))) if levels else "95\u00a0%"
    clock = (
        "Runs are simulated in virtual time: the volume code is the code that ships, the devices are models."
        if context.campaign.clock == "virtual"
        else "Runs are real: a real program on real or modelled devices, timed by this machine's clock."
    )
    return [
        Bullets(
            (
                clock,
                f"A round is every variant once, in random order (seed {context.campaign.seed}): drift hits all alike.",
                "The run is the unit of replication. Samples within a run depend on each other and never count as n.",
                "The warm-up of each run is cut by MSER-5; a run whose level still changes is called not steady.",
                f"Each round yields one ratio; their logarithms a t interval ({stated}), from 20 rounds on a BCa one.",
                f"Equivalence is shown, not assumed: two one-sided tests against {margin}, fixed before the runs.",
                "Looking early and comparing many variants cost confidence; intervals are widened for both.",
                "A verdict is one of a closed list; “undecided” says how many more rounds it would take.",
                "Every table is checked by Little's law, ours and published ones alike.",
                "Failed runs are kept and shown; what was not measured is empty, never zero.",
            )
        )
    ]


SECTION = Section("method", "Method in ten lines", 150, (), build, detail=True)
