"""Logs that name a device that failed, or data that is damaged: that comes before any latency.

Sources: NVM Express Base Specification, SMART / Health Information log, and smartctl(8); messages of Linux's block
layer, NVMe, md and file systems; Microsoft: events 7, 11, 15, 51, 52, 153, 154 and 157 of disks, 129 of storport's
drivers, 55 of NTFS, MSSQLSERVER_605, _823, _824, _825, _9001 and _17053, "System Error Codes", DBCC CHECKDB; PostgreSQL
documentation, `data_sync_retry` and `ignore_checksum_failure`; MySQL, storage/innobase/os/os0file.cc (of MariaDB also
ut/ut0ut.cc), and reference manual, "Forcing InnoDB Recovery".
"""

# ruff: noqa: RUF001 - punctuation of other scripts is meant
from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, islice
from typing import NamedTuple

from fathom.diagnose.messages import EVENTS, Said, managed, said
from fathom.diagnose.postgresql_words import DAMAGED, EIO, EROFS, FSYNC, STATE_OF_DEVICE, STATES_OF_DATA

_MOST_LINES = 1_000_000
"""Lines that are looked at: a log of messages is shorter."""
_LONGEST = 120
"""Letters of the first such line that are shown."""


@dataclass(frozen=True)
class Damage:
    """What a log of messages names.

    Attributes:
        line: the first such line, 1-based.
        problem: what it names, with that line and how many there are.
        remedy: what to do first.
    """

    line: int
    problem: str
    remedy: str


class _Kind(NamedTuple):
    """What messages name that match one of the patterns, and what to do first.

    Attributes:
        what: it is.
        remedy: what to do first.
        patterns: of which one is in the message.
        postgresql: whether PostgreSQL says it; no one else's message counts then, and else none of PostgreSQL's.
        states: SQLSTATEs that say the same.
        events: whether only lines of an event log of Windows count, where columns name source and number.
    """

    what: str
    remedy: str
    patterns: tuple[str, ...]
    postgresql: bool = False
    states: tuple[str, ...] = ()
    events: bool = False


def _event(providers: str, events: str) -> str:
    """A line of Windows' event log as CSV: source and number in either order, whatever the language."""
    end, between = r'"?[,;\t]"?', r'"?[,;\t](?:"?[^,;\t"]*"?[,;\t])?"?'
    return rf"(?i:[,;\t]\"?(?:{providers}){end}(?:{events}){end}|\"?\b(?:{events}){between}(?:{providers}){end})"


_PORTS = (
    r"stor\w+|lsi\w*|vmwpvscsi|pvscsi|vioscsi|viostor|iastor\w*|megasas\w*|percsas\w*|hpciss\w*|hpsa\w*|smart\w+|"
    r"elx\w+|ql\w+|nvme\w*|mpi3\w*|amdsata|arcsas|bfad\w*|msdsm|mpio"
)
"""Drivers of storport's, whose event 129 is a reset; of others it is something else."""
_DEVICE_ERRORS = "21|23|27|29|30|31|55|59|64|121|433|483|1117|1127|1167|1392|1393"
"""Windows' errors of a device, or of the way to it."""
_ERROR_WORD = "|".join(
    f"(?<={word})"
    for word in (
        "rror ",
        "ehler ",
        "rreur ",
        "rrore ",
        " erro ",
        "шибка ",
        "エラー ",
        "エラー",
        "错误 ",
        "错误",
        "오류 ",
        "錯誤 ",
    )
)
"""The ends of "error" in the languages of SQL Server, before a number."""
_SQL_ERROR = r"[:：]\s?(?:{numbers})[,，、]\s?[^\W\d_]+\s?[:：]\s?(?:{severities})\b"
"""`Error: 823, Severity: 24`, in whatever language."""
_DEVICE, _DATA = "a device that fails", "damaged data or I/O that failed"
_REPLACE = (
    "put no load on this device: copy what can still be read to another one now, see that the backup can be restored, "
    "and replace the drive"
)
_RESET = (
    "put no load on this disk, see that the backup can be restored, look in the logs of its adapter, its paths and "
    "its array or host at the same time, and replace what fails"
)
_CHKDSK = (
    "put no load on this volume, see that the backup can be restored, check the disk below it and the logs of its "
    "array or host, then run chkdsk on it"
)
_KINDS = (
    _Kind(
        _DEVICE,
        _REPLACE,
        (
            r"SMART overall-health self-assessment test result: (?!PASSED)",
            r"SMART Health Status: (?!OK)",
            r"FAILING_NOW\b",
            # A warning of 2 is the temperature alone.
            r"(?i:critical.warning\s*:\s*(?:0x)?0*(?!2\b)[1-9a-f])",
            r"(?i:media(?: and data integrity |_)errors\s*:\s*[1-9])",
            r"(?:Current_Pending_Sector|Offline_Uncorrectable)\b.*\s[1-9]\d*\s*$",
            r"has a bad block",
        ),
    ),
    _Kind(
        _DEVICE,
        f"{_REPLACE}, its cable or its path (smartctl -a DEVICE tells of the drive)",
        (
            r"I/O error, dev (?!sr\d|fd\d)",
            r"I/O error on dev(?:ice)? (?!sr\d|fd\d)",
            r"lost (?:async )?page write",
            r"critical (?:medium|target) error, dev",
            r"Medium Error|Unrecovered read error",
            r"controller is down; will reset",
            r"(?:Removing|Disabling) (?:device )?after (?:probe|reset) failure",
            r"(?i:remounting filesystem read-only)",
            r"EXT4-fs error|XFS \(\S+\): (?:[Cc]orruption|[Mm]etadata corruption|[Mm]etadata I/O error|log I/O error)",
            r"BTRFS.*(?:csum failed|checksum error)",
            r"md/raid\S*: Disk failure on",
        ),
    ),
    _Kind(_DEVICE, _REPLACE, (_event("(?:microsoft-windows-)?disk", "7|52"),), events=True),
    _Kind(
        _DEVICE,
        _RESET,
        (
            _event("(?:microsoft-windows-)?disk", "11|15|51|153|154|157"),
            _event(_PORTS, "129"),
        ),
        events=True,
    ),
    _Kind(
        _DEVICE,
        _RESET,
        (
            r"Reset to device, \\Device\\\w+, was issued",
            r"The IO operation at logical block address \w+ for Disk \d+ .*was retried",
        ),
    ),
    _Kind(_DATA, _CHKDSK, (_event("(?:microsoft-windows-)?ntfs(?: \\(ntfs\\))?", "55"),), events=True),
    _Kind(_DATA, _CHKDSK, (r"A corruption was discovered in the file system structure",)),
    _Kind(
        _DATA,
        "run DBCC CHECKDB on the database now, keep the backups from before it, restore what is damaged from one that "
        "was checked (RESTORE VERIFYONLY), have the storage below the file checked, and put no load on it",
        (
            _SQL_ERROR.format(numbers="823|824|825", severities=r"1\d|2\d"),
            # 605 at a severity of 12 is of a read without locks.
            _SQL_ERROR.format(numbers="605|9001", severities=r"2\d"),
            r"MSSQL(?:SERVER|\$\w+)\"?[,;\t]\"?(?:605|823|824|825|9001)\"?[,;\t]",
            r"\"(?:605|823|824|825|9001)\"[,;\t](?:\"[^\"]*\"[,;\t])?\"MSSQL",
            r"threatens database integrity",
            r"succeeded after failing \d+ time\(s\) with error",
            # A backup's own target is not the data.
            rf"spid\w+\s+(?!\s|Backup).*(?=[1-9]\d{{1,3}}\s?\()(?:{_ERROR_WORD})(?:{_DEVICE_ERRORS})\s?\(",
            rf"operating system returned error (?:{_DEVICE_ERRORS})\s?\(",
            r"Write error during log flush|Schreibfehler während der Protokollleerung",
            r"DBCC CHECK\w+ .*(?:found [1-9]\d* errors|hat [1-9]\d* Fehler gefunden)",
            r"CHECK\w+ found (?:[1-9]\d* allocation|\d+ allocation errors and [1-9]\d* consistency) errors",
        ),
    ),
    _Kind(
        _DATA,
        "do not trust the running server, for what a failed fsync lost is not written again: stop it, copy its data "
        "directory to another device, check the device (dmesg, smartctl -a), then check the copy (pg_checksums "
        "--check, pg_amcheck) or restore the last backup, and put no load on the old device",
        (rf"^(?:{FSYNC}).*: (?:{EIO})$",),
        postgresql=True,
    ),
    _Kind(
        _DATA,
        "keep the backups from before it and see that they can be restored, check the device (dmesg, smartctl -a), "
        "then the data (pg_checksums --check with the server stopped, pg_amcheck), restore what is damaged, and put no "
        "load on the device",
        (rf"^(?:{DAMAGED})",),
        postgresql=True,
        states=STATES_OF_DATA,
    ),
    _Kind(
        _DATA,
        "a device did not read or write: see that the backup can be restored, copy what can still be read to another "
        "device, check this one and its path (dmesg, smartctl -a), and put no load on it",
        (rf"^(?!.*\d ms  ).*: (?:{EIO})$",),
        postgresql=True,
        states=(STATE_OF_DEVICE,),
    ),
    _Kind(
        "a file system that takes no writes, as Linux makes it when its device fails",
        "see the first error in dmesg; if it is the device's: see that the backup can be restored, copy what can still "
        "be read to another device, and put no load on this one",
        (rf"^(?!.*\d ms  ).*: (?:{EROFS})$",),
        postgresql=True,
    ),
    _Kind(
        _DATA,
        "dump what can be read to another device now, keep the backups from before it, check the device (dmesg, "
        "smartctl -a), restore what is damaged, and put no load on it",
        (
            r"InnoDB.*(?:[Dd]atabase page corruption|page checksum mismatch|fsync\(\) returned )",
            r"InnoDB.*Page read from tablespace is corrupted",
            r"InnoDB.*[Oo]perating system error number (?:5|23|30|1117)\b",
        ),
    ),
)
_OF_PROVIDER = (
    "the provider runs this server and its disk: fail over to a standby that has a disk of its own, or restore to a "
    "moment before it into a new server, check that one's data (pg_amcheck), open a case with the provider, and put no "
    "load on the old server"
)
_EVENTS = re.compile(EVENTS)
_FIRST = 5
"""Lines in which the head of an event log is looked for."""


def _any(*, postgresql: bool, events: bool) -> re.Pattern[str]:
    kinds = (kind for kind in _KINDS if kind.postgresql is postgresql and events >= kind.events)
    return re.compile("|".join(each for kind in kinds for each in kind.patterns))


_ANY = {
    (postgresql, events): _any(postgresql=postgresql, events=events)
    for postgresql in (False, True)
    for events in (False, True)
}
_STATES = frozenset(state for kind in _KINDS for state in kind.states)


def damage(lines: Iterable[tuple[int, str]]) -> Damage | None:
    """What the numbered lines of a log name; None where they name no damage."""
    rest = iter(lines)
    first_lines = list(islice(rest, _FIRST))
    events = any(_EVENTS.search(line) for _, line in first_lines)
    messages = said(islice(chain(first_lines, rest), _MOST_LINES))
    found = [each for each in messages if each.state in _STATES or _ANY[each.postgresql, events].search(each.text)]
    if not found:
        return None
    first = found[0]
    kind = next(kind for kind in _KINDS if events >= kind.events and _is(first, kind))
    count = f" ({len(found)} such lines)" if len(found) > 1 else ""
    remedy = _OF_PROVIDER if managed(first) else kind.remedy
    return Damage(first.line, f'this log names {kind.what}: "{first.shown[:_LONGEST]}"{count}', remedy)


def _is(message: Said, kind: _Kind) -> bool:
    if kind.postgresql is message.postgresql and any(re.search(each, message.text) for each in kind.patterns):
        return True
    return message.state in kind.states
