"""`sadf -j FILE -- -A`: the history that sysstat keeps in /var/log/sysstat or /var/log/sa, as JSON. Times are UTC."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fathom.diagnose import sysstat
from fathom.diagnose.clock import iso_ns, zone_of
from fathom.diagnose.documents import items, number, parsed
from fathom.diagnose.importer import Importer
from fathom.diagnose.source import Head, Source
from fathom.diagnose.table import Block, Rows

_REMEDY = "export with `sadf -j FILE -- -A`"


def recognise(head: Head) -> float:
    """JSON whose outermost key is `sysstat` and that names the file's date, as iostat does not."""
    start = head.text.lstrip()
    return 0.95 if start.startswith("{") and '"sysstat"' in start[:200] and '"file-date"' in start else 0.0


def read(source: Source) -> Iterator[Block]:
    """Disks, processor, memory, paging, queue, pressure and network."""
    hosts = items(parsed(source, _REMEDY), "sysstat", "hosts")
    if not hosts:
        raise source.error('no "sysstat.hosts" in it', _REMEDY, line=1)
    rows = Rows()
    for host in hosts:
        name = str(host.get("nodename") or "") or None
        source.notes.fact("os", f"{host.get('sysname', '')} {host.get('release', '')}".strip(), name)
        source.notes.fact("cpus", host.get("number-of-cpus"), name)
        for place, entry in enumerate(items(host, "statistics"), 1):
            _moment(source, rows, name, entry, place)
            yield from rows.take_if()
    yield from rows.take()


def _moment(source: Source, rows: Rows, host: str | None, entry: dict[str, Any], place: int) -> None:
    stamp = entry.get("timestamp")
    stamp = stamp if isinstance(stamp, dict) else {}
    try:
        local, _ = iso_ns(f"{stamp.get('date')}T{stamp.get('time')}")
    except ValueError:
        raise source.error("no time", _REMEDY, entry=f"statistics {place}") from None
    time = local
    if not stamp.get("utc"):
        import numpy as np

        time = int(zone_of(source).utc(np.array([local], dtype=np.int64))[0])
    seconds = number(stamp.get("interval"))
    seconds = seconds if seconds else None
    for disk in items(entry, "disk"):
        sysstat.add_disk(rows, time, seconds, host, str(disk.get("disk-device")), _numbers(disk))
    for load in (*items(entry, "cpu-load"), *items(entry, "cpu-load-all")):
        if load.get("cpu") == "all":
            sysstat.add_host(rows, time, seconds, host, _numbers(load))
    for group in ("memory", "paging", "queue", "swap-pages"):
        sysstat.add_host(rows, time, seconds, host, _numbers(entry.get(group)))
    for network in items(entry, "network", "net-dev"):
        sysstat.add_network(rows, time, seconds, host, str(network.get("iface")), _numbers(network))
    pressure = entry.get("psi")
    for group, values in (pressure if isinstance(pressure, dict) else {}).items():
        sysstat.add_pressure(rows, time, seconds, host, str(group).removeprefix("psi-"), _numbers(values))


def _numbers(entry: Any) -> dict[str, float]:
    found = {sysstat.short(str(key)): number(value) for key, value in entry.items()} if isinstance(entry, dict) else {}
    return {key: value for key, value in found.items() if value is not None}


IMPORTER = Importer("sadf", "sar history as JSON (sadf -j)", recognise, read, "sar -A -o FILE 1; sadf -j FILE -- -A")
