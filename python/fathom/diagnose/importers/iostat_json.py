"""`iostat -x -t -o JSON`, sysstat 11.7 and later.

`timestamp` has no zone and the form of the locale unless `S_TIME_FORMAT=ISO` was set; without `-t` there is none. The
first report is the mean since the start of the machine unless `-y` was given; its interval is then unknown.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import polars as pl

from fathom.diagnose.importer import Importer
from fathom.diagnose.iostat import Report, samples
from fathom.diagnose.source import Head, Source


def recognise(head: Head) -> float:
    """JSON whose outermost key is `sysstat`, with disks as iostat names them."""
    start = head.text.lstrip()
    if not start.startswith("{") or '"sysstat"' not in start[:200]:
        return 0.0
    return 0.95 if '"disk_device"' in start or '"statistics"' in start else 0.3


def read(source: Source) -> Iterator[pl.DataFrame]:
    """All reports of all hosts."""
    text = source.document()
    try:
        document = json.loads(text)
    except json.JSONDecodeError as problem:
        # A recording that was cut off lacks its closing brackets; what is complete is worth having.
        document = _closed(text)
        if document is None:
            raise source.error(
                f"no JSON: {problem.msg}", "record again, and end iostat with Ctrl-C", line=problem.lineno
            ) from None
        source.told.skip("reports", "the recording ends in the middle of one", 1, f"line {text.count(chr(10)) + 1}")
    hosts = document.get("sysstat", {}).get("hosts") if isinstance(document, dict) else None
    if not isinstance(hosts, list):
        raise source.error('no "sysstat.hosts" in it', "record with `iostat -xty -o JSON 1`")
    for host in hosts:
        if isinstance(host, dict):
            yield from _host(source, host)


def _host(source: Source, host: dict[str, Any]) -> Iterator[pl.DataFrame]:
    name = str(host.get("nodename") or "") or None
    source.told.fact("os", f"{host.get('sysname', '')} {host.get('release', '')}".strip(), name)
    source.told.fact("cpus", host.get("number-of-cpus"), name)
    reports = []
    for number, entry in enumerate(host.get("statistics") or []):
        if not isinstance(entry, dict):
            raise source.error(f"report {number + 1} is no object", "record with `iostat -xty -o JSON 1`")
        disks = {
            str(disk.get("disk_device")): {key: value for key, value in disk.items() if _is_number(value)}
            for disk in entry.get("disk") or []
            if isinstance(disk, dict) and disk.get("disk_device")
        }
        cpu = {key: value for key, value in (entry.get("avg-cpu") or {}).items() if _is_number(value)}
        stamp = entry.get("timestamp")
        reports.append(Report(None if stamp is None else str(stamp), cpu, disks, f"report {number + 1}"))
    yield from samples(source, name, str(host.get("date") or "") or None, reports)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _closed(text: str) -> Any:
    """The document up to its last complete report, closed; None if that does not help."""
    end = len(text)
    for _ in range(64):
        end = text.rfind("}", 0, end)
        if end < 0:
            return None
        try:
            return json.loads(text[: end + 1] + "]}]}}")
        except json.JSONDecodeError:
            continue
    return None


IMPORTER = Importer(
    "iostat-json",
    "iostat -o JSON (sysstat)",
    recognise,
    read,
    "S_TIME_FORMAT=ISO iostat -xty -o JSON 1",
)
