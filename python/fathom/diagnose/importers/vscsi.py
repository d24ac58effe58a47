"""VMware's vSCSI traces, version 1: binary records of commands without completions.

Version 1, 32 bytes: number, bytes, scatter elements (u32 each), command and version (u16 each), block and µs (u64
each); blocks are 512 bytes. Version 2 is not read. Latency is not in the trace.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fathom.diagnose import trace
from fathom.diagnose.clock import start_of
from fathom.diagnose.importer import Importer
from fathom.diagnose.metrics import Layer
from fathom.diagnose.source import LARGEST_DOCUMENT, Head, Source
from fathom.diagnose.table import Block

_RECORD = np.dtype(
    [("number", "<u4"), ("size", "<u4"), ("elements", "<u4"), ("command", "<u2"), ("version", "<u2"),
     ("block", "<u8"), ("time", "<u8")]
)  # fmt: skip
_READS, _WRITES = (0x08, 0x28, 0x88, 0xA8), (0x0A, 0x2A, 0x8A, 0xAA)


def recognise(head: Head) -> float:
    """Records of version 1 with commands of SCSI and times that hardly ever go back."""
    records = _records(head.data)
    if len(records) < 2:
        return 0.0
    fit = (records["version"] >> 8 == 1) & np.isin(records["command"], (*_READS, *_WRITES))
    return 0.9 if fit.mean() > 0.95 else 0.0


def read(source: Source) -> Iterator[Block]:
    """Reads and writes of the virtual disk, in intervals of a second."""
    with source.open() as file, source.reading():
        data = file.read(LARGEST_DOCUMENT)
    records = _records(data)
    if len(data) % _RECORD.itemsize:
        source.told.skip("records", "the trace ends within one", 1, f"byte {len(records) * _RECORD.itemsize}")
    wrong = np.flatnonzero(records["version"] >> 8 != 1)
    if len(wrong):
        offset = int(wrong[0]) * _RECORD.itemsize
        raise source.error("no record of a vSCSI trace, version 1", "copy the trace again", offset=offset)
    known = np.isin(records["command"], (*_READS, *_WRITES))
    source.told.skip("commands", "neither reads nor writes", int((~known).sum()))
    records = records[known]
    if not len(records):
        return
    times = records["time"].astype(np.float64)
    begin = times.min()
    sane = (times - begin < trace.MOST_INTERVALS * 1e6) & (records["block"] < 1 << 54) & (records["size"] > 0)
    source.told.skip("commands", "of impossible time, place or size", int((~sane).sum()))
    records, times = records[sane], times[sane]
    if not len(records):
        return
    requests = trace.Requests(
        start=((times - begin) * 1000).astype(np.int64) + start_of(source),
        latency=np.full(len(records), np.nan),
        size=records["size"].astype(np.int64),
        offset=records["block"].astype(np.int64) * 512,
        write=np.isin(records["command"], _WRITES),
    )
    yield from trace.intervals(None, "vSCSI trace", Layer.VIRTUAL_DISK, requests)


def _records(data: bytes) -> np.ndarray:
    return np.frombuffer(data[: len(data) // _RECORD.itemsize * _RECORD.itemsize], dtype=_RECORD)


IMPORTER = Importer("vscsi", "VMware vSCSI trace", recognise, read)
