"""`fathom volume drain`: backing volumes brought up to date while clients go on."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

import typer

from fathom.cli.command import Command, Daemon
from fathom.errors import FathomError


def drain(
    daemon: Daemon,
    stop: Annotated[bool, typer.Option("--stop", help="Stop the daemon afterwards, like SIGTERM.")] = False,
) -> None:
    """Wait until the backing volumes hold everything answered so far.

    Afterwards you can take a snapshot of them, or stop the daemon: the stop then has little left to do. If a cache is
    fenced, devices complete nothing for `stall_patience`, or the daemon does not answer, the command ends with exit
    code 4. With `--stop` the daemon is stopped all the same.
    """
    from fathom.cli.output import note
    from fathom.host import fathomd

    socket = fathomd.status_socket(daemon)
    try:
        fathomd.drain(socket)
    except FathomError:
        if stop:
            # It ends by itself then, and says what was not drained. Why it cannot drain is the error to show.
            with suppress(FathomError):
                fathomd.ask(socket, "POST", "/stop")
                note("stopping, not drained")
        raise
    note("the backing volumes are complete up to this command")
    if stop:
        fathomd.ask(socket, "POST", "/stop")
        note("stopping")


COMMAND = Command(
    "volume drain", 113, drain, ("fathom volume drain fathomd.toml", "fathom volume drain fathomd.toml --stop")
)
