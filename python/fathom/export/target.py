"""What a target's file declares, and the one way from settings to files in its words."""

from __future__ import annotations

import importlib
import itertools
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from fathom.errors import FathomError, UsageError
from fathom.export.quote import comment
from fathom.export.rules import UNDECIDED, Kind, Used, judge
from fathom.export.settings import Node, Settings, references, without


@dataclass(frozen=True)
class File:
    """One file of the result.

    Attributes:
        name: relative to the folder that is written.
        text: without the head, which `export` puts in.
        program: whether it is run: `text` then starts with its `#!` line.
        head: whether it can have one: a file whose first line means something to its reader cannot.
    """

    name: str
    text: str
    program: bool = False
    head: bool = True


@dataclass(frozen=True)
class ExportRequest:
    """All that a target has to go by.

    Attributes:
        settings: checked, and nothing in it that the target's rules refuse.
        devices: volume to the disk that takes its place, as the user named it.
        mounts: export to the folder it is mounted on.
        units: units of databases that wait for the volumes.
        spare: disks that take a cache before a stop, as the user named them.
        temp: the disk of a drive for temporary files, likewise.
    """

    settings: Settings
    devices: Mapping[str, str] = field(default_factory=dict)
    mounts: Mapping[str, str] = field(default_factory=dict)
    units: tuple[str, ...] = ()
    spare: tuple[str, ...] = ()
    temp: str | None = None


@dataclass(frozen=True)
class Target:
    """One system that volumes can be described to.

    Attributes:
        name: as typed after `--to`.
        title: what comes out, a few words.
        order: place in lists.
        differs: what is not as Fathom does it, by the kind of volume that brings it ("" for all of them); told at the
            head of every file where such a volume is among the settings.
        kinds: rules by kind of volume, and for `exports` and `daemon`.
        options: which of "devices", "mounts", "units", "spare", "temp" it makes something of.
        write: the files; raises `CannotSayError` for what depends on more than one key.
        notes: what does not come out as written and depends on more than one key; told at the head of every file.
    """

    name: str
    title: str
    order: int
    differs: Mapping[str, tuple[str, ...]]
    kinds: Mapping[str, Kind]
    options: frozenset[str]
    write: Callable[[ExportRequest], list[File]]
    notes: Callable[[ExportRequest], list[str]] = lambda _: []

    def differences(self, settings: Settings) -> list[str]:
        """What of `differs` these settings meet."""
        return [line for kind, lines in self.differs.items() if not kind or settings.of_kind(kind) for line in lines]


class CannotSayError(FathomError):
    """A target has no words for what is written."""

    exit_code = 2

    def __init__(self, refusals: list[tuple[str, str, str]]) -> None:
        super().__init__("; ".join(f"{place}: {why}" for place, why, _ in refusals))
        self.refusals = tuple(refusals)

    def screen(self) -> str:
        """Each refusal with its remedy."""
        return "\n".join(f"error: {place}: {why}\n  help: {remedy}" for place, why, remedy in self.refusals)


def cannot(node: Node, why: str, remedy: str) -> CannotSayError:
    """One refusal, of a volume."""
    return CannotSayError([(f"{node.name} ({node.kind})", why, remedy)])


def targets() -> list[Target]:
    """Every target, in order; the folder is scanned."""
    from fathom.export import targets as folder

    names = [f"{folder.__name__}.{found.name}" for found in pkgutil.iter_modules(folder.__path__)]
    found: list[Target] = [importlib.import_module(name).TARGET for name in names]
    return sorted(found, key=lambda target: target.order)


def export(target: Target, request: ExportRequest, left_out: frozenset[str]) -> tuple[list[File], tuple[str, ...]]:
    """The files, each headed by what differs and what was not said; and those lines by themselves.

    Args:
        target: in whose words.
        request: what.
        left_out: dotted keys that the user does without.

    Raises:
        CannotSayError: something written has no equivalent; all of it by name.
        UsageError: an option names what is not there, or nothing the target uses.
    """
    _check_options(target, request, left_out)
    judged = judge(request.settings, target.kinds, left_out)
    if judged.refusals:
        raise CannotSayError(
            [
                (place, f"{target.title} cannot: {refused.why}", f"{refused.remedy}, or --leave-out {place.split()[0]}")
                for place, refused in judged.refusals
            ]
        )
    settings = request.settings
    unserved = sorted(set(settings.nodes) - {node.name for node in settings.served()})
    differences = target.differences(settings)
    kept = replace(request, settings=without(settings, left_out))
    idle = (f"{settings.idle}, not exported: {name}" for name in unserved)
    notes = (*settings.notes, *judged.notes, *target.notes(kept), *idle)
    head = [
        _maker(target, settings),
        *(f"Differs from Fathom: {line}" for line in differences),
        *notes,
    ]
    return [_headed(file, head) for file in target.write(kept)], (*differences, *notes)


def _maker(target: Target, settings: Settings) -> str:
    return f"Made by `fathom volume export --to {target.name}` from {settings.path.name}."


def of_earlier_exports(out: Path, target: Target, settings: Settings) -> list[str]:
    """Names of the files in a folder that exports of these settings to this target made, by their heads."""
    maker = comment(_maker(target, settings))
    found = []
    for path in (path for path in out.rglob("*") if path.is_file()):
        with path.open(encoding="utf-8", errors="replace") as file:
            if maker in (line.rstrip("\n") for line in itertools.islice(file, 2)):
                found.append(path.relative_to(out).as_posix())
    return sorted(found)


def _headed(file: File, head: list[str]) -> File:
    if not file.head:
        return file
    lines = "\n".join(comment(line) for line in head)
    if file.text.startswith("#!"):
        first, rest = file.text.split("\n", 1)
        return File(file.name, f"{first}\n{lines}\n{rest}", file.program)
    return File(file.name, f"{lines}\n{file.text}", file.program)


def _check_options(target: Target, request: ExportRequest, left_out: frozenset[str]) -> None:
    settings = request.settings
    for option, given, typed in (
        ("devices", request.devices, "--device"),
        ("mounts", request.mounts, "--mount"),
        ("units", request.units, "--unit"),
        ("spare", request.spare, "--spare-disk"),
        ("temp", request.temp, "--temp-disk"),
    ):
        if given and option not in target.options:
            raise UsageError(f"{typed} says nothing to {target.name}", "leave it out")
    leaves = {node.name for node in settings.leaves()}
    for name in request.devices:
        if name not in leaves:
            raise UsageError(f"--device {name}: no served volume of that name that stands on nothing", _one_of(leaves))
    for name, place in request.mounts.items():
        if name not in settings.exports:
            raise UsageError(f"--mount {name}: no such export", _one_of(settings.exports))
        if not Path(place).is_absolute() or ".." in Path(place).parts:
            raise UsageError(f"--mount {name}={place}: not an absolute path", "write it from the root")
    known = {f"{node.name}.{key}" for node in settings.nodes.values() for key in node.keys}
    known |= {f"exports.{name}.{key}" for name, table in settings.exports.items() for key in table}
    known |= {f"daemon.{key}" for key in settings.daemon}
    refers = references()
    needed = {
        f"{node.name}.{key}"
        for node in settings.nodes.values()
        for key in refers[node.kind]
        if isinstance(target.kinds.get(node.kind, UNDECIDED).keys.get(key), Used)
    } | {f"exports.{name}.volume" for name in settings.exports}
    known -= needed
    for place in sorted(left_out - known):
        raise UsageError(f"--leave-out {place}: no such key in {settings.path}", _one_of(known))


def _one_of(names: object) -> str:
    listed = sorted(str(name) for name in names) if isinstance(names, set | dict | frozenset) else []
    return f"one of {', '.join(listed)}" if listed else "there is none"
