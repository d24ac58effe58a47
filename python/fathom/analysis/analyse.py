"""The one entry: from a campaign to everything a report shows about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fathom.analysis.advice import RuleInput, advise
from fathom.analysis.assumed import assumptions, sensitivity_of
from fathom.analysis.compare import ALPHA, compare_all, false_alarms_of, looks_of
from fathom.analysis.conditions import conditions
from fathom.analysis.decision import decide
from fathom.analysis.drift import find_drift
from fathom.analysis.factors import amounts, load_factors
from fathom.analysis.figures import RATES
from fathom.analysis.filling import too_short
from fathom.analysis.guards import contrasted, shared
from fathom.analysis.headline import headline
from fathom.analysis.knee import find_knee
from fathom.analysis.little import audit_runs, audit_table, published_rows
from fathom.analysis.load import load_tables
from fathom.analysis.looks import nominal_alpha
from fathom.analysis.model import Analysis, LittleAudit, SteadyState
from fathom.analysis.near import near_limits
from fathom.analysis.overload import overloads
from fathom.analysis.pairing import values_by_round
from fathom.analysis.predict import predictions
from fathom.analysis.repeated import Repeated, failed_first, repeated_runs
from fathom.analysis.reserves import all_reserves, ran_out, reserves_of
from fathom.analysis.rules import Rules, rules_of
from fathom.analysis.sequence import by_level
from fathom.analysis.steady import MATERIAL, steady_state
from fathom.analysis.summarise import metrics_present, summarise
from fathom.analysis.unflushed import with_losses
from fathom.analysis.usl import fit_scalability
from fathom.analysis.variants import of_variant, resolved, variant_key, variants_of, without
from fathom.analysis.words import capital, fluctuating, level, listed, percent, short, too_few
from fathom.goals import outcomes
from fathom.results import Campaign, Places, Run
from fathom.tail import few
from fathom.unanswered import nothing_done

SHARED_DRIFT = 0.05
"""Drift that all variants share is mentioned from this relative change on."""

_MOST_KEYS = 4

_TOLD_ABOVE = 0.002
"""Beyond the promised share of false alarms; less is within what the simulation of the looks allows for."""


def analyse(campaign: Campaign) -> Analysis:
    """Summaries, comparisons, steadiness, fits, audits, predictions and a headline.

    A pure function of the campaign: random numbers come from the campaign's seed, and the samples of the runs are the
    only thing read.

    Raises:
        ValueError: a published cell without a metric, in a study that compares none.
    """
    campaign = by_level(campaign)
    campaign = replace(campaign, runs=with_losses(campaign.runs, campaign.study))
    study, runs = campaign.study, campaign.runs
    rules = rules_of(study)
    virtual, seed = campaign.clock == "virtual", campaign.seed
    primary = rules.metric if rules is not None else _first_metric(study, runs)

    judged = [steady_state(run, primary or "") for run in runs if run.ok and _settles(study, run)]
    steady = tuple(state for state in judged if state is not None)
    by_id = {state.run_id: state for state in steady}
    counted, loads = amounts(study, runs), load_factors(study, runs, None if rules is None else rules.baseline)
    over = overloads(runs, study, counted)
    reserves = reserves_of(runs, study)
    spent = ran_out(reserves)
    repeated = repeated_runs(runs, campaign.retried, loads)
    comparisons = (
        compare_all(
            runs,
            rules,
            study=study,
            steady=by_id,
            overloaded=over,
            loads=loads,
            reserves=reserves,
            seen=campaign.looks,
            virtual=virtual,
            seed=seed,
        )
        if rules is not None
        else ()
    )
    tables = load_tables(runs, study, primary)
    knees = (find_knee(table, study, seed) for table in tables)
    fits = (fit_scalability(table, seed) for table in tables)
    # Little's law holds in a stable system; a queue that grows without end is none.
    unstable = [variant_key(found.variant) for found in over]
    stable = [run for run in runs if variant_key(run.variant) not in unstable]
    audits = audit_runs(stable, study) + audit_table(published_rows(study))
    analysis = Analysis(
        title=str(study.get("title", "")),
        question=str(study.get("question", "")),
        metric=primary or "",
        summaries=summarise(runs, study, primary, virtual=virtual, seed=seed),
        comparisons=tuple(
            replace(
                c,
                sensitivity=sensitivity_of(c, campaign.sensitivity, campaign.runs),
                repeated=next(iter(of_variant(repeated, without(c.variant, loads))), None),
            )
            for c in comparisons
        ),
        steady=steady,
        knees=tuple(knee for knee in knees if knee is not None),
        scalability=tuple(fit for fit in fits if fit is not None),
        audits=audits,
        predictions=predictions(runs, study, primary, virtual=virtual, seed=seed),
        calibrated_on=tuple(study.get("calibrated_on", ())),
        warnings=tuple(_warnings(campaign, rules, steady, spent, audits, repeated)),
        headline="",
        overloads=over,
        assumptions=assumptions(runs),
        reserves=all_reserves(runs, reserves),
        load=counted[0] if counted else None,
        loads=loads,
        losses=contrasted(runs, loads, study),
        shared_losses=shared(runs),
        round_s=_round_seconds(runs),
        false_alarms=_beyond_promise(campaign, rules),
        repeated=repeated,
    )
    of_goals = outcomes(campaign, (found.variant for found in over))
    made = decide(
        analysis,
        of_goals,
        runs,
        tried=campaign.sensitivity,
        study=study,
        rules=rules,
        virtual=virtual,
        seed=seed,
    )
    if made.goals is not None:
        made = replace(made, goals=replace(made.goals, near=near_limits(of_goals, runs, study)))
    analysis = replace(analysis, decision=made)
    return replace(
        analysis,
        headline=" ".join(
            [headline(analysis, study, tables, runs), *conditions(analysis, campaign.places, study, runs)]
        ),
        findings=advise(RuleInput(campaign, study, analysis, rules, spent, tables)),
    )


def _round_seconds(runs: Sequence[Run]) -> float | None:
    """How long a whole round took on average; None where that was not recorded."""
    rounds: dict[int, list[float]] = {}
    for run in runs:
        if run.seconds is not None:
            rounds.setdefault(run.round, []).append(run.seconds)
    size = max((len(seconds) for seconds in rounds.values()), default=0)
    whole = [sum(seconds) for seconds in rounds.values() if len(seconds) == size]
    return sum(whole) / len(whole) if whole else None


def _settles(study: Mapping[str, Any], run: Run) -> bool:
    """Whether a run has one steady state to reach.

    A fixed amount of work is measured whole, start and end included, and phases change the load on purpose.
    """
    found = resolved(study, run.variant)
    return not found.get("phases") and found.get("lasts_ns", 0) is not None


def _first_metric(study: Mapping[str, Any], runs: Sequence[Run]) -> str | None:
    """The metric of a study that compares nothing: that of its first published cell, else a rate, else any."""
    rates = [name for name in RATES if any(run.metrics.get(name) is not None for run in runs)]
    named = [cell["metric"] for cell in (study.get("published") or {}).get("cells", ()) if cell["metric"]]
    return next(iter([*named, *rates, *metrics_present(runs, None)]), None)


def _warnings(
    campaign: Campaign,
    rules: Rules | None,
    steady: Sequence[SteadyState],
    spent: frozenset[str],
    audits: Sequence[LittleAudit],
    repeated: Sequence[Repeated],
) -> list[str]:
    """What a reader must know about the data as a whole, in plain sentences."""
    runs = campaign.runs
    found = []
    if len(runs) < campaign.planned:
        found.append(f"The campaign is incomplete: {len(runs)} of {campaign.planned} runs are done.")
    if campaign.edited:
        found.append("study.toml was edited after the campaign began: the runs and all figures are of the text before.")
    found += _missing_files(runs)
    found += _of_places(campaign.places) if campaign.places is not None else []
    found += [f"Scale: {words}" for words in campaign.study.get("scale", ())]
    if campaign.quick:
        found.append("Tiny scale (--quick): this shows that the study works; its figures are no results.")
    found += _failures(campaign, repeated)
    idle = sum(nothing_done(run) for run in runs)
    if idle:
        found.append(
            f"{idle} of {len(runs)} runs completed nothing while measured: measure longer than one request takes, or "
            "look for what holds all of them back."
        )
    if campaign.clock == "virtual":
        found.append(
            "Virtual time: intervals cover the random numbers of the model, not how well the model fits the world."
        )
    if rules is not None:
        found += _looks_warning(campaign, rules) + _shared_drift(runs, rules)
        found += _few_requests(runs, rules.metric)
    restless = sum(not state.steady for state in steady if state.run_id not in spent)
    if restless:
        held = "; the scatter between rounds contains that" if len(steady) > 1 else ""
        found.append(f"{capital(fluctuating(restless, len(steady)))}{held}.")
    if spent:
        which = "1 run" if len(spent) == 1 else f"{len(spent)} runs"
        found.append(f"Burst credits ran out while {which} measured: the figures mix what they gave and what remains.")
    filling = sum(too_short(run, campaign.study) for run in runs if run.ok)
    if filling:
        found.append(
            f"The write-back cache still filled when {filling} of {len(runs)} runs ended: they do not tell what a load "
            "that lasts gets; lengthen the ramp."
        )
    early = [state for state in steady if abs(state.warm_up_bias) >= MATERIAL and state.run_id not in spent]
    if early:
        longest = max(state.cut_s for state in early)
        which = "1 run" if len(early) == 1 else f"{len(early)} runs"
        found.append(f"{which} still warmed up while measured, up to {longest:.3g} s: lengthen the ramp.")
    wrong = sum(not audit.passed for audit in audits)
    if wrong:
        found.append(f"{wrong} of {len(audits)} lines contradict Little's law or the stated size; see the audit.")
    return found


def _failures(campaign: Campaign, repeated: Sequence[Repeated]) -> list[str]:
    """How many runs failed, and how many did before they were repeated."""
    failed = sum(not run.ok for run in campaign.runs)
    said = [f"{failed} of {len(campaign.runs)} runs failed; they are counted, not hidden."] if failed else []
    first = failed_first(repeated)
    were = "run failed first and was" if first == 1 else "runs failed first and were"
    return said + ([f"{first} {were} repeated: the figures are those of the further attempts."] if first else [])


def _missing_files(runs: Sequence[Run]) -> list[str]:
    """Which data files are missing of how many runs; several levels may be of one run."""
    gone = Counter(name for run in {run.directory: run for run in runs}.values() for name in run.lost)
    which = listed([f"{name} of {count} {'runs' if count > 1 else 'run'}" for name, count in gone.items()])
    return [f"Files are missing: {which}; charts, percentiles and remarks that need them are left out."] if gone else []


def _of_places(places: Places) -> list[str]:
    """What two campaigns that were joined do not have in common."""
    keys = [key for key, _, _ in places.differences]
    more = f" and {len(keys) - _MOST_KEYS} more, in the environment" if len(keys) > _MOST_KEYS else ""
    said = f"{', '.join(keys[:_MOST_KEYS])}{more}" if keys else "nothing that is recorded"
    found = [f"Besides the place, this differs: {said}."]
    if not places.in_turn:
        found.insert(
            0,
            "The places were measured one after the other: what changed between the two sessions is part of every "
            "difference, and no interval holds the scatter between sessions.",
        )
    return found


def _looks_warning(campaign: Campaign, rules: Rules) -> list[str]:
    looks = looks_of(campaign.runs, rules, campaign.looks)
    if len(looks) == 1:
        return []
    nominal = level(1 - nominal_alpha(looks, ALPHA))
    found = [f"Intervals are corrected for looks after {', '.join(map(str, looks))} rounds: each has level {nominal}."]
    reached = _beyond_promise(campaign, rules)
    if reached is not None:
        found.append(
            f"Looks beyond those that were planned: chance alone shows a difference at one of them in {reached:.1%} of "
            f"equal pairs, not in {percent(ALPHA)}. Declare compare.max_rounds before a campaign that may be extended."
        )
    return found


def _beyond_promise(campaign: Campaign, rules: Rules | None) -> float | None:
    """How often chance alone shows a difference, where that is more than promised."""
    if rules is None or len(looks_of(campaign.runs, rules, campaign.looks)) == 1:
        return None
    reached = false_alarms_of(campaign.runs, rules, campaign.looks)
    return reached if reached >= ALPHA + _TOLD_ABOVE else None


def _few_requests(runs: Sequence[Run], metric: str) -> list[str]:
    """That a compared percentile is hardly more than the slowest requests."""
    thin = [found for variant in variants_of(runs) if (found := few(metric, of_variant(runs, variant))) is not None]
    if not thin:
        return []
    least = min(thin, key=lambda found: found.requests)
    return [f"{short(metric)} of a variant {too_few(least)}: fewer than ten lie beyond it, so a few requests decide."]


def _shared_drift(runs: Sequence[Run], rules: Rules) -> list[str]:
    """A trend over rounds that all variants share: it cancels in ratios, but not in means."""
    logs: dict[int, list[float]] = {}
    for variant in variants_of(runs):
        values = {n: v for n, v in values_by_round(runs, variant, rules.metric).items() if v is not None and v > 0}
        centre = np.mean([np.log(value) for value in values.values()]) if values else 0.0
        for number, value in values.items():
            logs.setdefault(number, []).append(float(np.log(value) - centre))
    numbers = sorted(logs)
    drift = find_drift(np.array(numbers, dtype=np.float64), np.array([np.mean(logs[n]) for n in numbers]))
    if drift is None or abs(drift.change) < np.log1p(SHARED_DRIFT):
        return []
    way, size = "rose" if drift.change > 0 else "fell", percent(float(np.expm1(abs(drift.change))))
    text = f"{rules.metric} of all variants {way} by {size} from the first round to the last;"
    return [f"{text} ratios per round are unaffected, means are not."]
