"""`fathom io`: one load on one volume, without a study file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fathom.cli.campaigns import Anonymous, AsJson, Out, Quiet, Request, Seed, carry_out
from fathom.cli.command import Command
from fathom.errors import UsageError

Target = Annotated[
    Path | None,
    typer.Argument(
        metavar="[PATH]",
        help="A directory, for a scratch file of each run; or an existing file or block device.",
        show_default=False,
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model", help="A volume or drive of the catalogue, in virtual time, instead of PATH.", show_default=False
    ),
]
Key = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A key of the modelled volume, as a study writes it: iops=20000, throughput=500MiB/s.",
    ),
]
Instance = Annotated[
    str | None,
    typer.Option(
        "--instance",
        metavar="NAME",
        help="The cloud instance of the catalogue that the modelled volume is on: its limits hold as well.",
        show_default=False,
    ),
]
Size = Annotated[str | None, typer.Option("--size", "-s", help="Bytes of a request; 4KiB if not given.")]
Read = Annotated[str | None, typer.Option("--read", help="Share of reads; the rest are writes. 100% if not given.")]
Depth = Annotated[
    int | None,
    typer.Option(
        "--depth",
        "-d",
        min=1,
        max=65536,
        help="Requests outstanding, with --rate at most; 1 if not given, with --rate 1024.",
    ),
]
Rate = Annotated[
    int | None,
    typer.Option(
        "--rate", min=1, help="Open loop: requests that arrive per second, whether or not earlier ones complete."
    ),
]
Offsets = Annotated[
    str | None, typer.Option("--offsets", help="random, sequential, shared-sequential, zipf or hot-spot.")
]
Preset = Annotated[str | None, typer.Option("--preset", help="Named profile (`fathom doc io`) for options not given.")]
Lasts = Annotated[str, typer.Option("--for", help="How long each run measures.")]
Ramp = Annotated[str, typer.Option("--ramp", help="How long each run warms up before that.")]
Area = Annotated[
    str | None,
    typer.Option(
        "--area",
        help="Size of the scratch file (1GiB) or modelled volume (1TiB), or bytes used of an existing one (all).",
        show_default=False,
    ),
]
Rounds = Annotated[int, typer.Option("--rounds", "-r", min=1, help="How many times to run.")]
Goal = Annotated[
    list[str] | None,
    typer.Option(
        "--goal", metavar="LIMIT", help='A limit such as "latency_p99_ms < 5ms"; a miss has its own exit code.'
    ),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Write to an existing file or device: its content is lost.")
]


def io(
    path: Target = None,
    model: Model = None,
    keys: Key = None,
    instance: Instance = None,
    size: Size = None,
    read: Read = None,
    depth: Depth = None,
    rate: Rate = None,
    offsets: Offsets = None,
    preset: Preset = None,
    lasts: Lasts = "30s",
    ramp: Ramp = "2s",
    area: Area = None,
    rounds: Rounds = 1,
    goal: Goal = None,
    seed: Seed = None,
    out: Out = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    anonymise: Anonymous = False,
) -> None:
    """Measure one load on one volume.

    Works like `fathom run` and `fathom simulate` with a study of one volume and one load: same engine, results and
    report. The campaign directory holds that study, for further use.
    """
    from fathom import one_line
    from fathom.engine import core
    from fathom.goals import split
    from fathom.host.machine import processors

    if (path is None) == (model is None):
        raise UsageError("say what to drive: either PATH or --model", "for example: fathom io . --size 8KiB --depth 32")
    if keys and model is None:
        raise UsageError("--set is for a modelled volume", "leave it out, or give --model instead of PATH")
    if instance is not None and model is None:
        raise UsageError("--instance is for a modelled volume", "leave it out, or give --model instead of PATH")
    if model is not None:
        target = one_line.modelled(model, area, one_line.keys(keys or ()), instance, core())
    elif path is not None:
        writes = preset is not None if read is None else read.strip() != "100%"
        target = one_line.real(path, area, writes=writes, overwrite=overwrite)
    load = one_line.Load(size, read, depth, rate, offsets, preset, lasts, ramp, dict(map(split, goal or ())))
    if not load.words:
        load = one_line.Load("4KiB", "100%", 1, None, None, None, lasts, ramp, load.goals)
    clock = "real" if model is None else "virtual"
    carry_out(
        Request(
            Path("io.toml"),
            clock,
            rounds,
            seed,
            out,
            # The same line once more measures once more.
            out is not None,
            target.scratch,
            (),
            False,
            as_json,
            quiet,
            anonymise,
            jobs=1 if model is None else processors(),
            text=one_line.text(target, load),
        )
    )


COMMAND = Command(
    "io",
    25,
    io,
    (
        "fathom io . --size 8KiB --read 70% --depth 32 --for 30s       # a scratch file here",
        "fathom io /dev/nvme1n1 --depth 64                             # reads only: nothing is overwritten",
        "fathom io --model aws/gp3 --size 8KiB --read 70% --rate 2500  # in virtual time",
        "fathom io --model aws/io2-block-express --set iops=20000 --depth 64   # what is bought with it",
        "fathom io --model aws/gp3 --set iops=9000 --instance aws/r5b.large   # and what its machine lets through",
        'fathom io . --preset log-writer --goal "write_latency_p99_ms < 2ms"',
    ),
)
