"""What `fathom volume top` shows: two looks at a daemon's status as one screen.

Rates are differences between the looks. The volumes stand as a tree, users on top, if the settings file is known. A
trend is one letter per look, tall where the volume did most of what it did lately. No colour says what no word says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import RenderableType

DATA = ("read", "write")
TREND = 24
"""Looks that a trend shows."""

_BLOCKS = " ▁▂▃▄▅▆▇█"
_BAR = 20
_WIDE, _MEDIUM = 150, 110
"""Columns of the terminal from which on percentiles and flushes, and trends, have room."""


@dataclass(frozen=True)
class Line:
    """One volume in the tree: what is drawn before its name, and its name."""

    branch: str
    name: str


def rates(before: dict[str, Any], now: dict[str, Any], seconds: float) -> dict[str, float | None]:
    """One volume between two looks: requests and bytes per second by kind, mean latency in ms."""
    found: dict[str, float | None] = {}
    for kind in (*DATA, "flush"):
        new, old = now["requests"].get(kind), before["requests"].get(kind)
        count = (new["count"] if new else 0) - (old["count"] if old else 0)
        moved = (new["bytes"] if new else 0) - (old["bytes"] if old else 0)
        spent = (new["latency_sum_ns"] if new else 0) - (old["latency_sum_ns"] if old else 0)
        found[f"{kind}_iops"] = count / seconds
        found[f"{kind}_mb_s"] = moved / seconds / 1e6
        found[f"{kind}_ms"] = spent / count / 1e6 if count else None
    return found


def percentile(before: dict[str, Any], now: dict[str, Any], kind: str, bounds: Sequence[int], share: float) -> str:
    """The bound that this share of the requests between two looks stayed below, as text; empty if there were none."""
    new, old = now["requests"].get(kind), before["requests"].get(kind)
    if not new or "latency_counts" not in new:
        return ""
    count = new["count"] - (old["count"] if old else 0)
    if count <= 0:
        return ""
    old_counts = old["latency_counts"] if old else [0] * len(bounds)
    for bound, after, earlier in zip(bounds, new["latency_counts"], old_counts, strict=True):
        if after - earlier >= share * count:
            return f"≤{bound / 1e6:g}"
    return f">{bounds[-1] / 1e6:g}"


def tree(volumes: Sequence[str], settings: Mapping[str, Any] | None) -> list[Line]:
    """All volumes, each below its user. Parts that a model consists of (`ebs.device`) stand below it.

    Args:
        volumes: names as the status lists them, the lower ones first.
        settings: `[volumes.*]` of the daemon's file; None if it is not known, which yields a flat list.
    """
    if settings is None:
        return [Line("", name) for name in reversed(volumes)]
    from fathom.export.settings import references

    refers = references()
    below: dict[str, list[str]] = {name: [] for name in volumes}
    for name in volumes:
        table = settings.get(name, {})
        values = [value for key, value in table.items() if key in refers.get(table.get("kind", ""), ())]
        referred = [one for value in values for one in (value if isinstance(value, list) else [value])]
        parts = [part for part in volumes if part.startswith(f"{name}.")]
        below[name] = [one for one in [*parts, *referred] if isinstance(one, str) and one in below and one != name]
    used = {child for children in below.values() for child in children}
    lines: list[Line] = []
    seen: set[str] = set()

    def walk(name: str, first: str, rest: str) -> None:
        if name in seen:
            return
        seen.add(name)
        lines.append(Line(first, name))
        children = [child for child in below[name] if child not in seen]
        for at, child in enumerate(children):
            last = at == len(children) - 1
            walk(child, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "))

    for name in reversed(volumes):
        if name not in used:
            walk(name, "", "")
    # A file that was changed since the daemon read it may say anything.
    return [*lines, *(Line("", name) for name in reversed(volumes) if name not in seen)]


def trend(values: Sequence[float]) -> str:
    """One letter per value, the highest as tall as the line."""
    top = max(values, default=0.0)
    if top <= 0:
        return " " * len(values)
    return "".join(_BLOCKS[0 if value <= 0 else max(1, round(value / top * 8))] for value in values)


def bar(share: float) -> str:
    """A share from 0 to 1 as a bar."""
    filled = round(min(1.0, max(0.0, share)) * _BAR)
    return "█" * filled + "░" * (_BAR - filled)


class View:
    """The screen, with what it remembers of earlier looks.

    Args:
        settings: `[volumes.*]` of the daemon's file, if it is known.
    """

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        self._settings = settings
        self._history: dict[str, list[float]] = {}

    def show(self, before: dict[str, Any], now: dict[str, Any], width: int) -> RenderableType:
        """Both looks as one screen of that many columns."""
        from rich.console import Group

        seconds = max(1e-9, (now["uptime_ns"] - before["uptime_ns"]) / 1e9)
        parts = [self._head(now), self._volumes(before, now, seconds, width), *self._caches(before, now, seconds)]
        return Group(*parts, *self._mirrors(before, now, seconds), *self._exports(now))

    def _head(self, now: dict[str, Any]) -> RenderableType:
        from rich.text import Text

        outstanding = sum(client["outstanding"] for client in now["clients"] if "outstanding" in client)
        clients = len(now["clients"])
        head = Text.assemble(
            ("fathomd", "bold"),
            f" {now['version']}  ",
            (now["phase"], "bold green" if now["phase"] == "serving" else "bold yellow"),
            f"  up {_span(now['uptime_ns'])}  {clients} client{'' if clients == 1 else 's'}, {outstanding} outstanding",
        )
        head.no_wrap = True
        return head

    def _volumes(self, before: dict[str, Any], now: dict[str, Any], seconds: float, width: int) -> RenderableType:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        wide, medium = width >= _WIDE, width >= _MEDIUM
        shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
        shown.add_column("volume", no_wrap=True)
        for kind in DATA:
            for head in (f"{kind}/s", "MB/s", "ms", *(["p99 ms"] if wide else [])):
                shown.add_column(head, justify="right", no_wrap=True)
        for head in (*(["flush/s", "ms"] if wide else []), "out"):
            shown.add_column(head, justify="right", no_wrap=True)
        if medium:
            shown.add_column("I/O trend", no_wrap=True, min_width=TREND)
        old = {volume["name"]: volume for volume in before["volumes"]}
        new = {volume["name"]: volume for volume in now["volumes"]}
        bounds = now.get("latency_bounds_ns", [])
        for line in tree(list(new), self._settings):
            volume, earlier = new[line.name], old.get(line.name, new[line.name])
            rate = rates(earlier, volume, seconds)
            cells: list[str] = []
            for kind in DATA:
                cells += [_number(rate[f"{kind}_{what}"]) for what in ("iops", "mb_s", "ms")]
                cells += [percentile(earlier, volume, kind, bounds, 0.99) or "-"] if wide else []
            cells += [_number(rate["flush_iops"]), _number(rate["flush_ms"])] if wide else []
            failed = sum(entry["errors"] for entry in volume["requests"].values())
            name = Text.assemble((line.branch, "dim"), (line.name, "bold"), (f" {volume['kind']}", "dim"))
            if failed:
                name.append(f" {failed:,} failed", "bold red")
            row: list[RenderableType] = [name, *cells, str(volume["outstanding"])]
            history = self._remember(line.name, sum(rate[f"{kind}_iops"] or 0.0 for kind in DATA))
            shown.add_row(*row, *([trend(history)] if medium else []))
        return shown

    def _remember(self, name: str, value: float) -> list[float]:
        kept = [*self._history.get(name, []), value][-TREND:]
        self._history[name] = kept
        return kept

    def _caches(self, before: dict[str, Any], now: dict[str, Any], seconds: float) -> Iterator[RenderableType]:
        from rich.text import Text

        old = {group["name"]: group for group in before["writeback"]}
        for group in now["writeback"]:
            earlier = old.get(group["name"], group)
            share = group["dirty_bytes"] / max(1, group["dirty_limit_bytes"])
            logged, applied = (
                (group.get(key, 0) - earlier.get(key, 0)) / seconds / 1e6 for key in ("log_bytes", "applied_bytes")
            )
            delayed = (group.get("delayed_ns", 0) - earlier.get("delayed_ns", 0)) / seconds / 1e9
            dirty = f"{group['dirty_bytes'] / 1e6:,.0f} of {group['dirty_limit_bytes'] / 1e6:,.0f} MB dirty"
            line = Text.assemble(
                ("cache ", "dim"),
                (group["name"], "bold"),
                "  ",
                (bar(share), "yellow" if share >= 0.9 else "cyan"),
                f" {100 * share:.0f} %  {dirty}  lag {group['lag_ns'] / 1e9:.1f} s",
                f"  in {_number(logged)} MB/s  out {_number(applied)} MB/s",
            )
            if delayed > 0.001:
                line.append(f"  writers wait {delayed:.2g} s per s", "bold yellow")
            if len(legs := group.get("legs", [])) > 1:
                line.append("  " + ", ".join(f"{leg['name']} {leg['standing']}" for leg in legs))
            if group.get("copying_bytes"):
                line.append(f"  {group['copying_bytes'] / 1e6:,.0f} MB to copy", "bold yellow")
            if group.get("checksum_errors"):
                line.append(f"  {group['checksum_errors']:,} checksum errors", "bold red")
            if (lost := group.get("lost_incarnation")) is not None:
                line.append(f"  went on without the cache of incarnation {lost}", "bold red")
            yield line

    def _mirrors(self, before: dict[str, Any], now: dict[str, Any], seconds: float) -> Iterator[RenderableType]:
        from rich.text import Text

        old = {volume["name"]: volume.get("counters", {}) for volume in before["volumes"]}
        for volume in now["volumes"]:
            counted = volume.get("counters", {})
            if "legs_in_sync" not in counted:
                continue
            legs = counted["legs_in_sync"]
            text = Text.assemble(
                ("mirror ", "dim"), (volume["name"], "bold"), f"  {legs} leg{'' if legs == 1 else 's'} in sync"
            )
            left = counted.get("resync_left_bytes", 0)
            if left:
                copied = counted["resync_bytes"] - old.get(volume["name"], {}).get("resync_bytes", 0)
                rate = copied / seconds
                time = f", {left / rate:,.0f} s to go" if rate > 0 else ""
                told = f"  rebuilding: {left / 1e6:,.0f} MB left at {_number(rate / 1e6)} MB/s{time}"
                text.append(told, "bold yellow")
            if dropped := counted.get("legs_dropped", 0):
                text.append(f"  {dropped:,} dropped, {counted.get('legs_rebuilt', 0):,} rebuilt since the start")
            yield text

    def _exports(self, now: dict[str, Any]) -> Iterator[RenderableType]:
        from rich.text import Text

        for export in now["exports"]:
            users = [client for client in now["clients"] if client["export"] == export["name"]]
            text = Text.assemble(
                ("export ", "dim"),
                (export["name"], "bold"),
                f"  {export['size'] / 1e9:,.1f} GB  {len(users)} client{'' if len(users) == 1 else 's'}",
                "  read-only" if export["read_only"] else "",
            )
            if export["failures"]:
                text.append(f"  {export['failures']:,} requests failed", "bold red")
            yield text
        for device in now.get("devices", []):
            yield Text.assemble(
                ("device ", "dim"),
                (device["path"], "bold"),
                f"  {device['export']}, {device['outstanding']} outstanding",
            )


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _span(nanoseconds: int) -> str:
    seconds = int(nanoseconds / 1e9)
    days, rest = divmod(seconds, 86_400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days} d {clock}" if days else clock
