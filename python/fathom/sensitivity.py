"""Runs at the ends of what the models of a simulation assume: does the verdict hang on a guess?

For every model that assumes a latency, each variant with a volume of it is simulated once at the low and once at the
high end of the plausible range, all volumes of the model alike: what is not known of them is one figure. Where such a
run seems to turn the verdict, more rounds tell whether it did so by chance. These runs lie beside the campaign's own
and enter no mean and no interval.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fathom import campaign, environment, results
from fathom.analysis.analyse import analyse
from fathom.analysis.assumed import models_of, named
from fathom.analysis.variants import variant_key
from fathom.engine import Engine
from fathom.host import scratch as scratch_space
from fathom.plan import Plan, PlannedRun, digest
from fathom.run import Options, Runs

ENDS = ("low", "high")

CHEAP_EVENTS = 2_000_000
"""Runs that simulate no more events than this together, a few seconds of CPU, are made without being asked for. Their
time would decide otherwise on a busy machine."""


ROUNDS = 5
"""Rounds at an end that seems to turn a verdict, if the campaign has as many."""


@dataclass(frozen=True)
class Try:
    """A run at an end of what a model assumes; `volumes` are all that are of the model in its variant."""

    run: PlannedRun
    model: str
    end: str
    volumes: tuple[str, ...]

    @property
    def assumed(self) -> results.Assumed:
        """What its record says of it."""
        return self.model, self.end, self.volumes


def missing(plan: Plan, found: results.Campaign) -> list[Try]:
    """The runs at the ends that are not there yet, of a simulation that compares something or has goals."""
    models = _models(plan, found)
    return _tries(plan, found, [(model, end) for model in models for end in ENDS], range(1, 2))


def in_doubt(plan: Plan, found: results.Campaign) -> list[Try]:
    """More rounds, not there yet, at the ends at which a few seem to turn the verdict."""
    if not _models(plan, found):
        return []
    seem = (one for comparison in analyse(found).comparisons for one in comparison.sensitivity if one.beyond)
    return _tries(plan, found, list(dict.fromkeys(end for one in seem for end in one.ends)), range(2, ROUNDS + 1))


def _models(plan: Plan, found: results.Campaign) -> list[str]:
    """Every model that assumes something, of a simulation that compares something or has goals."""
    study = plan.study.resolved
    if plan.study.clock != "virtual" or not ((study["compare"] or {}).get("baseline") or study["goals"]):
        return []
    return list(dict.fromkeys(model for run in found.runs if run.ok for model in models_of(run)))


def _tries(plan: Plan, found: results.Campaign, ends: Sequence[tuple[str, str]], rounds: range) -> list[Try]:
    """The runs of some rounds at some ends, of every variant with the model, that are not there yet."""
    models = {variant_key(run.variant): models_of(run) for run in found.runs if run.ok}
    done = {run.id for run in found.sensitivity}
    planned = [run for run in plan.runs if run.round in rounds]
    wanted = [
        Try(
            replace(run, id=digest("sensitivity", run.id, model, end), order=len(planned) * place + run.order),
            model,
            end,
            models[variant_key(run.variant)][model],
        )
        for place, (model, end) in enumerate(ends)
        for run in planned
        if model in models.get(variant_key(run.variant), ())
    ]
    return [one for one in wanted if one.run.id not in done]


def cost(tries: list[Try], found: results.Campaign) -> tuple[int, float]:
    """How many events they simulate, and about how long that takes, s: as in the same variants' first round."""
    first = {repr(run.variant): run for run in reversed(found.runs)}
    same = [known for one in tries if (known := first.get(repr(one.run.variant)))]
    return sum(run.events or 0 for run in same), sum(run.seconds or 0.0 for run in same)


def carry_out(
    plan: Plan, tries: list[Try], options: Options, engine: Engine, note: Callable[[str], None]
) -> results.Campaign:
    """Makes the runs and gives the campaign with them; a failed one is left out of the judgement and told.

    Raises:
        CampaignError: the directory is in use or cannot be written.
        KeyboardInterrupt: a person stopped it; finished runs are kept.
    """
    with campaign.locked(options.directory):
        parent = campaign.settle_place(options.directory, options.scratch)
        with scratch_space.directory(parent) as scratch:
            surroundings = environment.capture(parent, engine, anonymous=options.anonymous)
            place = options.directory / results.SENSITIVITY
            place.mkdir(exist_ok=True)
            for assumed in dict.fromkeys(one.assumed for one in tries):
                model, end, volumes = assumed
                fixed = {f"volumes.{volume}.assumed": end for volume in volumes}
                changed = replace(plan, study=plan.study.fixing(fixed, engine))
                mine = [one.run for one in tries if one.assumed == assumed]
                told = _Failures(f"{named(model, volumes)} at the {end} end of its range", note)
                runs = Runs(changed, place, engine, told, scratch, surroundings, assumed)
                runs.side_by_side(mine, min(options.jobs, len(mine)))
        return results.read(options.directory)


@dataclass(frozen=True)
class _Failures:
    """An observer that tells failures alone."""

    where: str
    note: Callable[[str], None]

    def campaign(self, plan: Plan, finished: int) -> None:
        """Nothing is told."""

    def run_begins(self, run: PlannedRun) -> None:
        """Nothing is told."""

    def progress(self, run: PlannedRun, share: float, words: str) -> None:
        """Nothing is told."""

    def run_ends(self, run: PlannedRun, seconds: float, failure: str | None) -> None:
        """A failed run is told."""
        if failure is not None:
            self.note(f"{self.where}: {failure}")

    def gives_up(self, failed: int, left: int) -> None:
        """Nothing is told: runs in virtual time are all tried."""
