"""Caches whose durability is compared under a load that never flushes. Pure.

Durability says what a flush means. Without one it changes nothing: the writes that the loss of a cache device takes
are the same, whatever is promised to those that are flushed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fathom.analysis.guards import is_loss
from fathom.analysis.variants import resolved
from fathom.results import Run

_KIND, _USUAL = "writeback", "cache"
"""The layer that has a durability, and its default."""


def unflushed(runs: Iterable[Run], study: Mapping[str, Any]) -> tuple[str, ...]:
    """The volumes that ran with more than one durability and saw no flush in any run, by name."""
    known: dict[str, set[str]] = {}
    flushed = set()
    for run in runs:
        for name, node in run.volumes.items():
            if run.ok and node.get("kind") == _KIND:
                known.setdefault(name, set()).add(_settings(run, name, study).get("durability", _USUAL))
                flushed |= {name} if node.get("flush", {}).get("count") else set()
    return tuple(name for name, durabilities in known.items() if len(durabilities) > 1 and name not in flushed)


def with_losses(runs: Sequence[Run], study: Mapping[str, Any]) -> tuple[Run, ...]:
    """The runs; one that promises to lose nothing that is flushed says what it may lose where nothing was: the same as
    one with as many cache devices that promises less.
    """
    names = unflushed(runs, study)
    lost: dict[str, dict[bool, str]] = {name: {} for name in names}
    for run in runs:
        for name in names:
            if is_loss(words := run.facts.get(_fact(name), "nothing")):
                lost[name].setdefault(_has_copy(run, name, study), words)
    return tuple(replace(run, facts=run.facts | _taken(run, lost, study)) for run in runs)


def _taken(run: Run, lost: Mapping[str, Mapping[bool, str]], study: Mapping[str, Any]) -> dict[str, str]:
    """What a run may lose of the volumes of which it says that it may lose nothing."""
    found: dict[str, str] = {}
    for name, by_copies in lost.items():
        if by_copies and _fact(name) in run.facts and not is_loss(run.facts[_fact(name)]):
            alike = by_copies.get(_has_copy(run, name, study))
            found[_fact(name)] = alike if alike is not None else next(iter(by_copies.values()))
    return found


def _has_copy(run: Run, name: str, study: Mapping[str, Any]) -> bool:
    """Whether a cache has a second device."""
    return _settings(run, name, study).get("cache_copy") is not None


def _settings(run: Run, name: str, study: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a volume is in a run's variant."""
    volumes = resolved(study, run.variant).get("settings", {}).get("volumes", {})
    found: Mapping[str, Any] = volumes.get(name, {})
    return found


def _fact(name: str) -> str:
    return f"volumes.{name}.may_lose"
