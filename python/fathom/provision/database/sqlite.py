"""SQLite: no server, a directory is all it needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fathom.provision.database import Kind
from fathom.provision.host import Host
from fathom.provision.requirements import Database
from fathom.provision.server import Server, ServerPaths


@contextmanager
def running(host: Host, database: Database, paths: ServerPaths) -> Iterator[Server]:
    """A directory for its files."""
    if paths.before is not None:
        paths.before.restore(host, paths)
    host.directory(paths.data)
    yield Server(database, {"kind": "sqlite", "address": {"directory": str(paths.data)}})
    paths.take_copies(host)


DATABASE = Kind("sqlite", running=running)
