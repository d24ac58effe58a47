"""`fathom volume drain`: backing volumes brought up to date while clients go on."""

from __future__ import annotations

from typing import Annotated

import typer

from fathom.cli.command import Command, Daemon


def drain(
    daemon: Daemon,
    stop: Annotated[bool, typer.Option("--stop", help="Stop the daemon afterwards, like SIGTERM.")] = False,
) -> None:
    """Wait until the backing volumes hold everything answered so far.

    Afterwards you can take a snapshot of them, or stop the daemon: the stop then has little left to do.
    """
    from fathom.cli.output import note
    from fathom.host.fathomd import DRAIN_PATIENCE_S, ask, status_socket

    socket = status_socket(daemon)
    ask(socket, "POST", "/drain", DRAIN_PATIENCE_S)
    note("the backing volumes are complete up to this command")
    if stop:
        ask(socket, "POST", "/stop")
        note("stopping")


COMMAND = Command(
    "volume drain", 113, drain, ("fathom volume drain fathomd.toml", "fathom volume drain fathomd.toml --stop")
)
