"""SQLite: no server, a directory is all it needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fathom.provision.host import Host
from fathom.provision.server import Ground, Server
from fathom.provision.wanted import Database


@contextmanager
def running(host: Host, database: Database, ground: Ground) -> Iterator[Server]:
    """A directory for its files."""
    if ground.before is not None:
        ground.before.restore(host, ground)
    host.directory(ground.data)
    yield Server(database, {"kind": "sqlite", "address": {"directory": str(ground.data)}})
    ground.take_copies(host)
