"""What a section works from: the analysis and the campaign, cleaned, with one way of naming and ordering variants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from fathom import unanswered
from fathom.analysis.model import Analysis, Comparison
from fathom.analysis.variants import Key, Variant, given_names, label, matches, variant_key, without
from fathom.analysis.words import capital, left_out
from fathom.metrics import Metric, metric
from fathom.report import series
from fathom.report.anonymise import Anonymiser
from fathom.report.plain import map_strings, one_line, plain
from fathom.report.style.marks import Appearance
from fathom.results import Campaign, Level, Run, last_round

if TYPE_CHECKING:
    import polars as pl

_MOST_NARROW = 2
"""Variants that pictures over time have room for on a narrow page."""


class Context:
    """One campaign and its analysis as the sections see them.

    Every string is free of control characters and, if asked for, of names; see `plain` and `anonymise`.
    """

    def __init__(self, analysis: Analysis, campaign: Campaign, *, anonymise: bool = False) -> None:
        self.anonymised = anonymise
        rename = Anonymiser(campaign).text if anonymise else str

        @cache
        def clean(text: str) -> str:
            return plain(rename(text))

        self.analysis: Analysis = map_strings(analysis, clean)
        self.campaign: Campaign = map_strings(campaign, clean)
        self.study_bytes = rename(campaign.study_text).encode(errors="replace")
        """The study as a file: byte for byte unless names were replaced."""
        self.directory = clean(str(campaign.directory))
        """Where the campaign lies, for people; the path to open is `campaign.directory`."""
        self._clean = clean
        self._frames: dict[tuple[str, str], pl.DataFrame | None] = {}

    # --- naming and ordering ------------------------------------------------------------------------------------

    @cached_property
    def primary(self) -> Metric:
        """The metric the study compares."""
        return metric(self.analysis.metric)

    @cached_property
    def baselines(self) -> tuple[Variant, ...]:
        """The variants that others are compared with; several where factors besides the compared one vary."""
        known = {variant_key(comparison.baseline): comparison.baseline for comparison in self.analysis.comparisons}
        return tuple(known.values())

    @cached_property
    def variants(self) -> tuple[Variant, ...]:
        """Every variant that ran once: each baseline with all compared with it, then the rest as they first ran.

        Of variants whose ratios are averaged, those of the last level come first: what is shown of a mean.
        """
        comparisons = self.analysis.comparisons
        averaged = (comparisons[0].averaged if comparisons else ()) or ({},)
        candidates: list[Variant] = []
        for levels in reversed(averaged):
            for baseline in self.baselines:
                against = (c.variant for c in comparisons if variant_key(c.baseline) == variant_key(baseline))
                candidates += [variant | levels for variant in (baseline, *against)]
        candidates += [summary.variant for summary in self.analysis.summaries]
        candidates += [run.variant for run in self.campaign.runs]
        once: dict[Key, Variant] = {}
        for variant in candidates:
            once.setdefault(variant_key(variant), variant)
        return tuple(once.values())

    @cached_property
    def factors(self) -> tuple[str, ...]:
        """The factors with more than one level, in the order of the study; all of them if none varies."""
        named = list(dict.fromkeys(factor for variant in self.variants for factor in variant))
        written = [str(factor) for factor in self.campaign.study.get("factors", {})]
        named.sort(key=lambda factor: written.index(factor) if factor in written else len(written))
        varying = [f for f in named if len({repr(variant.get(f)) for variant in self.variants}) > 1]
        return tuple(varying or named)

    def label(self, variant: Variant) -> str:
        """A variant in a few words, the same as in the sentences of the analysis."""
        return label(variant, self.campaign.study)

    def appearance(self, variant: Variant) -> Appearance:
        """How a variant looks in charts: its colour is that of the thing compared, the same at every load."""
        load = self.analysis.load
        if load is None or self.is_sweep:
            return Appearance(self.label(variant), self.place(variant))
        thing = self._things.get(variant_key(without(variant, [load])))
        return Appearance(self.label(variant), self.place(variant) if thing is None else thing)

    def thing(self, variant: Variant) -> Appearance:
        """How a variant looks where its load is an axis: all that differ in nothing else look and are called alike."""
        load = self.analysis.load
        if load is None or self.is_sweep or load not in variant:
            return self.appearance(variant)
        return Appearance(self.label(without(variant, [load])), self.appearance(variant).place)

    @cached_property
    def _things(self) -> dict[Key, int]:
        """What is compared, whatever the load: each with its place."""
        loads = [] if self.analysis.load is None else [self.analysis.load]
        keys = dict.fromkeys(variant_key(without(variant, loads)) for variant in self.variants)
        return {key: place for place, key in enumerate(keys)}

    @cached_property
    def is_sweep(self) -> bool:
        """Whether the load is what varies, and nothing to choose: it is not the baseline's, or all there is."""
        load, comparisons = self.analysis.load, self.analysis.comparisons
        if load is None:
            return False
        if not comparisons:
            return bool(self.analysis.knees) or not self.analysis.predictions
        return any(c.variant.get(load) != c.baseline.get(load) for c in comparisons)

    @cached_property
    def how(self) -> str:
        """How the figures came about: "simulated" or "measured"."""
        return "simulated" if self.campaign.clock == "virtual" else "measured"

    def capital(self, text: str) -> str:
        """The text with a capital letter, unless it begins with a name that people gave."""
        return capital(text, given_names(self.campaign.study))

    @cached_property
    def measured(self) -> frozenset[str]:
        """Names of the metrics that any finished run measured."""
        return frozenset(n for run in self.ok_runs for n, value in run.metrics.items() if value is not None)

    def place(self, variant: Variant) -> int:
        """The place of a variant in `variants`: what its colour and mark come from; of a mean, that of its first."""
        found = self._places.get(variant_key(variant))
        if found is not None:
            return found
        return next(place for place, other in enumerate(self.variants) if matches(other, variant))

    @cached_property
    def _places(self) -> dict[Key, int]:
        return {variant_key(variant): place for place, variant in enumerate(self.variants)}

    def leaves_out(self, variant: Variant, name: str) -> bool:
        """Whether a latency of a variant leaves out more than it may: then it is a lower bound."""
        return unanswered.worst(name, self.runs(variant)) is not None

    @cached_property
    def unanswered_words(self) -> str:
        """What latencies leave out, as a sentence; empty where that is next to nothing."""
        found = [(one, v) for v in self.variants for run in self.runs(v) if (one := unanswered.left_out(run))]
        told = [(one, v) for one, v in found if one.share >= unanswered.TOLD]
        if not told:
            return ""
        worst, variant = max(told, key=lambda pair: pair[0].share)
        who = f" ({self.label(variant)})" if len(self.variants) > 1 else ""
        flattered = any(self.leaves_out(v, name) for v in self.variants for name in self.measured)
        mark = "; ≥ marks what that flatters" if flattered else ""
        return f"Latencies are of answered requests: in the worst run {left_out(worst)}{who}{mark}."

    # --- runs ---------------------------------------------------------------------------------------------------

    def runs(self, variant: Variant) -> tuple[Run, ...]:
        """The finished runs of a variant by round."""
        return self._runs_of.get(variant_key(variant), ())

    @cached_property
    def _runs_of(self) -> dict[Key, tuple[Run, ...]]:
        found: dict[Key, list[Run]] = {}
        for run in sorted(self.ok_runs, key=lambda run: (run.round, run.order)):
            found.setdefault(variant_key(run.variant), []).append(run)
        return {key: tuple(runs) for key, runs in found.items()}

    @cached_property
    def ok_runs(self) -> tuple[Run, ...]:
        """Every finished run in the order it ran."""
        return tuple(run for run in self.campaign.runs if run.ok)

    @cached_property
    def failed_runs(self) -> tuple[Run, ...]:
        """Every failed run in the order it ran."""
        return tuple(run for run in self.campaign.runs if not run.ok)

    @cached_property
    def rounds(self) -> int:
        """The highest round that was begun."""
        return last_round(self.campaign.runs)

    @cached_property
    def leading(self) -> Comparison | None:
        """The comparison that the decision of the analysis tells of; None where several were made and none shows
        anything.
        """
        found = self.analysis.decision.leading
        alone = len(self.analysis.comparisons) == 1
        return found if found is not None and (found.ratio is not None or alone) else None

    def shown(self, most: int, having: Callable[[Run], object]) -> tuple[Variant, ...]:
        """At most that many variants with such a run: first the pair that carries the verdict, then the others; in the
        order of `variants`.
        """
        leading = self.leading
        wanted = [self.place(v) for v in (leading.baseline, leading.variant)] if leading is not None else []
        places = dict.fromkeys([*wanted, *range(len(self.variants))])
        # What `having` reads is read of no more variants than are shown.
        found = (p for p in places if any(having(run) is not None for run in self.runs(self.variants[p])))
        return tuple(self.variants[place] for place in sorted(islice(found, most)))

    def few(self, variants: Sequence[Variant], having: Callable[[Run], object]) -> list[int]:
        """The places of those of the variants that a narrow page shows."""
        return [variants.index(variant) for variant in self.shown(_MOST_NARROW, having) if variant in variants]

    def samples(self, run: Run) -> pl.DataFrame | None:
        """The samples of a run, read once; None if it left none."""
        return self._frame(run, "samples")

    def counts(self, run: Run) -> series.Counts:
        """How many operations each node of a run saw, by its samples; nothing if it left none."""
        return self._counts.get(run.id, {})

    @cached_property
    def _counts(self) -> dict[str, series.Counts]:
        return series.counted({run.id: frame for run in self.ok_runs if (frame := self.samples(run)) is not None})

    def histograms(self, run: Run) -> pl.DataFrame | None:
        """The histograms of a run, read once; None if it left none."""
        return self._frame(run, "histograms")

    def activity(self, run: Run) -> pl.DataFrame | None:
        """What was sampled beside a run, read once; None if nothing was."""
        if (run.id, "activity") not in self._frames:
            frame = run.activity()
            self._frames[run.id, "activity"] = None if frame is None else series.renamed(frame, self._clean)
        return self._frames[run.id, "activity"]

    def _frame(self, run: Run, kind: str) -> pl.DataFrame | None:
        if (run.id, kind) not in self._frames:
            frame = run.samples() if kind == "samples" else run.histograms()
            self._frames[run.id, kind] = None if frame is None else series.renamed(frame, self._clean)
        return self._frames[run.id, kind]

    # --- what there is to show ----------------------------------------------------------------------------------

    def has(self, need: str) -> bool:
        """Whether an input of `INPUTS` is there.

        Raises:
            KeyError: no input of that name exists, which is a mistake in a section.
        """
        return bool(INPUTS[need](self))

    def has_file(self, name: str) -> bool:
        """Whether any finished run left a file of that name."""
        return any(run.directory is not None and (run.directory / name).exists() for run in self.ok_runs)


def level_text(level: Level | None) -> str:
    """A level as people write it."""
    if level is None:
        return "not set"
    if isinstance(level, bool):
        return "on" if level else "off"
    if isinstance(level, float):
        return f"{level:g}"
    return one_line(str(level)) if isinstance(level, str) else f"{level:,}"


def _has_plane(context: Context) -> bool:
    return any(run.metrics.get("outstanding") and run.metrics.get("iops") for run in context.ok_runs)


def _settings(context: Context) -> Any:
    return context.campaign.study.get("volumes")


INPUTS: dict[str, Callable[[Context], Any]] = {
    "runs": lambda context: context.campaign.runs,
    "ok_runs": lambda context: context.ok_runs,
    "comparisons": lambda context: context.analysis.comparisons,
    "predictions": lambda context: context.analysis.predictions,
    "audits": lambda context: context.analysis.audits,
    "steady": lambda context: context.analysis.steady,
    "samples": lambda context: context.has_file("samples.parquet"),
    "histograms": lambda context: context.has_file("histograms.parquet"),
    "activity": lambda context: context.has_file("activity.parquet"),
    "waits": lambda context: any(run.waits for run in context.ok_runs) or context.has_file("activity.parquet"),
    "outstanding": _has_plane,
    "volumes": lambda context: any(run.volumes for run in context.ok_runs) or _settings(context),
}
"""What a section can ask for, by name."""
