"""Whether a database was bound by its processors or by its storage: the answer decides what is worth buying."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from fathom.analysis.advice.rule import Rule, RuleInput
from fathom.analysis.advice.waiting import Waits, at_work, waits
from fathom.analysis.variants import Variant, of_variant, place, resolved, variants_of
from fathom.analysis.words import quantity
from fathom.finding import Evidence, Finding, Remedy, Severity

_FULL = 0.90
"""Of the processors, from which on more of anything else cannot help much: queueing for them has begun."""

_IDLE = 0.60
"""Below this most work finds a processor free."""

_QUEUED = 1.0
"""Requests outstanding at the volume, or sessions that wait for it, in the mean: from here on there always is one."""

_MORE = 1.5
"""Times as many requests outstanding as there are users, from which on it is told: the log's writer adds some."""

_HALF = 0.5
"""Of all users: where so many wait for storage it binds them, however few they are."""


def find(given: RuleInput) -> Iterator[Finding]:
    """One finding per kind of answer, with the variants it holds for."""
    answers: dict[str, list[tuple[Variant, str]]] = {"processor": [], "storage": []}
    for variant in _variants(given):
        measured = _means(given, variant)
        busy, cpus = _busy(measured), _processors(given, variant)
        told = measured.get("server_cpu_percent")
        if told and _elsewhere(given):
            # The processors are the server's own, not this machine's.
            busy = measured["server_cpus"]
            cpus = busy * 100 / told
        if busy is None or not cpus:
            continue
        # Servers may be confined to a few processors of a machine that has more.
        share = max(busy / cpus, (told or 0.0) / 100)
        known = waits(given, variant)
        said = _said(given, variant, busy, cpus, measured, known)
        if share >= _FULL:
            answers["processor"].append((variant, said))
        elif share < _IDLE and _waits_for_storage(given, variant, measured, known):
            answers["storage"].append((variant, said))
    if answers["processor"]:
        yield _finding(
            given,
            answers["processor"],
            "CPU bound, not storage bound",
            "More or faster storage changes little here; more processors, or less work per transaction, do.",
            Remedy("Look at processors first: more of them, or cheaper statements; then measure the storage again."),
        )
    if answers["storage"]:
        yield _finding(
            given,
            answers["storage"],
            "storage bound, not CPU bound",
            "Processors wait for the volume: more of them change little here.",
            Remedy("Look at the volume first: its limits, its latency, what it is asked for per transaction."),
        )


def _finding(given: RuleInput, found: list[tuple[Variant, str]], words: str, harm: str, remedy: Remedy) -> Finding:
    every = len(found) == len(_variants(given))
    who = "Every variant" if every else ", ".join(given.label(variant) for variant, _ in found[:3])
    more = "" if every or len(found) <= 3 else f" and {len(found) - 3} more"
    return Finding(
        "processor",
        "server",
        f"{given.capital(who)}{more}: {words}.",
        Severity.NOTE,
        0.8,
        tuple(Evidence(said) for _, said in found[:4]),
        harm=harm,
        remedies=(remedy,),
    )


def _variants(given: RuleInput) -> list[Variant]:
    found = variants_of(run for run in given.campaign.runs if run.ok)
    return sorted(found, key=lambda variant: place(variant, given.study))


def _means(given: RuleInput, variant: Variant) -> dict[str, float]:
    summaries = of_variant(given.analysis.summaries, variant)
    return {one.metric: one.mean.value for one in summaries if one.mean is not None}


def _busy(measured: Mapping[str, float]) -> float | None:
    """Processors that servers, driver and volume daemon kept busy on this machine; None where no server was seen."""
    if "server_cpus" not in measured:
        return None
    return sum(measured.get(name, 0.0) for name in ("server_cpus", "driver_cpus", "volume_cpus"))


def _waits_for_storage(given: RuleInput, variant: Variant, measured: Mapping[str, float], known: Waits | None) -> bool:
    """Whether storage is what sessions wait for. Their own waits decide; without them, what is outstanding.

    A disk counts the requests of every program, and the database's own writing in the background: more than the
    sessions can be waiting for says nothing of them.
    """
    if known is not None:
        users = _users(given, variant, measured)
        enough = _QUEUED if users is None else min(_QUEUED, _HALF * users)
        return known.storage_decides and known.storage >= enough
    if "place_outstanding" not in measured:
        # Of a server elsewhere, whose files are its own.
        files = _of_files(measured)
        return files is not None and files >= _QUEUED
    limits = [_users(given, variant, measured)]
    if (sessions := at_work(given, variant)) is not None:
        # Who computes waits for nothing.
        limits.append(sessions - measured["server_cpus"])
    waiting = min((limit for limit in limits if limit is not None), default=math.inf)
    return _QUEUED <= measured["place_outstanding"] <= waiting


def _users(given: RuleInput, variant: Variant, measured: Mapping[str, float]) -> float | None:
    """How many sessions the workload has at most; None where that is not known."""
    found = resolved(given.study, variant)
    demand, workload = found.get("demand") or {}, found.get("settings", {}).get("workload") or {}
    counts = (demand.get("users"), workload.get("users"), measured.get("virtual_users"))
    return next((float(count) for count in counts if isinstance(count, int | float)), None)


def _outstanding(measured: Mapping[str, float]) -> float | None:
    """Requests outstanding at the volume; of a server elsewhere at its files. None if untold."""
    return measured["place_outstanding"] if "place_outstanding" in measured else _of_files(measured)


def _of_files(measured: Mapping[str, float]) -> float | None:
    """Requests outstanding at the server's files, rate times latency; None if untold."""
    files = [f"{role}_file_{way}" for role in ("data", "log", "temp") for way in ("read", "write")]
    both = [(measured.get(f"{name}_iops"), measured.get(f"{name}_latency_ms")) for name in files]
    known = [rate * latency / 1000 for rate, latency in both if rate is not None and latency is not None]
    return sum(known) if known else None


def _processors(given: RuleInput, variant: Variant) -> float | None:
    """Processors of the machine that all of them share, or fewer by a quota of the cgroup."""
    run = next((run for run in of_variant(given.campaign.runs, variant) if run.ok), None)
    machine: Mapping[str, Any] = {} if run is None else run.environment.get("machine") or {}
    cpus, quota = machine.get("cpus"), str(machine.get("cgroup_cpu_quota") or "").split()
    if not isinstance(cpus, int | float):
        return None
    if len(quota) == 2 and all(part.isdigit() for part in quota) and int(quota[1]):
        return min(float(cpus), int(quota[0]) / int(quota[1]))
    return float(cpus)


def _elsewhere(given: RuleInput) -> bool:
    """Whether the study connects to a server by its host: what it says of its processors is of another machine's."""
    databases = given.study.get("databases", {}).values()
    return any((database.get("connect") or {}).get("host") for database in databases)


def _said(
    given: RuleInput,
    variant: Variant,
    busy: float,
    cpus: float,
    measured: Mapping[str, float],
    known: Waits | None,
) -> str:
    said = f"{given.label(variant)}: {busy:.2g} of {cpus:g} processors busy ({busy / cpus:.0%})"
    outstanding = _outstanding(measured)
    if outstanding is not None:
        said += f", {outstanding:.2g} outstanding at the volume"
        users = _users(given, variant, measured)
        if known is not None and users is not None and outstanding >= _MORE * users:
            said += f" (more than {users:g} {'user waits' if users == 1 else 'users wait'} for)"
    for kind in ("read", "write"):
        latency = measured.get(f"place_{kind}_latency_ms")
        if latency is not None:
            said += f", a {kind} takes {quantity(latency, 'ms')}"
    return f"{said}. {given.capital(known.words)}." if known is not None else f"{said}."


RULE = Rule("processor", 65, find)
