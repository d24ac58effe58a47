"""Progress of a campaign: two bars with time left on a terminal, one line per run elsewhere. All on standard error."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from fathom.cli.output import note
from fathom.plan import Plan, PlannedRun

if TYPE_CHECKING:
    from types import TracebackType

    from rich.progress import Progress, TaskID

_WORDS = 34
_TELLING = 0.02
"""From this share on, the pace of a run says how long it will last."""


def variant_words(variant: dict[str, object]) -> str:
    """A variant in a few words: the last part of each factor and its level."""
    return ", ".join(f"{path.rsplit('.', 1)[-1]} = {level}" for path, level in variant.items()) or "as written"


def duration_words(seconds: float) -> str:
    """Seconds as people say them: 45 s, 3 min 20 s, 2 h 5 min."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


class TimeLeft:
    """Seconds left of a campaign. A run is taken to last as long as its variant did before, or as the mean of all."""

    def __init__(self, plan: Plan, finished: int) -> None:
        # Finished runs may lie anywhere in the plan, but nearly always they are its beginning.
        self._pending = [variant_words(dict(run.variant)) for run in plan.runs[finished:]]
        self._took: dict[str, float] = {}

    def run_ended(self, run: PlannedRun, seconds: float) -> None:
        """One run less to go."""
        words = variant_words(dict(run.variant))
        self._took[words] = seconds
        if words in self._pending:
            self._pending.remove(words)

    def estimate(self, share: float = 0.0, elapsed: float = 0.0) -> float | None:
        """Seconds left when the current run is so far after so long; None while nothing is known."""
        if share > _TELLING:
            usual = elapsed / share
        elif self._took:
            usual = sum(self._took.values()) / len(self._took)
        else:
            return None
        return max(0.0, sum(self._took.get(words, usual) for words in self._pending) - elapsed)


class Lines:
    """One line per finished run: for logs and pipes."""

    def __enter__(self) -> Lines:
        """Nothing to set up."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to tear down."""

    def campaign(self, plan: Plan, finished: int) -> None:
        """Says how much there is to do."""
        self._left = TimeLeft(plan, finished)
        self._total = len(plan.runs)
        again = f", {finished} of them finished before" if finished else ""
        note(f"{plan.study.title}: {_count(self._total, 'run')} in {_count(plan.rounds, 'round')}{again}")

    def run_begins(self, run: PlannedRun) -> None:
        """Nothing is said before a run is over."""

    def progress(self, share: float, words: str) -> None:
        """Nothing is said before a run is over."""

    def run_ends(self, run: PlannedRun, seconds: float, failure: str | None) -> None:
        """One line."""
        self._left.run_ended(run, seconds)
        left = self._left.estimate() if run.order < self._total else None
        note(
            f"[{run.order}/{self._total}] round {run.round}, {variant_words(dict(run.variant))}: "
            + (f"failed: {failure}" if failure else f"{seconds:.1f} s")
            + (f" ({duration_words(left)} left)" if left is not None else "")
        )


class Bars:
    """Two bars on a terminal: the campaign and the current run."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, Progress, TextColumn

        from fathom.cli.output import console

        self._progress: Progress = Progress(
            TextColumn("{task.description}", style="bold"),
            BarColumn(bar_width=16),
            TextColumn("{task.percentage:>3.0f} %"),
            TextColumn("{task.fields[left]}"),
            console=console(stderr=True),
            refresh_per_second=5,
        )

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
        self._left = TimeLeft(plan, finished)
        self._total = len(plan.runs)
        self._all: TaskID = self._progress.add_task("campaign", total=self._total, completed=finished, left="")
        self._one: TaskID = self._progress.add_task("", total=1.0, left="", visible=False)

    def run_begins(self, run: PlannedRun) -> None:
        """Starts the run's bar."""
        self._begun, self._done = time.perf_counter(), run.order - 1
        words = f"run {run.order}/{self._total}  {variant_words(dict(run.variant))}"
        self._progress.update(self._one, description=_escaped(words[:_WORDS]), completed=0.0, left="", visible=True)

    def progress(self, share: float, words: str) -> None:
        """Moves both bars."""
        elapsed = time.perf_counter() - self._begun
        left = self._left.estimate(share, elapsed)
        run_left = duration_words(elapsed / share * (1 - share)) + " left" if share > _TELLING else ""
        self._progress.update(self._one, completed=share, left=_escaped(f"{run_left}  {words}".strip()))
        total_left = "" if left is None else f"{duration_words(left)} left"
        self._progress.update(self._all, completed=self._done + share, left=total_left)

    def run_ends(self, run: PlannedRun, seconds: float, failure: str | None) -> None:
        """Completes the run; a failure stays on the screen."""
        self._left.run_ended(run, seconds)
        self._progress.update(self._all, completed=run.order)
        if failure:
            words = f"run {run.order} failed ({variant_words(dict(run.variant))}): {failure}"
            self._progress.console.print(_escaped(words), style="red")


def observer(*, quiet: bool = False) -> Lines | Bars:
    """Bars where a person watches, lines elsewhere; `quiet` asks for lines even on a terminal."""
    return Bars() if sys.stderr.isatty() and not quiet else Lines()


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)
