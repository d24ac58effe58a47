"""More local drives than an instance has, or more disks than it or an adapter takes: a machine that nobody sells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from fathom.analysis.advice.rule import Rule, RuleInput
from fathom.analysis.copies import stands_on
from fathom.analysis.variants import variants_of
from fathom.finding import Evidence, Finding, Remedy, Severity
from fathom.results import standing_on

_DRIVES = re.compile(r"one of (\d+) local drives |the local drive ")
"""How the catalogue's summary of a local drive begins; without a count it is the only one."""
_DISKS = re.compile(r".*; at most (\d+) data disks")
"""How the catalogue's summary of an instance ends."""


def find(given: RuleInput) -> Iterator[Finding]:
    """At most one, about all of them."""
    settings = (stands_on(given.study, variant) for variant in variants_of(given.campaign.runs))
    found = list(dict.fromkeys(one for volumes in settings for one in _beyond(volumes)))
    if not found:
        return
    name, words = found[0]
    yield Finding(
        "attached",
        name,
        given.capital(f"{words}."),
        Severity.WARNING,
        0.95,
        tuple(Evidence(given.capital(f"{text}.")) for _, text in found[1:]),
        remedies=(
            Remedy(
                "Take fewer, or a larger machine, unless they are those of several machines.",
                verify="The report then says nothing of them.",
            ),
        ),
    )


def _beyond(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is more than a machine has: what it is about, and in words."""
    drives, adapters = _grouped(settings, "model"), _grouped(settings, "adapter")
    for model, buses in drives.items():
        count, most = sum(map(len, buses.values())), _local_drives(model)
        if most is not None and count > most:
            machine = model.rpartition("/")[0]
            has = f"{most} local drive{'' if most == 1 else 's'}"
            yield model, f"{count} volumes are local drives of {machine}, which has {has}"
    for machine, behind in _behind_machines(settings).items():
        found = _DISKS.match(_summary(machine))
        if found and len(behind) > int(found[1]):
            yield machine, f"{len(behind)} disks are attached to {machine}, which takes {found[1]}"
    for model, buses in adapters.items():
        takes, per_machine = (_figure(model, f"adapter.{key}") for key in ("devices_per_adapter", "adapters_per_host"))
        for bus, disks in buses.items():
            if takes is not None and len(disks) > takes:
                yield bus, f"{bus} is one {model} with {len(disks)} disks, and takes {takes}"
        if per_machine is not None and len(buses) > per_machine:
            yield model, f"{len(buses)} adapters are {model}, of which a machine takes {per_machine}"


def _grouped(settings: Mapping[str, Any], kind: str) -> dict[str, dict[str, list[str]]]:
    """The volumes of a kind by their model, and those of one adapter (`shared`) together."""
    found: dict[str, dict[str, list[str]]] = {}
    for name, mine in settings.items():
        model = mine.get("model") if mine.get("kind") == kind else None
        if isinstance(model, str):
            found.setdefault(model, {}).setdefault(mine.get("shared") or name, []).append(name)
    return found


def _behind_machines(settings: Mapping[str, Any]) -> dict[str, set[str]]:
    """The disks behind the limits of each instance, but for its own local drives."""
    found: dict[str, set[str]] = {}
    for name, mine in settings.items():
        if mine.get("kind") == "throttle" and isinstance(machine := mine.get("model"), str):
            below = (each for each in standing_on([name], settings) if settings[each].get("kind") == "model")
            disks = (each for each in below if _local_drives(settings[each].get("model", "")) is None)
            found.setdefault(machine, set()).update(disks)
    return found


def _local_drives(model: str) -> int | None:
    """How many drives an instance has of which a model is one; None of other models."""
    found = _DRIVES.match(_summary(model))
    return int(found[1] or 1) if found else None


@cache
def _summary(model: str) -> str:
    """What the catalogue says of a model in one line; nothing of one of a study's own file."""
    from fathom import _core

    return str(next((one["summary"] for one in _core.catalogue_list(()) if one["name"] == model), ""))


@cache
def _figure(model: str, key: str) -> int | None:
    """A count of the catalogue; None of a model that is not in it."""
    from fathom import _core

    try:
        figures = _core.catalogue_explain(model, ())["figures"]
    except _core.BadInput:
        return None
    return next((int(one["value"]) for one in figures if one["key"] == key), None)


RULE = Rule("attached", 14, find)
