"""Everything a variant needs, in order: volumes, places, databases; undone in the reverse order whatever happens.

While something is provided, SIGTERM ends the campaign as Ctrl-C does; while it is undone, neither disturbs.
"""

from __future__ import annotations

import signal
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fathom.host import leftovers
from fathom.host import scratch as scratch_space
from fathom.host.mounts import file_system
from fathom.host.signals import deferring_signals
from fathom.provision import directory, existing, files, filesystem, loop, places, volumes
from fathom.provision.copies import Copy
from fathom.provision.database import kinds
from fathom.provision.failure import ProvisionError
from fathom.provision.host import Host
from fathom.provision.process import Process
from fathom.provision.requirements import Database, Place, Requirements
from fathom.provision.server import Server, ServerPaths

NO_COPIES: Mapping[str, Copy] = MappingProxyType({})
"""Every database begins empty."""


@dataclass(frozen=True)
class Provided:
    """What a run finds.

    Attributes:
        servers: by the name of their database.
        places: by name, the directory.
        facts: small facts worth keeping.
        volumes: settings of the volumes below the places.
        paths: the directories of each database.
        status: the volume daemon's status socket, if there is a daemon.
        daemon: its process.
    """

    servers: Mapping[str, Server] = field(default_factory=dict)
    places: Mapping[str, Path] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    volumes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    paths: Mapping[str, ServerPaths] = field(default_factory=dict)
    status: Path | None = None
    daemon: Process | None = None

    def died(self) -> str | None:
        """What a server that ended in mid-run said last; None if all run."""
        if self.daemon is not None and self.daemon.exit_code is not None:
            return f"fathomd, which serves the places' volumes, is gone (it said: {self.daemon.last_words()})"
        return next((said for server in self.servers.values() if (said := server.died())), None)

    def said(self) -> str:
        """The ends of the logs of servers that are gone."""
        processes = [process for server in self.servers.values() for process in server.processes.values()]
        gone = [process for process in processes if process.exit_code is not None]
        return "\n".join(process.everything() for process in gone)

    def end(self) -> None:
        """Kills every server at once, so that nothing waits for an answer that will not come."""
        for server in self.servers.values():
            for process in server.processes.values():
                process.kill()


@contextmanager
def provided(
    requirements: Requirements, scratch: Path, host: Host, copies: Mapping[str, Copy] = NO_COPIES
) -> Iterator[Provided]:
    """Volumes, places and databases of a run; all gone at the end.

    Args:
        requirements: from the engine.
        scratch: an empty directory of the run; its owner removes it afterwards.
        host: carries it out, or writes it down.
        copies: what databases are restored from, by their names; the others begin empty.

    Raises:
        ProvisionError: something is not available, or could not be undone.
    """
    if requirements.nothing:
        yield Provided()
        return
    stack = ExitStack()
    with _terminable():
        try:
            yield _provide(requirements, scratch, host, stack, copies)
        except BaseException:
            # The failure is reported; what could not be undone is found by the next start.
            with deferring_signals(), suppress(ProvisionError):
                stack.close()
            raise
        with deferring_signals():
            stack.close()


def _provide(
    requirements: Requirements, scratch: Path, host: Host, stack: ExitStack, copies: Mapping[str, Copy]
) -> Provided:
    socket = _socket_directory(host, stack)
    if not host.dry:
        stack.callback(_nothing_is_left, scratch)
    mount, daemon, status = None, None, None
    on_volumes = [place.volume for place in requirements.places if place.volume is not None]
    if on_volumes:
        serving = volumes.served(host, requirements.volumes, on_volumes, scratch, socket)
        mount, daemon, status = stack.enter_context(serving)
    found = {place.name: _place(host, place, scratch, mount, stack) for place in requirements.places}
    paths = {
        database.name: replace(_paths(database, scratch, socket, found), before=copies.get(database.name))
        for database in requirements.databases
    }
    servers = {
        database.name: stack.enter_context(_database(host, database, paths[database.name], scratch, socket, found))
        for database in requirements.databases
    }
    if status is not None and not host.dry:
        volumes.drained(status)
    facts = {} if host.dry else places.facts(found) | _in_memory(paths)
    if status is not None and not host.dry:
        facts.update(volumes.facts(status))
    for server in servers.values():
        facts.update({f"databases.{server.database.name}.{key}": value for key, value in server.facts.items()})
    return Provided(servers, found, facts, requirements.volumes, paths, status, daemon)


def _in_memory(paths: Mapping[str, ServerPaths]) -> dict[str, str]:
    """What the databases lose whose data or log lie on no disk, as the fact of a loss."""
    told = {}
    for name, its in paths.items():
        where = [directory for directory in (its.data, its.log) if directory is not None and directory.exists()]
        kinds = [system.mount.kind for system in map(file_system, where) if system.in_memory]
        if kinds:
            told[f"databases.{name}.files.may_lose"] = files.in_memory(kinds[0])
    return told


def _place(host: Host, place: Place, scratch: Path, mount: Path | None, stack: ExitStack) -> Path:
    if place.volume is None or mount is None:
        return stack.enter_context(directory.provided(host, place, scratch))
    device = stack.enter_context(loop.attached(host, mount / place.volume, place.sector, place.name))
    target = scratch / "places" / place.name
    return stack.enter_context(filesystem.mounted(host, place, device, target))


@contextmanager
def _database(
    host: Host, database: Database, paths: ServerPaths, scratch: Path, socket: Path, found: Mapping[str, Path]
) -> Iterator[Server]:
    running: AbstractContextManager[Server]
    if database.connect is not None:
        running = existing.running(host, database, database.connect)
    elif database.standby is not None:
        names = (database.standby.place, database.standby.log_place, None)
        second = paths_of(f"{database.name}-standby", names, scratch, socket, found)
        replicated = kinds()[database.kind].replicated
        assert replicated is not None, "the engine has checked it"
        running = replicated(host, database, database.standby, paths, second)
    else:
        private = kinds()[database.kind].running
        assert private is not None, "the engine has checked it"
        running = private(host, database, paths)
    with running as server:
        yield server


def _paths(database: Database, scratch: Path, socket: Path, found: Mapping[str, Path]) -> ServerPaths:
    names = (database.place, database.log_place, database.temp_place)
    return paths_of(database.name, names, scratch, socket, found)


def paths_of(
    name: str,
    names: tuple[str | None, str | None, str | None],
    scratch: Path,
    socket: Path,
    found: Mapping[str, Path],
) -> ServerPaths:
    """Directories of one server: data in its place or the scratch directory, log and temporary files if asked for."""
    data, log, temp = names
    home = found[data] if data is not None else scratch / "databases"
    return ServerPaths(
        data=home / f"{name}-data",
        log=None if log is None else found[log] / f"{name}-log",
        temp=None if temp is None else found[temp] / f"{name}-temp",
        socket=socket / name,
    )


def _socket_directory(host: Host, stack: ExitStack) -> Path:
    parent = Path(tempfile.gettempdir())
    if host.dry:
        return host.directory(parent / f"{scratch_space.PREFIX}sockets")
    return stack.enter_context(scratch_space.directory(parent))


def _nothing_is_left(scratch: Path) -> None:
    """The last step of undoing: what is still there is removed by force; if even that fails, it is reported."""
    left = leftovers.remove(scratch)
    if left:
        raise ProvisionError("unavailable", f"could not be undone, please remove by hand: {left.words()}")


@contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM does as Ctrl-C; in the main thread alone, which gets the signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
