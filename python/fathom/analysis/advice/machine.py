"""Volumes behind an instance whose limits are not theirs: another vendor's, or those for another kind of disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fathom.analysis.advice.rule import Rule, RuleInput
from fathom.analysis.variants import resolved, variants_of
from fathom.analysis.words import listed
from fathom.finding import Evidence, Finding, Remedy, Severity
from fathom.results import standing_on

_VENDORS = ("aws", "azure", "gcp")
_NEWER = ("azure/premium-ssd-v2", "azure/ultra-disk")
"""Disks for which Azure states other limits of its machines, in the catalogue's families of this suffix."""
_SUFFIX = "-premium-v2"


def find(given: RuleInput) -> Iterator[Finding]:
    """At most one, about all such volumes."""
    found = list(dict.fromkeys(one for settings in _settings(given) for one in _misfits(settings)))
    if not found:
        return
    said = [f"{given.capital(name)}: {_words(disk, machine)}." for name, disk, machine in found]
    sold = _instances()
    better = list(dict.fromkeys(fit for _, disk, machine in found if (fit := _fitting(disk, machine)) in sold))
    name, disk, _ = found[0]
    action = f"Take the limits of {listed(better)}." if better else f"Take an instance of the catalogue for {disk}."
    yield Finding(
        "machine",
        name,
        said[0],
        Severity.WARNING,
        0.95,
        tuple(Evidence(text) for text in said[1:]),
        remedies=(Remedy(action, verify="The report then says nothing of the instance."),),
    )


def _instances() -> set[str]:
    from fathom import _core

    return {model["name"] for model in _core.catalogue_list(()) if model["kind"] == "instance"}


def _settings(given: RuleInput) -> Iterator[Mapping[str, Any]]:
    for variant in variants_of(given.campaign.runs):
        yield resolved(given.study, variant).get("settings", {}).get("volumes", {})


def _misfits(settings: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Throttles with the limits of an instance, each with a disk below it that these are not for."""
    for name, mine in settings.items():
        machine = mine.get("model", "") if mine.get("kind") == "throttle" else ""
        for disk in _disks(settings, name) if machine.startswith(tuple(f"{one}/" for one in _VENDORS)) else ():
            if _vendor(disk) in _VENDORS and _fitting(disk, machine) != machine:
                yield name, disk, machine


def _disks(settings: Mapping[str, Any], name: str) -> Iterator[str]:
    """The models of the volumes that one stands on."""
    for below in standing_on([name], settings):
        if settings[below].get("kind") == "model":
            yield settings[below].get("model", "")


def _vendor(model: str) -> str:
    return model.partition("/")[0]


def _fitting(disk: str, machine: str) -> str:
    """The name of the instance with the limits for a disk; empty where it is another vendor's."""
    if _vendor(disk) != _vendor(machine):
        return ""
    family, dot, size = machine.partition(".")
    newer = _SUFFIX if disk in _NEWER else ""
    return f"{family.removesuffix(_SUFFIX)}{newer}{dot}{size}"


def _words(disk: str, machine: str) -> str:
    if _vendor(disk) != _vendor(machine):
        return f"{disk} is no volume of {machine}"
    return f"the limits of {machine} are not those for {disk}"


RULE = Rule("machine", 15, find)
