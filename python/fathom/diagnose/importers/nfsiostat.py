"""`nfsiostat` of nfs-utils: reads and writes of each mount, their time in the client's queue and on the way.

The script prints neither times nor the host: a stamp before each line (`nfsiostat 5 | ts '%F %T'`), or a time of its
own above a call, is read. `nfsiostat.py` beside this folder tells what the columns mean, and of which versions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fathom.diagnose.facts import NOT_NEEDED
from fathom.diagnose.importer import Importer
from fathom.diagnose.iostat import parted
from fathom.diagnose.nfsiostat import RECORD, Command, Mount, Report, samples
from fathom.diagnose.numbers import plain_number
from fathom.diagnose.source import Head, Source
from fathom.diagnose.table import Block
from fathom.diagnose.time_lines import time_line

_MOUNT = re.compile(r"(\S.{0,1000}?) mounted on (/.{0,1000}):")
_TOTAL = re.compile(r"ops?/s\s+rpc bklog")
"""The head of a mount's first table; `op/s` before nfs-utils 1.3.1."""
_COLUMN = re.compile(r"ops/s|[kM]B/s|[kM]B/op|retrans|avg RTT \(ms\)|avg exe \(ms\)|avg queue \(ms\)|errors")
_OPERATION = re.compile(rf"([a-z_]+):((?:\s+(?:{_COLUMN.pattern}))+)")
_CELL = re.compile(r"(-?\d+(?:\.\d+)?)(?:\s*\(\s*-?\d+(?:\.\d+)?%\))?(?=\s|$)")
"""A number; of retransmissions and errors the percentage follows it."""
_CALL = re.compile(
    r"(?:\S*\s?\S*[#$%>]\s*)?(?:sudo\s+)?(?:/usr/sbin/)?"
    r"nfsiostat((?:\s+(?:-[-=\w]+|\d{1,9}|/\S*))*)(?:\s*\|.*)?"
)
"""A command line with its prompt, also with what reads its output (`| tee FILE`)."""
_NONE = "No NFS mount points were found"
_OTHER = re.compile(
    r"\d+ (?:VFS opens|inoderevalidates|page cache|attribute cache|open operations|dentry revalidates|vfs getdents|"
    r"nfs_\w+\(\) calls|congestion waits)|resulted in \d+|\([\d.]+ pages per call\)|app bytes:|Data cache hit|"
    r"(?:\^C)?Caught \^C"
)
"""What -a, -d and -p print besides operations."""


def recognise(head: Head) -> float:
    """A mount, or the head of its table."""
    lines = [parted(line)[1] for line in head.lines]
    return 0.9 if any(_MOUNT.fullmatch(line) or _TOTAL.fullmatch(line) or line == _NONE for line in lines) else 0.0


def read(source: Source) -> Iterator[Block]:
    """All reports; a mount that comes again begins the next one."""
    reports = _Reports(source)
    for number, line in source.lines():
        reports.line(number, line)
    found = [report for report in reports.found if report.mounts]
    if not found:
        raise source.error("nfsiostat found no mount", "mount the file system, and record with the mount point", line=1)
    yield from samples(source, found)


class _Reports:
    """The lines of a log, as nfsiostat wrote them."""

    def __init__(self, source: Source) -> None:
        self.found: list[Report] = []
        self._source = source
        self._call = 0
        self._command: Command | None = None
        self._own: str | None = None
        """A time on a line of its own, for the next report."""
        self._prefixed = False
        """Whether lines have stamps before them."""
        self._mount: Mount | None = None
        self._columns: tuple[str, list[str]] | None = None
        """The operation and the columns that the next line has numbers of; no operation for the mount's own."""

    def line(self, number: int, line: str) -> None:
        """Takes one line."""
        before, text = parted(line)
        self._prefixed |= before is not None
        head = _OPERATION.fullmatch(text)
        if not text or text == _NONE:
            return
        if (mount := _MOUNT.fullmatch(text)) is not None:
            self._begin(number, before, mount[1], mount[2])
        elif _TOTAL.fullmatch(text):
            self._columns = "", ["sent", "backlog"]
        elif head is not None:
            self._columns = head[1], _COLUMN.findall(head[2])
        elif self._columns is not None and _CELL.match(text):
            self._numbers(number, text)
        elif (command := _command(text)) is not None:
            self._again(command, self._own)
        elif (own := time_line(text)) is not None:
            if self._prefixed:
                return  # a blank line with its stamp
            begun = bool(self.found) and self.found[-1].call == self._call
            self._again(None if begun else self._command, own)
        elif _OTHER.match(text):
            self._source.notes.skip("lines", NOT_NEEDED, 1, f"line {number}: {text[:60]}")
        else:
            self._source.notes.skip("lines", "no reports of nfsiostat", 1, f"line {number}: {text[:60]}")

    def _again(self, command: Command | None, own: str | None) -> None:
        """Another call of nfsiostat follows, by its command line or by a time above it."""
        self._call += 1
        self._command, self._own, self._mount, self._columns = command, own, None, None

    def _begin(self, number: int, before: str | None, export: str, point: str) -> None:
        last = self.found[-1] if self.found else None
        if last is None or last.call != self._call or point in last.mounts:
            self.found.append(Report(before or self._own, self._call, self._command, number))
            self._own = None
        self._mount = self.found[-1].mounts[point] = Mount(export)
        self._columns = None

    def _numbers(self, number: int, text: str) -> None:
        """The numbers below a head; of a line that was cut none are taken."""
        assert self._columns is not None
        operation, columns = self._columns
        self._columns = None
        cells = [plain_number(cell) for cell in _CELL.findall(text)]
        if self._mount is None:
            self._source.notes.skip("lines", "no mount is named above them", 1, f"line {number}: {text[:60]}")
        elif len(cells) != len(columns) or None in cells or _CELL.sub("", text).strip():
            why = "not as many numbers as columns: the line was cut"
            self._source.notes.skip("lines", why, 1, f"line {number}: {text[:60]}")
        elif operation:
            self._mount.operations[operation] = {
                name: cell for name, cell in zip(columns, cells, strict=True) if cell is not None
            }
        else:
            self._mount.sent, self._mount.backlog = cells


def _command(text: str) -> Command | None:
    """A command line of nfsiostat, pasted with its prompt; its first number is the interval."""
    found = _CALL.fullmatch(text.strip("`"))
    if found is None:
        return None
    words = found[1].split()
    # `-l 3` has a number of its own.
    numbers = [int(word) for at, word in enumerate(words) if word.isdecimal() and words[at - 1 : at] != ["-l"]]
    return Command(f"nfsiostat{found[1]}", numbers[0] if numbers and numbers[0] else None)


IMPORTER = Importer("nfsiostat", "nfsiostat's reports of NFS mounts", recognise, read, RECORD)
