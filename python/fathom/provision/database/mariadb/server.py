"""A private MariaDB server: install-db, settings, start, stop. It listens on a Unix socket only."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from fathom.provision import waiting
from fathom.provision.account import account, cpu_numbers
from fathom.provision.database import Address
from fathom.provision.host import Host
from fathom.provision.requirements import Connect, Database, Setting
from fathom.provision.server import Server, ServerPaths

USER = "root"
DATABASE = "fathom"
STOP = ("TERM", "KILL")
_LOGIN_S = 5


@contextmanager
def running(host: Host, database: Database, paths: ServerPaths) -> Iterator[Server]:
    """A server from nothing; stopped at the end.

    Raises:
        ProvisionError: it could not be started; nothing of it is left running.
    """
    owner = account("mysql")
    if paths.temp is None:
        paths = replace(paths, temp=paths.data.parent / f"{database.name}-temp")
    if paths.before is not None:
        paths.before.restore(host, paths)
    for directory in (paths.data, paths.log, paths.temp, paths.socket):
        if directory is not None:
            host.directory(directory, owner.name)
    settings = [_option(name, value) for name, value in database.settings.items()]
    install = [host.program("mariadb-install-db"), "--no-defaults", f"--datadir={paths.data}", "--skip-test-db"]
    install += ["--auth-root-authentication-method=normal", *_places(paths), *settings]
    if paths.before is None:
        host.run(owner.command(host, install, death="KILL"))
    first = paths.data.parent / f"{paths.data.name}.sql"
    # Whoever opens an Aria table first may have to repair it, in a server that was installed or copied a moment ago. Of
    # two sessions that do so at once, one gets the error that the table is corrupt.
    opened = "SELECT name FROM mysql.proc LIMIT 1;"
    host.write(first, f"CREATE DATABASE IF NOT EXISTS {DATABASE};\n{opened}\n", owner.name)
    answering = paths.socket / "mariadb.sock"
    command = [host.program("mariadbd"), "--no-defaults", f"--datadir={paths.data}", f"--socket={answering}"]
    command += ["--skip-networking", f"--pid-file={paths.socket / 'mariadb.pid'}", f"--init-file={first}"]
    command += [*_places(paths), *settings]
    process = host.start(
        owner.command(host, command, death="KILL", cpus=cpu_numbers(database.cpus, database.name)),
        log=paths.data.parent / f"{paths.data.name}.log",
        directory=paths.data,
        stop=STOP,
    )
    try:
        what = f"the server of databases.{database.name} (MariaDB)"
        waiting.until(lambda: _greets(answering), process, what)
        client = (host.program("mariadb"), "--no-defaults", "-BNn", f"--socket={answering}", f"--user={USER}", DATABASE)
        yield Server(database, connection(answering), {"server": process}, client=client)
    finally:
        process.stop()
    paths.take_copies(host)


def client_of(
    host: Host, connect: Connect, address: Address, password: str | None
) -> tuple[tuple[str, ...], dict[str, str]]:
    """The client on a server that runs already, encrypted as the study says; its password is in its environment."""
    if address.socket is not None:
        at = [f"--socket={address.socket}"]
    else:
        # Without the protocol `localhost` means the socket.
        at = ["--protocol=tcp", f"--host={address.host}", f"--port={address.port}", *_encryption(connect)]
    login = ["-BNn", f"--connect-timeout={_LOGIN_S}", *at, f"--user={connect.user}", connect.database]
    return (host.program("mariadb"), "--no-defaults", *login), {} if password is None else {"MYSQL_PWD": password}


def _encryption(connect: Connect) -> list[str]:
    tls = connect.tls or "prefer"
    if tls == "disable":
        return ["--skip-ssl"]
    if not tls.startswith("verify"):
        return [*(["--ssl"] if tls == "require" else []), "--skip-ssl-verify-server-cert"]
    authorities = [] if connect.tls_ca is None else [f"--ssl-ca={connect.tls_ca}"]
    return ["--ssl", *authorities, "--ssl-verify-server-cert"]


def background(host: Host, server: Server) -> list[str]:
    """The backup (to nowhere: what it reads is what counts) or the check of every table."""
    answering = server.connection["address"]["socket"]
    login = ["--no-defaults", f"--socket={answering}", f"--user={USER}"]
    if server.database.background == "check":
        return [host.program("mariadb-check"), *login, "--check", "--extended", "--all-databases", "--silent"]
    return [host.program("mariadb-backup"), *login, "--backup", "--stream=xbstream"]


def connection(answering: Path) -> dict[str, object]:
    """How the engine reaches it."""
    return {
        "kind": "mariadb",
        "address": {"socket": str(answering)},
        "user": USER,
        "password": None,
        "database": DATABASE,
    }


def _places(paths: ServerPaths) -> list[str]:
    log = [] if paths.log is None else [f"--innodb-log-group-home-dir={paths.log}"]
    return [*log, f"--tmpdir={paths.temp}"]


def _option(name: str, value: Setting) -> str:
    if isinstance(value, bool):
        return f"--{name}={'ON' if value else 'OFF'}"
    return f"--{name}={value}"


def _greets(answering: Path) -> bool:
    """Whether a server at the socket sends its handshake packet."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(5)
        try:
            probe.connect(str(answering))
            return len(probe.recv(5)) > 0
        except OSError:
            return False
