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
        settings = resolved(study, run.variant).get("settings", {}).get("volumes", {})
        for name, node in run.volumes.items():
            if run.ok and node.get("kind") == _KIND:
                known.setdefault(name, set()).add(settings.get(name, {}).get("durability", _USUAL))
                flushed |= {name} if node.get("flush", {}).get("count") else set()
    return tuple(name for name, durabilities in known.items() if len(durabilities) > 1 and name not in flushed)


def with_losses(runs: Sequence[Run], study: Mapping[str, Any]) -> tuple[Run, ...]:
    """The runs; one that promises to lose nothing that is flushed says what it may lose where nothing was."""
    lost: dict[str, str] = {}
    for name in unflushed(runs, study):
        fact = f"volumes.{name}.may_lose"
        words = next((run.facts[fact] for run in runs if fact in run.facts and is_loss(run.facts[fact])), None)
        lost |= {fact: words} if words is not None else {}
    return tuple(replace(run, facts=run.facts | {f: lost[f] for f in lost if f in run.facts}) for run in runs)
