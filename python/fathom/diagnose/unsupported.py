"""Files that are no logs, or in a form that is not supported: what to do instead."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fathom.diagnose.source import Head

_SADC = (b"\x96\xd5", b"\xd5\x96")
"""Mark of sysstat's own files (`SYSSTAT_MAGIC`, sa.h), in either byte order."""


def _starts(*marks: bytes) -> Callable[[Head], bool]:
    return lambda head: head.data.startswith(marks)


def _first_lines(pattern: str) -> Callable[[Head], bool]:
    form = re.compile(pattern)
    return lambda head: any(form.search(line) for line in head.lines[:5])


_TAR_MARK, _TAR_AT = b"ustar", 257
"""Tar's mark, within the header of the first file."""

_ARCHIVES: tuple[tuple[Callable[[Head], bool], str, str], ...] = (
    (_starts(b"7z\xbc\xaf'\x1c", b"Rar!", b"\x28\xb5\x2f\xfd"), "this is an archive", "unpack it first"),
    (_starts(b"PK\x03\x04"), "this is an archive of several files, or a spreadsheet",
     "unpack it and name the logs in it; save a spreadsheet as CSV"),
    (lambda head: head.data.startswith(_TAR_MARK, _TAR_AT), "this is an archive (tar)",
     "unpack it and name the logs in it"),
)  # fmt: skip
_STRANGERS: tuple[tuple[Callable[[Head], bool], str, str], ...] = (
    (_starts(*_SADC), "this is sysstat's own file (sa), whose form depends on the version that wrote it",
     "on a machine with that version: sadf -j FILE -- -A > sa.json"),
    (_starts(b"ElfFile"), "this is an event log of Windows, without performance counters",
     "record counters: `fathom record --print windows`"),
    (_starts(b"SQLite format 3"), "this is a database of SQLite", "export the table as CSV"),
    (_starts(b"PAR1"), "this is a Parquet file", "diagnose the log that it was made from"),
    (_first_lines(r"^AAA,(progname|command|version|build),"), "this is a recording of nmon, which is not read",
     "record with `fathom record`, or with `S_TIME_FORMAT=ISO iostat -xty 1`"),
    (_first_lines(r"^\s*procs -+memory-+|^ *r +b +swpd +free"), "vmstat does not tell one disk from another",
     "record with `S_TIME_FORMAT=ISO iostat -xty 1`"),
    (_first_lines(r"\bPID\b.*\bCommand\s*$"), "pidstat tells who reads and writes, not how long requests take",
     "record with `S_TIME_FORMAT=ISO iostat -xty 1`, or with `fathom record`"),
    (_first_lines(r"^Timestamp +CounterSamples"), "Get-Counter's table for the screen has no form to rely on",
     "export the samples: (Get-Counter ...).CounterSamples | Export-Csv counters.csv"),
    (_first_lines(r"^top - \d\d:\d\d:\d\d up |Total DISK READ\s*:|Dstat \d[\d.]* CSV|^-+(system|dsk/|total)\S*-"),
     "top, iotop and dstat do not tell how long requests take", "record with `S_TIME_FORMAT=ISO iostat -xty 1`"),
    (_first_lines(r"^\s*\d+,\d+\s+\d+\s+\d+\s+\d+\.\d{9}\s+\d+\s+[A-Z]+\s"), "this is blkparse's text",
     "diagnose the binary trace that it was made from (FILE.blktrace.0, or of all processors: blkparse -d)"),
    (_first_lines(r"^#(<-+CPU|Date +Time +(cpu|\[CPU\]))|^Tracing block I/O|^ +extended device statistics|"
                  r"^ +capacity +operations +bandwidth"),
     "collectl, biolatency, zpool and the iostat of other systems are not read",
     "record with `S_TIME_FORMAT=ISO iostat -xty 1`, or with `fathom record`"),
    (_first_lines(r"^TIME\(s\) +COMM +PID +DISK"), "biosnoop's lines of single requests are not read",
     "record with `fathom record`; or a trace: blktrace -d DEVICE -w 60"),
    (_first_lines(r"^ +disk\d+ .*\bcpu\b|^ +disk\d+ *$|^ +KB/t +tps +MB/s"), "the iostat of macOS and BSD is not read",
     "on Linux, record with `S_TIME_FORMAT=ISO iostat -xty 1`"),
    (_first_lines(r"^Histogram: .*(IO|LBN|commands)"),
     "vscsiStats' histograms are sums over the whole recording: they do not tell what happened when",
     "record a trace instead (vscsiStats -s -t), or esxtop: `fathom record --print esxi`"),
    (_first_lines(r'"fio version"|^fio-\d|^Command Line: .*diskspd'),
     "fio and diskspd tell their load, not the system's",
     "record the system in the same time: `fathom record`"),
    (_first_lines(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d\d (spid\w+|Server|Logon) "),
     "this is an error log of SQL Server",
     "record file and wait statistics: `fathom record --print sqlserver`"),
    (_first_lines(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d.*?\b(LOG|DETAIL|STATEMENT|HINT|WARNING|ERROR|FATAL|PANIC):  "),
     "this is PostgreSQL's log of messages",
     "record its statistics (`fathom record --print postgresql`) and the server's disks (`fathom record`)"),
    (_first_lines(r"INNODB MONITOR OUTPUT|^\W*Variable_name\W+Value\b"),
     "this is a status of MySQL or MariaDB, whose counters are not read",
     "record the server's disks in the same time: `fathom record`, or `S_TIME_FORMAT=ISO iostat -xty 1`"),
    (_first_lines(r"^(pgbench \(|transaction type: |starting vacuum)"), "pgbench's summary tells nothing of the time",
     "run pgbench with -P 1, or with -l --aggregate-interval=1"),
    (_first_lines(r"^System configuration: lcpu="), "the iostat of AIX is not read",
     "`fathom diagnose --formats` lists what is read"),
    (_first_lines(r"^(AIX|SunOS|HP-UX|FreeBSD|OpenBSD|NetBSD|Darwin) "),
     "this was written by a system other than Linux, Windows and ESXi, whose tools are not read",
     "`fathom diagnose --formats` lists what is read"),
    (_first_lines(r"(?i)^\s*(<!doctype|<html|<\?xml|<sysstat)"), "this is a page or an XML document",
     "export as CSV or JSON; of sysstat: sadf -j FILE -- -A"),
)  # fmt: skip


def archive(head: Head) -> tuple[str, str] | None:
    """What an archive is that is not unpacked, and what to do; None for others.

    The logs in it may be there in plain text, one after the other: read as they are, they would count as one.
    """
    return next(((what, remedy) for test, what, remedy in _ARCHIVES if test(head)), None)


def unsupported_format(head: Head) -> tuple[str, str] | None:
    """What a file is that no importer reads, and what to do; None for what is not known either."""
    return next(((what, remedy) for test, what, remedy in _STRANGERS if test(head)), None)
