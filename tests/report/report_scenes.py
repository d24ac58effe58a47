"""Sample campaigns for the report: synthetic runs in the format of run directories, and the analysis beside them.

The numbers are made up but consistent; nothing here calls the analysis, so that the report is tested alone.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from report_runs import Load, make_run

from fathom.analysis.advice import RuleInput, advise
from fathom.analysis.decision import decide
from fathom.analysis.factors import load_factors
from fathom.analysis.model import (
    Analysis,
    Comparison,
    Estimate,
    Knee,
    LittleAudit,
    Prediction,
    ScalabilityFit,
    SteadyState,
    Summary,
    Verdict,
)
from fathom.results import Campaign, Level, Run


@dataclass(frozen=True)
class Scene:
    """A campaign and its analysis, with what the analysis advises."""

    analysis: Analysis
    campaign: Campaign

    def __post_init__(self) -> None:
        object.__setattr__(self, "analysis", advised(self.analysis, self.campaign))


def advised(analysis: Analysis, campaign: Campaign) -> Analysis:
    """The analysis with what is decided of it, and its findings."""
    study, loads = dict(campaign.study), load_factors(campaign.study, campaign.runs, None)
    analysis = dataclasses.replace(analysis, load=loads[0] if loads else None, loads=loads)
    virtual = campaign.clock == "virtual"
    made = decide(analysis, (), campaign.runs, tried=(), study=study, rules=None, virtual=virtual, seed=campaign.seed)
    analysis = dataclasses.replace(analysis, decision=made)
    return dataclasses.replace(analysis, findings=advise(RuleInput(campaign, study, analysis, None, frozenset())))


def estimate(value: float, spread: float, *, n: int = 5, level: float = 0.95, method: str = "t interval") -> Estimate:
    """An estimate with a symmetric relative interval."""
    return Estimate(value, value * (1 - spread), value * (1 + spread), level, n, method)


def single(value: float) -> Estimate:
    """One observation, no interval."""
    return Estimate(value, value, value, 0.0, 1, "one run")


def _summaries(runs: list[Run], names: tuple[str, ...], spread: float) -> tuple[Summary, ...]:
    variants = list({str(run.variant): run.variant for run in runs}.values())
    found = []
    for variant in variants:
        for name in names:
            points = [(r.round, v) for r in runs if r.variant == variant and (v := r.metrics.get(name)) is not None]
            failed = sum(r.variant == variant and not r.ok for r in runs)
            if not points:
                found.append(Summary(variant, name, None, (), None, failed))
                continue
            mean = sum(value for _, value in points) / len(points)
            made = single(mean) if len(points) == 1 else estimate(mean, spread, n=len(points))
            found.append(Summary(variant, name, made, tuple(points), spread * 0.8 if len(points) > 1 else None, failed))
    return tuple(found)


def pair(root: Path) -> Scene:
    """Two variants, five rounds each, real clock: a volume with and without a write-back cache."""
    factor = "volumes.data.kind"
    runs: list[Run] = []
    for number in range(1, 6):
        for place, level in enumerate(("plain", "write-back cache") if number % 2 else ("write-back cache", "plain")):
            wobble = 1 + 0.012 * math.sin(number * 2.1 + place)
            load = Load(2100 * wobble, 900 * wobble, 9.2 / wobble, 14.2 / wobble)
            if level != "plain":
                load = Load(2610 * wobble, 1120 * wobble, 10.4 / wobble, 4.4 / wobble)
            runs.append(
                make_run(
                    root,
                    {factor: level},
                    number,
                    len(runs) + 1,
                    load,
                    stall=level == "plain" and number == 3,
                    gap=level == "plain" and number == 4,
                )
            )
    base, other = {factor: "plain"}, {factor: "write-back cache"}
    points = tuple((n, 1.243 + 0.011 * math.sin(n * 3.7)) for n in range(1, 6))
    comparison = Comparison(
        other,
        base,
        "iops",
        estimate(1.243, 0.011),
        estimate(1.243, 0.008, level=0.9),
        0.02,
        Verdict.FASTER,
        points,
        0.0625,
        None,
        (),
    )
    steady = tuple(
        SteadyState(
            run.id,
            2.0,
            run.round != 3 or run.variant == other,
            () if run.round != 3 or run.variant == other else ("the level changed twice after 33 s",),
            (33.0, 36.0) if run.round == 3 and run.variant == base else (),
            0.31 if run.round == 3 else 0.0,
        )
        for run in runs
    )
    audits = (
        LittleAudit(
            "plain, round 1",
            32.0,
            32.1,
            0.003,
            True,
            "32.1 outstanding follow from rate × latency; 32 were configured.",
        ),
        LittleAudit(
            "write-back cache, round 1", 32.0, 32.07, 0.002, True, "32.1 outstanding follow; 32 were configured."
        ),
    )
    study = {
        "title": "Would a write-back cache help our OLTP volume?",
        "clock": "real",
        "volumes": {
            "data": {"kind": "throttle", "backing": "ebs", "iops": 3000},
            "ebs": {"kind": "model", "model": "aws/gp3", "size": "4TiB"},
        },
        "workload": {"kind": "io", "volume": "data", "users": 32},
        "factors": {factor: ["plain", "write-back cache"]},
        "compare": {"metric": "iops", "baseline": base, "margin": 0.02, "rounds": 5},
    }
    text = 'title = "Would a write-back cache help our OLTP volume?"\n\n[workload]\nkind = "io"\nusers = 32\n'
    analysis = Analysis(
        "Would a write-back cache help our OLTP volume?",
        "We run 70/30 OLTP on a 3,000-IOPS volume. Is an NVMe write-back cache in front of it worth the work?",
        "iops",
        _summaries(runs, ("iops", "latency_ms", "latency_p99_ms", "outstanding"), 0.014),
        (comparison,),
        steady,
        (),
        (),
        audits,
        (),
        (),
        ("1 of 10 runs did not settle; lengthen the ramp or the measured phase.",),
        "Write-back cache is 24 % faster than plain (95 % interval 22.9 % to 25.7 %, 5 rounds).",
    )
    return Scene(
        analysis, Campaign(Path("results/sample"), study, text, 7, "real", tuple(runs), 10, "2026-11-21T10:00:00Z")
    )


def cells(root: Path) -> Scene:
    """Eight cells in virtual time with two published figures, one of them calibrated on."""
    payloads = ("< 4096 B", "4096 to 8192 B", "8192 to 16384 B", "16384 to 32768 B")
    rates = {"512 B": (0.304, 0.29, 0.262, 0.221), "4096 B": (1.0, 0.861, 0.702, 0.494)}
    runs: list[Run] = []
    for block, shares in rates.items():
        for payload, share in zip(payloads, shares, strict=True):
            variant: dict[str, Level] = {"workload.log_block": block, "workload.payload": payload}
            rows = 24100 * share
            load = Load(0.001, rows, 1.0, 1e3 / rows * 0.9, 4096)
            run = make_run(
                root,
                variant,
                1,
                len(runs) + 1,
                load,
                seconds=30,
                ramp=0,
                digest=hashlib.sha256(block.encode()).hexdigest(),
            )
            runs.append(Run(**{**run.__dict__, "metrics": run.metrics | {"rows": rows * 30, "rows_per_second": rows}}))
    predictions = []
    for block, shares in rates.items():
        for payload, share in zip(payloads, shares, strict=True):
            given = {("512 B", "< 4096 B"): 0.30, ("4096 B", "< 4096 B"): 1.0}.get((block, payload))
            predictions.append(
                Prediction(
                    f"log block {block}, payload {payload}",
                    "rows",
                    "of best",
                    given,
                    single(share),
                    None if given is None else share / given - 1,
                    given == 1.0,
                    "VMware, 2021-12-06" if given else None,
                )
            )
    study = {
        "title": "Should the log be written in 512-byte or 4 KiB blocks?",
        "clock": "virtual",
        "factors": {"workload.log_block": list(rates), "workload.payload": list(payloads)},
        "volumes": {
            "log": {"kind": "sector", "backing": "disk", "physical": 4096},
            "disk": {"kind": "model", "model": "vmware/vsan"},
        },
    }
    analysis = Analysis(
        str(study["title"]),
        "Our disks have 4 KiB sectors, but the virtual disk reports 512. What does that cost?",
        "rows",
        _summaries(runs, ("rows", "latency_ms"), 0.0),
        (),
        (),
        (),
        (),
        (),
        tuple(predictions),
        ("4096 B with payload < 4096: the best cell, to which all are normalised",),
        ("Virtual time: intervals cover the random numbers of the model, not how well the model fits the world.",),
        "2 of 2 published cells are met within 10 %, 1 of them calibrated on; 6 unpublished cells are predicted.",
    )
    return Scene(analysis, Campaign(Path("results/sample"), study, "title = 'log'\n", 1, "virtual", tuple(runs), 8))


def failed(root: Path) -> Scene:
    """Two of six runs failed, two were never begun: no verdict."""
    factor = "workload.transaction"
    runs: list[Run] = []
    for number in (1, 2, 3):
        runs.append(
            make_run(
                root, {factor: "per-row"}, number, 2 * number - 1, Load(100.0, 400.0, 1.1, 2.2), seconds=20, ramp=0
            )
        )
        broken = {
            "status": "failed",
            "reason": "no-space",
            "message": "/var/lib/scratch: no space left on device; free 2.1 GiB or give --scratch",
        }
        if number < 3:
            runs.append(
                Run(
                    f"broken{number}",
                    {factor: "whole-batch"},
                    number,
                    2 * number,
                    metrics={},
                    seed=1000 + number,
                    **broken,
                )
            )
    comparison = Comparison(
        {factor: "whole-batch"},
        {factor: "per-row"},
        "iops",
        None,
        None,
        0.02,
        Verdict.NOT_COMPARABLE,
        (),
        None,
        None,
        ("no round is complete: whole-batch failed in every round",),
    )
    analysis = Analysis(
        "One transaction per row, or one for all?",
        "",
        "iops",
        _summaries(runs, ("iops",), 0.02),
        (comparison,),
        (),
        (),
        (),
        (),
        (),
        (),
        ("2 of 5 runs failed; they are counted, not hidden.",),
        "Whole-batch and per-row are not comparable: no round is complete.",
    )
    study = {"factors": {factor: ["per-row", "whole-batch"]}, "workload": {"kind": "insert"}}
    return Scene(analysis, Campaign(Path("results/sample"), study, "", 3, "real", tuple(runs), 10))


def sweep(root: Path) -> Scene:
    """Outstanding I/O from 1 to 128 against a cap of 16,000 IOPS, three rounds, with knee, fit and audit."""
    factor = "workload.outstanding"
    runs: list[Run] = []
    levels = (1, 2, 4, 8, 16, 32, 64, 128)
    for number in (1, 2, 3):
        for level in levels:
            rate = (
                1
                / (1 / (16000 * 1.01) ** 6 + 1 / (level / 0.0009) ** 6) ** (1 / 6)
                * (1 + 0.01 * math.sin(number * 7 + level))
            )
            latency = level / rate * 1e3
            runs.append(
                make_run(
                    root,
                    {factor: level},
                    number,
                    len(runs) + 1,
                    Load(rate * 0.7, rate * 0.3, latency, latency),
                    seconds=30,
                    ramp=0,
                )
            )
    baseline: dict[str, Level] = {factor: 1}
    rates = {run.variant[factor]: run.metrics["iops"] or 0.0 for run in runs if run.round == 1}
    comparisons = []
    for level in levels[1:]:
        ratio = rates[level] / rates[1]
        comparisons.append(
            Comparison(
                {factor: level},
                baseline,
                "iops",
                estimate(ratio, 0.03, n=3, level=0.9929),
                estimate(ratio, 0.02, n=3, level=0.9),
                0.02,
                Verdict.FASTER,
                tuple((n, ratio * (1 + 0.01 * math.sin(n))) for n in (1, 2, 3)),
                0.25,
                None,
                (),
            )
        )
    knee = Knee(
        factor,
        estimate(0.9, 0.02, n=24),
        estimate(16050, 0.01, n=24),
        estimate(14.4, 0.03, n=24),
        "volumes.data: 16,000 IOPS",
    )
    fit = ScalabilityFit(
        factor,
        estimate(1290, 0.05, n=24),
        estimate(0.071, 0.1, n=24),
        Estimate(0.0, 0.0, 0.00004, 0.95, 24, "bootstrap"),
        None,
        0.981,
        "cap, not contention",
    )
    audits = tuple(
        LittleAudit(
            f"outstanding {level}, round {n}",
            float(level),
            level * 1.001,
            0.001,
            True,
            f"{level} outstanding, as configured.",
        )
        for level in levels
        for n in (1, 2, 3)
    )
    study = {
        "title": "How much outstanding I/O does this volume need?",
        "factors": {factor: list(levels)},
        "loads": {factor: "users"},
        "workload": {"kind": "io"},
        "volumes": {
            "data": {"kind": "throttle", "backing": "disk", "iops": 16000},
            "disk": {"kind": "model", "model": "aws/gp3"},
            "hba": {"kind": "adapter", "backing": "data", "device_depth": 64},
        },
    }
    analysis = Analysis(
        str(study["title"]),
        "More users make it slower, not faster. Where does the volume stop?",
        "iops",
        _summaries(runs, ("iops", "latency_ms"), 0.012),
        tuple(comparisons),
        (),
        (knee,),
        (fit,),
        audits,
        (),
        (),
        (),
        "Outstanding 64 is 15x faster than outstanding 1 (99.3 % interval 14 to 15, 3 rounds); the largest of 7.",
    )
    return Scene(analysis, Campaign(Path("results/sample"), study, "", 5, "real", tuple(runs), 24))


def large(root: Path) -> Scene:
    """Six variants, ten rounds, ten minutes each: as much as a page should ever have to hold."""
    factor = "volumes.data.cache"
    runs: list[Run] = []
    levels = ("none", "20GiB", "40GiB", "80GiB", "100GiB", "200GiB")
    for number in range(1, 11):
        for place, level in enumerate(levels):
            load = Load(2000.0 + 150 * place + 7 * number, 900.0 + 60 * place, 9.0 - place, 12.0 - 1.5 * place)
            runs.append(make_run(root, {factor: level}, number, len(runs) + 1, load, seconds=600, ramp=60))
    comparisons = tuple(
        Comparison(
            {factor: level},
            {factor: "none"},
            "iops",
            estimate(1 + 0.06 * place, 0.01, n=10, level=0.99),
            estimate(1 + 0.06 * place, 0.008, n=10, level=0.9),
            0.02,
            Verdict.FASTER,
            tuple((n, 1 + 0.06 * place + 0.004 * math.sin(n)) for n in range(1, 11)),
            0.002,
            None,
            (),
        )
        for place, level in enumerate(levels[1:], 1)
    )
    study = {
        "title": "How large a cache?",
        "factors": {factor: list(levels)},
        "volumes": {"data": {"kind": "writeback"}},
    }
    analysis = Analysis(
        "How large a cache?",
        "",
        "iops",
        _summaries(runs, ("iops", "latency_ms", "latency_p99_ms"), 0.01),
        comparisons,
        tuple(SteadyState(run.id, 5.0, True, (), ()) for run in runs),
        (),
        (),
        (),
        (),
        (),
        (),
        "200GiB is 30 % faster than none.",
    )
    return Scene(analysis, Campaign(Path("results/sample"), study, "", 1, "real", tuple(runs), 60))


METRIC_NAMES = ("iops", "latency_ms", "latency_p99_ms", "outstanding", "rows", "rows_per_second")

SCENES: dict[str, Callable[[Path], Scene]] = {"pair": pair, "cells": cells, "failed": failed, "sweep": sweep}
