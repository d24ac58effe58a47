"""What a target makes of each key of each kind, and of those that are written: used, carried, told, elsewhere
or refused.

A key that is written is a requirement. A target's table has a rule for every key of every kind, so that a new key
breaks a test until somebody has decided what the target makes of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fathom.export.settings import Settings


@dataclass(frozen=True)
class Used:
    """What is written shows in what the target writes."""


@dataclass(frozen=True)
class Carried:
    """The target runs fathomd with the very file, so that nothing has to be said again."""


@dataclass(frozen=True)
class Told:
    """A fact of the hardware or of the model that needs no command; it is told at the head of what is written.

    Attributes:
        why: why there is nothing to do.
    """

    why: str


@dataclass(frozen=True)
class Elsewhere:
    """Another place's business; told at the head of what is written.

    Attributes:
        where: whose, and how to get it.
    """

    where: str


@dataclass(frozen=True)
class Refused:
    """The target has nothing of the kind.

    Attributes:
        why: what the target does instead, or lacks.
        remedy: what to do about it.
    """

    why: str
    remedy: str


@dataclass(frozen=True)
class Only:
    """These values are what the target does anyway; others are refused.

    Attributes:
        values: as written in settings.
        refused: said to all others.
    """

    values: tuple[Any, ...]
    refused: Refused


Rule = Used | Carried | Told | Elsewhere | Refused | Only
Keys = Mapping[str, Rule]


@dataclass(frozen=True)
class Kind:
    """What a target makes of one kind of volume.

    Attributes:
        keys: a rule per key.
        whole: holds for the kind itself; `Used` if the target makes something of it.
    """

    keys: Keys = field(default_factory=dict)
    whole: Rule = Used()


UNDECIDED = Kind(whole=Refused("no rule says what it becomes there", "leave it out of what is exported"))
"""A kind of volume that a target has no rules for yet."""


@dataclass(frozen=True)
class Judgement:
    """What came of it: lines for the head of the files, and why nothing is written."""

    notes: tuple[str, ...]
    refusals: tuple[tuple[str, Refused], ...]


def judge(settings: Settings, kinds: Mapping[str, Kind], left_out: frozenset[str]) -> Judgement:
    """Goes through everything that is written in the part of the settings that is served.

    Args:
        settings: what is to be said in the target's words.
        kinds: the target's rules, by kind; `exports` and `daemon` for those tables.
        left_out: dotted keys (`data.segment`) that the user does without.
    """
    notes: list[str] = []
    refusals: list[tuple[str, Refused]] = []
    for name, kind, key, value in _written(settings):
        rules = kinds.get(kind, UNDECIDED)
        if key and not isinstance(rules.whole, Used):
            continue  # said once, of the whole
        place = f"{name}.{key} = {_short(value)}" if key else _title(name, kind)
        rule = rules.keys[key] if key else rules.whole
        if f"{name}.{key}" in left_out:
            notes.append(f"left out as asked: {place}")
        elif isinstance(rule, Told):
            notes.append(f"{place}: {rule.why}")
        elif isinstance(rule, Elsewhere):
            notes.append(f"not made here: {place}: {rule.where}")
        elif isinstance(rule, Refused):
            refusals.append((place, rule))
        elif isinstance(rule, Only) and value not in rule.values:
            refusals.append((place, rule.refused))
    return Judgement(tuple(notes), tuple(refusals))


def _written(settings: Settings) -> Iterator[tuple[str, str, str, Any]]:
    """Name, kind, key and value of all there is; the key is empty for the table itself."""
    for node in settings.served():
        yield node.name, node.kind, "", None
        for key, value in node.keys.items():
            yield node.name, node.kind, key, value
    for name, table in settings.exports.items():
        yield f"exports.{name}", "exports", "", None
        for key, value in table.items():
            yield f"exports.{name}", "exports", key, value
    if settings.daemon:
        yield "daemon", "daemon", "", None
        for key, value in settings.daemon.items():
            yield "daemon", "daemon", key, value
    for name in settings.serving:
        yield name, "daemon", "", None


def _title(name: str, kind: str) -> str:
    return name if kind in {"daemon", "exports"} else f"{name} ({kind})"


def _short(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
