"""A private PostgreSQL server: initdb, settings, start, stop. It listens on a Unix socket only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from fathom.provision import waiting
from fathom.provision.account import Account, account, cpu_numbers
from fathom.provision.database import Address
from fathom.provision.host import Host
from fathom.provision.process import Process
from fathom.provision.requirements import Connect, Database, Setting
from fathom.provision.server import Server, ServerPaths

FOLDERS = tuple(str(path) for path in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True))
"""Where Debian keeps its programs, the newest version first."""

USER = "fathom"
DATABASE = "postgres"
PORT = 5432
_LOGIN_S = 5
_AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"
"""Those of the system: libpq takes only those it is told."""
STOP = ("INT", "QUIT", "KILL")
"""Fast shutdown with a checkpoint; immediate; by force."""


@contextmanager
def running(host: Host, database: Database, paths: ServerPaths) -> Iterator[Server]:
    """A server from nothing; stopped at the end.

    Raises:
        ProvisionError: it could not be started; nothing of it is left running.
    """
    owner = account("postgres")
    create(host, owner, paths)
    configure(host, owner, paths, database.settings)
    with started(host, owner, database, paths, "server") as process:
        port = port_of(database)
        client = client_command(host, paths.socket, port)
        if paths.temp is not None:
            use_temporary_place(host, client, paths.temp)
        yield Server(database, connection(paths.socket, port), {"server": process}, client=client)
    paths.take_copies(host)


def create(host: Host, owner: Account, paths: ServerPaths) -> None:
    """An empty cluster, or the one a copy holds; its log goes to `paths.log` if that is a place of its own."""
    if paths.before is not None:
        paths.before.restore(host, paths)
    for directory in (paths.data, paths.log, paths.temp, paths.socket):
        if directory is not None:
            host.directory(directory, owner.name)
    if paths.before is not None:
        return
    command = [host.program("initdb", FOLDERS), "--pgdata", str(paths.data), f"--username={USER}", "--auth=trust"]
    command += ["--encoding=UTF8", "--no-locale", "--data-checksums", "--no-instructions"]
    if paths.log is not None:
        command += ["--waldir", str(paths.log)]
    host.run(owner.command(host, command, death="KILL"))


def configure(host: Host, owner: Account, paths: ServerPaths, settings: Mapping[str, Setting]) -> None:
    """Where it listens, and the study's settings; a later line of the file wins over an earlier one."""
    ours: dict[str, Setting] = {
        "listen_addresses": "",
        "unix_socket_directories": str(paths.socket),
        "port": PORT,
        "logging_collector": False,
        "track_io_timing": True,
        "track_wal_io_timing": True,
    }
    lines = [f"{name} = {_quoted(value)}" for name, value in {**ours, **settings}.items()]
    text = "\n# Written for this run.\n" + "\n".join(lines) + "\n"
    host.write(paths.data / "postgresql.conf", text, owner.name, append=True)


@contextmanager
def started(host: Host, owner: Account, database: Database, paths: ServerPaths, role: str) -> Iterator[Process]:
    """The server of a cluster that exists, from the moment it answers; stopped at the end."""
    command = owner.command(
        host,
        [host.program("postgres", FOLDERS), "-D", str(paths.data)],
        death="QUIT",
        cpus=cpu_numbers(database.cpus, database.name),
    )
    log = paths.data.parent / f"{paths.data.name}.log"
    process = host.start(command, log=log, directory=paths.data, stop=STOP)
    try:
        waiting.until(lambda: _ready(paths.data), process, f"the {role} of databases.{database.name} (PostgreSQL)")
        yield process
    finally:
        process.stop()


def port_of(database: Database) -> int:
    """The port its socket is named after: the study's setting, or the usual one."""
    return int(database.settings.get("port", PORT))


def connection(socket: Path, port: int) -> dict[str, object]:
    """How the engine reaches it."""
    return {
        "kind": "postgresql",
        "address": {"socket": str(socket / f".s.PGSQL.{port}")},
        "user": USER,
        "password": None,
        "database": DATABASE,
    }


def client_command(host: Host, socket: Path, port: int) -> tuple[str, ...]:
    """The client psql on this server: unaligned, tuples only, errors end it."""
    program = host.program("psql", FOLDERS)
    return (program, "-XqAt", "-v", "ON_ERROR_STOP=1", "-h", str(socket), "-p", str(port), "-U", USER, "-d", DATABASE)


def client_of(
    host: Host, connect: Connect, address: Address, password: str | None
) -> tuple[tuple[str, ...], dict[str, str]]:
    """The client psql on a server that runs already, encrypted as the study says; its environment has the password."""
    at = address.host if address.socket is None else str(address.socket.parent)
    command = (
        host.program("psql", FOLDERS), "-XqAtw", "-v", "ON_ERROR_STOP=1",
        "-h", at, "-p", str(address.port), "-U", connect.user, "-d", connect.database,
    )  # fmt: skip
    environment = {"PGAPPNAME": "fathom", "PGCONNECT_TIMEOUT": str(_LOGIN_S), "PGSSLMODE": connect.tls or "prefer"}
    authorities = connect.tls_ca or (_AUTHORITIES if Path(_AUTHORITIES).exists() else None)
    if authorities is not None and environment["PGSSLMODE"].startswith("verify"):
        environment["PGSSLROOTCERT"] = authorities
    return command, environment | ({} if password is None else {"PGPASSWORD": password})


def background(host: Host, server: Server) -> list[str]:
    """The backup (to nowhere: what it reads is what counts) or the check of every table and index."""
    path = Path(server.connection["address"]["socket"])
    login = ["-h", str(path.parent), "-p", str(port_of(server.database)), "-U", USER]
    if server.database.background == "check":
        check = ["--install-missing", "--heapallindexed", "--no-strict-names"]
        return [host.program("pg_amcheck", FOLDERS), *login, *check, "-d", DATABASE]
    plain = ["-D", "-", "-F", "tar", "-X", "none", "--checkpoint=fast", "--no-manifest"]
    return [host.program("pg_basebackup", FOLDERS), *login, *plain]


def use_temporary_place(host: Host, client: tuple[str, ...], temp: Path) -> None:
    """Temporary tables and files go to a tablespace of their own."""
    host.run([*client, "-c", f"CREATE TABLESPACE fathom_temp LOCATION {_literal(str(temp))}"])
    host.run([*client, "-c", "ALTER SYSTEM SET temp_tablespaces = 'fathom_temp'", "-c", "SELECT pg_reload_conf()"])


def _ready(data: Path) -> bool:
    """Whether the server says so in the eighth line of its pid file, as pg_ctl looks for it."""
    try:
        lines = (data / "postmaster.pid").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    return len(lines) >= 8 and lines[7].strip() == "ready"


def _quoted(value: Setting) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return _literal(str(value))


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
