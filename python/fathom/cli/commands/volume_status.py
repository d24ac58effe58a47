"""`fathom volume status`: what a daemon serves, to whom, and how it goes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fathom.cli.campaigns import AsJson
from fathom.cli.command import Command

Place = Annotated[
    Path, typer.Argument(metavar="DAEMON", help="Its settings file, or its status socket.", show_default=False)
]


def status(daemon: Place, as_json: AsJson = False) -> None:
    """Show a running daemon: exports, clients, write-back groups, volumes."""
    from fathom.cli.output import print_json
    from fathom.host.fathomd import ask, status_socket

    found = ask(status_socket(daemon), "GET", "/status")
    print_json(found) if as_json else typer.echo(text(found))


def text(found: dict[str, Any]) -> str:
    """The status as lines for people."""
    seconds = found["uptime_ns"] / 1e9
    lines = [f"fathomd {found['version']}, process {found['process']}, at {found['socket']}"]
    lines.append(f"  {found['phase']}, up {seconds:,.0f} s")
    for export in found["exports"]:
        mode = "read-only" if export["read_only"] else "read and write"
        users = sum(client["export"] == export["name"] for client in found["clients"])
        lines.append(
            f"  export {export['name']}: {export['size']:,} bytes, {mode}, {users} clients, "
            f"{export['failures']} failures"
        )
    for group in found["writeback"]:
        share = 100 * group["dirty_bytes"] / max(1, group["dirty_limit_bytes"])
        lines.append(
            f"  write-back {group['name']}: {group['dirty_bytes']:,} bytes dirty ({share:.0f} % of the limit), "
            f"lag {group['lag_ns'] / 1e9:.1f} s"
        )
    for volume in found["volumes"]:
        counts = ", ".join(
            f"{entry['count']:,} {kind.replace('_', ' ')}" + (f" ({entry['errors']} failed)" if entry["errors"] else "")
            for kind, entry in volume["requests"].items()
        )
        lines.append(f"  {volume['name']} ({volume['kind']}): {counts or 'no requests yet'}")
    return "\n".join(lines)


COMMAND = Command(
    "volume status",
    112,
    status,
    ("fathom volume status fathomd.toml", "fathom volume status /run/fathomd/status.sock --json"),
)
