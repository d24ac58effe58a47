"""Logs that name a device that failed, or data that is damaged: that comes before any latency.

Sources: NVM Express Base Specification, SMART / Health Information log, and smartctl(8); messages of Linux's block
layer, NVMe, md and file systems; Windows' event 7 of disks; Microsoft, MSSQLSERVER_823, _824 and _825; PostgreSQL
documentation, `data_sync_retry` and `ignore_checksum_failure`; MySQL reference manual, "Forcing InnoDB Recovery".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

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
    """What lines name that match one of the patterns, and what to do first."""

    what: str
    remedy: str
    patterns: tuple[str, ...]


_DEVICE, _DATA = "a device that fails", "damaged data or I/O that failed"
_REPLACE = (
    "put no load on this device: copy what can still be read to another one now, see that the backup can be restored, "
    "and replace the drive"
)
_KINDS = (
    _Kind(
        _DEVICE,
        _REPLACE,
        (
            r"SMART overall-health self-assessment test result: (?!PASSED)",
            r"SMART Health Status: (?!OK)",
            r"\bFAILING_NOW\b",
            # A warning of 2 is the temperature alone.
            r"(?i:critical.warning\s*:\s*(?:0x)?0*(?!2\b)[1-9a-f])",
            r"(?i:media(?: and data integrity |_)errors\s*:\s*[1-9])",
            r"\b(?:Current_Pending_Sector|Offline_Uncorrectable)\b.*\s[1-9]\d*\s*$",
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
    _Kind(
        _DATA,
        "run DBCC CHECKDB on the database now, keep the backups from before it, restore what is damaged from one that "
        "was checked (RESTORE VERIFYONLY), have the storage below the file checked, and put no load on it",
        (
            r"\bError: (?:823|824|825), Severity:",
            r"threatens database integrity",
            r"succeeded after failing \d+ time\(s\) with error",
        ),
    ),
    _Kind(
        _DATA,
        "do not trust the running server, for what a failed fsync lost is not written again: stop it, copy its data "
        "directory to another device, check the device (dmesg, smartctl -a), then check the copy (pg_checksums "
        "--check, pg_amcheck) or restore the last backup, and put no load on the old device",
        (
            r"\bcould not fsync\b",
            r"\b(?:PANIC|FATAL|ERROR|WARNING|LOG):  .*Input/output error",
            r"invalid page in block",
            r"page verification failed, calculated checksum",
        ),
    ),
    _Kind(
        _DATA,
        "dump what can be read to another device now, keep the backups from before it, check the device (dmesg, "
        "smartctl -a), restore what is damaged, and put no load on it",
        (r"InnoDB.*(?:[Dd]atabase page corruption|[Oo]perating system error number 5\b|page checksum mismatch)",),
    ),
)
_ANY = re.compile("|".join(pattern for kind in _KINDS for pattern in kind.patterns))


def damage(lines: Iterable[tuple[int, str]]) -> Damage | None:
    """What the numbered lines of a log name; None where they name no damage."""
    found = [(number, line.strip()) for number, line in islice(lines, _MOST_LINES) if _ANY.search(line)]
    if not found:
        return None
    number, line = found[0]
    kind = next(kind for kind in _KINDS if any(re.search(pattern, line) for pattern in kind.patterns))
    count = f" ({len(found)} such lines)" if len(found) > 1 else ""
    return Damage(number, f'this log names {kind.what}: "{line[:_LONGEST]}"{count}', kind.remedy)
