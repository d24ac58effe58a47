"""`fathom record`: the counters of this host at low cost, or the commands that record elsewhere."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from fathom.cli.campaigns import Quiet
from fathom.cli.command import Command

Out = Annotated[
    Path, typer.Option("--out", "-o", metavar="FILE", help="Where to write; an existing file is not overwritten.")
]
Interval = Annotated[float, typer.Option("--interval", help="Seconds between samples.", min=0.1, max=3600)]
Seconds = Annotated[
    float | None,
    typer.Option(
        "--seconds", help="Stop after this many seconds; at Ctrl-C if not given.", min=0.1, show_default=False
    ),
]
PostgreSQL = Annotated[
    str | None,
    typer.Option(
        "--postgresql",
        metavar="CONNECTION",
        help='Also sample the views of a PostgreSQL server through psql: "host=/run/postgresql dbname=postgres".',
        show_default=False,
    ),
]
Print = Annotated[
    str | None,
    typer.Option(
        "--print",
        metavar="SYSTEM",
        help="Print how to record on: windows, esxi, aws, azure, gcp, postgresql, sqlserver. Records nothing.",
        show_default=False,
    ),
]


def record(
    out: Out = Path("host.fathom"),
    interval: Interval = 1.0,
    seconds: Seconds = None,
    postgresql: PostgreSQL = None,
    system: Print = None,
    quiet: Quiet = False,
) -> None:
    """Record this Linux host for a diagnosis.

    Records the kernel's counters of disks, processor, memory, paging and pressure. One sample per second costs less
    than half a percent of one CPU. `fathom diagnose` reads the file, also while it grows.
    """
    from fathom.diagnose.recipes import recipe

    if system is not None:
        typer.echo(recipe(system))
        return
    from fathom.cli.output import note
    from fathom.host.recorder import record as run

    looks = run(out, interval, seconds, postgresql, None if quiet else note)
    note(f"{looks} looks in {out}; fathom diagnose {shlex.quote(str(out))}")


COMMAND = Command(
    "record",
    54,
    record,
    (
        "fathom record --out night.fathom --seconds 28800",
        'fathom record --postgresql "dbname=postgres" --interval 5',
        "fathom record --print windows",
    ),
)
