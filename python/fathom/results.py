"""The results of a campaign: typed records read from run directories.

A campaign directory holds `campaign.json`, `plan.json`, the study as `study.toml` and one directory per run below
`runs/`; docs/RESULTS.md names every file and column. The writer is `record.py`; nothing else writes there.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathom.declared import misfit
from fathom.errors import ResultsError
from fathom.steps import Step
from fathom.steps import read as read_steps

if TYPE_CHECKING:
    import polars as pl

FORMAT_VERSION = 2
"""Version of the campaign directory; raised with every incompatible change, history in docs/RESULTS.md."""

RETRIED = "retried"
"""Where a campaign keeps the records of failed runs that were carried out again, beside `runs`."""

SENSITIVITY = "sensitivity"
"""Where a campaign keeps the runs at the ends of assumed ranges, beside `runs`."""

_FILE_OF = {name: f"{name}.json" for name in ("metrics", "environment", "volumes", "waits", "steps")}
"""Fields of a run that have files of their own."""

_OF_EVERY_RUN = ("samples.parquet", "histograms.parquet")
"""What every finished run leaves that completed a request."""

_PLANNED = ("round", "order", "variant", "seed")
"""What a plan says of a run besides its id."""

REASONS = {
    "unavailable": "what the run needs is not available here (a kernel feature, a program, a privilege, a path)",
    "settings": "the settings cannot be carried out",
    "input-output": "a device, the file system or a database failed a request",
    "no-space": "no space was left",
    "permission": "a password or a right was refused",
    "lost": "a server or the connection to it was lost in mid-run",
    "verification": "the answer was wrong: data read is not data written, rows are missing",
    "cancelled": "a person stopped it",
    "deadlock": "the simulation is deadlocked: every task waits for another",
    "internal": "a mistake in Fathom; please report it with the message",
}
"""The closed list of reasons of failed runs. All but the last come from the engine."""

_NOT_HELD_AGAINST = frozenset({"cancelled"})
"""Reasons of a failed run that say nothing about the variant: a person stopped it."""

Level = str | int | float | bool
"""One level of a factor, as written in the study."""

Assumed = tuple[str, str, tuple[str, ...]]
"""A model, the end of its assumed range that a run tries, "low" or "high", and the volumes of that model."""


@dataclass(frozen=True)
class Run:
    """One execution of one variant in one round.

    Attributes:
        id: hash of what was run; the directory's name ends in it.
        variant: factor (dotted path) to level.
        round: 1-based round; `order` is the 1-based position within the campaign.
        status: "ok" or "failed"; a failed run has a `reason` from `REASONS` and a `message`.
        metrics: metric name to value; None where it was not measured.
        seconds: of the whole run on the wall, set-up and checks included; `measured_s` of the phase that is measured.
        digest: hex digest of the event log of a simulated run, else None; `events` is their number.
        directory: where samples and histograms are; None for a run that left none.
        waits: database to wait to the mean number of sessions in it; empty if nothing was sampled.
        assumed: (model, "low" or "high") of a run that tries an end of what a model assumes; else None.
        facts: small facts the workload reported (a SQLite version, a fallback from direct I/O).
        steps: of a sequence of virtual users; empty without one.
        lost: data files that are missing although every run like this leaves them; of runs that list their files such
            a loss is an error.
        of_level: whether this is one level of such a run (`analysis.sequence`): what it left is that of its steps.
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
    measured_s: float | None = None
    events: int | None = None
    directory: Path | None = None
    environment: dict[str, dict[str, Any] | None] = field(default_factory=dict)
    volumes: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    waits: dict[str, dict[str, float]] = field(default_factory=dict)
    assumed: tuple[str, str] | None = None
    steps: tuple[Step, ...] = ()
    lost: tuple[str, ...] = ()
    of_level: bool = False

    @property
    def ok(self) -> bool:
        """Whether the run finished and its answer was verified."""
        return self.status == "ok"

    @property
    def failed(self) -> bool:
        """Whether it failed for a reason that may be the variant's."""
        return not self.ok and self.reason not in _NOT_HELD_AGAINST

    def samples(self) -> pl.DataFrame | None:
        """Per-interval samples: t_s, seconds, phase ("ramp" | "measure"), node, op, count, bytes, latency_mean_ns,
        latency_p50_ns, latency_p99_ns, latency_p999_ns, latency_p9999_ns, latency_max_ns, waiting_mean_ns,
        outstanding_mean. None if there are none.

        Raises:
            ResultsError: the file is damaged.
        """
        return self._frame("samples.parquet", [step.samples_s for step in self.steps])

    def histograms(self) -> pl.DataFrame | None:
        """Histogram buckets of the measured phase: node, op, measure ("latency" | "waiting" | "size"), low, high
        (both inclusive, ns or bytes), count. None if there are none.

        Raises:
            ResultsError: the file is damaged.
        """
        return None if self.of_level else self._frame("histograms.parquet")

    def activity(self) -> pl.DataFrame | None:
        """What database and host did: the columns of `record.ACTIVITY`. None if nothing was sampled.

        Raises:
            ResultsError: the file is damaged.
        """
        spans = [None if step.discarded else step.activity_s for step in self.steps]
        frame = self._frame("activity.parquet", spans)
        return frame if frame is None or "kind" in frame.columns else _typed(frame)

    def _frame(self, name: str, spans: Sequence[tuple[float, float] | None] = ()) -> pl.DataFrame | None:
        """A file of the run; of a level the rows within its spans, moved to follow each other from 0."""
        if self.directory is None or not (self.directory / name).exists():
            return None
        import polars as pl

        try:
            frame = pl.read_parquet(self.directory / name)
        except (pl.exceptions.PolarsError, OSError) as problem:
            raise damaged(self.directory / name, str(problem).splitlines()[0]) from None
        if not self.of_level:
            return frame
        known = [span for span in spans if span is not None]
        moved, parts = 0.0, []
        for begin, end in known:
            part = frame.filter((pl.col("t_s") >= begin) & (pl.col("t_s") < end))
            parts.append(part.with_columns(pl.col("t_s") - begin + moved, phase=pl.lit("measure")))
            moved += end - begin
        return pl.concat(parts) if parts else None


@dataclass(frozen=True)
class Places:
    """That a campaign is two, measured at two places.

    Attributes:
        differences: what differs between their surroundings: dotted key, value at the first, value at the second.
        in_turn: whether each round was run at both places before the next: else all that changed between the two
            sessions is part of the difference. Always so in virtual time, which has no sessions.
        scratch: the directory on the disk under test of each.
    """

    differences: tuple[tuple[str, str, str], ...]
    in_turn: bool
    scratch: tuple[str, str]


@dataclass(frozen=True)
class Campaign:
    """A study and all its runs, failed ones included.

    Attributes:
        study: the study as it ran, resolved by the engine (docs/RESULTS.md, "plan.json").
        study_text: the file, byte for byte.
        runs: every finished run, in the order they were executed.
        planned: how many runs the plan holds; more than len(runs) while a campaign is incomplete.
        quick: whether the study's `[quick]` overrides were in force: tiny scale, no figure to rely on.
        sensitivity: runs at the ends of what models assume (`Run.assumed` says which); they enter no verdict.
        retried: the failed attempts at runs that were carried out again.
        looks: numbers of complete rounds after which a verdict was shown, ascending.
        edited: whether the file was changed after the campaign began; its runs are those of the text that was there.
        fixed: settings that a search gave the study, by dotted path.
        models: of a user, as name and text.
        places: where two campaigns were joined (`fathom.compare`); else None.
        scratch: the directory on the disk under test; None where it is the campaign's own.
    """

    directory: Path
    study: dict[str, Any]
    study_text: str
    seed: int
    clock: str
    runs: tuple[Run, ...]
    planned: int
    created: str | None = None
    quick: bool = False
    looks: tuple[int, ...] = ()
    sensitivity: tuple[Run, ...] = ()
    retried: tuple[Run, ...] = ()
    edited: bool = False
    fixed: Mapping[str, Level] = field(default_factory=dict)
    models: tuple[tuple[str, str], ...] = ()
    places: Places | None = None
    scratch: str | None = None

    @property
    def complete_rounds(self) -> int:
        """Rounds of which every variant has finished, failed runs included."""
        return complete_rounds(self.runs)


def complete_rounds(runs: Sequence[Run]) -> int:
    """The rounds of which every variant is there, failed runs included: one that has begun tells nothing yet."""
    per_round: dict[int, set[str]] = {}
    for run in runs:
        per_round.setdefault(run.round, set()).add(repr(sorted(run.variant.items())))
    size = max(map(len, per_round.values()), default=0)
    return sum(len(variants) == size for variants in per_round.values())


def last_round(runs: Sequence[Run]) -> int:
    """The number of the last round that began; 0 without runs."""
    return max((run.round for run in runs), default=0)


def facts_of(run: Run, words: Collection[str]) -> dict[str, dict[str, str]]:
    """Volume to those facts that its model tells; empty where it tells none of them."""
    found: dict[str, dict[str, str]] = {}
    for name, value in run.facts.items():
        where, _, word = name.removeprefix("volumes.").rpartition(".")
        if name.startswith("volumes.") and word in words:
            found.setdefault(where.removesuffix(".device"), {})[word] = value
    return found


def references(node: Mapping[str, Any], volumes: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Setting of a volume to the volumes that it names; the volume stands on them."""
    found = {}
    for key, value in node.items():
        texts = value if isinstance(value, list) else [value]
        # A volume may be called as its kind, or another one's.
        names = tuple(text for text in texts if isinstance(text, str) and text in volumes) if key != "kind" else ()
        if names:
            found[key] = names
    return found


def standing_on(names: Iterable[str], volumes: Mapping[str, Any], down_to: str = "") -> tuple[str, ...]:
    """These volumes and all that they stand on, down to those of a kind; each once, those above before those below."""
    found: dict[str, None] = {}
    left = [name for name in names if name in volumes]
    while left:
        name = left.pop(0)
        if name in found:
            continue
        found[name] = None
        if not down_to or volumes[name].get("kind") != down_to:
            left += [each for below in references(volumes[name], volumes).values() for each in below]
    return tuple(found)


def read(directory: Path) -> Campaign:
    """The campaign in a directory.

    Raises:
        ResultsError: no campaign, a damaged one, or one that a newer Fathom wrote.
    """
    head = read_head(directory)
    text = _text(directory / "study.toml")
    plan = read_json(directory / "plan.json")
    study = _resolved_now(directory, head, text) if head["format_version"] == 1 else plan.get("study")
    if not isinstance(study, dict):
        raise damaged(directory / "plan.json", "no study")
    runs = read_runs(directory, plan)
    ends = (read_run(place) for place in run_directories(directory, SENSITIVITY))
    tried = sorted((run for run in ends if run.assumed is not None), key=lambda run: run.order)
    first = sorted((read_run(place) for place in run_directories(directory, RETRIED)), key=lambda run: run.order)
    _as_planned(first, plan, directory / "plan.json")
    try:
        campaign = Campaign(
            directory=directory,
            study=study,
            study_text=text,
            seed=int(head["seed"]),
            clock=str(head["clock"]),
            runs=tuple(runs),
            planned=len(plan["runs"]),
            created=head.get("created"),
            scratch=head.get("scratch"),
            quick=bool(head.get("quick", False)),
            looks=tuple(sorted({int(look["rounds"]) for look in head.get("looks", [])})),
            sensitivity=tuple(tried),
            retried=tuple(first),
            edited=edited(head, text),
            fixed=dict(head.get("fixed", {})),
            models=tuple((str(name), str(model)) for name, model in plan.get("models", ())),
        )
    except (KeyError, TypeError, ValueError) as problem:
        raise damaged(directory / "campaign.json", f"{problem!r} is missing or has the wrong type") from None
    if wrong := misfit(campaign):
        raise damaged(directory / "campaign.json", wrong[1])
    return campaign


def text_digest(text: str) -> str:
    """What `campaign.json` keeps of a study's text, to tell whether the file beside it was edited since."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def edited(head: Mapping[str, Any], text: str) -> bool:
    """Whether a text is not the one that the campaign began with; False for a campaign that does not know."""
    return head.get("study_digest") not in (None, text_digest(text))


def _told_apart(runs: Sequence[Run]) -> None:
    """Refuses a run that is there twice, as a copied directory is: it would count twice."""
    seen: dict[int, Run] = {}
    for run in runs:
        if run.order in seen:
            raise ResultsError(
                f"{run.directory}: run {run.order} of the campaign, as {seen[run.order].directory} is",
                "delete the one that is a copy",
            )
        seen[run.order] = run


def _as_planned(runs: Sequence[Run], plan: Mapping[str, Any], path: Path) -> None:
    """Refuses runs that are not of the plan: they would enter its rounds under another variant, round or seed."""
    try:
        known = {str(one["id"]): {key: one[key] for key in _PLANNED} for one in plan["runs"]}
    except (KeyError, TypeError):
        raise damaged(path, "no list of runs") from None
    for run in runs:
        place = run.directory or path.parent
        if run.id not in known:
            raise ResultsError(
                f"{place}: no run of this campaign: plan.json has no {run.id}",
                f"move it out of {place.parent}; run or simulate the study again for what is then missing",
            )
        wrong = [key for key, value in known[run.id].items() if getattr(run, key) != value]
        if wrong:
            raise damaged(place / "run.json", f"{wrong[0]} is not what plan.json says")


def _resolved_now(directory: Path, head: dict[str, Any], text: str) -> dict[str, Any]:
    """The study of a campaign of format version 1, whose plan holds the overrides alone."""
    from fathom.engine import core
    from fathom.errors import StudyError
    from fathom.study import parse, read_models

    models = read_models(sorted((directory / "models").glob("*.toml")))
    path, clock, fixed = directory / "study.toml", str(head["clock"]), head.get("fixed", {})
    try:
        return dict(parse(text, path, core(), clock=clock, quick=head["quick"], fixed=fixed, models=models).resolved)
    except StudyError as mistakes:
        raise ResultsError(
            f"{directory}: of format version 1, and its study is not sound for this Fathom:\n{mistakes.screen()}",
            "read it with the Fathom that wrote it",
        ) from None


def _typed(activity: pl.DataFrame) -> pl.DataFrame:
    """The activity of a run of before 23 November 2026, whose columns `source` and `measure` were words."""
    import polars as pl

    waits, source = pl.col("source").str.starts_with("waits "), pl.col("source").str.splitn(" ", 2)
    return activity.with_columns(
        kind=source.struct[0],
        name=source.struct[1].fill_null(""),
        instance=pl.when(waits).then(pl.col("measure")).otherwise(pl.lit("")),
        measure=pl.when(waits).then(pl.lit("sessions")).otherwise(pl.col("measure")),
    )


def read_head(directory: Path) -> dict[str, Any]:
    """`campaign.json`, with its format version checked.

    Raises:
        ResultsError: no campaign, a damaged one, or one that a newer Fathom wrote.
    """
    if not (directory / "campaign.json").is_file():
        raise ResultsError(
            f"{directory}: not a campaign directory (no campaign.json)",
            "give the directory that `fathom run` or `fathom simulate` printed",
        )
    head = read_json(directory / "campaign.json")
    check_version(head, directory / "campaign.json")
    return head


def run_directories(directory: Path, kind: str = "runs") -> list[Path]:
    """Directories of finished runs, of `SENSITIVITY` or of `RETRIED`; those still being written start with a dot."""
    runs = directory / kind
    return sorted(place for place in runs.iterdir() if not place.name.startswith(".")) if runs.is_dir() else []


def read_runs(directory: Path, plan: Mapping[str, Any]) -> list[Run]:
    """The finished runs of a campaign in their order.

    Args:
        directory: of the campaign.
        plan: what its `plan.json` holds.

    Raises:
        ResultsError: a run is damaged, there twice, or none of the plan.
    """
    runs = sorted((read_run(place) for place in run_directories(directory)), key=lambda run: run.order)
    _told_apart(runs)
    _as_planned(runs, plan, directory / "plan.json")
    return runs


def read_run(place: Path) -> Run:
    """One run from its directory.

    Raises:
        ResultsError: a file is missing or damaged, or a newer Fathom wrote it.
    """
    facts = read_json(place / "run.json")
    check_version(facts, place / "run.json")
    try:
        run = Run(
            id=str(facts["id"]),
            variant=dict(facts["variant"]),
            round=int(facts["round"]),
            order=int(facts["order"]),
            status=str(facts["status"]),
            metrics=_metrics(place / "metrics.json"),
            reason=facts["reason"],
            message=facts["message"],
            seed=int(facts["seed"]),
            digest=facts["digest"],
            started=facts["started"],
            seconds=facts["seconds"],
            measured_s=facts.get("measured_s"),
            events=facts.get("events"),
            directory=place,
            environment=read_json(place / "environment.json"),
            volumes=read_json(place / "volumes.json"),
            facts=dict(facts["facts"]),
            waits=read_json(place / "waits.json") if (place / "waits.json").exists() else {},
            assumed=_assumed(facts.get("assumed")),
            steps=read_steps(read_json(place / "steps.json")) if (place / "steps.json").exists() else (),
        )
    except (KeyError, TypeError, ValueError) as problem:
        raise damaged(place / "run.json", f"{problem} is missing or has the wrong type") from None
    if wrong := misfit(run):
        raise damaged(place / _FILE_OF.get(wrong[0], "run.json"), wrong[1])
    if "files" in facts:
        for name in facts["files"] if isinstance(facts["files"], list) else ():
            if not (place / str(name)).is_file():
                raise damaged(place / str(name), "the run left it, and it is missing")
    elif run.ok and any(run.metrics.values()):
        # Written before runs listed their files: whatever completed a request left both.
        run = replace(run, lost=tuple(name for name in _OF_EVERY_RUN if not (place / name).is_file()))
    if not isinstance((run.environment.get("disk") or {}).get("device") or {}, dict):
        raise damaged(place / "environment.json", "disk.device is no object")
    return run


def _assumed(written: Sequence[Any] | None) -> tuple[str, str] | None:
    """Model and end. An older Fathom wrote a volume, which it moved without the others of its model: that is none."""
    return (str(written[0]), str(written[1])) if written and len(written) > len(("model", "end")) else None


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file.

    Raises:
        ResultsError: the file is missing or damaged.
    """
    try:
        value = json.loads(_text(path))
    except json.JSONDecodeError as problem:
        raise damaged(path, f"line {problem.lineno}: {problem.msg}") from None
    if not isinstance(value, dict):
        raise damaged(path, "not a JSON object")
    return value


def _metrics(path: Path) -> dict[str, Any]:
    """The metrics of a run: numbers, null where missing.

    Raises:
        ResultsError: the file is missing or damaged, or holds something else.
    """
    found = read_json(path)
    for name, value in found.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is not None and not (number and math.isfinite(value)):
            raise damaged(path, f"{name} is no number")
    return found


def check_version(facts: dict[str, Any], path: Path) -> None:
    """Refuses what a newer Fathom wrote.

    Raises:
        ResultsError: a newer version, or none at all.
    """
    found = facts.get("format_version")
    if not isinstance(found, int) or found < 1:
        raise damaged(path, "no format_version")
    if found > FORMAT_VERSION:
        raise ResultsError(
            f"{path}: format version {found}; this Fathom reads up to {FORMAT_VERSION}",
            "read it with the Fathom that wrote it, or a newer one (`pip install --upgrade fathom-storage`)",
        )


def damaged(path: Path, why: str) -> ResultsError:
    """The error for a file that cannot be what a campaign holds."""
    place = path.parent if path.parent.parent.name == "runs" else None
    remedy = (
        f"delete {place} and run or simulate the study again: only that run is repeated"
        if place
        else "restore the file from a backup, or start the campaign in another directory"
    )
    return ResultsError(f"{path}: damaged: {why}", remedy)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as problem:
        raise damaged(path, str(problem.strerror)) from None
    except UnicodeDecodeError as problem:
        raise damaged(path, f"not UTF-8 at byte {problem.start}") from None
