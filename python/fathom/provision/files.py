"""Where the files of a server that ran before lie: whether on this machine, and whether in memory.

A server names its directories. That a path of that name is here says little: the server may run on another machine, or
in a container. What the server wrote there itself (when it started, its process) tells that it is the same.
"""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fathom.host.mounts import file_system
from fathom.provision.database import Address

UNKNOWN = "where they lie is not known"
_PATIENCE_S = 10.0
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})


def facts(kind: str, address: Address, client: Sequence[str] | None, environment: Mapping[str, str]) -> dict[str, str]:
    """The fact `files`; `files.may_lose` as well where they are in memory."""
    there = _directories(kind, address, client, environment)
    if not there:
        return {"files": UNKNOWN}
    systems = {path: file_system(path) for path in there}
    told = {"files": ", ".join(f"{path} ({system.mount.kind})" for path, system in systems.items())}
    kinds = [system.mount.kind for system in systems.values() if system.in_memory]
    return told | ({"files.may_lose": in_memory(kinds[0])} if kinds else {})


def in_memory(kind: str) -> str:
    """What a database loses whose data or log lie on no disk."""
    return f"its files are in memory ({kind}): a restart takes all of them"


def _directories(
    kind: str, address: Address, client: Sequence[str] | None, environment: Mapping[str, str]
) -> list[Path]:
    ask = _ASK.get(kind)
    if ask is None or client is None or (address.socket is None and address.host not in _LOCAL):
        return []

    def answer(sql: str) -> str:
        flag = "-c" if kind == "postgresql" else "-e"
        done = subprocess.run(
            [*client, flag, sql], env={**os.environ, **environment, "LC_ALL": "C"}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=True, timeout=_PATIENCE_S,
        )  # fmt: skip
        return done.stdout.strip()

    try:
        return ask(answer)
    except (OSError, ValueError, subprocess.SubprocessError):
        # The right to ask is missing, or the server does not answer: the run finds that out, or needs none of it.
        return []


def postgresql(answer: Callable[[str], str]) -> list[Path]:
    """Its directories, if the file of its process there was written by this server when it started."""
    said = answer(
        "SELECT current_setting('data_directory'), current_setting('port'), "
        "extract(epoch FROM pg_postmaster_start_time())::bigint"
    )
    directory, port, started = said.rsplit("|", 2)
    lines = (Path(directory) / "postmaster.pid").read_text(encoding="utf-8").splitlines()
    # The file has whole seconds of a moment just before the one that the server tells.
    if lines[3].strip() != port or abs(int(lines[2]) - int(started)) > 1:
        return []
    return _each(Path(directory), Path(directory) / "pg_wal")


def mariadb(answer: Callable[[str], str]) -> list[Path]:
    """Its directories, if its process is one of this machine's and sees the same files as this one."""
    said = answer("SELECT @@hostname, @@pid_file, @@datadir, @@innodb_log_group_home_dir")
    host, process_file, data, log = said.split("\t")
    process = int((Path(data) / process_file).read_text(encoding="utf-8"))
    same = Path(f"/proc/{process}/ns/mnt").readlink() == Path("/proc/self/ns/mnt").readlink()
    if host != socket.gethostname() or not same:
        return []
    return _each(Path(data), Path(data) / log)


def _each(*paths: Path) -> list[Path]:
    return list(dict.fromkeys(path.resolve(strict=True) for path in paths))


_ASK: Mapping[str, Callable[[Callable[[str], str]], list[Path]]] = {"postgresql": postgresql, "mariadb": mariadb}
