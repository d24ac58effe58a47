"""Carries out a plan: the only step with side effects. What is finished stays finished, whatever happens next.

A run is scratch space, the engine's call, one directory. A failed run is a result with a reason from
`results.REASONS`, and the campaign continues, unless nothing works: in real time it ends when as many runs in a row
have failed as a round has, because each of the others would take its time to fail as well. Ctrl-C gives the scratch
space back, drops the runs in progress and keeps the rest. In real time runs follow each other; in virtual time they
share nothing and go to several processors.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from fathom import campaign, environment, record, results, steps
from fathom.attempt import Attempt, attempt
from fathom.engine import Engine
from fathom.host import machine
from fathom.host import scratch as scratch_space
from fathom.plan import Plan, PlannedRun
from fathom.provision import rights
from fathom.results import FORMAT_VERSION, Assumed


class Observer(Protocol):
    """Is told how a campaign goes; what it does with that is its own affair. One call at a time, from any thread."""

    def campaign(self, plan: Plan, finished: int) -> None:
        """The campaign begins; so many runs were finished before."""

    def run_begins(self, run: PlannedRun) -> None:
        """A run begins."""

    def progress(self, run: PlannedRun, share: float, words: str) -> None:
        """A run is so far (0 to 1); may raise KeyboardInterrupt to stop."""

    def run_ends(self, run: PlannedRun, seconds: float, failure: str | None) -> None:
        """A run is on disk; `failure` says why it failed."""

    def gives_up(self, failed: int, left: int) -> None:
        """The last `failed` runs all failed, and the `left` that remain are not tried."""


@dataclass(frozen=True)
class Options:
    """Where a campaign runs.

    Attributes:
        directory: of the campaign.
        scratch: a directory on the disk under test; None for where the campaign began, or its own directory.
        anonymous: keep the host's name out of the results.
        jobs: runs at a time in virtual time; in real time it is always one, because runs would disturb each other.
        retry_failed: carry failed runs out again.
    """

    directory: Path
    scratch: Path | None = None
    anonymous: bool = False
    jobs: int = 1
    retry_failed: bool = False


def execute(plan: Plan, options: Options, engine: Engine, observer: Observer) -> results.Campaign:
    """Runs what is not finished yet.

    Returns:
        The whole campaign as it is on disk now.

    Raises:
        UsageError: `scratch` does not exist, or a run needs root and this process is not root; nothing is made.
        CampaignError: the directory is in use, holds something else, or cannot be written.
        ResultsError: the directory is damaged or of a newer format.
        KeyboardInterrupt: a person stopped it; finished runs are kept.
    """
    if options.scratch is not None:
        scratch_space.check(options.scratch)
    with campaign.locked(options.directory):
        plan = campaign.in_force(options.directory, plan)
        begun = campaign.begun(options.directory)
        before = (
            results.read_runs(options.directory, results.read_json(options.directory / "plan.json")) if begun else []
        )
        again = [run for run in before if options.retry_failed and not run.ok]
        finished = {run.id for run in before} - {run.id for run in again}
        pending = [run for run in plan.runs if run.id not in finished]
        rights.check(plan, pending)
        campaign.prepare(options.directory, plan)
        campaign.set_aside(options.directory, [run.directory for run in again if run.directory is not None])
        observer.campaign(plan, len(finished))
        if pending:
            _run_all(plan, pending, options, engine, observer)
        return results.read(options.directory)


def _run_all(plan: Plan, pending: Sequence[PlannedRun], options: Options, engine: Engine, observer: Observer) -> None:
    parent = campaign.settle_place(options.directory, options.scratch)
    with scratch_space.directory(parent) as scratch:
        surroundings = environment.capture(parent, engine, anonymous=options.anonymous)
        if plan.study.clock == "real":
            campaign.check_machine(options.directory, environment.fingerprint(surroundings))
        runs = Runs(plan, options.directory / "runs", engine, observer, scratch, surroundings)
        jobs = min(options.jobs, len(pending)) if plan.study.clock == "virtual" else 1
        if jobs == 1:
            runs.one_by_one(pending, enough=_failures_are_enough(plan))
        else:
            runs.side_by_side(pending, jobs)


def _failures_are_enough(plan: Plan) -> int | None:
    """How many failed runs in a row end a campaign: a whole round, and more than one; None in virtual time."""
    return max(2, len(plan.runs) // plan.rounds) if plan.study.clock == "real" else None


class Runs:
    """Runs of one campaign; several threads may carry one out each, because the engine runs without the interpreter."""

    def __init__(
        self,
        plan: Plan,
        directory: Path,
        engine: Engine,
        observer: Observer,
        scratch: Path,
        surroundings: dict[str, Any],
        assumed: Assumed | None = None,
    ) -> None:
        """`directory` is that of the runs; `assumed` the end of a range that they try."""
        self._plan, self._directory, self._engine, self._observer = plan, directory, engine, observer
        self._scratch, self._surroundings = scratch, surroundings
        self._assumed = assumed
        self._telling = threading.Lock()
        self._stop = threading.Event()

    def side_by_side(self, pending: Sequence[PlannedRun], jobs: int) -> None:
        """Carries runs out, `jobs` at a time, begun in the plan's order; what stops one stops all."""
        with ThreadPoolExecutor(jobs, "run") as pool:
            try:
                for done in as_completed([pool.submit(self.one, run) for run in pending]):
                    done.result()
            except BaseException:
                self._stop.set()
                pool.shutdown(cancel_futures=True)
                raise

    def one_by_one(self, pending: Sequence[PlannedRun], *, enough: int | None) -> None:
        """Carries runs out in the plan's order; ends early when `enough` of them in a row have failed."""
        failed = 0
        for place, run in enumerate(pending, 1):
            failed = 0 if self.one(run) else failed + 1
            left = len(pending) - place
            if failed == enough and left:
                self._tell(partial(self._observer.gives_up, failed, left))
                return

    def one(self, run: PlannedRun) -> bool:
        """Carries one run out and writes its directory; whether it succeeded."""
        self._tell(lambda: self._observer.run_begins(run))
        started, begun = campaign.now(), time.perf_counter()
        surroundings = {**self._surroundings, "moment": machine.moment()}
        own = self._scratch / run.id
        own.mkdir()
        try:
            tried = attempt(self._plan.entry(run), self._engine, own, self._tick(run), self._scratch / "copies")
        finally:
            scratch_space.empty(own)
        if tried.reason == "cancelled":
            raise KeyboardInterrupt
        seconds = time.perf_counter() - begun
        _write(self._directory, run, started, seconds, tried, surroundings, self._assumed)
        self._tell(lambda: self._observer.run_ends(run, seconds, tried.message))
        return tried.reason is None

    def _tick(self, run: PlannedRun) -> Callable[[float, str], None]:
        def tick(share: float, words: str) -> None:
            if self._stop.is_set():
                raise KeyboardInterrupt
            self._tell(lambda: self._observer.progress(run, share, words))

        return tick

    def _tell(self, what: Callable[[], None]) -> None:
        with self._telling:
            what()


def _write(
    runs: Path,
    run: PlannedRun,
    started: str,
    seconds: float,
    tried: Attempt,
    surroundings: dict[str, Any],
    assumed: Assumed | None,
) -> None:
    outcome = tried.outcome
    waits = {**(outcome["waits"] if outcome else {}), **(tried.seen.waits if tried.seen else {})}
    facts = {
        "format_version": FORMAT_VERSION,
        **run.as_dict(),
        "status": "failed" if tried.reason else "ok",
        "reason": tried.reason,
        "message": tried.message,
        "started": started,
        "seconds": round(seconds, 6),
        "measured_s": outcome["measured_ns"] / 1e9 if outcome else None,
        "digest": outcome["digest"] if outcome else None,
        "events": outcome["events"] if outcome else None,
        "facts": tried.facts,
        **({"assumed": assumed} if assumed else {}),
    }
    record.write_run(
        runs,
        f"{run.order:04d}-{run.id}",
        documents={
            "run.json": facts,
            "metrics.json": outcome["metrics"] if outcome else {},
            "environment.json": surroundings,
            "volumes.json": outcome["volumes"] if outcome else {},
            **({"waits.json": waits} if waits else {}),
            **({"steps.json": steps.written(tried.steps)} if tried.steps else {}),
        },
        samples=outcome["samples"] if outcome else None,
        histograms=outcome["histograms"] if outcome else None,
        activity=tried.seen.columns if tried.seen else None,
    )
