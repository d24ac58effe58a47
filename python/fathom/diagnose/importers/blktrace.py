"""blktrace's binary files: requests from issue (D) to completion (C), by device.

Records are 48 bytes and a payload, little-endian: magic and version, sequence, ns, sector, bytes, action, process,
device, processor, error, length of the payload (include/uapi/linux/blktrace_api.h). Each processor has a file of its
own: requests that complete on another one have no end here and are counted; `blkparse -d` joins the files.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np

from fathom.diagnose import trace
from fathom.diagnose.clock import start_of
from fathom.diagnose.importer import Importer
from fathom.diagnose.metrics import Layer
from fathom.diagnose.source import Head, Source
from fathom.diagnose.table import Block

_RECORD = struct.Struct("<IIQQIIIIIHH")
_MAGIC = 0x65617400
_ISSUE, _COMPLETE = 7, 8
_WRITE, _DISCARD, _NOTIFY = 1 << 17, 1 << 29, 1 << 26


def recognise(head: Head) -> float:
    """The magic number."""
    return 1.0 if len(head.data) >= 4 and int.from_bytes(head.data[:4], "little") & ~0xFF == _MAGIC else 0.0


def read(source: Source) -> Iterator[Block]:
    """Reads and writes of every device, in intervals of a second."""
    data = source.data()
    issued: dict[tuple[int, int], tuple[int, int, bool]] = {}
    done: dict[int, list[tuple[int, int, int, int, bool]]] = {}
    lost = 0
    for time, sector, size, action, device in _events(source, data):
        if action & _NOTIFY or action & _DISCARD or not size:
            continue
        if action & 0xFFFF == _ISSUE:
            issued[device, sector] = (time, size, bool(action & _WRITE))
        elif action & 0xFFFF == _COMPLETE:
            begun = issued.pop((device, sector), None)
            if begun is None:
                lost += 1
            elif time >= begun[0]:
                done.setdefault(device, []).append((begun[0], time - begun[0], begun[1], sector * 512, begun[2]))
    source.notes.skip("requests", "issued or completed on another processor's file", lost + len(issued))
    begin = min((entry[0] for entries in done.values() for entry in entries), default=0)
    for device, entries in done.items():
        sane = [entry for entry in entries if entry[0] - begin < trace.MOST_INTERVALS * 10**9 and entry[3] < 1 << 62]
        source.notes.skip("requests", "of impossible time or place", len(entries) - len(sane))
        if not sane:
            continue
        columns = list(zip(*sane, strict=True))
        requests = trace.Requests(
            start=np.array(columns[0], dtype=np.int64) - begin + start_of(source),
            latency=np.minimum(np.array(columns[1], dtype=np.float64), trace.MOST_INTERVALS * 1e9),
            size=np.array(columns[2], dtype=np.int64),
            offset=np.array(columns[3], dtype=np.int64),
            write=np.array(columns[4], dtype=bool),
        )
        yield from trace.intervals(None, f"{device >> 20}:{device & 0xFFFFF}", Layer.GUEST_DISK, requests)


def _events(source: Source, data: bytes) -> Iterator[tuple[int, int, int, int, int]]:
    place = 0
    while place + _RECORD.size <= len(data):
        magic, _, time, sector, size, action, _, device, _, _, payload = _RECORD.unpack_from(data, place)
        if magic & ~0xFF != _MAGIC:
            raise source.error("no record of blktrace", "copy the trace again", offset=place)
        if time < 1 << 62 and sector < 1 << 53:
            yield time, sector, size, action, device
        else:
            source.notes.skip("events", "of impossible time or place", 1, f"byte {place}")
        place += _RECORD.size + payload
    if place != len(data):
        source.notes.skip("events", "the trace ends within one", 1, f"byte {place}")


IMPORTER = Importer("blktrace", "blktrace, binary", recognise, read)
