"""A PostgreSQL standby that every commit waits for: base backup, streaming, then synchronous."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from fathom.provision import waiting
from fathom.provision.account import Account, account
from fathom.provision.database.postgresql import server as postgresql
from fathom.provision.failure import ProvisionError
from fathom.provision.host import Host
from fathom.provision.process import Process
from fathom.provision.requirements import Database, Standby
from fathom.provision.server import Server, ServerPaths

NAME = "fathom_standby"


@contextmanager
def replicated(
    host: Host, database: Database, standby: Standby, paths: ServerPaths, standby_paths: ServerPaths
) -> Iterator[Server]:
    """A primary as `postgresql.running` yields it, with the standby that every commit waits for.

    Raises:
        ProvisionError: one of them could not be started; nothing is left running.
    """
    owner = account("postgres")
    with (
        postgresql.running(host, database, paths) as server,
        following(host, owner, database, standby, paths, standby_paths) as process,
    ):
        yield replace(server, processes={**server.processes, "standby": process})


@contextmanager
def following(
    host: Host, owner: Account, database: Database, standby: Standby, primary: ServerPaths, paths: ServerPaths
) -> Iterator[Process]:
    """The standby, from the moment commits wait for it; stopped at the end, before its primary.

    Args:
        host: carries it out.
        owner: whose servers they are.
        database: as asked for.
        standby: the part of it about the standby.
        primary: where the primary is; it runs.
        paths: where the standby will be.

    Raises:
        ProvisionError: it could not be started, or does not become synchronous.
    """
    for directory in (paths.data, paths.log, paths.socket):
        if directory is not None:
            host.directory(directory, owner.name)
    copy = [host.program("pg_basebackup", postgresql.FOLDERS), "--pgdata", str(paths.data), "--checkpoint=fast"]
    # The server syncs all of it itself before it recovers (`recovery_init_sync_method`): once is enough.
    # The slot: a backup beside the workload begins with a checkpoint, after which the primary removes its log.
    copy += ["--wal-method=stream", "--write-recovery-conf", "--no-sync", "--create-slot", f"--slot={NAME}"]
    copy += [
        "-d",
        f"host={primary.socket} port={postgresql.port_of(database)} user={postgresql.USER} application_name={NAME}",
    ]
    if paths.log is not None:
        copy += ["--waldir", str(paths.log)]
    host.run(owner.command(host, copy, death="KILL"))
    # A later line of the file wins over those copied from the primary.
    postgresql.configure(host, owner, paths, database.settings)
    with postgresql.started(host, owner, database, paths, "standby") as process:
        client = postgresql.client_command(host, primary.socket, postgresql.port_of(database))
        host.run(
            [
                *client,
                *("-c", f"ALTER SYSTEM SET synchronous_standby_names = '{NAME}'"),
                *("-c", f"ALTER SYSTEM SET synchronous_commit = '{standby.commit}'"),
                *("-c", "SELECT pg_reload_conf()"),
            ]
        )
        _wait_until_synchronous(host, client, process, database)
        yield process


def _wait_until_synchronous(host: Host, client: tuple[str, ...], process: Process, database: Database) -> None:
    query = f"SELECT sync_state FROM pg_stat_replication WHERE application_name = '{NAME}'"
    deadline = time.monotonic() + waiting.PATIENCE_S
    while host.run([*client, "-c", query], dry="sync") != "sync":
        if process.exit_code is not None or time.monotonic() > deadline:
            raise ProvisionError(
                "unavailable", f"the standby of databases.{database.name} does not follow: {process.last_words()}"
            )
        time.sleep(0.05)
