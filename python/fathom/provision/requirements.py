"""The requirements of a run, typed: checked by the engine, with every default filled in."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

Setting = str | int | float | bool
"""A server's setting as written in the study."""


@dataclass(frozen=True)
class Place:
    """Where files are: below `path` (None: in the scratch directory), or on a file system made on `volume`."""

    name: str
    kind: str
    path: str | None = None
    volume: str | None = None
    filesystem: str = "ext4"
    block_bytes: int | None = None
    mount_options: str | None = None
    sector: int = 512


@dataclass(frozen=True)
class Connect:
    """How to reach a server that runs already; `password_env` names the variable that holds the password."""

    socket: str | None
    host: str | None
    port: int | None
    user: str
    password_env: str | None
    database: str
    login: str = "password"
    tls: str | None = None
    tls_ca: str | None = None
    timeout_ns: int | None = None


@dataclass(frozen=True)
class Standby:
    """A second server that every commit waits for: until its log is received, durable ("on") or visible there."""

    place: str | None
    log_place: str | None
    commit: str


@dataclass(frozen=True)
class Database:
    """One database: a private server on stated places, or (`connect`) one that runs already.

    `cpus` is a number of CPUs, or which ("0,2,4-7"). `background` is "none", "backup", "check" or "command". `restore`
    is a command that restores the data of one that runs already.
    """

    name: str
    kind: str
    place: str | None
    log_place: str | None
    temp_place: str | None
    settings: dict[str, Setting]
    cpus: int | str | None
    connect: Connect | None
    standby: Standby | None
    background: str = "none"
    background_command: list[str] | None = None
    restore: list[str] | None = None


@dataclass(frozen=True)
class Requirements:
    """Databases, the places they use, and the volumes below those (as written in the study).

    `loads` is by database what the data depends on that the workload loads before it measures; empty if it loads none.
    """

    databases: tuple[Database, ...]
    places: tuple[Place, ...]
    volumes: dict[str, dict[str, Any]]
    loads: dict[str, str] = field(default_factory=dict)

    @property
    def nothing(self) -> bool:
        """Whether there is nothing to provide."""
        return not self.databases

    def of(self, databases: tuple[Database, ...]) -> Requirements:
        """What some of the databases, or others on the same places, need of it."""
        names = {name for database in databases for name in (database.place, database.log_place, database.temp_place)}
        return replace(self, databases=databases, places=tuple(place for place in self.places if place.name in names))


def read(found: dict[str, Any]) -> Requirements:
    """From `wants` of a planned run."""
    return Requirements(
        databases=tuple(_database(name, settings) for name, settings in found["databases"].items()),
        places=tuple(_place(name, settings) for name, settings in found["places"].items()),
        volumes=found["volumes"],
        loads=found["loads"],
    )


def _place(name: str, settings: dict[str, Any]) -> Place:
    return Place(name, **settings)


def _database(name: str, settings: dict[str, Any]) -> Database:
    connect, standby = settings["connect"], settings["standby"]
    return Database(
        name,
        **{key: value for key, value in settings.items() if key not in {"connect", "standby"}},
        connect=None if connect is None else Connect(**connect),
        standby=None if standby is None else Standby(**standby),
    )
