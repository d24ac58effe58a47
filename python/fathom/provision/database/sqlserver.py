"""SQL Server: servers that run already."""

from __future__ import annotations

from fathom.provision.database import Kind

DATABASE = Kind("sqlserver", port=1433)
