"""A server that runs already: nothing is started, nothing is stopped; its password comes from the environment."""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fathom.provision import files
from fathom.provision.database import Address, kinds
from fathom.provision.failure import ProvisionError
from fathom.provision.host import Host, words
from fathom.provision.requirements import Connect, Database
from fathom.provision.server import Server


@contextmanager
def running(host: Host, database: Database, connect: Connect) -> Iterator[Server]:
    """The server as the study says it is reached.

    Raises:
        ProvisionError: the variable that should hold the password is not set.
    """
    password = None
    if connect.password_env is not None and not host.dry:
        password = os.environ.get(connect.password_env)
        if password is None:
            raise ProvisionError(
                "settings",
                f"databases.{database.name}: the environment variable {connect.password_env} is not set; it should "
                "hold the password",
            )
    kind = kinds()[database.kind]
    port = connect.port or kind.port
    path: Path | None
    if connect.socket is not None:
        path = Path(connect.socket)
        # A database's tools may name the directory of the socket.
        path = path / kind.socket.format(port=port) if kind.socket and path.is_dir() else path
        address: dict[str, object] = {"socket": str(path)}
    else:
        path = None
        address = {"tcp": [connect.host or "localhost", port]}
    facts = {} if database.restore is None else restored(host, database.restore)
    where = Address(path, connect.host or "localhost", port)
    client: tuple[str, ...] | None = None
    environment: dict[str, str] = {}
    if kind.client is None:
        facts["samples"] = f"not sampled: the statistics of {database.kind} are not read beside a run"
    elif not host.dry:
        try:
            client, environment = kind.client(host, connect, where, password)
        except ProvisionError as problem:
            # The engine has a client of its own: the run needs none, and goes on without what this one would see.
            facts["samples"] = f"not sampled: {problem.message}"
    if not host.dry:
        facts |= files.facts(database.kind, where, client, environment)
    yield Server(
        database,
        {
            "kind": database.kind,
            "address": address,
            "user": connect.user,
            "password": password,
            "login": connect.login,
            "database": connect.database,
            "tls": connect.tls,
            "tls_ca": connect.tls_ca,
            "timeout_ns": connect.timeout_ns,
        },
        facts=facts,
        client=client,
        client_environment=environment,
        neighbour=None if path is None or host.dry else listener(path),
    )


def listener(path: Path) -> int | None:
    """The process that listens on a socket of this machine; None if it does not answer, or is in another container."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
            told = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        except OSError:
            return None
    process = int(struct.unpack("3i", told)[0])
    # The kernel says 0 of a process that is not among ours, and the first one listens for servers it has yet to start.
    return process if process > 1 else None


def restored(host: Host, command: list[str]) -> dict[str, str]:
    """Runs the study's command that restores the data; it has as long as it takes."""
    began = time.monotonic()
    host.run(command, reason="unavailable", patience_s=None)
    return {"restored": f"by `{words(command)}` in {time.monotonic() - began:.1f} s"}
