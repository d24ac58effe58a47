"""What the two forms of iostat's output share: its columns, its stamps, and the first report that covers the past.

`%util` says only that something was outstanding; `svctm` has been wrong for years and is ignored.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from fathom.diagnose.clock import BY_COMMAS, NS, is_day_first, iso_ns, note_offset, ns_of, zone_of
from fathom.diagnose.facts import NOT_NEEDED
from fathom.diagnose.iostat_columns import COLUMNS, Tables
from fathom.diagnose.iostat_command import Command
from fathom.diagnose.iostat_interval import Disks, Interval, excludes, interval_of
from fathom.diagnose.iostat_start import first_is_since_start, is_surely_counted_over, only_is_since_start
from fathom.diagnose.linux import disk_of
from fathom.diagnose.metrics import Layer
from fathom.diagnose.numbers import plain_number
from fathom.diagnose.table import Block, Rows, Series

if TYPE_CHECKING:
    from fathom.diagnose.source import Source

_UNITS = {"B": 1 / 1024, "k": 1.0, "M": 1024.0, "G": 1024.0**2, "T": 1024.0**3, "P": 1024.0**4}
"""Units of amounts in kB."""

_CPU = {
    "user": "cpu_user_percent", "system": "cpu_system_percent", "iowait": "cpu_iowait_percent",
    "steal": "cpu_steal_percent", "nice": "cpu_nice_percent",
}  # fmt: skip

_TIMED = {
    "read_latency_s", "write_latency_s", "discard_latency_s", "flush_latency_s", "latency_s", "outstanding_mean",
    "busy_percent",
}  # fmt: skip
_FEWEST_UNREAD = 3
"""Reports in which a row cannot be read, from which it is a device's."""
_ENOUGH = 1000.0
"""Requests that take some time together, on any device."""
_GAP = 2.0
"""Times the usual interval that make a gap."""


@dataclass(frozen=True)
class Report:
    """One report of iostat.

    Attributes:
        stamp: as printed, or as another program put it before each line; None without either.
        cpu: shares by name, percent.
        disks: device to column to number.
        where: line or number of the report, for messages.
        listed: whether it has a table of devices that was read as a whole: -z leaves out those without a request.
        unread: devices whose row was there and could not be read.
    """

    stamp: str | None
    cpu: dict[str, float]
    disks: dict[str, dict[str, float]]
    where: str
    listed: bool = False
    unread: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Call:
    """What is known of the call of iostat that wrote some reports.

    Attributes:
        command: the command line that was pasted with the reports.
        began: stamp of the heading, where another program put one before each line.
        said: the time on a line above the call.
        after: when the calls above it in the log ended, ns since 1970: reports without times follow.
    """

    command: Command | None = None
    began: str | None = None
    said: str | None = None
    after: int = 0


class Past:
    """The calls of a log that were read: a call without a time follows them.

    Attributes:
        until: when they ended, ns since 1970.
    """

    def __init__(self) -> None:
        self.until = 0

    def noted(self, blocks: Iterator[Block]) -> Iterator[Block]:
        """The samples of one more call."""
        for block in blocks:
            self.until = max(self.until, int(block.times_ns.max()))
            yield block


def samples(
    source: Source, host: str | None, date: str | None, reports: Sequence[Report], call: Call = Call()
) -> Iterator[Block]:
    """The reports of one call on one host as batches.

    Args:
        source: the log, for errors and facts.
        host: its name.
        date: of the heading, for times without a date.
        reports: in the order of the log.
        call: which wrote them.

    Raises:
        LogError: a stamp cannot be read, or only some reports have one.
    """
    if not reports:
        return
    _add_unused(reports, call.command)
    times, seconds = _times(source, date, reports, call)
    start = 0
    if len(reports) > 1 and _begins_at_start(source, date, reports, times, seconds, call):
        source.notes.skip("reports", "the first one is the mean since the machine's start (iostat without -y)")
        start = 1
        if call.said is not None and reports[0].stamp is None:
            times = times - (times[1] - times[0])  # iostat prints that one at once
    untimed = _untimed(reports[start:], seconds[start:])
    source.notes.skip("devices", _UNTIMED, len(untimed), ", ".join(sorted(untimed)[:6]))
    rows, tables = Rows(), Tables()
    columns_of = {device: columns for report in reports for device, columns in report.disks.items()}
    for time, length, report in zip(times[start:].tolist(), seconds[start:], reports[start:], strict=True):
        for device, columns in report.disks.items():
            if disk_of(device) in report.disks:
                continue  # -p: a partition's requests are its disk's
            tables.add(time, length, device, tuple(columns), tuple(columns.values()))
        for device in sorted(report.unread & columns_of.keys() - report.disks.keys()):
            lacking = tuple(columns_of[device])
            tables.add(time, length, device, lacking, (math.nan,) * len(lacking))
        for name, value in _cpu(report.cpu).items():
            rows.add(time, length, Series(host, None, Layer.HOST, name), value)
        yield from rows.take_if()
    lost = Counter(device for report in reports[start:] for device in report.unread - columns_of.keys())
    for device, count in sorted(lost.items()):
        # A remark between the reports is no device.
        if count >= max(_FEWEST_UNREAD, len(reports) / 2):
            source.notes.fact("unread_device", count, device)
    ignored = tables.columns - set(COLUMNS)
    source.notes.skip("columns", NOT_NEEDED, len(ignored), ", ".join(sorted(ignored)[:6]))
    yield from tables.take(host, dict.fromkeys(untimed, _TIMED))
    yield from rows.take()


def _times(
    source: Source, date: str | None, reports: Sequence[Report], call: Call
) -> tuple[np.ndarray, list[float | None]]:
    """When each report was written, and how much time it covers."""
    bare = [report for report in reports if report.stamp is None]
    counted: int | None = None
    if len(bare) == len(reports):
        times, counted = _counted(source, date, reports, call)
    elif bare:
        raise source.error("this report has no time, others have", "record with `iostat -xty 1`", entry=bare[0].where)
    else:
        times = stamps(source, [str(report.stamp) for report in reports], [report.where for report in reports], date)
    if back := int((np.diff(times) < 0).sum()):
        source.notes.fact(
            "clock", f"the clock goes back {back} times: state --time-zone if that is the end of summer time"
        )
    return times, _intervals(times, counted, [report.disks for report in reports])


def _begins_at_start(
    source: Source,
    date: str | None,
    reports: Sequence[Report],
    times: np.ndarray,
    seconds: Sequence[float | None],
    call: Call,
) -> bool:
    """Whether the first report covers the time since the machine's start: it follows its heading at once, unless it has
    an interval of its own (-y), or its figures say so.
    """
    stamped = reports[0].stamp is not None
    step = next((length for length in seconds if length), None) if stamped else None
    if call.began is not None and step is not None:
        heading = stamps(source, [call.began], ["the heading"], date)
        if abs(int(times[0] - heading[0])) < step * NS / 2:
            return True
    return first_is_since_start(reports[0].disks, [report.disks for report in reports[1:]], step, call.command)


_UNTIMED = "their time is not counted (await and %util are 0 while requests complete): record the disks below them"


def _untimed(reports: Sequence[Report], seconds: Sequence[float | None]) -> set[str]:
    """Devices that complete many requests in no time at all: md of older kernels counts none."""
    requests: dict[str, float] = {}
    timed: set[str] = set()
    for report, length in zip(reports, seconds, strict=True):
        for device, columns in report.disks.items():
            if device in timed:
                continue
            rate = sum(columns.get(name, 0.0) for name in ("r/s", "w/s"))
            requests[device] = requests.get(device, 0.0) + rate * (length or 1.0)
            times = [value for name, value in columns.items() if name in COLUMNS and COLUMNS[name][0] in _TIMED]
            if not times or any(times):
                timed.add(device)
    return {device for device, count in requests.items() if count >= _ENOUGH and device not in timed}


def _add_unused(reports: Sequence[Report], command: Command | None) -> None:
    """Fills the tables of -z: devices without a request in an interval are not in its report."""
    if not (command and command.used_only) and all(report.disks or not report.listed for report in reports):
        return
    unused: dict[str, dict[str, float]] = {}
    for report in reports:
        for device, columns in report.disks.items():
            unused.setdefault(device, dict.fromkeys(columns, 0.0))
    for report in reports:
        if report.listed:
            for device, zeros in unused.items():
                report.disks.setdefault(device, zeros)


def is_head(words: Sequence[str]) -> bool:
    """Whether words are the head of a table of devices, whatever the language of its first one.

    The head of sar's means at the end (`Average: DEV tps ...`, `Durchschn.: DEV ...`) looks like one behind the name of
    a host; only sar has DEV, in every language.
    """
    if not words or words[0][:1].isdigit() or words[-1][:1].isdigit() or "DEV" in words:
        return False
    return sum(word in COLUMNS for word in words) >= 3


def amount(text: str, column: str) -> float | None:
    """A number as sysstat prints it, in the column's unit; None if it is none.

    With -h and --human shares end in % and amounts in a unit of their own (`1.5M` in a column of kB).
    """
    value = plain_number(text.removesuffix("%"))
    if value is not None or len(text) < 2 or text[-1] not in _UNITS:
        return value
    value = plain_number(text[:-1])
    return None if value is None else value * _UNITS[text[-1]] / (1024 if "MB" in column else 1)


def _cpu(shares: Mapping[str, float]) -> dict[str, float]:
    found = {metric: shares[name] for name, metric in _CPU.items() if name in shares}
    if "idle" in shares:
        found["cpu_percent"] = max(0.0, 100.0 - shares["idle"] - shares.get("iowait", 0.0))
    return found


def _intervals(times: np.ndarray, counted: int | None, reports: Sequence[Disks]) -> list[float | None]:
    """Length of each interval: from the report before; of the first, the usual one; of a report without others, what
    its figures tell. After a gap in which nothing was recorded a report covers the usual time again, as its figures
    tell: one that was only late covers all of it.
    """
    if len(times) < 2:
        return [None if counted is None else float(counted)] * len(times)
    steps = np.diff(times) / NS
    usual = float(np.median(steps))
    lengths = [usual if usual > 0 else None, *(float(step) if step > 0 else None for step in steps)]
    late = np.flatnonzero(steps > _GAP * usual) + 1 if usual > 0 else np.empty(0, dtype=np.int64)
    for place in late.tolist():
        if is_surely_counted_over(reports[place], usual):
            lengths[place] = usual
    return lengths


def _counted(source: Source, date: str | None, reports: Sequence[Report], call: Call) -> tuple[np.ndarray, int | None]:
    """Times of reports that have none, and the interval where it is known: counted from the time above the call, from
    --start, otherwise from the beginning of the heading's day; a call without a time follows the one above it.
    """
    step = _told([report.disks for report in reports[1:] or reports], call.command)
    begin, since = source.start_ns, "--start"
    if call.said is not None:
        begin, since = (
            int(stamps(source, [call.said], ["the time above the call"], date)[0]),
            "the time above each call",
        )
    elif begin is None:
        begin, since = 0, "1970, as no date can be read; --start is better"
        if date and is_stamp(midnight := f"{date} 00:00:00"):
            begin = int(stamps(source, [midnight], ["the heading"], date)[0])
            since = "the beginning of the heading's day; --start is better"
    source.notes.counted |= call.said is None
    if begin < call.after:
        begin, since = call.after, "the end of the call above, as no time is between them"
    how = f", every {step.seconds} s, {step.why}" if step else ", every 1 s, as the log does not say"
    how = how if step or len(reports) > 1 else ""
    source.notes.fact("clock", f"the reports have no times (iostat without -t): counted from {since}{how}")
    seconds = step.seconds if step else 1
    return begin + np.arange(1, len(reports) + 1, dtype=np.int64) * seconds * NS, step.seconds if step else None


def _told(reports: Sequence[Disks], command: Command | None) -> Interval | None:
    """The interval by the command line above the reports, unless their figures tell another one."""
    found = interval_of(reports)
    if command is None or command.seconds is None or (found is not None and excludes(reports, found, command.seconds)):
        return found
    return Interval(command.seconds, f"as `{command.text}` in the log says")


_STEADY = 0.05
"""Largest change from one mean since the machine's start to the next, of nine numbers in ten."""


Lone = tuple[Report, Command | None]
"""A report that is the only one below its heading, and the command line above it."""


def lone(source: Source, host: str | None, date: str | None, found: Sequence[Lone], after: int = 0) -> Iterator[Block]:
    """Reports that each have a heading of their own, because a loop called iostat again for each.

    Without an interval and -y, each is the mean since the machine's start: no sample of the time when it was written.

    Args:
        source: the log, for errors and facts.
        host: its name.
        date: of the first heading.
        found: in the order of the log.
        after: when the other calls in it ended, ns since 1970.
    """
    kept = [
        (report, command)
        for report, command in found
        if not ((len(found) == 1 or command) and only_is_since_start(report.disks, command))
    ]
    if len(kept) < len(found):
        why = "alone below its call of iostat: the mean since the machine's start; record with `iostat -xty 1`"
        source.notes.skip("reports", why, len(found) - len(kept), found[0][0].where)
    reports = [report for report, _ in kept]
    if len(reports) > 1 and _hardly_change(reports):
        why = "each is the mean since the machine's start (iostat called again for each): record with `iostat -xty 1`"
        source.notes.skip("reports", why, len(reports), reports[0].where)
        return
    yield from samples(source, host, date, reports, Call(kept[0][1] if kept else None, after=after))


def _hardly_change(reports: Sequence[Report]) -> bool:
    """Whether nearly every number is nearly that of the report before."""
    changes = []
    for before, after in pairwise(reports):
        pairs = [(before.cpu, after.cpu), *((before.disks.get(name, {}), each) for name, each in after.disks.items())]
        for old, new in pairs:
            known = [(old.get(name, 0.0), value) for name, value in new.items()]
            # Of small numbers two decimals tell no change of some percent.
            changes += [abs(was - now) / max(was, now) for was, now in known if max(was, now) >= 0.5]
    return bool(changes) and float(np.quantile(changes, 0.9)) <= _STEADY


_DAY_NS = 86_400 * NS
_US = r"(\d\d)/(\d\d)/(\d\d(?:\d\d)?)"


def stamps(source: Source, texts: Sequence[str], where: Sequence[str], date: str | None) -> np.ndarray:
    """Times of reports in UTC, ns since 1970.

    iostat writes month/day/year in the C and US locales and day/month/year or day.month.year in others: the day is
    first where a first number is beyond 12, or where the log shows another locale and no second number is.

    Raises:
        LogError: a stamp is none.
    """
    found: list[int] = []
    zoned = True
    order = _order(texts, date, day_first=is_day_first(source.head().text))
    for (text, days), place in zip(_dated(texts, date, order), where, strict=True):
        try:
            time, named = _stamp(text, order)
        except ValueError:
            raise source.error(f'"{text[:40]}" is no time', "record with S_TIME_FORMAT=ISO", entry=place) from None
        zoned &= named
        found.append(time + days * _DAY_NS)
    times = np.array(found, dtype=np.int64)
    dates = [match.groups() for text in texts if (match := re.match(_US, text.strip()))]
    doubtful = any(first != second for first, second, _ in dates) and all(int(second) <= 12 for _, second, _ in dates)
    if doubtful and all(int(first) <= 12 for first, _, _ in dates):
        how = "with the month first" if order == "month" else BY_COMMAS
        source.notes.fact("note", f"{texts[0].strip()} is read {how}; S_TIME_FORMAT=ISO leaves no doubt")
    if zoned:
        note_offset(source, texts[0] if texts else "")
        return times
    return zone_of(source).utc(times)


_STAMPED = re.compile(r"^(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?)[ \t](?![AP]M$)(.*)$")


def parted(line: str) -> tuple[str | None, str]:
    """A stamp that another program put before the line (`| ts '%F %T'`), and the rest."""
    found = _STAMPED.match(line)
    return (found[1], found[2].strip()) if found else (None, line.strip())


_EAST_DATE = re.compile(r"(\d{4})(?:年|년) ?(\d\d)(?:月|월) ?(\d\d)(?:日|일)")
_EAST_TIME = re.compile(r"(\d\d)[时時시] ?(\d\d)[分분] ?(\d\d)[秒초]")


def digits_only(text: str) -> str:
    """Dates and times as other languages write them: Chinese, Japanese and Korean name the parts behind them."""
    return text if text.isascii() else _EAST_TIME.sub(r"\1:\2:\3", _EAST_DATE.sub(r"\1-\2-\3", text))


def labelled_time(text: str) -> str | None:
    """The time of `Time: 22:00:05`, as iostat before version 10 writes it, in any language; None for other lines."""
    if ":" not in text and "\uff1a" not in text:
        return None
    label, colon, time = text.replace("\uff1a", ":", 1).partition(":")
    time = digits_only(time.strip())
    return time if colon and label.strip().isalpha() and _TIME.fullmatch(time) else None


_TIME = re.compile(r"\d\d[:.]\d\d[:.]\d\d(?:\s*[AP]M)?")


def _dated(texts: Sequence[str], date: str | None, order: str) -> Iterator[tuple[str, int]]:
    """Stamps and the days to add. Those without a date (`Time: 22:00:05`, before sysstat 10) have that of the heading,
    and the day after it once they went back.
    """
    days, last = 0, 0
    for text in texts:
        if date is None or not _TIME.fullmatch(text.strip()):
            yield text, 0
            continue
        whole = f"{date} {text}"
        if is_stamp(whole, order):
            time = _stamp(whole, order)[0]
            days, last = days + (time < last), time
        yield whole, days


def _order(texts: Sequence[str], date: str | None, *, day_first: bool = False) -> str:
    """Which of day and month comes first, by numbers beyond 12; where none is, by what the log shows otherwise."""
    dates = [match for text in (*texts, date or "") if (match := re.search(_US, text))]
    if any(int(match[1]) > 12 for match in dates):
        return "day"
    return "day" if day_first and all(int(match[2]) <= 12 for match in dates) else "month"


_DATES = rf"(?:{_US}|(\d\d)\.(\d\d)\.(\d\d(?:\d\d)?)|(\d{{4}})-(\d\d)-(\d\d))"
_LOCAL = re.compile(_DATES + r"\s+(\d\d)[:.](\d\d)[:.](\d\d)\s*([AP]M)?")


def is_stamp(text: str, order: str | None = None) -> bool:
    """Whether a text is a time as iostat prints it, with the day or the month first if that is given."""
    try:
        _stamp(text, order or _order([text], None))
    except ValueError:
        return False
    return True


def _stamp(text: str, order: str) -> tuple[int, bool]:
    text = digits_only(text.strip())
    found = _LOCAL.fullmatch(text)
    if not found:
        if re.match(r"\d{4}-\d\d-\d\d", text):
            # sysstat writes +0200; Python 3.11 reads that.
            return iso_ns(text)
        raise ValueError(text)
    cells = [int(cell) if cell and cell.isdigit() else 0 for cell in found.groups()]
    if found[1]:
        day, month, year = (cells[1], cells[0], cells[2]) if order == "month" else (cells[0], cells[1], cells[2])
    elif found[4]:
        day, month, year = cells[3:6]
    else:
        year, month, day = cells[6:9]
    hour, minute, second = cells[9:12]
    if found[13]:
        hour = hour % 12 + (12 if found[13] == "PM" else 0)
    return ns_of(datetime(year + 2000 if year < 100 else year, month, day, hour, minute, second)), False
