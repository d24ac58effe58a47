"""What provisioning returns: how each database is reached, and what was started for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathom.provision.host import Host
from fathom.provision.process import Process
from fathom.provision.requirements import Database

if TYPE_CHECKING:
    from fathom.provision.copies import Copy


@dataclass(frozen=True)
class ServerPaths:
    """The directories of a database.

    Attributes:
        data: directory of the data files, empty.
        log: of the log; None: with the data.
        temp: of temporary files; None: with the data.
        socket: a directory with a short path, for sockets (their paths have 107 characters at most).
        before: the copy the data is restored from; None for an empty database.
        after: copies to take once the server has stopped; a load that succeeded adds one.
    """

    data: Path
    log: Path | None
    temp: Path | None
    socket: Path
    before: Copy | None = None
    after: list[Copy] = field(default_factory=list)

    def take_copies(self, host: Host) -> None:
        """Takes the copies that were asked for; the server has stopped."""
        for copy in self.after:
            copy.take(host, self)


@dataclass(frozen=True)
class Server:
    """One database that answers.

    Attributes:
        database: what was asked for.
        connection: as passed to the engine (`_core.run`).
        processes: by role ("server", "standby"); empty for SQLite and for one that ran before.
        facts: small facts worth keeping, such as a version.
        client: command of an interactive client, to sample with; None if there is none.
        client_environment: variables that the client needs; a password is among these.
        neighbour: process of a server that ran before, on this machine; None if unknown.
    """

    database: Database
    connection: dict[str, Any]
    processes: Mapping[str, Process] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    client: tuple[str, ...] | None = None
    client_environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    neighbour: int | None = None

    def died(self) -> str | None:
        """What a server that is gone said last; None if all run."""
        for role, process in self.processes.items():
            if process.exit_code is not None:
                return f"the {role} of databases.{self.database.name} is gone (it said: {process.last_words()})"
        return None
