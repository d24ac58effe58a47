"""`iostat -x -t -o JSON`, sysstat 11.7 and later.

`timestamp` has no zone and the form of the locale unless `S_TIME_FORMAT=ISO` was set; without `-t` there is none. The
first report is the mean since the start of the machine unless `-y` was given; its interval is then unknown. A loop that
calls iostat again writes a document each time, with the time above it or without.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fathom.diagnose.documents import items, number, several
from fathom.diagnose.importer import Importer
from fathom.diagnose.iostat import Call, Past, Report, samples
from fathom.diagnose.source import Head, Source
from fathom.diagnose.table import Block
from fathom.diagnose.time_lines import time_line

_START = '{"sysstat"'


def recognise(head: Head) -> float:
    """JSON whose outermost key is `sysstat`, with disks as iostat names them; times may be above it."""
    start = head.text.lstrip()
    first = start.split("\n", 1)[0].strip()
    if time_line(first) is not None:
        start = start[start.find("\n") + 1 :].lstrip()
    if not start.startswith("{") or '"sysstat"' not in start[:200] or '"file-date"' in start:
        return 0.0
    return 0.95 if '"disk_device"' in start else 0.5


def read(source: Source) -> Iterator[Block]:
    """All reports of all hosts, call by call."""
    past = Past()
    for above, document in several(source, _START, "record again, and end iostat with Ctrl-C"):
        hosts = items(document, "sysstat", "hosts")
        if not hosts:
            raise source.error('no "sysstat.hosts" in it', "record with `iostat -xty -o JSON 1`", line=1)
        said = [found for line in above.splitlines() if (found := time_line(line.strip())) is not None]
        call = Call(said=said[-1] if said else None, after=past.until)
        for host in hosts:
            yield from past.noted(_host(source, host, call))


def _host(source: Source, host: dict[str, Any], call: Call) -> Iterator[Block]:
    name = str(host.get("nodename") or "") or None
    source.notes.fact("os", f"{host.get('sysname', '')} {host.get('release', '')}".strip(), name)
    source.notes.fact("cpus", host.get("number-of-cpus"), name)
    reports = []
    for place, entry in enumerate(items(host, "statistics")):
        table = entry.get("disk")
        disks = {
            str(disk.get("disk_device")): _numbers(disk) for disk in items(entry, "disk") if disk.get("disk_device")
        }
        listed = isinstance(table, list) and len(table) == len(disks)
        cpu = _numbers(entry.get("avg-cpu"))
        stamp = entry.get("timestamp")
        reports.append(Report(None if stamp is None else str(stamp), cpu, disks, f"report {place + 1}", listed))
    yield from samples(source, name, str(host.get("date") or "") or None, reports, call)


def _numbers(entry: Any) -> dict[str, float]:
    found = {key: number(value) for key, value in entry.items()} if isinstance(entry, dict) else {}
    return {key: value for key, value in found.items() if value is not None}


IMPORTER = Importer(
    "iostat-json",
    "iostat -o JSON (sysstat)",
    recognise,
    read,
    "S_TIME_FORMAT=ISO iostat -xty -o JSON 1",
)
