"""`fathom volume status`: what a daemon serves, to whom, and how it goes."""

from __future__ import annotations

from typing import Any

import typer

from fathom.cli.campaigns import AsJson
from fathom.cli.command import Command, Daemon


def status(daemon: Daemon, as_json: AsJson = False) -> None:
    """Show a running daemon: exports, clients, write-back groups, mirrors, volumes."""
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
        if why := group.get("fenced"):
            lines.append(f"    FENCED, nothing more is accepted: {why}")
        if len(legs := group.get("legs", [])) > 1:
            told = ", ".join(f"{leg['name']} {leg['standing']}" for leg in legs)
            copying = f"; {group['copying_bytes']:,} bytes to copy" if group.get("copying_bytes") else ""
            lines.append(f"    cache devices: {told}{copying}")
        if loss := group.get("last_loss"):
            lines.append(
                f"    went on without the cache of incarnation {loss['incarnation']}, from write "
                f"{loss['stands_at_write']:,}: lost {loss['least_bytes']:,} to {loss['most_bytes']:,} bytes of log, "
                f"{loss['least_flushes']:,} flushes or more, "
                f"{loss['least_span_ns'] / 1e9:.1f} to {loss['most_span_ns'] / 1e9:.1f} s of writes"
            )
            if loss.get("torn"):
                lines.append("    the volumes may be of no one moment: restore databases from a backup, or check them")
    for mirror in found.get("mirrors", []):
        lines.extend(_mirror(mirror))
    for volume in found["volumes"]:
        counts = ", ".join(
            f"{entry['count']:,} {kind.replace('_', ' ')}" + (f" ({entry['errors']} failed)" if entry["errors"] else "")
            for kind, entry in volume["requests"].items()
        )
        lines.append(f"  {volume['name']} ({volume['kind']}): {counts or 'no requests yet'}")
        counted = volume.get("counters", {})
        if "extents_moved" in counted:
            lines.append(
                f"    rebalancing: {counted['extents_moved']:,} extents moved since the start, "
                f"{counted['resync_left_bytes']:,} bytes left"
            )
    return "\n".join(lines)


def _mirror(mirror: dict[str, Any]) -> list[str]:
    legs = ", ".join(f"{leg['name']} {leg['state']}" for leg in mirror["legs"])
    lines = [f"  mirror {mirror['name']}: {legs}; {mirror['bitmap_dirty_bytes']:,} bytes may differ"]
    if left := mirror["resync_left_bytes"]:
        rate, eta = mirror["resync_bytes_per_second"], mirror["resync_eta_ns"]
        until = "" if eta is None else f", {eta / 1e9:,.0f} s to go"
        lines.append(f"    rebuild: {left:,} bytes left, {rate / 1e6:,.1f} MB/s{until}")
    return lines


COMMAND = Command(
    "volume status",
    112,
    status,
    ("fathom volume status fathomd.toml", "fathom volume status /run/fathomd/status.sock --json"),
)
