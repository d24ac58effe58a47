"""MariaDB: a private server, its backup and check, and its statistics."""

from __future__ import annotations

from fathom.provision.database import Kind
from fathom.provision.database.mariadb import sampling, server

DATABASE = Kind(
    "mariadb",
    port=3306,
    running=server.running,
    background=server.background,
    sampling=sampling,
    client=server.client_of,
    packages={
        **dict.fromkeys(("mariadbd", "mariadb-install-db"), "mariadb-server"),
        **dict.fromkeys(("mariadb", "mariadb-check"), "mariadb-client"),
        "mariadb-backup": "mariadb-backup",
    },
)
