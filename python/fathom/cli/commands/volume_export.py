"""`fathom volume export`: volumes in the words of other systems."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fathom.cli.command import Command, completing

Settings = Annotated[
    Path, typer.Argument(metavar="SETTINGS", help="A daemon's settings file, or a study.", show_default=False)
]


def _targets() -> list[str]:
    from fathom.export.target import targets

    return [target.name for target in targets()]


def export(
    settings: Settings,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="TARGET",
            autocompletion=completing(_targets),
            help="storage-spaces, lvm, systemd, terraform-aws or vsphere.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Write the files to this directory; printed if not given."),
    ] = None,
    variant: Annotated[
        list[str] | None,
        typer.Option(
            "--variant", metavar="FACTOR=LEVEL", help="A study: the level to export of a factor; may be repeated."
        ),
    ] = None,
    device: Annotated[
        list[str] | None,
        typer.Option(
            "--device", metavar="VOLUME=DISK", help="The disk that takes the place of a volume; may be repeated."
        ),
    ] = None,
    mount: Annotated[
        list[str] | None,
        typer.Option("--mount", metavar="EXPORT=DIR", help="systemd: where an export is mounted; may be repeated."),
    ] = None,
    unit: Annotated[
        list[str] | None,
        typer.Option("--unit", metavar="UNIT", help="systemd: a database's unit that waits for them; may be repeated."),
    ] = None,
    spare_disk: Annotated[
        list[str] | None,
        typer.Option(
            "--spare-disk",
            metavar="DISK",
            help="storage-spaces: takes the cache before a stop; once for each disk of the cache.",
        ),
    ] = None,
    temp_disk: Annotated[
        str | None,
        typer.Option("--temp-disk", metavar="DISK", help="storage-spaces: drive S: for tempdb, new at every start."),
    ] = None,
    leave_out: Annotated[
        list[str] | None,
        typer.Option("--leave-out", metavar="VOLUME.KEY", help="A key to export without; may be repeated."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite an earlier export, and remove what it alone had.")
    ] = False,
) -> None:
    """Export volumes to Storage Spaces, LVM, systemd, Terraform or vSphere.

    Every key in the settings is a requirement: a key that the target cannot express is refused by name, with a
    remedy. The head of each file says what still differs. Of a study one variant is exported: the volumes that its
    workload uses, and those below them. docs/EXPORT.md explains the targets.
    """
    from fathom.cli.output import note
    from fathom.errors import UsageError
    from fathom.export import settings as reader
    from fathom.export.target import ExportRequest, of_earlier_exports, targets
    from fathom.export.target import export as exported

    known = {target.name: target for target in targets()}
    if to not in known:
        raise UsageError(f"--to {to}: no such target", f"one of {', '.join(known)}")
    wanted = ExportRequest(
        reader.load(settings, _pairs("variant", variant or [])),
        _pairs("device", device or []),
        _pairs("mount", mount or []),
        tuple(unit or []),
        tuple(_disk("spare-disk", name) for name in spare_disk or []),
        None if temp_disk is None else _disk("temp-disk", temp_disk),
    )
    files, notes = exported(known[to], wanted, frozenset(leave_out or []))
    for line in notes:
        note(line)
    if out is None:
        for file in files:
            typer.echo(f"#### {file.name}")
            typer.echo(file.text)
        return
    names = {file.name for file in files}
    earlier = of_earlier_exports(out, known[to], wanted.settings)
    taken = sorted({name for name in names if (out / name).exists()} | set(earlier))
    if taken and not force:
        raise UsageError(f"{out}: {', '.join(taken)} already exist", "choose another folder, or --force")
    for name in earlier:
        if name not in names:
            (out / name).unlink()
            note(f"{out / name}: removed, of an earlier export")
    for file in files:
        path = out / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")
        path.chmod(0o755 if file.program else 0o644)
        typer.echo(path)


def _pairs(option: str, given: list[str]) -> dict[str, str]:
    from fathom.errors import UsageError

    pairs: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name or not value or any(ord(letter) < 32 for letter in value):
            raise UsageError(f"--{option} {text}: not NAME=VALUE", "write it with one equals sign in between")
        if name in pairs:
            raise UsageError(f"--{option} {name} is given twice", "leave one out")
        pairs[name] = value
    return pairs


def _disk(option: str, name: str) -> str:
    from fathom.errors import UsageError

    if not name.strip() or any(ord(letter) < 32 for letter in name):
        raise UsageError(f"--{option} {name!r}: names no disk", "give a serial number, a friendly name, or local:N")
    return name


COMMAND = Command(
    "volume export",
    116,
    export,
    (
        "fathom volume export fathomd.toml --to systemd --mount data=/srv/data --unit postgresql.service",
        "fathom volume export packaging/examples/durable.toml --to lvm --out scripts",
        'fathom volume export study.toml --to terraform-aws --variant "storage=stripe of four"',
        (
            "fathom volume export packaging/examples/postgresql.toml --to storage-spaces --leave-out data.drain_target "
            "--leave-out data.lag_max --device ebs=vol1 --device nvme=local:2 --spare-disk vol2"
        ),
    ),
)
