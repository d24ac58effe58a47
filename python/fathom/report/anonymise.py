"""Names that say whose machine it was, replaced by `host-1`, `user-1`, `serial-1`, `ip-1` wherever they occur.

One name keeps one alias through the whole report, so that two lines about one disk can still be told to be about one
disk. What counts as a name is found by the keys of the environment, the volumes and the study, and by the shape of
paths and addresses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Any

from fathom.report.plain import flatten
from fathom.results import Campaign

_KEYS = {
    "host": frozenset({"host", "hostname", "host_name", "node", "nodename", "fqdn", "computer_name", "machine_name"}),
    "user": frozenset({"user", "username", "user_name", "login", "owner"}),
    "serial": frozenset(
        {"serial", "serial_number", "wwn", "wwid", "eui", "nguid", "guid", "uuid", "mac", "machine_id", "asset_tag"}
    ),
}
_KEY_ENDS = (("_serial", "serial"), ("_uuid", "serial"), ("_hostname", "host"), ("_wwn", "serial"))
_IMPERSONAL = frozenset({"", "localhost", "localhost.localdomain", "root", "none", "unknown", "0", "-"})
_PATHS = (
    ("user", re.compile(r"(?:/home/|/Users/|[A-Za-z]:\\Users\\)([^/\\\s\"'<>:]+)")),
    ("serial", re.compile(r"/dev/disk/by-(?:id|uuid|path)/([^/\s\"'<>]+)")),
)
_ADDRESSES = (
    ("ip", re.compile(r"(?<![\w.])(?!127\.|0\.0\.0\.0)(?:\d{1,3}\.){3}\d{1,3}(?![\w.])")),
    ("mac", re.compile(r"(?<![\w:])(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}(?![\w:])")),
)


class Aliases:
    """Names and what stands for them: `host-1`, `disk-2`. All names are added before the first text is changed."""

    def __init__(self) -> None:
        self._aliases: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    def add(self, kind: str, name: str) -> None:
        """Gives a name its alias, unless it has one or says nothing."""
        key = name.strip().lower()
        if key in _IMPERSONAL or key in self._aliases:
            return
        self._counts[kind] = self._counts.get(kind, 0) + 1
        self._aliases[key] = f"{kind}-{self._counts[kind]}"

    def add_found(self, text: str) -> None:
        """Adds users, addresses and identifiers that a text holds."""
        for kind, pattern in (*_PATHS, *_ADDRESSES):
            for match in pattern.finditer(text):
                self.add(kind, match.group(match.lastindex or 0))

    def add_host(self, name: str) -> None:
        """Adds a host, known also by the first part of its name."""
        self.add("host", name)
        key, short = name.strip().lower(), name.strip().split(".")[0].lower()
        if key in self._aliases and short not in _IMPERSONAL and not short.isdigit():
            self._aliases.setdefault(short, self._aliases[key])

    def text(self, text: str) -> str:
        """The text with every known name replaced."""
        return text if self._pattern is None else self._pattern.sub(lambda m: self._aliases[m.group().lower()], text)

    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        names = sorted(self._aliases, key=lambda name: (-len(name), name))
        if not names:
            return None
        return re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, names))})(?![^\W_])", re.IGNORECASE)


class Anonymiser(Aliases):
    """Replaces the names of one campaign. Made from the whole campaign, so that no order of use changes an alias."""

    def __init__(self, campaign: Campaign) -> None:
        super().__init__()
        for source in _sources(campaign):
            for path, value in flatten(source):
                self._collect_named(path, value)
        for text in _texts(campaign):
            self.add_found(text)

    def _collect_named(self, path: str, value: Any) -> None:
        key = path.rsplit(".", 1)[-1].lower().replace("-", "_")
        kind = next((kind for kind, keys in _KEYS.items() if key in keys), None)
        kind = kind or next((kind for end, kind in _KEY_ENDS if key.endswith(end)), None)
        if kind is None or not isinstance(value, str):
            return
        if kind == "host":
            self.add_host(value)
        else:
            self.add(kind, value)


def _sources(campaign: Campaign) -> Iterable[Any]:
    for run in (*campaign.runs, *campaign.retried):
        yield run.environment
        yield run.volumes
    yield campaign.study


def _texts(campaign: Campaign) -> Iterable[str]:
    for source in _sources(campaign):
        yield from (value for _, value in flatten(source) if isinstance(value, str))
    yield campaign.study_text
    yield str(campaign.directory)
    yield from (run.message for run in (*campaign.runs, *campaign.retried) if run.message)
