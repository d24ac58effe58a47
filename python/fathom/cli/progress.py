"""Progress of a campaign on standard error: bars with live figures on a terminal, plain lines elsewhere."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fathom.cli.output import note
from fathom.plan import Plan, PlannedRun

if TYPE_CHECKING:
    from types import TracebackType

    from rich.console import RenderableType
    from rich.progress import Progress, TaskID

_WORDS = 34
LIVE_EVERY_S = 10.0
"""Between two lines about a run in progress, where no terminal shows bars."""

_TELLING = 0.02
"""From this share on, the pace of a run says how long it will last."""


def variant_words(variant: dict[str, object]) -> str:
    """A variant in a few words: the last part of each factor and its level."""
    return ", ".join(f"{path.rsplit('.', 1)[-1]} = {spelled(level)}" for path, level in variant.items()) or "as written"


def spelled(level: object) -> str:
    """A level as a study file spells it, text without quotes."""
    return level if isinstance(level, str) else json.dumps(level)


def duration_words(seconds: float) -> str:
    """Seconds as people say them: 45 s, 3 min 20 s, 2 h 5 min."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def count_words(number: int, word: str) -> str:
    """`1 round`, `5 rounds`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def gave_up(failed: int, left: int) -> str:
    """What is said when a campaign ends because nothing works."""
    rest = "run that remains is" if left == 1 else "runs that remain are"
    # What to do depends on why they failed: the advice below the verdict says it.
    return f"the last {failed} runs all failed, so the {left} {rest} not tried"


@dataclass
class Pace:
    """How fast a run in progress goes, by `perf_counter`. While its share is 0, it is still prepared (filled, loaded).

    Attributes:
        begun: when it began.
        share: how far its ramp and measured phase are, 0 to 1.
        since: when it was last seen at 0.
    """

    begun: float
    share: float = 0.0
    since: float = 0.0

    def reached(self, share: float, now: float) -> None:
        """It is so far now."""
        self.share = share
        if share <= 0:
            self.since = now

    def whole(self, now: float) -> float | None:
        """Seconds it takes in all; None while its share says nothing."""
        since = max(self.since, self.begun)
        return since - self.begun + (now - since) / self.share if self.share > _TELLING else None

    def left(self, now: float) -> str:
        """Words for the time it has left; empty while that is not known."""
        whole = self.whole(now)
        return "" if whole is None else f"{duration_words(whole - (now - self.begun))} left"


class TimeLeft:
    """Seconds left of a campaign. A run is taken to last as long as its variant did before, or as the mean of all."""

    def __init__(self, plan: Plan, finished: int, jobs: int = 1) -> None:
        # Finished runs may lie anywhere in the plan, but nearly always they are its beginning.
        self._pending = [variant_words(dict(run.variant)) for run in plan.runs[finished:]]
        self._took: dict[str, float] = {}
        self._jobs = max(1, jobs)

    def run_ended(self, run: PlannedRun, seconds: float) -> None:
        """One run less to go."""
        words = variant_words(dict(run.variant))
        self._took[words] = seconds
        if words in self._pending:
            self._pending.remove(words)

    def estimate(self, running: Sequence[Pace] = (), now: float = 0.0) -> float | None:
        """Seconds left, `now` by `perf_counter`, with these runs in progress; None while nothing is known."""
        paces = [whole for one in running if (whole := one.whole(now)) is not None]
        if not paces and not self._took:
            return None
        usual = max(paces) if paces else sum(self._took.values()) / len(self._took)
        work = sum(self._took.get(words, usual) for words in self._pending) - sum(now - one.begun for one in running)
        return max(0.0, work / min(self._jobs, max(1, len(self._pending))))


class Lines:
    """One line per finished run, and one now and then with the figures of a run in progress: for logs and pipes."""

    def __enter__(self) -> Lines:
        """Nothing to set up."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to tear down."""

    def __init__(self, jobs: int = 1, every_s: float = LIVE_EVERY_S) -> None:
        """`every_s` lies between two lines about runs in progress."""
        self._jobs, self._every_s = jobs, every_s
        self._told = time.perf_counter()
        self._running: dict[str, Pace] = {}

    def campaign(self, plan: Plan, finished: int) -> None:
        """Says how much there is to do."""
        self._left = TimeLeft(plan, finished, self._jobs)
        self._total, self._finished = len(plan.runs), finished
        again = f", {finished} of them finished before" if finished else ""
        note(f"{plan.study.title}: {count_words(self._total, 'run')} in {count_words(plan.rounds, 'round')}{again}")

    def run_begins(self, run: PlannedRun) -> None:
        """Nothing is said yet."""
        self._running[run.id] = Pace(time.perf_counter())

    def progress(self, run: PlannedRun, share: float, words: str) -> None:
        """A line with the figures, if the last one is long ago."""
        now, pace = time.perf_counter(), self._running[run.id]
        pace.reached(share, now)
        if now - self._told < self._every_s:
            return
        self._told = now
        left = f" ({said})" if (said := pace.left(now)) else ""
        note(f"[{run.order}/{self._total}] {100 * share:.0f} %: {words}{left}")

    def run_ends(self, run: PlannedRun, seconds: float, failure: str | None) -> None:
        """One line."""
        self._told = time.perf_counter()
        del self._running[run.id]
        self._left.run_ended(run, seconds)
        self._finished += 1
        left = self._left.estimate() if self._finished < self._total else None
        note(
            f"[{run.order}/{self._total}] round {run.round}, {variant_words(dict(run.variant))}: "
            + (f"failed: {failure}" if failure else f"{seconds:.1f} s")
            + (f" ({duration_words(left)} left)" if left is not None else "")
        )

    def gives_up(self, failed: int, left: int) -> None:
        """One line."""
        note(gave_up(failed, left))


@dataclass
class _Running:
    """A run in progress: its bar, its pace, its figures."""

    bar: TaskID
    pace: Pace
    words: str = ""


class Bars:
    """Bars on a terminal: the campaign's, and one for each run in progress with its figures on a line below."""

    def __init__(self, jobs: int = 1) -> None:
        from rich.progress import BarColumn, Progress, TextColumn
        from rich.text import Text

        from fathom.cli.output import console

        running: dict[str, _Running] = {}

        class WithFigures(Progress):
            """The table of bars, and the figures below it: beside the bars, 80 columns would cut them."""

            def get_renderables(self) -> Iterator[RenderableType]:
                yield from super().get_renderables()
                for words in [one.words for one in running.values() if one.words]:
                    yield Text(f"  {words}", no_wrap=True, overflow="ellipsis")

        self._running = running
        self._progress: Progress = WithFigures(
            TextColumn("{task.description}", style="bold"),
            BarColumn(bar_width=16),
            TextColumn("{task.percentage:>3.0f} %"),
            TextColumn("{task.fields[left]}"),
            console=console(stderr=True),
            refresh_per_second=5,
        )
        self._jobs = jobs

    def __enter__(self) -> Bars:
        """Shows the bars."""
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leaves the terminal as it was."""
        self._progress.stop()

    def campaign(self, plan: Plan, finished: int) -> None:
        """Sets up the campaign's bar."""
        self._progress.console.print(f"[bold]{_escaped(plan.study.title)}[/bold]")
        self._left = TimeLeft(plan, finished, self._jobs)
        self._total, self._finished = len(plan.runs), finished
        self._all: TaskID = self._progress.add_task("campaign", total=self._total, completed=finished, left="")

    def run_begins(self, run: PlannedRun) -> None:
        """Shows the run's bar."""
        words = f"run {run.order}/{self._total}  {variant_words(dict(run.variant))}"
        bar = self._progress.add_task(_escaped(words[:_WORDS]), total=1.0, left="")
        self._running[run.id] = _Running(bar, Pace(time.perf_counter()))

    def progress(self, run: PlannedRun, share: float, words: str) -> None:
        """Moves the run's bar and the campaign's."""
        one, now = self._running[run.id], time.perf_counter()
        one.words = words
        one.pace.reached(share, now)
        self._progress.update(one.bar, completed=share, left=one.pace.left(now))
        paces = [each.pace for each in self._running.values()]
        left = self._left.estimate(paces, now)
        done = self._finished + sum(pace.share for pace in paces)
        self._progress.update(self._all, completed=done, left="" if left is None else f"{duration_words(left)} left")

    def run_ends(self, run: PlannedRun, seconds: float, failure: str | None) -> None:
        """Takes the run's bar away; a failure stays on the screen."""
        self._left.run_ended(run, seconds)
        self._finished += 1
        self._progress.remove_task(self._running.pop(run.id).bar)
        self._progress.update(self._all, completed=self._finished)
        if failure:
            words = f"run {run.order} failed ({variant_words(dict(run.variant))}): {failure}"
            self._progress.console.print(_escaped(words), style="red")

    def gives_up(self, failed: int, left: int) -> None:
        """Stays on the screen."""
        self._progress.console.print(_escaped(gave_up(failed, left)), style="red")


def observer(*, quiet: bool = False, jobs: int = 1) -> Lines | Bars:
    """Bars where a person watches, lines elsewhere; `quiet` asks for one line per run, even on a terminal.

    A terminal that cannot move its cursor (`TERM=dumb`) gets lines too.
    """
    able = sys.stderr.isatty() and os.environ.get("TERM", "dumb") not in {"dumb", "unknown"}
    if quiet:
        return Lines(jobs, every_s=math.inf)
    return Bars(jobs) if able else Lines(jobs)


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)
