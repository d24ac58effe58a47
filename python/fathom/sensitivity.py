"""Runs at the ends of what the models of a simulation assume: does the verdict hang on a guess?

For every volume whose model assumes a latency, each variant with that volume is simulated once at the low and once at
the high end of the plausible range. These runs lie beside the campaign's own and enter no mean and no interval.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from fathom import campaign, environment, results
from fathom.analysis.assumed import assumed_of
from fathom.analysis.variants import variant_key
from fathom.engine import Engine
from fathom.host import scratch as scratch_space
from fathom.plan import Plan, PlannedRun, digest
from fathom.run import Options, Runs

ENDS = ("low", "high")

CHEAP_EVENTS = 2_000_000
"""Runs that simulate no more events than this together, a few seconds of CPU, are made without being asked for. Their
time would decide otherwise on a busy machine."""

Try = tuple[PlannedRun, str, str]
"""A run, the volume whose assumption it tries, and the end."""


def missing(plan: Plan, found: results.Campaign) -> list[Try]:
    """The runs at the ends that are not there yet, of a simulation that compares something or has goals."""
    study = plan.study.resolved
    if plan.study.clock != "virtual" or not ((study["compare"] or {}).get("baseline") or study["goals"]):
        return []
    assumed = {variant_key(run.variant): assumed_of(run) for run in found.runs if run.ok}
    volumes = dict.fromkeys(volume for figures in assumed.values() for volume in figures)
    done = {run.id for run in found.sensitivity}
    first = [run for run in plan.runs if run.round == 1]
    wanted = [
        (replace(run, id=digest("sensitivity", run.id, volume, end), order=len(first) * place + run.order), volume, end)
        for place, (volume, end) in enumerate((volume, end) for volume in volumes for end in ENDS)
        for run in first
        if volume in assumed.get(variant_key(run.variant), ())
    ]
    return [(run, volume, end) for run, volume, end in wanted if run.id not in done]


def cost(tries: list[Try], found: results.Campaign) -> tuple[int, float]:
    """How many events they simulate, and about how long that takes, s: as in the same variants' first round."""
    first = {repr(run.variant): run for run in reversed(found.runs)}
    same = [known for run, _, _ in tries if (known := first.get(repr(run.variant)))]
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
            for end in dict.fromkeys((volume, end) for _, volume, end in tries):
                volume, which = end
                changed = replace(plan, study=plan.study.fixing({f"volumes.{volume}.assumed": which}, engine))
                mine = [run for run, *of in tries if tuple(of) == end]
                told = _Failures(f"{volume} at the {which} end of its range", note)
                runs = Runs(changed, place, engine, told, scratch, surroundings, end)
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
