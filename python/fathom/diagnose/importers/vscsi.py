"""VMware's vSCSI traces: binary records of SCSI commands of a virtual disk, little-endian, blocks of 512 bytes.

The layouts are those of libCacheSim's reader (traceReader/customizedReader/vscsi.h in github.com/1a1a11a/libCacheSim).
Version 1 has no completions, so no latency. Version 2 adds a response time whose unit that reader does not name: it is
taken for µs, as the time stamps are, and 0 for not recorded. No public trace of version 2 was found.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fathom.diagnose import trace
from fathom.diagnose.clock import start_of
from fathom.diagnose.importer import Importer
from fathom.diagnose.metrics import Layer
from fathom.diagnose.source import Head, Source
from fathom.diagnose.table import Block

_LAYOUTS = {
    1: np.dtype(
        [("number", "<u4"), ("size", "<u4"), ("elements", "<u4"), ("command", "<u2"), ("version", "<u2"),
         ("block", "<u8"), ("time", "<u8")]
    ),
    2: np.dtype(
        [("command", "<u2"), ("version", "<u2"), ("number", "<u4"), ("size", "<u4"), ("elements", "<u4"),
         ("block", "<u8"), ("time", "<u8"), ("response", "<u8")]
    ),
}  # fmt: skip
"""By version, which every record repeats in the upper byte of its field."""
_READS, _WRITES = (0x08, 0x28, 0x88, 0xA8), (0x0A, 0x2A, 0x8A, 0xAA)
_MOST_US = trace.MOST_INTERVALS * 10**6
_MOST_BYTES = 1 << 30
"""No SCSI command of a virtual disk moves more; what says so is damaged."""


def recognise(head: Head) -> float:
    """Two records or more of one version, nearly all of them reads and writes."""
    return 0.9 if _version(head.data) else 0.0


def read(source: Source) -> Iterator[Block]:
    """Reads and writes of the virtual disk, in intervals of a second."""
    data = source.data()
    version = _version(data[: 1 << 16])
    if version is None:
        raise source.error("no record of a vSCSI trace", "copy the trace again, as a binary file", offset=0)
    records = _records(data, version)
    size = records.dtype.itemsize
    if len(data) % size:
        source.notes.skip("records", "the trace ends within one", 1, f"byte {len(records) * size}")
    wrong = np.flatnonzero(records["version"] >> 8 != version)
    if len(wrong):
        problem = f"no record of a vSCSI trace, version {version}"
        raise source.error(problem, "copy the trace again", offset=int(wrong[0]) * size)
    _drop(source, "neither reads nor writes", wanted := np.isin(records["command"], (*_READS, *_WRITES)), size)
    possible = _possible(records)
    _drop(source, "of impossible time, place or size", possible | ~wanted, size)
    records = records[wanted & possible]
    if not len(records):
        return
    times = records["time"].astype(np.int64)
    latency = np.full(len(records), np.nan)
    if version == 2:
        latency[:] = np.where(records["response"] > 0, records["response"] * 1000.0, np.nan)
    requests = trace.Requests(
        start=(times - times.min()) * 1000 + start_of(source),
        latency=latency,
        size=records["size"].astype(np.int64),
        offset=records["block"].astype(np.int64) * 512,
        write=np.isin(records["command"], _WRITES),
    )
    yield from trace.intervals(None, "vSCSI trace", Layer.VIRTUAL_DISK, requests)


def _version(data: bytes) -> int | None:
    """The version whose layout the records of a head fit."""
    for version in _LAYOUTS:
        records = _records(data, version)
        fit = (records["version"] >> 8 == version) & np.isin(records["command"], (*_READS, *_WRITES))
        if len(records) >= 2 and fit.mean() > 0.95:
            return version
    return None


def _records(data: bytes, version: int) -> np.ndarray:
    layout = _LAYOUTS[version]
    return np.frombuffer(data[: len(data) // layout.itemsize * layout.itemsize], dtype=layout)


def _possible(records: np.ndarray) -> NDArray[np.bool_]:
    """Records near the others in time, on a disk that may exist, of a size that a command may have."""
    # The middle one is no damaged one where few are; differences of floats do not wrap.
    times = records["time"].astype(np.float64)
    near = np.abs(times - np.median(times)) < _MOST_US if len(times) else np.zeros(0, dtype=bool)
    fits = (records["block"] < 1 << 53) & (records["size"] > 0) & (records["size"] <= _MOST_BYTES)
    if "response" in (records.dtype.names or ()):
        fits &= records["response"] < _MOST_US
    return np.asarray(near & fits)


def _drop(source: Source, why: str, good: NDArray[np.bool_], size: int) -> None:
    """Reports the commands that are left out, and the position of the first."""
    bad = np.flatnonzero(~good)
    if len(bad):
        source.notes.skip("commands", why, len(bad), f"byte {int(bad[0]) * size}")


IMPORTER = Importer("vscsi", "VMware vSCSI trace", recognise, read)
