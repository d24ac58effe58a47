"""A diagnosis with the names of hosts, devices, files and databases replaced, or only escaped for display."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

from fathom.diagnose.diagnose import Diagnosis
from fathom.diagnose.evidence.system import System
from fathom.diagnose.facts import LogNotes
from fathom.diagnose.metrics import Layer
from fathom.report.anonymise import Aliases
from fathom.report.plain import map_strings, one_line, plain

_KINDS = {
    Layer.DATABASE: "database",
    Layer.DATABASE_FILE: "file",
    Layer.HOST: "interface",
    Layer.GUEST_VOLUME: "volume",
    Layer.CLOUD_VOLUME: "volume",
    Layer.ADAPTER: "adapter",
}
"""What a device of a layer is called; disks otherwise."""
_PUBLIC = frozenset({Layer.DATABASE_WAIT, Layer.BENCHMARK})
"""Layers whose devices are words of a product."""
_TOLD = {"mount": "path", "export": "export", "log_name": "log", "members": "disk", "adapter": "adapter",
         "resource_group": "group", "database": "database", "logical_name": "file"}  # fmt: skip
"""Facts whose values are names."""
_SAYS_NOTHING = re.compile(r"\d*(?: ?[A-Za-z]:)*|_total|total|all|master|model|msdb|tempdb|postgres|.", re.I)


def cleaned(diagnosis: Diagnosis, *, anonymise: bool) -> Diagnosis:
    """The diagnosis with texts that no renderer has to fear; anonymised also without examples from the logs."""
    rename = _aliases(diagnosis).text if anonymise else str

    def clean(text: str) -> str:
        return one_line(plain(rename(text)))

    said = {
        field.name: map_strings(getattr(diagnosis, field.name), clean)
        for field in dataclasses.fields(diagnosis)
        if field.name != "system"
    }
    if not anonymise:
        # A command or a path may hold two spaces in a row that matter.
        said["findings"] = map_strings(diagnosis.findings, plain)
    return Diagnosis(**said, system=_system(diagnosis.system, clean, anonymise=anonymise))


def _system(system: System, clean: Callable[[str], str], *, anonymise: bool) -> System:
    """Names and facts alone: metrics are looked up by name and stay."""

    def one(text: str | None) -> str | None:
        return None if text is None else clean(text)

    devices = [dataclasses.replace(each, host=one(each.host), device=one(each.device)) for each in system.devices]
    notes = []
    for each in system.notes:
        facts = [dataclasses.replace(fact, value=clean(fact.value), subject=one(fact.subject)) for fact in each.facts]
        skipped = [
            dataclasses.replace(
                skip, what=clean(skip.what), why=clean(skip.why), example=None if anonymise else one(skip.example)
            )
            for skip in each.skipped
        ]
        notes.append(LogNotes(clean(each.path), each.format, clean(each.title), facts, skipped))
    return System(devices, notes, system.limits, system.left_out)


def _aliases(diagnosis: Diagnosis) -> Aliases:
    aliases = Aliases()
    system = diagnosis.system
    for notes in system.notes:
        aliases.add("log", notes.path)
        aliases.add_found(notes.path)
        for fact in notes.facts:
            aliases.add_found(fact.value)
            if fact.name in _TOLD:
                for name in fact.value.split(","):
                    _add(aliases, _TOLD[fact.name], name)
            if fact.name == "long_requests" and fact.subject:
                for part in re.split(r"[/\\:]", fact.subject):
                    _add(aliases, "file", part)
            if fact.name == "export":
                _add(aliases, "server", fact.value.partition(":/")[0])
    for device in system.devices:
        if device.host:
            aliases.add_host(device.host)
    for device in system.devices:
        if device.device and device.layer not in _PUBLIC:
            kind = _KINDS.get(device.layer, "disk")
            _add(aliases, kind, device.device)
            for part in re.split(r"[/\\:]", device.device):
                _add(aliases, kind, part)
    return aliases


def _add(aliases: Aliases, kind: str, name: str) -> None:
    if not _SAYS_NOTHING.fullmatch(name.strip()):
        aliases.add(kind, name)
