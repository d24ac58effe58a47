"""The study of `fathom io`: one volume, one load, written as the file a person could have written."""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fathom.engine import Engine
from fathom.errors import UsageError

AREA_FILE = "1GiB"
AREA_MODEL = "1TiB"
"""Default bytes: of a scratch file, and of a modelled volume that has no size of its own."""

VOLUME = "volume"
"""What a disk of this machine is called in the report; a modelled one is called as its model."""


@dataclass(frozen=True)
class Target:
    """What is driven.

    Attributes:
        name: for the title.
        volume: what the report calls it.
        lines: of its table.
        scratch: a directory in which a file is made for the time of each run; None where nothing is made.
        fill: whether it has to be written before it is read.
        machine: the instance whose limits hold as well; None without one.
    """

    name: str
    volume: str
    lines: tuple[str, ...]
    scratch: Path | None = None
    fill: bool = False
    machine: str | None = None

    @property
    def driven(self) -> str:
        """The volume that the load goes to."""
        return self.volume if self.machine is None else self.machine.rpartition("/")[2].replace(".", "-")

    @property
    def tables(self) -> tuple[str, ...]:
        """Of its volumes."""
        own = (f"[volumes.{_quoted(self.volume)}]", *self.lines, "")
        if self.machine is None:
            return own
        above = _lines(kind="throttle", model=self.machine, backing=self.volume)
        return (*own, f"[volumes.{_quoted(self.driven)}]", *above, "")


@dataclass(frozen=True)
class Load:
    """What is done to it, in words of the study; None leaves a key out."""

    size: str | None
    read: str | None
    depth: int | None
    rate: int | None
    offsets: str | None
    preset: str | None
    lasts: str
    ramp: str
    goals: dict[str, str] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """The load in a few words."""
        parts = [
            self.preset,
            self.size,
            None if self.read is None else f"{self.read} reads",
            None if self.offsets is None else self.offsets,
            None if self.rate is None else f"{self.rate:,}/s",
            None if self.depth is None else f"{self.depth} outstanding",
        ]
        return ", ".join(part for part in parts if part)


def keys(written: Sequence[str]) -> dict[str, str]:
    """What `--set` says of the modelled volume, by key.

    Raises:
        UsageError: one is not KEY=VALUE, or has an option of its own.
    """
    found: dict[str, str] = {}
    for one in written:
        key, equals, value = (part.strip() for part in one.partition("="))
        if not (key and equals and value):
            raise UsageError(f"--set {one}: not a key and its value", "for example: --set iops=20000")
        if not key.isidentifier():
            raise UsageError(f'--set {one}: "{key}" is no key of a volume', "for example: --set iops=20000")
        if key in {"kind", "model", "size"}:
            raise UsageError(f"--set {one}: this key has an option", "--model names the model, --area the size")
        found[key] = value
    return found


def modelled(name: str, area: str | None, given: Mapping[str, str], machine: str | None, engine: Engine) -> Target:
    """A volume or drive of the catalogue; `given` are further keys of its table, `machine` the instance that it is on.

    Raises:
        UsageError: there is none of that name, or one is of another kind.
    """
    kind = _kind(name, engine)
    if kind not in {"volume", "device"}:
        way = f"give the volume as --model and this as --instance {name}" if kind == "instance" else _LISTS
        raise UsageError(f"{name} is an {kind}, not a volume", way)
    if machine is not None and (other := _kind(machine, engine)) != "instance":
        article = "an" if other[0] in "aeiou" else "a"
        raise UsageError(f"--instance {machine}: this is {article} {other}, not an instance", _LISTS)
    size = area or (AREA_MODEL if kind == "volume" else None)
    lines = _lines(kind="model", model=name, size=size, **given)
    title = name if machine is None else f"{name}, {machine.rpartition('/')[2]}"
    return Target(title, name.rpartition("/")[2], lines, machine=machine)


_LISTS = "`fathom catalogue` lists volumes, devices and instances"


def _kind(name: str, engine: Engine) -> str:
    """What a model of the catalogue is."""
    try:
        return str(engine.catalogue_explain(name, ())["kind"])
    except engine.BadInput as problem:
        raise UsageError(str(problem)) from None


def real(path: Path, area: str | None, *, writes: bool, overwrite: bool) -> Target:
    """A directory, in which a file is made and removed again, or an existing file or block device.

    Raises:
        UsageError: there is nothing of that name, it is none of these, or it would be written without `overwrite`.
    """
    try:
        mode = path.stat().st_mode
    except OSError as problem:
        raise UsageError(f"{path}: {problem.strerror}", "give a directory, a file or a block device") from None
    if stat.S_ISDIR(mode):
        lines = _lines(kind="file", path="io.img", size=area or AREA_FILE, allocation="reserved")
        return Target(str(path), VOLUME, lines, scratch=path, fill=True)
    if not (stat.S_ISREG(mode) or stat.S_ISBLK(mode)):
        raise UsageError(f"{path}: neither a directory nor a file nor a block device", "give one of these")
    if writes and not overwrite:
        kind = "file" if stat.S_ISREG(mode) else "block device"
        raise UsageError(
            f"{path}: this load writes, and what the {kind} holds would be lost",
            "add --overwrite if it may be lost, --read 100% to read only, or give a directory for a scratch file",
        )
    lines = _lines(kind="file", path=str(path.absolute()), size=area)
    return Target(str(path), VOLUME, lines if writes else (*lines, "read_only = true"))


def text(target: Target, load: Load) -> str:
    """The study."""
    lines = [
        f"title = {_quoted(f'{load.words} on {target.name}')}",
        "",
        *target.tables,
        "[workload]",
        'kind = "io"',
        f"volumes = [{_quoted(target.driven)}]",
        *_lines(preset=load.preset, size=load.size, read=load.read, offsets=load.offsets),
        *([] if load.depth is None else [f"outstanding = {load.depth}"]),
        *([] if load.rate is None else [f"rate = {load.rate}"]),
        *_lines(ramp=load.ramp, duration=load.lasts),
        *(["fill = true"] if target.fill else []),
    ]
    if load.goals:
        lines += ["", "[goals]", *_lines(**load.goals)]
    return "\n".join(lines) + "\n"


def _lines(**keys: str | None) -> tuple[str, ...]:
    return tuple(f"{key} = {_quoted(value)}" for key, value in keys.items() if value is not None)


def _quoted(value: str) -> str:
    # A JSON string is a TOML basic string, except for the delete character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
