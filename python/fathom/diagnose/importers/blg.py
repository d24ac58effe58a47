"""Windows performance logs in their binary form (`.blg`), of Performance Monitor, logman and data collector sets.

Read natively, without Windows. Windows computes values from raw ones; so does this, exactly for each interval. Disk
objects are known by Perflib's index, whatever the machine's language.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fathom.diagnose import windows
from fathom.diagnose.facts import NOT_NEEDED
from fathom.diagnose.importer import Importer
from fathom.diagnose.source import Head, Source
from fathom.diagnose.table import Block, grouped

if TYPE_CHECKING:
    from fathom._core import BlgLog

_VALUES = 200_000
"""Values a batch, about."""
_HEADER = 0x68
_CONVERT = "on a Windows machine `relog LOG.blg -f CSV -o LOG.csv` converts what it can read; diagnose the CSV"

_OBJECTS = {234: "PhysicalDisk", 236: "LogicalDisk"}
_COUNTERS = {
    198: "Current Disk Queue Length",
    1400: "Avg. Disk Queue Length",
    1402: "Avg. Disk Read Queue Length",
    1404: "Avg. Disk Write Queue Length",
    206: "Avg. Disk sec/Transfer",
    208: "Avg. Disk sec/Read",
    210: "Avg. Disk sec/Write",
    212: "Disk Transfers/sec",
    214: "Disk Reads/sec",
    216: "Disk Writes/sec",
    218: "Disk Bytes/sec",
    220: "Disk Read Bytes/sec",
    222: "Disk Write Bytes/sec",
    224: "Avg. Disk Bytes/Transfer",
    226: "Avg. Disk Bytes/Read",
    228: "Avg. Disk Bytes/Write",
    1482: "% Idle Time",
    1484: "Split IO/Sec",
    408: "% Free Space",
    410: "Free Megabytes",
}
"""Names of Perflib's indices, which are the same in every language."""


def recognise(head: Head) -> float:
    """An event trace file: equal buffers, the first of which describes the session."""
    data = head.data[:_HEADER]
    if len(data) < _HEADER:
        return 0.0
    size = int.from_bytes(data[:4], "little")
    first_is_header = int.from_bytes(data[0x36:0x38], "little") == 4
    return 0.9 if first_is_header and size % 1024 == 0 and 0 < size <= 1 << 24 and data[0x4B] & 0xC0 == 0xC0 else 0.0


def read(source: Source) -> Iterator[Block]:
    """Every sample of the counters that the table has.

    Raises:
        LogError: the log is damaged or holds something that is not understood, with the byte of the file.
    """
    # Here, not above: a build of the extension from before this format must not take the other formats away.
    from fathom._core import BadInput, BlgLog

    with _uncompressed(source) as path:
        try:
            log = BlgLog(path)
            yield from _Reader(source, log).blocks()
        except BadInput as problem:
            raise source.error(str(problem), _CONVERT) from None


class _Reader:
    """Turns the log's series into the table's."""

    def __init__(self, source: Source, log: BlgLog) -> None:
        self._source, self._log = source, log
        self._mapped: list[windows.Mapped] = []
        self._places: list[int] = []
        """Of each series of the log its index in `_mapped`; -1 where the table has no such metric."""
        self._last_ns: int | None = None
        self._counts: dict[int, float] = {}
        """Of counters that only rise: the value before."""

    def blocks(self) -> Iterator[Block]:
        while (columns := self._log.batch(_VALUES)) is not None:
            times = np.frombuffer(columns["time_ns"], np.int64)
            series = np.frombuffer(columns["series"], np.uint32)
            values = np.frombuffer(columns["value"], np.float64)
            self._learn()
            if len(times):
                yield from self._blocks(times, series, values)
        self._tell()

    def _learn(self) -> None:
        """Maps the series that are new."""
        for machine, object_, instance, counter, object_index, counter_index, _ in self._log.series(len(self._places)):
            disk = _OBJECTS.get(object_index)
            name = _COUNTERS.get(counter_index, counter) if disk else counter
            path = windows.Path(machine.removeprefix("\\\\") or None, disk or object_, instance or None, name)
            found = windows.mapped(path)
            self._places.append(-1 if found is None else len(self._mapped))
            if found is None:
                self._source.notes.skip("counters", NOT_NEEDED, 1, f"{path.object}\\{path.counter}")
            else:
                self._mapped.append(found)

    def _blocks(self, times: NDArray[np.int64], series: NDArray[np.uint32], values: NDArray[np.float64]) -> list[Block]:
        moments = np.unique(times)
        before = np.concatenate(([self._last_ns if self._last_ns is not None else moments[0]], moments[:-1]))
        lengths = (moments - before) / 1e9
        lengths[lengths <= 0] = np.nan
        self._last_ns = int(moments[-1])
        places = np.array(self._places)[series]
        known = places >= 0
        times, places = times[known], places[known]
        seconds = lengths[np.searchsorted(moments, times)]
        return grouped(
            [each.series for each in self._mapped], places, times, seconds, self._scaled(places, values[known])
        )

    def _scaled(self, places: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values in the metrics' units; NaN where a mean is over nothing, or a count has no predecessor."""
        scale = np.array([found.scale for found in self._mapped])[places]
        inverted = np.array([found.inverted for found in self._mapped], dtype=bool)[places]
        averages = np.array([found.zero_is_missing for found in self._mapped], dtype=bool)[places]
        scaled: NDArray[np.float64] = np.where(inverted, np.maximum(100 - values, 0), values * scale)
        scaled[averages & (values == 0)] = np.nan
        for at in np.flatnonzero(np.array([found.cumulative for found in self._mapped], dtype=bool)[places]):
            number, value = int(places[at]), float(scaled[at])
            scaled[at] = value - self._counts.get(number, np.nan)
            self._counts[number] = value
        return scaled

    def _tell(self) -> None:
        facts, notes = self._log.facts(), self._source.notes
        notes.fact("os", f"Windows, build {facts['build']}")
        notes.fact("cpus", facts["processors"])
        notes.fact(
            "time_zone", f"the log's own: {-facts['bias_minutes'] / 60:+g} h from UTC, its daylight saving applied"
        )
        for what in ("events_lost", "buffers_lost"):
            notes.skip(what.replace("_", " "), "Windows could not keep up when it wrote the log", facts[what])
        notes.skip("events", "of other providers", facts["foreign_events"])
        for code, count in facts["unknown_types"].items():
            notes.skip("counters", f"of type {code:#010x}, which has no value of its own or no formula here", count)


@contextmanager
def _uncompressed(source: Source) -> Iterator[Path]:
    """The log as a plain file: buffers are read by position."""
    with source.open() as file, source.reading():
        if not hasattr(file, "raw") or file.raw.__class__.__name__ == "FileIO":
            yield source.path
            return
        with tempfile.NamedTemporaryFile(prefix="fathom-", suffix=".blg") as plain:
            shutil.copyfileobj(file, plain)
            plain.flush()
            yield Path(plain.name)


IMPORTER = Importer(
    "blg",
    "Windows performance log (BLG)",
    recognise,
    read,
    r"logman create counter fathom -o fathom -f bin -si 5 -c "
    r'"\PhysicalDisk(*)\*" "\LogicalDisk(*)\*" && logman start fathom',
)
