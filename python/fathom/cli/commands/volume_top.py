"""`fathom volume top`: a daemon's volumes live, layer by layer."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathom.cli.command import Command

if TYPE_CHECKING:
    from rich.table import Table

Place = Annotated[
    Path, typer.Argument(metavar="DAEMON", help="Its settings file, or its status socket.", show_default=False)
]
DATA = ("read", "write")


def top(
    daemon: Place,
    interval: Annotated[float, typer.Option("--interval", min=0.1, help="Seconds between two looks.")] = 1.0,
    count: Annotated[int | None, typer.Option("--count", min=1, help="Looks; until Ctrl-C if not given.")] = None,
) -> None:
    """Watch IOPS, MB/s, latency and outstanding requests of every layer, and how full write-back caches are."""
    from rich.live import Live

    from fathom.cli.output import console
    from fathom.host.fathomd import ask, status_socket

    socket = status_socket(daemon)
    before = ask(socket, "GET", "/status")
    with Live(console=console(), auto_refresh=False) as live:
        while count is None or count > 0:
            time.sleep(interval)
            now = ask(socket, "GET", "/status")
            live.update(table(before, now), refresh=True)
            before = now
            count = None if count is None else count - 1


def rates(before: dict[str, Any], now: dict[str, Any], seconds: float) -> dict[str, float | None]:
    """One volume between two looks: requests and bytes per second by kind, mean latency of reads and writes in ms."""
    found: dict[str, float | None] = {}
    for kind in DATA:
        new, old = now["requests"].get(kind), before["requests"].get(kind)
        count = (new["count"] if new else 0) - (old["count"] if old else 0)
        moved = (new["bytes"] if new else 0) - (old["bytes"] if old else 0)
        spent = (new["latency_sum_ns"] if new else 0) - (old["latency_sum_ns"] if old else 0)
        found[f"{kind}_iops"] = count / seconds
        found[f"{kind}_mb_s"] = moved / seconds / 1e6
        found[f"{kind}_ms"] = spent / count / 1e6 if count else None
    return found


def table(before: dict[str, Any], now: dict[str, Any]) -> Table:
    """Both looks as one table, one line per volume, from the top down."""
    from rich.markup import escape
    from rich.table import Table

    seconds = max(1e-9, (now["uptime_ns"] - before["uptime_ns"]) / 1e9)
    groups = {group["name"]: group for group in now["writeback"]}
    shown = Table(title=f"fathomd: {now['phase']}, {len(now['clients'])} clients")
    heads = ("volume", "read/s", "MB/s", "ms", "write/s", "MB/s", "ms", "outstanding", "dirty", "lag s")
    for head in heads:
        shown.add_column(head, justify="left" if head == "volume" else "right")
    old = {volume["name"]: volume for volume in before["volumes"]}
    for volume in reversed(now["volumes"]):
        rate = rates(old.get(volume["name"], volume), volume, seconds)
        cells = [_number(rate[f"{kind}_{what}"]) for kind in DATA for what in ("iops", "mb_s", "ms")]
        group = groups.get(volume["name"])
        dirty = f"{100 * group['dirty_bytes'] / max(1, group['dirty_limit_bytes']):.0f} %" if group else ""
        lag = f"{group['lag_ns'] / 1e9:.1f}" if group else ""
        name = escape(f"{volume['name']} ({volume['kind']})")
        shown.add_row(name, *cells, str(volume["outstanding"]), dirty, lag)
    return shown


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


COMMAND = Command(
    "volume top", 115, top, ("fathom volume top fathomd.toml", "fathom volume top fathomd.toml --interval 5")
)
