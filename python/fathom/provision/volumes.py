"""The volumes below places: one fathomd for all of them, each a file of its FUSE mount."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fathom.errors import FathomError
from fathom.host import fathomd
from fathom.provision import waiting
from fathom.provision.failure import ProvisionError
from fathom.provision.host import Host, root_needed
from fathom.provision.process import Process

STOP = ("TERM", "KILL")


def _is_made(volume: Mapping[str, Any]) -> bool:
    """Whether it has to be made before it is first served: the log of a cache laid out, a file of that size."""
    return volume.get("kind") == "writeback" or (volume.get("kind") == "file" and "size" in volume)


@contextmanager
def served(
    host: Host, volumes: Mapping[str, Mapping[str, Any]], names: Sequence[str], scratch: Path, socket: Path
) -> Iterator[tuple[Path, Process, Path]]:
    """The mount (a file per name), the daemon, and its status socket; gone at the end.

    Args:
        host: carries it out.
        volumes: settings of every volume needed, as in the study; relative paths begin in a directory below `scratch`.
        names: of those to be served.
        scratch: where settings, log and relative files go.
        socket: a directory with a short path.

    Raises:
        ProvisionError: we are not root, there is no FUSE here, or the daemon refuses the volumes.
    """
    if not host.dry:
        root_needed("a place on a volume (FUSE, a loop device, a mount)")
    if not host.dry and not os.access("/dev/fuse", os.W_OK):
        raise ProvisionError("unavailable", "/dev/fuse is missing, a place on a volume needs it: modprobe fuse")
    home = host.directory(scratch / "volumes")
    mount = host.directory(scratch / "served")
    status = socket / "status.sock"
    settings = home / "fathomd.toml"
    host.write(settings, settings_text(volumes, names, mount, socket / "nbd.sock", status))
    program = _program(host)
    if any(map(_is_made, volumes.values())):
        host.run([program, "--create", str(settings)], reason="settings")
    command = [host.program("setpriv"), "--pdeathsig=TERM", program, str(settings)]
    # Not for longer: what is never fetched from that socket would hold the daemon up.
    with fathomd.Ready() as ready:
        log = home / "fathomd.log"
        process = host.start(command, log=log, directory=home, stop=STOP, environment=ready.environment)
        try:
            waiting.until(ready.heard, process, "fathomd (volumes of the places)")
        except BaseException:
            process.stop()
            raise
    try:
        yield mount, process, status
    finally:
        process.stop()


def _program(host: Host) -> str:
    if host.dry:
        return fathomd.PROGRAM
    try:
        return fathomd.program()
    except FathomError as problem:
        raise ProvisionError("unavailable", f"{problem.what}: {problem.remedy}") from None


def settings_text(
    volumes: Mapping[str, Mapping[str, Any]], names: Sequence[str], mount: Path, socket: Path, status: Path
) -> str:
    """The daemon's settings file."""
    lines = ["# Written for one run.", "[daemon]", f"socket = {_toml(str(socket))}", f"status = {_toml(str(status))}"]
    # What a run leaves on its volumes is thrown away: nothing has to be drained for it.
    lines += ['at_stop = "keep"', "", "[fuse]", f"mount = {_toml(str(mount))}"]
    for name, settings in volumes.items():
        lines += [
            "",
            f"[volumes.{_toml(name)}]",
            *(f"{_toml(key)} = {_toml(value)}" for key, value in settings.items()),
        ]
    for name in names:
        lines += ["", f"[exports.{_toml(name)}]", f"volume = {_toml(name)}"]
    return "\n".join(lines) + "\n"


def statistics(status: Path) -> dict[str, Any]:
    """Counters of every volume since the daemon's start; empty if it does not answer."""
    with suppress(FathomError):
        return fathomd.ask(status, "GET", "/status")
    return {}


def facts(status: Path) -> dict[str, str]:
    """What the layers say of themselves, as `volumes.VOLUME.WORD`: above all what the loss of a device may take."""
    told = {volume["name"]: volume["facts"] for volume in statistics(status).get("volumes", [])}
    return {f"volumes.{name}.{word}": said for name, words in told.items() for word, said in words.items()}


def drained(status: Path) -> None:
    """Empties the write-back caches: what preparing has left in them is no part of the run.

    Raises:
        ProvisionError: a volume failed.
    """
    try:
        fathomd.drain(status)
    except FathomError as problem:
        raise ProvisionError("input-output", problem.what) from None


def _toml(value: Any) -> str:
    """A value of JSON as TOML writes it on one line."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_toml(str(key))} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    # Strings, numbers and truth values are written alike, characters beyond ASCII as they are.
    return json.dumps(value, ensure_ascii=False)
