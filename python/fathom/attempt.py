"""One run of one variant: what it needs is provided, the engine runs it, and everything is taken away again."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fathom import steps
from fathom.engine import Engine, Outcome
from fathom.host import scratch as scratch_space
from fathom.observe import activity, observed
from fathom.observe.watch import Watch
from fathom.plan import Entry
from fathom.provision import background, files, provide, requirements
from fathom.provision.background import Job
from fathom.provision.copies import Copy
from fathom.provision.copies import of as copies_of
from fathom.provision.failure import ProvisionError, reason_of
from fathom.provision.host import Host, words
from fathom.provision.provide import Provided
from fathom.provision.requirements import Place, Requirements

_DEATH_S = 2.0

Tick = Callable[[float, str], None]


@dataclass(frozen=True)
class Observed:
    """Columns of `activity.parquet`, and the mean number of sessions per wait by database."""

    columns: dict[str, list[Any]]
    waits: dict[str, dict[str, float]]


@dataclass(frozen=True)
class Attempt:
    """What came of it: an outcome, or the reason of a failure (from `results.REASONS`) with its message.

    `seen` is what was observed beside a run on databases, `steps` those of a sequence of virtual users.
    """

    outcome: Outcome | None
    reason: str | None = None
    message: str | None = None
    facts: dict[str, str] = field(default_factory=dict)
    seen: Observed | None = None
    steps: tuple[steps.Step, ...] = ()


@dataclass(frozen=True)
class _Task:
    """What every step of one attempt works on."""

    entry: str
    engine: Engine
    tick: Tick


def attempt(entry: Entry, engine: Engine, scratch: Path, tick: Tick, copies: Path) -> Attempt:
    """Carries out one run.

    Args:
        entry: the run, with all it needs.
        engine: runs it.
        scratch: an empty directory of the run; its owner removes it.
        tick: is told how far it is; may raise KeyboardInterrupt.
        copies: a directory for copies of loaded data, the same for all runs of a campaign.

    Raises:
        KeyboardInterrupt: a person stopped it.
    """
    task = _Task(json.dumps(entry), engine, tick)
    try:
        needs = requirements.read(entry["wants"])
        prepared = _prepared(task, needs, scratch, copies)
        place = _directory(scratch / "around")
        with provide.provided(needs, place, Host(), prepared) as around:
            return _run(task, scratch, around, restored=bool(prepared))
    except engine.RunFailed as failure:
        reason, message = failure.args
        return Attempt(None, reason, message)
    except ProvisionError as failure:
        return Attempt(None, failure.reason, failure.message)


def _prepared(task: _Task, needs: Requirements, scratch: Path, copies: Path) -> dict[str, Copy]:
    """Copies of the data that the workload begins with, loaded and taken now where they are missing."""
    own = [database for database in needs.databases if database.connect is None and database.name in needs.loads]
    if not own:
        return {}
    found = {database.name: copies_of(_directory(copies), database, needs.loads[database.name]) for database in own}
    # Databases that hold the same have one copy, which one of them fills.
    missing = {found[database.name].path: database for database in reversed(own) if not found[database.name].there}
    if not missing:
        return found
    # Neither a second server nor a place for temporary files belongs to the data, nor does the volume below them.
    plain = tuple(replace(database, standby=None, temp_place=None) for database in reversed(missing.values()))
    needs = needs.of(plain)
    directories = tuple(Place(place.name, "directory") for place in needs.places)
    needs = replace(needs, places=directories, volumes={})
    place, run = _directory(scratch / "load"), _directory(scratch / "loading")
    try:
        with provide.provided(needs, place, Host()) as around:
            _load(task, run, around)
            for database in plain:
                around.paths[database.name].after.append(found[database.name])
    finally:
        scratch_space.empty(place)
        scratch_space.empty(run)
    return found


def _load(task: _Task, scratch: Path, around: Provided) -> None:
    connections = json.dumps({name: server.connection for name, server in around.servers.items()})
    task.engine.load(task.entry, scratch, task.tick, connections)


def _directory(path: Path) -> Path:
    path.mkdir(exist_ok=True)
    return path


def _run(task: _Task, scratch: Path, around: Provided, *, restored: bool) -> Attempt:
    own = _directory(scratch / "run")
    if not around.servers:
        outcome = _call(task, own, around)
        driven = observed.steps((), outcome["steps"], outcome["began_ns"] or 0)
        outcome["metrics"] = steps.overall(driven) if driven else outcome["metrics"]
        return Attempt(outcome, facts=outcome["facts"], steps=driven)
    watch = Watch(around, scratch)
    beside = _beside(around)
    try:
        with watch, ExitStack() as running:
            for job in beside.values():
                running.enter_context(job)
            outcome = _call(task, own, around)
    except task.engine.RunFailed as failure:
        reason, message = failure.args
        died = watch.died or _died(around, patience_s=_DEATH_S if reason == "lost" else 0.0)
        if died is not None and reason != "cancelled":
            # Why a server ended explains more than that it did: a full disk, a device that failed.
            reason, message = reason_of(around.said(), "lost"), f"{died}; {message}"
        elif reason == "lost":
            reason = reason_of(message, "lost")
        return Attempt(None, reason, message, dict(around.facts))
    failed = next((job.failed for job in beside.values() if job.failed is not None), None)
    if failed is not None:
        return Attempt(None, "unavailable", f"the job in the background: {failed}", dict(around.facts))
    began = outcome["began_ns"] or watch.observations[0].at_ns
    window = (began, began + outcome["measured_ns"])
    driven = observed.steps(watch.observations, outcome["steps"], began)
    if driven:
        # Between steps the users pause and the caches warm: the run lasted longer than it measured.
        last = outcome["steps"][-1]
        window = (began, last["began_ns"] + last["measured_ns"])
        outcome["metrics"] = steps.overall(driven)
    else:
        # What servers that ran before read and write is not seen: only that of others, for their transactions as well.
        all_seen = all(server.database.connect is None for server in around.servers.values())
        done = outcome["metrics"].get("transactions_per_second") if all_seen else None
        outcome["metrics"] = {**observed.metrics(watch.observations, window, done), **outcome["metrics"]}
    for name, job in beside.items():
        prefix = f"{name}_" if len(beside) > 1 else ""
        outcome["metrics"].update({f"{prefix}{metric}": value for metric, value in job.metrics().items()})
        outcome["facts"][f"databases.{name}.background"] = words(job.command)
    kinds = {name: str(settings.get("kind", "")) for name, settings in around.volumes.items()}
    outcome["volumes"] = {**observed.volumes(watch.observations, window, kinds), **outcome["volumes"]}
    seen = Observed(activity.columns(watch.observations, watch.waits, window), observed.waits(watch.waits, window))
    return Attempt(outcome, facts=_facts(around, watch, outcome, restored=restored), seen=seen, steps=driven)


def _facts(around: Provided, watch: Watch, outcome: Outcome, *, restored: bool) -> dict[str, str]:
    troubles = {f"databases.{name}.samples": why for name, why in watch.troubles.items()}
    facts = {**around.facts, **troubles, **outcome["facts"]}
    for name in around.servers:
        if around.facts.get(f"databases.{name}.files") == files.UNKNOWN:
            facts |= _if_on_a_disk(facts, ("may_lose", f"databases.{name}.may_lose"))
    if restored or any(name.endswith(".restored") for name in around.facts):
        how = "from a copy of the loaded data" if restored else "by a command of the study's"
        facts["data"] = f"restored {how}"
        # The workload only sees that the data was loaded; nothing has run on it since.
        for name in ("warning.data", *(f"databases.{name}.warning.data" for name in around.servers)):
            facts.pop(name, None)
    return facts


def _if_on_a_disk(facts: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """What a database says that its log keeps, where nobody knows whether that log is on a disk."""
    nothing = "nothing: "
    return {
        name: facts[name].replace(nothing, "nothing, if its files lie on a disk, which is not known: ", 1)
        for name in names
        if facts.get(name, "").startswith(nothing)
    }


def _beside(around: Provided) -> dict[str, Job]:
    """What is to run beside the workload, by database."""
    commands = {name: background.command(Host(), server) for name, server in around.servers.items()}
    return {name: Job(command) for name, command in commands.items() if command is not None}


def _died(around: Provided, patience_s: float) -> str | None:
    """Which server is gone; a connection breaks a moment before its server's end is to be seen."""
    deadline = time.monotonic() + patience_s
    while (died := around.died()) is None and time.monotonic() < deadline:
        time.sleep(0.02)
    return died


def _call(task: _Task, scratch: Path, around: Provided) -> Outcome:
    connections = {name: server.connection for name, server in around.servers.items()}
    return task.engine.run(task.entry, scratch, task.tick, json.dumps(connections))
