"""Copies of loaded data directories: a run begins with the data as loaded, whatever ran before it.

A copy is taken from a server that has stopped, and restored before one starts: onto the run's own places, file by file,
so that a freshly made file system gets the same data in the same order. Copies live as long as the campaign runs.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from fathom.plan import digest
from fathom.provision.failure import ProvisionError
from fathom.provision.host import Host
from fathom.provision.requirements import Database
from fathom.provision.server import ServerPaths


@dataclass(frozen=True)
class Copy:
    """Where the copy of one database's data is, or will be; `log` is separate if the log has its own place."""

    path: Path

    @property
    def there(self) -> bool:
        """Whether it is whole."""
        return self.path.is_dir()

    def take(self, host: Host, paths: ServerPaths) -> None:
        """Copies the directories of a server that has stopped; whole or not at all.

        Raises:
            ProvisionError: there is no space for it.
        """
        unfinished = self.path.with_name(f".{self.path.name}")
        try:
            host.directory(unfinished)
            _copy(host, paths.data, unfinished / "data")
            if paths.log is not None:
                _copy(host, paths.log, unfinished / "log")
            unfinished.rename(self.path)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise

    def restore(self, host: Host, paths: ServerPaths) -> None:
        """Copies them to where a server is to start; the directories are not there yet.

        Raises:
            ProvisionError: the place is too small.
        """
        host.directory(paths.data.parent)
        _copy(host, self.path / "data", paths.data)
        if paths.log is not None:
            _copy(host, self.path / "log", paths.log)
            link = paths.data / "pg_wal"
            if link.is_symlink():
                link.unlink()
                link.symlink_to(paths.log)
        # Nothing of the copying is left to be written while the run measures.
        os.sync()


def of(copies: Path, database: Database, loads: str) -> Copy:
    """The copy for this data on this kind of server with these settings."""
    kept = [database.kind, sorted(database.settings.items()), database.log_place is not None, loads]
    return Copy(copies / digest("copy", *kept))


def _copy(host: Host, source: Path, target: Path) -> None:
    command = [host.program("cp"), "--archive", "--reflink=auto", str(source), str(target)]
    try:
        host.run(command, reason="input-output")
    except ProvisionError as problem:
        raise ProvisionError(problem.reason, f"copying data to {target}: {problem.message}") from None
