"""PostgreSQL: a private server, perhaps with a standby, its backup and check, and its statistics."""

from __future__ import annotations

from fathom.provision.database import Kind
from fathom.provision.database.postgresql import sampling, server, standby

DATABASE = Kind(
    "postgresql",
    port=server.PORT,
    socket=".s.PGSQL.{port}",
    running=server.running,
    replicated=standby.replicated,
    background=server.background,
    sampling=sampling,
    client=server.client_of,
    packages={
        **dict.fromkeys(("initdb", "postgres", "pg_basebackup", "pg_amcheck"), "postgresql"),
        "psql": "postgresql-client",
    },
)
