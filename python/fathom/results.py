"""The results of a campaign: typed records read from run directories.

A campaign directory holds `campaign.json`, a copy of the study and one directory per run; a run directory holds
`run.json`, `metrics.json`, `environment.json`, `volumes.json`, `samples.parquet` and `histograms.parquet`.
ARCHITECTURE.md names every column. The writer is `run.py`; nothing else writes there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

FORMAT_VERSION = 1
"""Version of the run directory; raised with every incompatible change, history in ARCHITECTURE.md."""

Level = str | int | float | bool
"""One level of a factor, as written in the study."""


@dataclass(frozen=True)
class Run:
    """One execution of one variant in one round.

    Attributes:
        id: hash of what was run; the directory's name ends in it.
        variant: factor (dotted path) to level.
        round: 1-based round; `order` is the 1-based place within the campaign.
        status: "ok" or "failed"; a failed run has a `reason` from run.REASONS and a `message`.
        metrics: metric name to value; None where it was not measured.
        digest: hex digest of the event log of a simulated run, else None.
        directory: where samples and histograms lie; None for a run that left none.
    """

    id: str
    variant: dict[str, Level]
    round: int
    order: int
    status: str
    metrics: dict[str, float | None]
    reason: str | None = None
    message: str | None = None
    seed: int = 0
    digest: str | None = None
    started: str | None = None
    seconds: float | None = None
    directory: Path | None = None
    environment: dict[str, Any] = field(default_factory=dict)
    volumes: dict[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether the run finished and its answer was verified."""
        return self.status == "ok"

    def samples(self) -> pl.DataFrame | None:
        """Per-interval samples: t_s, seconds, phase ("ramp" | "measure"), node, op, count, bytes, latency_mean_ns,
        latency_p50_ns, latency_p99_ns, latency_max_ns, waiting_mean_ns, outstanding_mean. None if there are none."""
        return self._frame("samples.parquet")

    def histograms(self) -> pl.DataFrame | None:
        """Histogram buckets of the measured phase: node, op, measure ("latency" | "waiting" | "size"), low, high
        (both inclusive, ns or bytes), count. None if there are none."""
        return self._frame("histograms.parquet")

    def _frame(self, name: str) -> pl.DataFrame | None:
        if self.directory is None or not (self.directory / name).exists():
            return None
        import polars as pl

        return pl.read_parquet(self.directory / name)


@dataclass(frozen=True)
class Campaign:
    """A study and all its runs, failed ones included.

    Attributes:
        study: the study as written, parsed (title, question, factors, compare, published, calibrated_on, ...).
        study_text: the file, byte for byte.
        runs: every finished run, in the order they were executed.
        planned: how many runs the plan holds; more than len(runs) while a campaign is incomplete.
    """

    directory: Path
    study: dict[str, Any]
    study_text: str
    seed: int
    clock: str
    runs: tuple[Run, ...]
    planned: int
    created: str | None = None
