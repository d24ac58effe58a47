"""What `fathom volume top` shows: two looks at a daemon's status as one screen.

Rates are differences between the looks. The volumes stand as a tree, users on top, if the settings file is known. A
trend is one letter per look, tall where the volume did most of what it did lately. No colour says what no word says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from rich.console import RenderableType

DATA = ("read", "write")
TREND = 24
"""Looks that a trend shows."""

_BLOCKS = " ▁▂▃▄▅▆▇█"
_BAR = 20
_WIDE, _MEDIUM = 150, 110
"""Columns of the terminal from which on percentiles and flushes, and trends, are shown where they fit."""

_TREND_HEAD = "I/O trend"
_GAP = 2

_NAME = 12
"""Columns that a volume's name has at least; longer ones are folded."""


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


@dataclass
class Column:
    """One column of the table of volumes.

    Attributes:
        head: above it.
        rank: 0 is always shown; the highest goes first where there is no room.
        least: columns of the terminal below which it is not shown, room or not.
        of: its cell from rates, earlier and present status, bounds of latencies, and the rates of earlier looks.
    """

    head: str
    rank: int
    least: int
    of: Callable[[Mapping[str, float | None], dict[str, Any], dict[str, Any], Sequence[int], Sequence[float]], str]
    cells: list[str] = field(default_factory=list)

    @property
    def width(self) -> int:
        """Columns of the terminal that its longest text takes."""
        return max(len(text) for text in (self.head, *self.cells))


def _columns() -> list[Column]:
    """Every column beside the name, from left to right."""

    def rate(key: str) -> Callable[..., str]:
        return lambda rate, *_: _number(rate[key])

    def tail(kind: str) -> Callable[..., str]:
        return lambda _rate, earlier, now, bounds, _history: percentile(earlier, now, kind, bounds, 0.99) or "-"

    found: list[Column] = []
    for kind in DATA:
        found += [
            Column(f"{kind}/s", 0, 0, rate(f"{kind}_iops")),
            Column("MB/s", 2, 0, rate(f"{kind}_mb_s")),
            Column("ms", 1, 0, rate(f"{kind}_ms")),
            Column("p99 ms", 4, _WIDE, tail(kind)),
        ]
    return [
        *found,
        Column("flush/s", 4, _WIDE, rate("flush_iops")),
        Column("ms", 4, _WIDE, rate("flush_ms")),
        Column("out", 0, 0, lambda _rate, _earlier, now, *_: f"{now['outstanding']:,}"),
        Column(_TREND_HEAD, 3, _MEDIUM, lambda *given: trend(given[-1]).ljust(TREND)),
    ]


def fitting(columns: Sequence[Column], width: int) -> list[Column]:
    """The columns for which a terminal has room beside the names; those of rank 0 in any case."""
    kept = [column for column in columns if width >= column.least]
    # Of each column two are spent on the gap to its neighbour.
    while sum(column.width + _GAP for column in kept) + _NAME > width and any(column.rank for column in kept):
        last = max(column.rank for column in kept)
        kept = [column for column in kept if column.rank < last]
    return kept


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
        parts = [
            self._head(before, now, seconds),
            self._volumes(before, now, seconds, width),
            *self._caches(before, now, seconds),
        ]
        return Group(*parts, *self._mirrors(before, now, seconds), *self._exports(now))

    def _head(self, before: dict[str, Any], now: dict[str, Any], seconds: float) -> RenderableType:
        from rich.text import Text

        fuse = now.get("fuse")
        doors = [*now["clients"], *now.get("devices", []), *([fuse] if fuse else [])]
        outstanding = sum(door.get("outstanding", 0) for door in doors)
        clients = len(now["clients"])
        words = f"{clients} client{'' if clients == 1 else 's'}"
        if fuse:
            answered = fuse["answered"] - ((before.get("fuse") or {}).get("answered", fuse["answered"]))
            words += f", files at {fuse['mount']} {_number(answered / seconds)}/s"
        return Text.assemble(
            ("fathomd", "bold"),
            f" {now['version']}  ",
            (now["phase"], "bold green" if now["phase"] == "serving" else "bold yellow"),
            f"  up {_span(now['uptime_ns'])}  {words}, {outstanding} outstanding",
        )

    def _volumes(self, before: dict[str, Any], now: dict[str, Any], seconds: float, width: int) -> RenderableType:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        old = {volume["name"]: volume for volume in before["volumes"]}
        new = {volume["name"]: volume for volume in now["volumes"]}
        bounds = now.get("latency_bounds_ns", [])
        lines = tree(list(new), self._settings)
        names: list[Text] = []
        columns = _columns()
        for line in lines:
            volume, earlier = new[line.name], old.get(line.name, new[line.name])
            rate = rates(earlier, volume, seconds)
            history = self._remember(line.name, sum(rate[f"{kind}_iops"] or 0.0 for kind in DATA))
            for column in columns:
                column.cells.append(column.of(rate, earlier, volume, bounds, history))
            failed = sum(entry["errors"] for entry in volume["requests"].values())
            name = Text.assemble((line.branch, "dim"), (line.name, "bold"), (f" {volume['kind']}", "dim"))
            if failed:
                name.append(f" {failed:,} failed", "bold red")
            names.append(name)
        kept = fitting(columns, width)
        shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
        shown.add_column("volume", overflow="fold")
        for column in kept:
            # Numbers are never cut: what has no room was left out as a whole column.
            justify: Literal["left", "right"] = "left" if column.head == _TREND_HEAD else "right"
            shown.add_column(column.head, justify=justify, no_wrap=True, min_width=column.width)
        for at, name in enumerate(names):
            shown.add_row(name, *(column.cells[at] for column in kept))
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
            # In and out are log bytes, with headers and what was written twice: the dirty level is their difference.
            given_back = max(0.0, logged - (group["dirty_bytes"] - earlier["dirty_bytes"]) / seconds / 1e6)
            delayed = (group.get("delayed_ns", 0) - earlier.get("delayed_ns", 0)) / seconds / 1e9
            dirty = f"{group['dirty_bytes'] / 1e6:,.0f} of {group['dirty_limit_bytes'] / 1e6:,.0f} MB dirty"
            line = Text.assemble(
                ("cache ", "dim"),
                (group["name"], "bold"),
                "  ",
                (bar(share), "yellow" if share >= 0.9 else "cyan"),
                f" {100 * share:.0f} %  {dirty}  lag {group['lag_ns'] / 1e9:.1f} s",
                f"  log in {_number(logged)}, out {_number(given_back)} MB/s  destaged {_number(applied)} MB/s",
            )
            if text := _sharing(earlier, group, seconds):
                line.append(text)
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
            if "legs_in_sync" in counted:
                kind, work, legs = "mirror", "rebuilding", counted["legs_in_sync"]
                told = f"  {legs} leg{'' if legs == 1 else 's'} in sync"
            elif "extents_moved" in counted:
                kind, work = "pool", "rebalancing"
                told = f"  {counted['extents_moved']:,} extents moved since the start"
            else:
                continue
            text = Text.assemble((f"{kind} ", "dim"), (volume["name"], "bold"), told)
            left = counted.get("resync_left_bytes", 0)
            if left:
                copied = counted["resync_bytes"] - old.get(volume["name"], {}).get("resync_bytes", 0)
                rate = copied / seconds
                time = f", {left / rate:,.0f} s to go" if rate > 0 else ""
                told = f"  {work}: {left / 1e6:,.0f} MB left at {_number(rate / 1e6)} MB/s{time}"
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


def _sharing(before: dict[str, Any], now: dict[str, Any], seconds: float) -> str:
    """Who has the devices of a cache, and how long users wait for background work at the volume behind it."""
    old, new = before.get("device_time_ns", {}), now.get("device_time_ns", {})
    used = {name: time - old.get(name, 0) for name, time in new.items()}
    total = sum(used.values())
    if total <= 0:
        return ""
    shares = ", ".join(f"{name} {100 * time / total:.0f} %" for name, time in used.items() if time)
    waited = (now.get("background_wait_ns", 0) - before.get("background_wait_ns", 0)) / seconds / 1e9
    return f"  devices: {shares}" + (f", users wait {waited:.2g} s per s for it" if waited > 0.001 else "")


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _span(nanoseconds: int) -> str:
    seconds = int(nanoseconds / 1e9)
    days, rest = divmod(seconds, 86_400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days} d {clock}" if days else clock
