"""Databases: a file or folder per kind with a `DATABASE`, found by scanning this folder."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fathom.provision.host import Host
    from fathom.provision.requirements import Connect, Database, Standby
    from fathom.provision.server import Server, ServerPaths


@dataclass(frozen=True)
class Address:
    """Where a server answers: at a Unix socket, or else at a host's TCP port."""

    socket: Path | None
    host: str
    port: int


@dataclass(frozen=True)
class Kind:
    """One kind of database, as runs provide and observe it.

    Attributes:
        name: as in `[databases.NAME]`.
        port: TCP port where a study names none; 0 for a database that is no server.
        socket: file in the socket's directory, with `{port}`; empty where a study names the socket itself.
        running: a private server from nothing, stopped at the end; None where none can be started.
        replicated: the same with a second one that follows it.
        background: its own backup or check as a command; None where it has none that could run beside a workload.
        sampling: a module with `prepare`, `counters` and `waits`; None where nothing is sampled.
        client: command and environment of the interactive client that reaches one that runs already, to sample with;
            given the address it answers at and the password.
        packages: Debian packages of its programs, by program.
    """

    name: str
    port: int = 0
    socket: str = ""
    running: Callable[[Host, Database, ServerPaths], AbstractContextManager[Server]] | None = None
    replicated: Callable[[Host, Database, Standby, ServerPaths, ServerPaths], AbstractContextManager[Server]] | None = (
        None
    )
    background: Callable[[Host, Server], list[str]] | None = None
    sampling: ModuleType | None = None
    client: Callable[[Host, Connect, Address, str | None], tuple[tuple[str, ...], dict[str, str]]] | None = None
    packages: Mapping[str, str] = field(default_factory=dict)


@functools.cache
def kinds() -> dict[str, Kind]:
    """Every kind by name."""
    names = [f"{__name__}.{found.name}" for found in pkgutil.iter_modules(__path__)]
    found: list[Kind] = [importlib.import_module(name).DATABASE for name in names]
    return {kind.name: kind for kind in found}
