"""The figures of a study that compares nothing: rate, throughput, latency by kind, outstanding I/O, the limit met."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fathom.analysis.model import SPENT_S, Analysis
from fathom.analysis.variants import Variant, given_names, label, of_variant, variant_key
from fathom.analysis.words import capital, number, quantity, short
from fathom.metrics import metric as metric_facts
from fathom.results import Run
from fathom.tail import few

RATES = ("iops", "nopm", "opm", "transactions_per_second", "rows_per_second", "commits_per_second")
_HEAD = ("mb_per_s", "latency_ms", "latency_p99_ms")
_SAME = 0.03
"""A rate this near a limit has met it."""

_CREDITS = {"iops_limit": "io_credits", "bytes_per_s_limit": "byte_credits"}
"""The fact that says what was left beyond a sustained rate, by the one that states the rate."""

_MOST = 3


def means(analysis: Analysis, variant: Variant) -> dict[str, float]:
    """Mean over rounds of every metric of a variant that was measured."""
    mine = of_variant(analysis.summaries, variant)
    return {summary.metric: summary.mean.value for summary in mine if summary.mean is not None}


def figures_in_words(analysis: Analysis, study: Mapping[str, Any], runs: Sequence[Run]) -> list[str]:
    """A sentence for each of the first variants: its rate, throughput, mean and p99 latency."""
    variants = list({variant_key(s.variant): s.variant for s in analysis.summaries}.values())
    said = [_sentence_of(analysis, variant, study, of_variant(runs, variant)) for variant in variants[:_MOST]]
    if analysis.metric and said and not any(analysis.metric in means(analysis, variant) for variant in variants):
        said.insert(0, f"No run measured the {short(analysis.metric)}.")
    more = len(variants) - _MOST
    return [text for text in said if text] + (
        [f"{more} further {'variant' if more == 1 else 'variants'} below."] if more > 0 else []
    )


def _sentence_of(analysis: Analysis, variant: Variant, study: Mapping[str, Any], runs: Sequence[Run]) -> str:
    found = means(analysis, variant)
    first = next((name for name in (analysis.metric, *RATES) if name in found), None)
    if first is None:
        return ""
    parts = [f"{_named(first)}{quantity(found[first], metric_facts(first).unit)}"]
    parts += [
        f"{_word(name)}{quantity(found[name], metric_facts(name).unit)}{_counted(name, runs)}"
        for name in ("iops", *_HEAD)
        if name in found and name != first
    ]
    who = f"{label(variant, study)}: " if variant else ""
    if any("latency" in name for name in (first, *_HEAD) if name in found) and _overloaded(analysis, variant):
        parts[-1] += " (of answered requests)"
    return capital(f"{who}{', '.join(parts)}.", given_names(study))


def _counted(name: str, runs: Sequence[Run]) -> str:
    """Of how many requests a percentile is, where these are too few to tell it."""
    too_few = few(name, runs)
    return "" if too_few is None else f" (of {number(too_few.requests)} requests, too few to tell it)"


def _overloaded(analysis: Analysis, variant: Variant) -> bool:
    return bool(of_variant(analysis.overloads, variant))


def _named(first: str) -> str:
    """What the first figure is, where its unit does not say it: `p99 latency `."""
    return "" if first in (*RATES, "mb_per_s") else f"{short(first)} "


def _word(name: str) -> str:
    return {"latency_ms": "mean latency ", "latency_p99_ms": "p99 "}.get(name, "")


def limit_met(runs: Sequence[Run], found: Mapping[str, float], within: float = _SAME) -> str | None:
    """The limit that a volume states and the runs have met, in words; None where none was."""
    return _first_met(runs, lambda run, volume: found, within)


def own_limit_met(runs: Sequence[Run]) -> str | None:
    """The limit that a volume states and has met by what it did itself, as one below a cache; None where none was."""
    return _first_met(runs, _own_rates, _SAME)


def _first_met(runs: Sequence[Run], rates: Callable[[Run, str], Mapping[str, float]], within: float) -> str | None:
    for run in runs:
        for name, value in run.facts.items():
            if not name.startswith("volumes."):
                continue
            where, _, word = name.removeprefix("volumes.").rpartition(".")
            met = _met(word, value, rates(run, where), within)
            if met is not None and not _is_held_up(run, where, word, float(value)):
                return f"{where}: {met}"
    return None


def _is_held_up(run: Run, volume: str, word: str, limit: float) -> bool:
    """Whether a bucket still had credits at the end, with which a load at its sustained rate never has to wait."""
    left = run.facts.get(f"volumes.{volume}.{_CREDITS[word]}") if word in _CREDITS else None
    return left is not None and float(left) > SPENT_S * limit


def _own_rates(run: Run, volume: str) -> dict[str, float]:
    counted = run.volumes.get(volume, {})
    kinds = [counted.get(op, {}) for op in ("read", "write")]
    length = run.measured_s or math.inf
    columns = (("iops", "count", 1.0), ("mb_per_s", "bytes", 1e6))
    return {metric: sum(kind.get(column, 0) for kind in kinds) / length / scale for metric, column, scale in columns}


def _met(word: str, value: str, found: Mapping[str, float], within: float) -> str | None:
    try:
        limit = float(value)
    except ValueError:
        return None
    kinds = {
        "iops_limit": ("iops", 1.0, "IOPS"),
        "iops_peak": ("iops", 1.0, "IOPS in a burst"),
        "bytes_per_s_limit": ("mb_per_s", 1e6, "MB/s"),
        "bytes_per_s_peak": ("mb_per_s", 1e6, "MB/s in a burst"),
    }
    if word not in kinds:
        return None
    metric, scale, unit = kinds[word]
    reached = found.get(metric)
    if reached is None or not limit or abs(reached / (limit / scale) - 1) > within:
        return None
    return f"{number(limit / scale)} {unit}"


def latency_kinds(found: Mapping[str, float]) -> list[str]:
    """The kinds of request whose latency was measured, all of them together first: "", "read_", "write_", ..."""
    kinds = [name.removesuffix("latency_ms") for name in found if name.endswith("latency_ms")]
    return sorted(set(kinds), key=lambda kind: (kind != "", list(found).index(f"{kind}latency_ms")))


def geometric_mean(runs: Sequence[Run], metric: str) -> float | None:
    """The mean that stands beside a ratio, in the metric's unit; 0 where a run had nothing, None without a value."""
    values = [value for run in runs if (value := run.metrics.get(metric)) is not None]
    if not values or min(values) <= 0:
        return 0.0 if values else None
    return math.exp(math.fsum(map(math.log, values)) / len(values))
