"""The words of the report; the same as in GLOSSARY.md."""

from __future__ import annotations

from collections.abc import Sequence

from fathom.report.context import Context
from fathom.report.document import Block, Definitions
from fathom.report.section import Section

_TERMS = (
    ("Round", "Every variant once, in random order."),
    ("Run", "One execution of one variant in one round."),
    ("Sample", "One measured interval of a run."),
    ("Variant", "One combination of the levels of all factors."),
    ("Latency", "Waiting time plus service time of one request."),
    ("Outstanding I/O", "Requests submitted and not completed, also called queue depth."),
    ("Ratio", "Improvement over the baseline; above 1 × is better in either direction of the metric."),
    ("Interval", "Where the true value lies with the stated confidence, if the method's assumptions hold."),
    ("Equivalent", "The difference is shown to be smaller than the margin fixed before the runs."),
    ("Knee", "The load beyond which more load adds latency and no throughput."),
    ("Little's law", "Outstanding requests = rate × latency, on average, in any stable system."),
    ("Calibrated", "A parameter of the model was fitted to this very figure."),
    ("MB/s, MiB/s", "Millions of bytes per second; 1,048,576 bytes per second. Never mixed."),
)


def build(context: Context) -> Sequence[Block]:
    """All terms, whatever the campaign."""
    return [Definitions(_TERMS)]


SECTION = Section("glossary", "Glossary", 160, (), build, detail=True)
