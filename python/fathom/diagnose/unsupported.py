"""Files that are no logs, or in a form that is not supported: what to do instead."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

from fathom.diagnose.azure import of_database
from fathom.diagnose.messages import CSV, EVENTS, OF_AZURE, OF_GOOGLE, OF_RDS, STAMP
from fathom.diagnose.postgresql_words import LABELS, SEVERITIES
from fathom.diagnose.recipes import GET_STAT
from fathom.diagnose.tables import WRAPPED_RULER

if TYPE_CHECKING:
    from fathom.diagnose.source import Head

_SADC = (b"\x96\xd5", b"\xd5\x96")
"""Mark of sysstat's own files (`SYSSTAT_MAGIC`, sa.h), in either byte order."""


def _starts(*marks: bytes) -> Callable[[Head], bool]:
    return lambda head: head.data.startswith(marks)


_FIRST, _MANY = 5, 200
"""Lines in which a mark is looked for: at the beginning; or behind what people paste above it."""


def _first_lines(pattern: str, count: int = _FIRST) -> Callable[[Head], bool]:
    form = re.compile(pattern)
    return lambda head: any(form.search(line) for line in head.lines[:count])


_LEVELS = rf"(?:{SEVERITIES}|{LABELS})"
_DISK_NAME = r"(?:(?:sd|hd|vd|xvd)[a-z]+\d*|(?:dm-|md|drbd|bcache|rbd|nbd|loop)\d+\w*|(?:nvme|mmcblk)\d+\w*)"
_LINUX = "`fathom record`, or `S_TIME_FORMAT=ISO iostat -xty 1`"
_OTHER_SYSTEM = (
    f"on Linux, record with {_LINUX}; of other systems a database's statistics are read: "
    "`fathom record --print postgresql`"
)

_COMMAS = (
    'record snapshots with commas between columns: sqlcmd with -s "," -W -w 65535; in Management Studio: Tools, '
    "Options, Query Results, SQL Server, Results to Text: Comma delimited. `fathom record --print sqlserver` has the "
    "script"
)
_SNAPSHOTS = "record snapshots with commas between columns: `fathom record --print sqlserver`"
_OF_POSTGRESQL = "record the database's own statistics: `fathom record --print postgresql`"
_OF_AZURE_SQL = (
    "record the database's own statistics: `fathom record --print sqlserver`; where there is no sys.master_files "
    "(Azure SQL Database), without that join, with database_id and file_id, and with sys.dm_db_wait_stats"
)
"""Microsoft, sys.master_files and sys.dm_db_wait_stats: "Applies to"."""
_OF_CLOUD_SQL = (
    "record the database's own statistics: `fathom record --print postgresql`, or `--print sqlserver`; of MySQL none "
    "are read"
)


def _wrapped(head: Head) -> bool:
    """Whether sqlcmd wrapped a table of statistics: its lines of dashes follow each other."""
    if not any(re.search(r"sample_time|wait_type|database|physical_name", line) for line in head.lines[:_FIRST]):
        return False
    rulers = [WRAPPED_RULER.fullmatch(line) is not None for line in head.lines[:_MANY]]
    return any(above and ruler for above, ruler in pairwise(rulers))


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
    (_first_lines(r"\bprocs -+memory-+|^ *r +b +swpd +free", _MANY), "vmstat does not tell one disk from another",
     "record with `S_TIME_FORMAT=ISO iostat -xty 1`"),
    (_first_lines(r"\bPID\b.*\bCommand\s*$"), "pidstat tells who reads and writes, not how long requests take",
     "record with `S_TIME_FORMAT=ISO iostat -xty 1`, or with `fathom record`"),
    (_first_lines(r"^Timestamp +CounterSamples"), "Get-Counter's table for the screen has no form to rely on",
     "export the samples: (Get-Counter ...).CounterSamples | Export-Csv counters.csv"),
    (_first_lines(r"^top - \d\d:\d\d:\d\d up |Total DISK READ\s*:|Dstat \d[\d.]* CSV|^-+(system|dsk/|total)\S*-"),
     "top, iotop and dstat do not tell how long requests take", "record with `S_TIME_FORMAT=ISO iostat -xty 1`"),
    (_first_lines(r"^\s*\d+,\d+\s+\d+\s+\d+\s+\d+\.\d{9}\s+\d+\s+[A-Z]+\s"), "this is blkparse's text",
     "diagnose the binary trace that it was made from (FILE.blktrace.0, or of all processors: blkparse -d)"),
    (_first_lines(r"^#(<-+CPU|Date +Time +(cpu|\[CPU\])|(Date +)?Time +Name +KBytes +Merged|<-+Disks| +<-+reads-)"),
     "collectl's tables are not read", f"record with {_LINUX}"),
    (_first_lines(r"^#(Date|UTC)[ ,;|]+Time\b.*\[(DSK|CPU|MEM|NET)[:\]]"),
     "this is collectl's table for plots (-P), which is not read",
     f"record with {_LINUX}"),
    (_first_lines(r"^RESET\s*$|^(DSK|LVM|MDD|CPU|CPL|MEM|SWP|PAG|PSI) \S+ \d{9,10} \d{4}/\d\d/\d\d "),
     "these are atop's lines for programs (-P): how long a disk was busy, not how long its requests take",
     f"record with {_LINUX}"),
    (_first_lines(r'^"?Time"?,.*\b(disk|hinv|kernel|mem|network)\.[a-z_]+\.'),
     "this is a table of Performance Co-Pilot (pmrep), which is not read: its caller chose columns and units",
     f"record with {_LINUX}"),
    (_first_lines(r'(?i)^"?Time"?,.*\((Millisecond|Number|KBps|Percent)s?\)'),
     "this is a chart of the vSphere Client as CSV, whose columns are named in its language and differ by version",
     f"export the same counters by PowerCLI: {GET_STAT}; or record esxtop: `fathom record --print esxi`"),
    (_first_lines(r"\bextended device statistics\b"),
     "iostat's tables of Solaris and FreeBSD are not read", _OTHER_SYSTEM),
    (_first_lines(r"^dT: +[\d.]+s +w: |^ *L\(q\) +ops/s"),
     "this is a screen of gstat, which shows one moment without its time", _OTHER_SYSTEM),
    (_first_lines(r"^Tracing block I/O|^ +capacity +operations +bandwidth"), "biolatency and zpool iostat are not read",
     f"record with {_LINUX}"),
    (_first_lines(rf"^\s*(?:{STAMP}\s+)?{_DISK_NAME}(?:\s+\d+[.,]\d+){{3}}(?:\s+\d+(?:[.,]\d+)?)*\s*$"),
     "these are rows of iostat without the head that names their columns",
     "put the line that begins with Device above them; or `iostat -xty 1`, filtered with `grep -E 'Device|nvme0n1'`"),
    (_first_lines(r"^TIME\(s\) +COMM +PID +DISK"), "biosnoop's lines of single requests are not read",
     "record with `fathom record`; or a trace: blktrace -d DEVICE -w 60"),
    (_first_lines(r"^ +disk\d+ .*\bcpu\b|^ +disk\d+ *$|^ +KB/t +tps +MB/s"), "the iostat of macOS and BSD is not read",
     "on Linux, record with `S_TIME_FORMAT=ISO iostat -xty 1`"),
    (_first_lines(r"^Histogram: .*(IO|LBN|commands)"),
     "vscsiStats' histograms are sums over the whole recording: they do not tell what happened when",
     "record a trace instead (vscsiStats -s -t), or esxtop: `fathom record --print esxi`"),
    (_first_lines(r"^TimeSeries ID,"),
     "this is a chart of Google Cloud Monitoring as CSV, which names neither the metric nor its unit",
     "save the answers of projects.timeSeries.list as JSON, which have both: `fathom record --print gcp`"),
    (_first_lines(r'^"?Time"?,.*\b(Read|Write) Latency\b.*\b(Congestions?|Outstanding IO)\b'),
     "this is a table of vSAN's performance view, whose columns have no fixed form",
     "save the answer of VsanPerfQueryPerf as JSON, one object per entity; or esxtop: `fathom record --print esxi`"),
    (_first_lines(r"^\s*\d+:\d\d:\d\d ?[ap]m up .*\bworlds?\b|^ *ADAPTR +PATH +NPTH|^ *DEVICE +PATH/WORLD/PARTITION"),
     "this is a screen of esxtop, which shows one moment only",
     "record esxtop in batch mode: `fathom record --print esxi`"),
    (_first_lines(r"^Smart Log for NVME device|^smartctl \d|=== START OF (INFORMATION|SMART DATA|READ SMART)"),
     "this is a disk's SMART data: its health and wear, not how long requests take",
     f"record the disk under load: {_LINUX}"),
    (_first_lines(r'"fio version"|^fio-\d|^Command Line: .*diskspd|: \(groupid=\d+, jobs=\d+\)|'
                  r"^\s+(read|write) ?: (IOPS|io)="),
     "fio and diskspd tell their load, not the system's",
     "record the system in the same time: on Linux `fathom record`; on Windows `fathom record --print windows`"),
    (_first_lines(r"^\d+ seconds per test\s*$|^Compare file sync methods"),
     "pg_test_fsync measures how fast a device can flush when nothing else uses it, not the system under its load",
     "record the system in the slow time: on Linux `fathom record`, and `fathom record --print postgresql`"),
    (_first_lines(r"occurrence\(s\) of I/O requests taking longer than \d+ seconds|"
                  # In whatever language: 15 s, a file, a database with its number, a handle.
                  r"\b15\b.*\[.+\].*\[.+\]\W{1,3}\(\d+\).*\b0x[0-9A-Fa-f]{8,}", _MANY),
     "this is an error log of SQL Server: message 833 names files with requests over 15 s, not the reason",
     "record statistics and disks in the slow time: `fathom record --print sqlserver`, and `--print windows`"),
    (_first_lines(rf"^{STAMP} (spid\w+|Server|Logon|Backup) "), "this is an error log of SQL Server",
     "record file and wait statistics: `fathom record --print sqlserver`"),
    (_first_lines(r"^(?!.*time\b).*(\bwait_type +waiting_tasks_count\b|\bnum_of_reads +num_of_bytes_read\b)"),
     "this is a table of SQL Server for the screen, with sums since its start: they do not tell what happened when",
     "record snapshots with commas between columns: `fathom record --print sqlserver`"),
    (_first_lines(r"\bwait_type +waiting_tasks_count\b|\bnum_of_reads +num_of_bytes_read\b"),
     "this is a table of SQL Server for the screen, whose columns cannot be told apart: wrapped, or without dashes",
     _COMMAS),
    (_wrapped, "this is a table of sqlcmd whose lines are wrapped", _COMMAS),
    (_first_lines(r"\bRead Latency\b\W+Write Latency\b\W+Overall Latency\b"),
     "this is a list of latencies of SQL Server's drives or files, which are means since its start", _SNAPSHOTS),
    (_first_lines(r"\bFindingsGroup\b|\bPer Core Per Second\b|^\W?Pattern\b.*\bAvg Stall\b"),
     "this is a result of sp_BlitzFirst, which shows a few seconds and no sums that could be compared", _SNAPSHOTS),
    (_first_lines(r'"(num_of_reads|waiting_tasks_count)"\s*:', _MANY),
     "this is a result of SQL Server saved as JSON",
     "save it as CSV; `fathom record --print sqlserver` has the script"),
    (_first_lines(r"\bWaitType\W+Wait_S\W+Resource_S\b"),
     "these are SQL Server's waits, summed since its start: they do not tell what happened when",
     "record snapshots of them: `fathom record --print sqlserver`"),
    (_first_lines(r"^-\[ \w+ \d+ \][-+]", _MANY),
     "this is psql's expanded output (-x, \\x), one line a column",
     "record with --csv: `fathom record --print postgresql`"),
    (_first_lines(r"^METRICDATARESULTS\t|^(DATAPOINTS|TIMESTAMPS)\t|\|\s+GetMetric(Statistics|Data)\s+\|"),
     "this is an answer of CloudWatch as text or table, which does not tell what belongs together",
     "repeat the command with --output json: `fathom record --print aws`"),
    (_first_lines(r'"(AlignedStartTime|MetricList)"\s*:'),
     "this is Performance Insights' load: how many sessions waited for what, not how long requests take",
     "record the volume's metrics: `fathom record --print aws` with DATABASE=; give Enhanced Monitoring beside them"),
    (lambda head: '"timeseries"' in head.text and of_database(head.text, "DBforPostgreSQL"),
     "these are metrics of a database that Azure runs, which tell no latency of its disks", _OF_POSTGRESQL),
    (lambda head: '"timeseries"' in head.text and of_database(head.text, "Sql"),
     "these are metrics of a database that Azure runs, which tell no latency of its disks", _OF_AZURE_SQL),
    (lambda head: '"timeseries"' in head.text and of_database(head.text),
     "these are metrics of a database that Azure runs, which tell no latency of its disks",
     "statistics of MySQL and MariaDB are not read: compare these metrics with what the service allows"),
    (lambda head: '"timeSeries"' in head.text and "cloudsql.googleapis.com/" in head.text,
     "these are metrics of Cloud SQL, which tell no latency of its disks", _OF_CLOUD_SQL),
    (_first_lines(r"\bpage_cleaner: \d+ms intended loop took", _MANY),
     "this is an error log of MySQL or MariaDB: page_cleaner reports late writes of pages, not what the disks did",
     f"record the server's disks in the slow time: {_LINUX}"),
    (_first_lines(rf"(^|\| ?){STAMP} \d+ \[(Note|Warning|ERROR|System)\]|"
                  r'"err_symbol" ?: ?"|"subsystem" ?: ?"(InnoDB|Server|Repl)"'),
     "this is an error log of MySQL or MariaDB, which does not tell how long requests take",
     f"record the server's disks in the slow time: {_LINUX}"),
    (_first_lines(OF_RDS),
     "this is the log of messages of a PostgreSQL that AWS runs: it tells what statements took, not what the disks did",
     "record its statistics (`fathom record --print postgresql`) and its volume (`fathom record --print aws`)"),
    (_first_lines(rf"{OF_AZURE}|{OF_GOOGLE}"),
     "this is the log of messages of a PostgreSQL that a provider runs: it tells what statements took, not the disks",
     "record its statistics (`fathom record --print postgresql`)"),
    (_first_lines(rf"^{STAMP}.*?\b{_LEVELS}\s?:  |^(LOG|WARNING|ERROR|FATAL|PANIC|DETAIL|STATEMENT|HINT|CONTEXT):  \S|"
                  rf"\bpostgres(\.\d+)?\]?(\[\d+\])?: .*\b{_LEVELS}\s?:  |"
                  rf'"(message|log)" ?: ?"{STAMP}.*?\b{_LEVELS}\s?:  |'
                  rf",{_LEVELS},[0-9A-Z]{{5}},|{CSV}|"
                  r'"category" ?: ?"PostgreSQL|'
                  r'"error_severity" ?: ?"|"logger" ?: ?"postgres"|"logName" ?: ?"[^"]*postgres\.log"'),
     "this is PostgreSQL's log of messages: it tells what statements took, not what the disks did",
     "record its statistics (`fathom record --print postgresql`) and the server's disks (`fathom record`)"),
    (_first_lines(r"^# User@Host: |^# Query_time: +[\d.]+ +Lock_time: ", _MANY),
     "this is MySQL's or MariaDB's log of slow statements: it tells what they took, not what the disks did",
     f"record the server's disks in the slow time: {_LINUX}"),
    (_first_lines(r"INNODB MONITOR OUTPUT|^\W*Variable_name\W+Value\b|^BUFFER POOL AND MEMORY$|^FILE I/O$|"
                  r"^Log sequence number +\d|^Pending flushes \(fsync\) log:", _MANY),
     "this is a status of MySQL or MariaDB, whose counters are not read",
     f"record the server's disks in the same time: {_LINUX}"),
    (_first_lines(r"^\|? ?Aborted_clients\s"),
     "these are counters of MySQL or MariaDB (mysqladmin, SHOW GLOBAL STATUS), which are not read",
     f"record the server's disks in the same time: {_LINUX}"),
    (_first_lines(EVENTS),
     "this is an event log of Windows, without performance counters",
     "record counters: `fathom record --print windows`"),
    (_first_lines(r"^\[ *\d+\.\d{6}\] |^\[\w{3} \w{3} +\d+ [\d:]{8} \d{4}\] |^\S+( +\d+ [\d:]{8})? \S+ kernel: "),
     "these are messages of the kernel: they name requests that failed or timed out, not how long the others take",
     f"record the disks: {_LINUX}"),
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
